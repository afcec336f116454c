//! A sub-agent whose words stand among those of its session, as earlier versions of Claude Code wrote them.

use serde_json::json;

use super::{Talk, show};
use crate::support::Scratch;

#[test]
fn a_sub_agent_within_the_transcript_is_folded_in_documents_too() {
    let scratch = Scratch::new();
    let mut talk = Talk::new();
    talk.prompt("Find it.");
    talk.calls("a", "Task", json!({ "description": "look around", "prompt": "Look everywhere." }));
    let side = [("isSidechain", json!(true))];
    talk.record("user", &json!({ "role": "user", "content": "Look everywhere." }), &side);
    let call = json!({ "type": "tool_use", "id": "x", "name": "Grep", "input": { "pattern": "connect" } });
    talk.record("assistant", &json!({ "role": "assistant", "model": "m-1", "content": [call] }), &side);
    let said = json!([{ "type": "text", "text": "Nothing there." }]);
    talk.record("assistant", &json!({ "role": "assistant", "model": "m-1", "content": said }), &side);
    talk.result("a", "It is nowhere.", &[]);
    talk.answers("Not found.");
    talk.add(&scratch, &[]);
    let folded = "\n*sub-agent: 1 message, 1 tool call, ";
    for args in [&[][..], &["--no-tools"]] {
        let document = show(&scratch, &[&["--format=markdown"], args].concat());
        assert!(document.contains(folded) && document.contains(" (-v)*\n"), "{document}");
        assert!(!document.contains("> Look") && !document.contains("Nothing there."), "{document}");
    }
    let exported = scratch.shiftlog("export", ["--markdown"]).ok();
    assert!(exported.contains("<details><summary>sub-agent: ") && exported.contains("Nothing there."), "{exported}");
    let document = show(&scratch, &["--format=markdown", "-v"]);
    let passage = document.split("<details><summary>sub-agent: 1 message, 1 tool call, ").nth(1).unwrap();
    let (passage, rest) = passage.split_once("\n</details>\n").unwrap();
    assert!(passage.contains("\n> Look everywhere.\n") && passage.contains("\nNothing there.\n"), "{document}");
    assert!(!rest.contains("> Look") && rest.ends_with("\nNot found.\n"), "{document}");
}
