//! `migrate` takes out what the earlier tools installed, and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::earlier::document;
use crate::migrating::{assert_full, attach, migrate, pretty, talk};
use crate::support::Scratch;

/// What the earlier tool wrote to a hook file that had `text`.
fn with_block(text: &str, name: &str, command: &str) -> String {
    format!("{text}\n\n# {name}-managed start\n{command}\n# {name}-managed end\n")
}

fn files(scratch: &Scratch, dir: &str) -> BTreeMap<String, (String, u32)> {
    let entries = fs::read_dir(scratch.top.join(dir)).unwrap().flatten();
    let of = |path: &Path| (fs::read_to_string(path).unwrap(), path.metadata().unwrap().permissions().mode() & 0o777);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), of(&entry.path()))).collect()
}

#[test]
fn blocks_in_hook_files_go_and_the_rest_stays_byte_for_byte() {
    let scratch = Scratch::new();
    let hooks = scratch.top.join(".git/hooks");
    let _ = fs::remove_dir_all(&hooks);
    fs::create_dir_all(&hooks).unwrap();
    let write = |name: &str, text: &str, mode: u32| {
        fs::write(hooks.join(name), text).unwrap();
        fs::set_permissions(hooks.join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    let mine = "#!/bin/bash\n# mine\nmake check || exit 1\n";
    let changed = "#!/bin/sh\n\n# shiftlog-managed start\n/opt/shiftlog sync pull\nmake\n# shiftlog-managed end\n";
    write("pre-push", &with_block(mine, "claudit", "claudit sync push"), 0o755);
    write("post-merge", &with_block(mine, "shiftlog", "/opt/shiftlog sync pull\n/opt/shiftlog remap"), 0o700);
    write(
        "post-commit",
        "#!/bin/sh\n\n# shiftlog-managed start\n/opt/shiftlog store --manual\n# shiftlog-managed end\n",
        0o755,
    );
    write("post-checkout", changed, 0o755);
    write("pre-commit", mine, 0o755);
    let ran = migrate(&scratch, &[]);
    let remark = format!(
        "warning: '{}' has a block of an earlier tool that somebody has changed",
        hooks.join("post-checkout").display()
    );
    assert!(ran.stderr.contains(&remark), "{ran:?}");
    let expected = [
        ("post-checkout", changed, 0o755),
        ("post-merge", mine, 0o700),
        ("pre-commit", mine, 0o755),
        ("pre-push", mine, 0o755),
    ];
    let expected = expected.map(|(name, text, mode)| (name.to_owned(), (text.to_owned(), mode)));
    assert_eq!(files(&scratch, ".git/hooks"), BTreeMap::from(expected));
    assert_eq!(migrate(&scratch, &[]).ok(), "nothing to do\n");
}

#[test]
fn a_block_in_which_a_user_runs_more_stays_with_a_warning() {
    let scratch = Scratch::new();
    let hook = scratch.top.join(".git/hooks/pre-push");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let text = with_block("", "claudit", "test -n \"$SKIP\" || npm run lint && claudit sync push");
    fs::write(&hook, &text).unwrap();
    let ran = migrate(&scratch, &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "nothing to do\n"));
    assert!(ran.stderr.contains("pre-push' has a block of an earlier tool that somebody has changed"), "{ran:?}");
    assert_eq!(fs::read_to_string(&hook).unwrap(), text);
}

#[test]
fn what_init_installed_beside_an_earlier_tool_can_still_be_taken_back() {
    for is_init_first in [true, false] {
        let scratch = Scratch::new();
        let hooks = scratch.top.join(".git/hooks");
        let _ = fs::remove_dir_all(&hooks);
        fs::create_dir_all(&hooks).unwrap();
        let mine = "#!/bin/sh\necho mine\n";
        let theirs = "#!/bin/sh\n\n# claudit-managed start\nclaudit store --manual\n# claudit-managed end\n";
        fs::write(hooks.join("pre-push"), with_block(mine, "claudit", "claudit sync push")).unwrap();
        fs::write(hooks.join("post-commit"), theirs).unwrap();
        for name in ["pre-push", "post-commit"] {
            fs::set_permissions(hooks.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        if is_init_first {
            scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
            migrate(&scratch, &["-q"]).ok();
        } else {
            let ran = migrate(&scratch, &[]);
            assert!(ran.stderr.contains("hint: run 'git shiftlog init' to record new sessions\n"), "{ran:?}");
            scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
        }
        let ran = migrate(&scratch, &[]);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("nothing to do\n", ""));
        assert_eq!(scratch.shiftlog("doctor", ["-q", "--no-rehearsal"]).ok(), "");
        scratch.shiftlog("deinit", ["-q"]).ok();
        let left = files(&scratch, ".git/hooks");
        assert_eq!(left["pre-push"].0, mine);
        let rest = left.get("post-commit").map_or("", |(text, _)| text.trim());
        assert!(["", "#!/bin/sh"].contains(&rest), "{left:?}");
    }
}

#[test]
fn entries_in_agents_settings_go_and_the_rest_stays_byte_for_byte() {
    let entry = |event: &str, matcher: &str, command: &str| {
        format!(
            "    \"{event}\": [\n      {{\n        \"matcher\": \"{matcher}\",\n        \"hooks\": [\n          {{\n            \
             \"type\": \"command\",\n            \"command\": \"{command}\",\n            \"timeout\": 30\n          }}\n        ]\n      }}\n    ]"
        )
    };
    let mine = entry("Stop", "", "notify-send done");
    let text = |entries: &[String]| {
        format!(
            "{{\n  \"hooks\": {{\n{}\n  }},\n  \"model\": \"x\", // mine\n  \"odd\":   [1,2 , 3]\n}}\n",
            entries.join(",\n")
        )
    };
    let scratch = Scratch::new();
    for (file, name) in [(".claude/settings.local.json", "claudit"), (".gemini/settings.json", "shiftlog")] {
        let theirs = [
            mine.clone(),
            entry("PostToolUse", "Bash", &format!("{name} store")),
            entry("SessionStart", "", &format!("/opt/bin/{name} session-start --agent=gemini")),
            entry("SessionEnd", "", &format!("{name} session-end")),
        ];
        scratch.write(file, &text(&theirs));
    }
    let copilot = "{\n  \"version\": 1,\n  \"hooks\": {\n    \"postToolUse\": [\n      {\n        \"type\": \"command\",\n        \"command\": \"shiftlog store --agent=copilot\"\n      }\n    ]\n  }\n}";
    scratch.write(".github/hooks/shiftlog.json", copilot);
    scratch.write(
        ".github/hooks/hooks.json",
        r#"{"version":1,"hooks":{"postToolUse":[{"type":"command","bash":"./guard.sh"},{"type":"command","bash":"shiftlog store --agent=copilot","powershell":"shiftlog store --agent=copilot"}]}}"#,
    );
    scratch.write(
        ".opencode/plugins/claudit.js",
        "// claudit plugin\n// Auto-generated by claudit init --agent=opencode\n",
    );
    scratch.write(".opencode/plugins/shiftlog.js", "// my own\nexport const x = 1;\n");
    scratch.write(".claude/settings.json", "{ \"x\": \"shiftlog\", }, broken");
    let ran = migrate(&scratch, &[]);
    assert_eq!(ran.code, 0);
    let read = |file: &str| fs::read_to_string(scratch.top.join(file)).unwrap();
    for file in [".claude/settings.local.json", ".gemini/settings.json"] {
        assert_eq!(read(file), text(std::slice::from_ref(&mine)), "{file}");
    }
    assert!(!scratch.top.join(".github/hooks/shiftlog.json").exists(), "a file of theirs alone");
    assert_eq!(
        serde_json::from_str::<Value>(&read(".github/hooks/hooks.json")).unwrap(),
        json!({"version": 1, "hooks": {"postToolUse": [{"type": "command", "bash": "./guard.sh"}]}})
    );
    assert!(!scratch.top.join(".opencode/plugins/claudit.js").exists());
    assert_eq!(read(".opencode/plugins/shiftlog.js"), "// my own\nexport const x = 1;\n");
    assert_eq!(read(".claude/settings.json"), "{ \"x\": \"shiftlog\", }, broken");
    assert!(ran.stderr.contains(".claude/settings.json' is left alone: it does not parse"), "{ran:?}");
    assert_eq!(migrate(&scratch, &[]).ok(), "nothing to do\n");
}

#[test]
fn their_directory_stays_and_what_it_says_is_told() {
    let scratch = Scratch::new();
    let config = r#"{"notes_ref":"refs/notes/talks","debug":true,"agent":"claude-code","later":1}"#;
    scratch.write(".shiftlog/config", config);
    let text = talk("elsewhere", 2);
    attach(&scratch, "talks", "HEAD", &pretty(&document("elsewhere", &text)));
    scratch.git(["notes", "--ref=talks", "append", "-m", "a human's remark"]).ok();
    let before = scratch.id("refs/notes/talks");
    let ran = migrate(&scratch, &[]);
    assert_eq!(ran.code, 0);
    let expected = [
        "warning: the directory of an earlier tool is left as it is: '.shiftlog'",
        "hint: '.shiftlog/config' has notes_ref 'refs/notes/talks': its documents become records; shiftlog.notesRef is where notes are kept here",
        "hint: '.shiftlog/config' has debug 'true': what hooks do is always in the log, '.git/shiftlog/log'",
        "hint: '.shiftlog/config' has agent 'claude-code': git shiftlog init --agent=claude",
        "hint: '.shiftlog/config' has later '1': nothing corresponds to it here",
        "hint: run 'git shiftlog init' to record new sessions",
    ];
    assert_eq!(ran.stderr.lines().collect::<Vec<_>>(), expected);
    assert_full(&scratch, "HEAD", "elsewhere", &text);
    assert_eq!(scratch.id("refs/notes/talks"), before);
    assert_eq!(scratch.records("HEAD").len(), 1, "only documents are taken over");
    assert_eq!(fs::read_to_string(scratch.top.join(".shiftlog/config")).unwrap(), config);
}
