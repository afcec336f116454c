//! Repositories with many notes and many segments, made by `git fast-import`.

use std::collections::HashMap;
use std::fs;

use serde_json::json;

use super::stage::Stage;

/// Ten thousand commits, each with a note.
pub fn many_notes() -> Stage {
    let stage = Stage::new();
    let mut import = String::new();
    for number in 1..=10_000 {
        let time = 1_700_000_000 + number;
        import += &format!("commit refs/heads/main\nmark :{number}\ncommitter B <b@example.com> {time} +0000\n");
        import += &format!("data 12\nnumber {number:05}\n");
    }
    import += "commit refs/notes/shiftlog\ncommitter B <b@example.com> 1700000000 +0000\ndata 1\nx\n";
    for number in 1..=10_000 {
        let note = json!({ "shiftlog": 1, "agent": "claude", "session": format!("3f6b1c9e-52d4-4b8a-9d0e-{number:012}"), "model": "claude-bench",
            "time": "2026-01-02T03:04:05Z", "prompt": format!("make the reconnect loop number {number} back off"), "turns": 3, "messages": 12,
            "tokens": { "input": 1840, "output": 5120, "cacheRead": 90111, "cacheWrite": 7710 }, "since": null,
            "through": format!("{number:040x}"), "bytes": 18324, "sha256": format!("{number:064x}") }).to_string();
        import += &format!("N inline :{number}\ndata {}\n{note}\n", note.len());
    }
    stage.feed(stage.git(&["fast-import", "--quiet", "--force"]), import.as_bytes());
    stage
}

/// Commits with a note and a segment each; as many as `SHIFTLOG_BENCH_NOTES` says, or ten thousand.
pub fn many_segments() -> (Stage, usize) {
    let count = std::env::var("SHIFTLOG_BENCH_NOTES").ok().and_then(|count| count.parse().ok()).unwrap_or(10_000);
    let stage = Stage::new();
    let (mut blobs, mut sums) = (Vec::new(), Vec::new());
    for number in 0..count {
        let body = format!(
            "{}\n",
            json!({ "type": "user", "message": { "role": "user", "content": format!("words {number}") } })
        );
        let sha256 = shiftlog::archive::hex(&<sha2::Sha256 as sha2::Digest>::digest(&body));
        let header = shiftlog::archive::Header {
            shiftlog: 1,
            agent: "claude".into(),
            session: format!("s{number:06}"),
            parent: None,
            keep: 0,
            bytes: body.len() as u64,
            sha256: sha256.clone(),
            time: "2026-01-02T03:04:05Z".into(),
        };
        let file = shiftlog::archive::segment::encode(&header, body.as_bytes()).expect("it compresses");
        blobs.extend(format!("blob\nmark :{}\ndata {}\n", number + 1, file.len()).into_bytes());
        blobs.extend(file);
        blobs.push(b'\n');
        sums.push((sha256, body.len()));
    }
    let marks = stage.home().join("marks");
    let export = format!("--export-marks={}", marks.display());
    stage.feed(stage.git(&["fast-import", "--quiet", &export]), &blobs);
    let marks = fs::read_to_string(marks).expect("marks");
    let mut ids: Vec<(usize, &str)> = marks
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(mark, id)| (mark[1..].parse().expect("a number"), id))
        .collect();
    ids.sort_unstable();
    let mut import = String::new();
    for number in 1..=count {
        let time = 1_500_000_000 + 600 * number;
        import += &format!("commit refs/heads/main\nmark :{number}\ncommitter B <b@example.com> {time} +0000\n");
        import += &format!("data 13\nnumber {number:06}\nM 644 inline file{}\ndata 7\n{number:06}\n\n", number % 1000);
    }
    import += "commit refs/shiftlog/sessions\ncommitter B <b@example.com> 1700000000 +0000\ndata 1\nx\n";
    for (number, id) in &ids {
        let session = format!("s{:06}", number - 1);
        let digest = shiftlog::archive::hex(&<sha2::Sha256 as sha2::Digest>::digest(format!("claude/{session}"))[..1]);
        import += &format!("M 644 {id} {digest}/claude~{session}/000000-{}.zst\n", &id[..12]);
    }
    import += "commit refs/notes/shiftlog\ncommitter B <b@example.com> 1700000000 +0000\ndata 1\nx\n";
    for ((number, id), (sha256, bytes)) in ids.iter().zip(&sums) {
        let note = json!({ "shiftlog": 1, "agent": "claude", "session": format!("s{:06}", number - 1),
            "time": "2026-01-02T03:04:05Z", "turns": 1, "messages": 1, "since": null, "through": id, "bytes": bytes,
            "sha256": sha256 })
        .to_string();
        import += &format!("N inline :{number}\ndata {}\n{note}\n", note.len());
    }
    stage.feed(stage.git(&["fast-import", "--quiet", "--force"]), import.as_bytes());
    stage.run(stage.git(&["reset", "-q", "--hard"]));
    stage.run(stage.git(&["repack", "-a", "-d", "-q"]));
    (stage, count)
}

/// Commits with a note each, every note written by a commit of its own; as many as [`many_segments`].
pub fn one_by_one() -> (Stage, usize) {
    let (stage, count) = many_segments();
    let list = stage.output(stage.git(&["notes", "--ref=shiftlog", "list"]));
    let notes: HashMap<&str, &str> =
        list.lines().filter_map(|line| line.split_once(' ')).map(|(note, commit)| (commit, note)).collect();
    let commits = stage.output(stage.git(&["rev-list", "--reverse", "main"]));
    let mut import = String::from("reset refs/notes/shiftlog\n");
    for (number, commit) in commits.lines().filter(|commit| notes.contains_key(commit)).enumerate() {
        let message = format!("shiftlog: claude/s{number:06} on {}\n", &commit[..12]);
        import += "commit refs/notes/shiftlog\n";
        import += &format!("committer B <b@example.com> {} +0000\n", 1_700_000_000 + number);
        import += &format!("data {}\n{message}\n", message.len());
        import += &format!("N {} {commit}\n", notes[commit]);
    }
    stage.feed(stage.git(&["fast-import", "--quiet", "--force"]), import.as_bytes());
    stage.run(stage.git(&["repack", "-a", "-d", "-q"]));
    (stage, count)
}
