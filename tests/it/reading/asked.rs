//! Several questions in one call, and pictures that a tool answers with.

use serde_json::json;

use super::{Talk, show, told};
use crate::support::Scratch;

fn asked() -> Scratch {
    let scratch = Scratch::new();
    let mut talk = Talk::new();
    talk.prompt("Ask.");
    let question = |text: &str| json!({ "question": text, "options": [{ "label": "yes" }, { "label": "no" }] });
    let questions = json!({ "questions": [question("A?"), question("B?"), question("C?")] });
    let given = "User has answered your questions: \"A?\"=\"yes\", \"C?\"=\"something else\". You can now continue.";
    talk.runs("q", "AskUserQuestion", questions, given);
    let picture = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "aGVsbG8gd29ybGQ=" } });
    talk.calls("r", "Read", json!({ "file_path": "/home/dev/harbour/a.png" }));
    talk.result("r", json!([picture]), &[]);
    talk.calls("s", "screenshot", json!({}));
    talk.result("s", json!([{ "type": "text", "text": "Taken:" }, picture]), &[]);
    talk.add(&scratch, &[]);
    scratch
}

#[test]
fn each_answer_stands_below_its_question_and_pictures_have_their_sizes() {
    let scratch = asked();
    let expected = "
turn 1, 13:44, 1 min
> Ask.

  AskUserQuestion A?
    - yes
    - no
    = yes
  AskUserQuestion B?
    - yes
    - no
  AskUserQuestion C?
    - yes
    - no
    = something else

  Read a.png [image/png, 11 bytes]

  screenshot
    Taken:
    [image/png, 11 bytes]

";
    assert_eq!(told(&scratch, &[]), expected);
    let document = show(&scratch, &["--format=markdown"]);
    for part in ["\n> A? yes\n\n> C? something else\n", "\n```\n[image/png, 11 bytes]\n```\n"] {
        assert!(document.contains(part), "{part:?}\n{document}");
    }
}
