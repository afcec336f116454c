//! Keys of the configuration with values that mean nothing: `doctor` names them, and what it advises mends them.

use super::*;

/// Every key of the manual, with a value that means nothing for it. Where the advice needs an answer of the user's, it is not
/// followed.
const BAD_VALUES: &[(&str, &str, bool)] = &[
    ("advice.shiftlog", "perhaps", true),
    ("color.grep.filename", "pinkish", true),
    ("color.grep.lineNumber", "pinkish", true),
    ("color.grep.match", "pinkish", true),
    ("color.grep.separator", "pinkish", true),
    ("color.shiftlog", "sometimes", true),
    ("color.shiftlog.<slot>", "pinkish", true),
    ("log.date", "soon", true),
    ("shiftlog.agent.<name>.format", "rol=x", false),
    ("shiftlog.agent.<name>.resume", "only this", false),
    ("shiftlog.agent.<name>.transcript", "", false),
    ("shiftlog.allowMirror", "perhaps", true),
    ("shiftlog.browser", "nosuch-browser", false),
    ("shiftlog.carryOnRead", "perhaps", true),
    ("shiftlog.fetch", "often", true),
    ("shiftlog.gitHooks", "some", true),
    ("shiftlog.hookTimeout", "soon", true),
    ("shiftlog.index", "hourly", true),
    ("shiftlog.indexAgent", "nobody", true),
    ("shiftlog.mcp.name", "other", true),
    ("shiftlog.mcp.toolset", "none", true),
    ("shiftlog.notesRef", "two words", true),
    ("shiftlog.prices", "/nonexistent", false),
    ("shiftlog.push", "everything", true),
    ("shiftlog.<remote>.push", "everything", true),
    ("shiftlog.redact", "perhaps", true),
    ("shiftlog.redact.allow", "(", false),
    ("shiftlog.redact.allowSha256", "xyz", false),
    ("shiftlog.redact.pattern", "(", false),
    ("shiftlog.redact.personal", "perhaps", false),
    ("shiftlog.rules", "perhaps", true),
    ("shiftlog.rulesIncludeHome", "perhaps", true),
    ("shiftlog.sessionsRemote", "nowhere", false),
    ("shiftlog.pricesFrom", "--upload-pack=x", false),
    ("shiftlog.sign", "perhaps", true),
    ("shiftlog.summariseAgent", "nobody", true),
    ("shiftlog.trustPurges", "some", true),
];

/// Returns the keys that the pages of the manual describe, such as `shiftlog.<remote>.push`.
fn keys_of_the_manual() -> std::collections::BTreeSet<String> {
    let mut keys = std::collections::BTreeSet::new();
    for page in shiftlog::cli::PAGES {
        for line in page.source().lines().filter_map(|line| line.strip_prefix(".It Va ").map(str::to_owned)) {
            let (mut key, mut is_variable) = (String::new(), false);
            for word in line.split(' ') {
                match word {
                    "Ns" | "Va" => {}
                    "Ar" => is_variable = true,
                    "," => drop(keys.insert(std::mem::take(&mut key))),
                    _ if std::mem::take(&mut is_variable) => key += &format!("<{word}>"),
                    _ => key += word,
                }
            }
            keys.insert(key);
        }
    }
    // The main page names some together, which another one describes.
    keys.retain(|key| !key.ends_with(".*"));
    keys
}

#[test]
fn every_key_of_the_manual_is_checked_for_its_value() {
    let scratch = Scratch::set_up();
    scratch.git(["remote", "add", "upstream", "/nowhere"]).ok();
    let named: std::collections::BTreeSet<String> = BAD_VALUES.iter().map(|(key, ..)| (*key).to_owned()).collect();
    assert_eq!(named, keys_of_the_manual());
    let problems = || {
        let ran = scratch.shiftlog("doctor", ["--quiet", "--no-rehearsal"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (i32::from(!ran.stdout.is_empty()), ""), "{ran:?}");
        ran.stdout
    };
    assert_eq!(problems(), "");
    for (key, value, is_followed) in BAD_VALUES {
        let key = key.replace("<slot>", "user").replace("<remote>", "upstream").replace("<name>", "mine");
        if key.ends_with(".format") {
            scratch.git(["config", "shiftlog.agent.mine.transcript", "mine/*.jsonl"]).ok();
        }
        scratch.git(["config", &key, value]).ok();
        let told = problems();
        let subjects: Vec<&str> = told.lines().filter(|line| line.starts_with("problem  ")).collect();
        assert_eq!(subjects.len(), 1, "{key}: {told}");
        let last = key.rsplit('.').next().unwrap();
        let names_it = told.contains(last) || key.starts_with("shiftlog.redact") || key.starts_with("shiftlog.agent.");
        assert!(names_it, "{key}: {told}");
        if *is_followed {
            follow(&scratch, &told);
            assert_eq!(problems(), "", "{key}");
        }
        let section = key.rsplit_once('.').unwrap().0;
        if section.starts_with("shiftlog.agent.") {
            scratch.git(["config", "--remove-section", section]).ok();
        } else if scratch.git(["config", &key]).code == 0 {
            scratch.git(["config", "--unset-all", &key]).ok();
        }
    }
}

#[test]
fn a_key_that_is_none_of_ours_is_told_of_and_none_of_the_manuals_is() {
    let scratch = Scratch::set_up();
    for key in keys_of_the_manual().iter().filter(|key| key.matches('.').count() == 1) {
        scratch.git(["config", key, "true"]).ok();
    }
    scratch.git(["config", "shiftlog.pusch", "all"]).ok();
    let told = scratch.shiftlog("doctor", ["--no-rehearsal"]).stdout;
    let named: Vec<&str> = told.lines().filter(|line| line.contains("there is no such key")).collect();
    let note = "note     shiftlog.pusch has no effect: there is no such key; 'git help shiftlog' lists the keys";
    assert_eq!(named, [note], "{told}");
}

#[test]
fn keys_of_subsections_that_do_not_exist_are_told_of() {
    let scratch = Scratch::set_up();
    for key in ["redact.persnal", "mcp.nmae", "agent.mine.transcripts", "origin.pusch", "origin.push", "redact.allow"] {
        scratch.git(["config", &format!("shiftlog.{key}"), "none"]).ok();
    }
    let told = scratch.shiftlog("doctor", ["--no-rehearsal"]).stdout;
    let named =
        told.lines().filter_map(|line| line.strip_suffix("there is no such key; 'git help shiftlog' lists the keys"));
    let named: Vec<&str> = named.map(|line| line.split(' ').find(|word| word.contains('.')).unwrap()).collect();
    let expected = ["agent.mine.transcripts", "mcp.nmae", "origin.pusch", "redact.persnal"];
    assert_eq!(named, expected.map(|key| format!("shiftlog.{key}")), "{told}");
}

#[test]
fn advice_changes_a_value_in_the_file_that_it_stands_in() {
    let scratch = Scratch::set_up();
    let config = scratch.top.join(".git/config");
    scratch.git(["config", "extensions.worktreeConfig", "true"]).ok();
    let before = fs::read_to_string(&config).unwrap();
    let problems = || scratch.shiftlog("doctor", ["--quiet", "--no-rehearsal"]).stdout;
    assert_eq!(problems(), "");
    for (section, key, value) in [
        ("shiftlog", "push", "everything"),
        ("shiftlog", "redact", "false"),
        ("core", "hooksPath", ""),
        ("shiftlog", "sign", "perhaps"),
    ] {
        let text = format!("[{section}]\n\t{key} = {value}\n");
        let user = std::path::PathBuf::from(scratch.env["GIT_CONFIG_GLOBAL"].clone());
        let of_user = fs::read_to_string(&user).unwrap_or_default();
        let including = format!("{before}[include]\n\tpath = with space.inc\n");
        for (file, own) in [
            (".git/with space.inc", &including),
            (".git/config.worktree", &before),
            (".git/config", &format!("{before}{text}")),
        ] {
            fs::write(&config, own).unwrap();
            fs::write(
                scratch.top.join(file),
                if file == ".git/config" { format!("{before}{text}{text}") } else { text.clone() },
            )
            .unwrap();
            let told = problems();
            assert!(!told.is_empty(), "{key} in {file}");
            follow(&scratch, &told);
            assert_eq!(problems(), "", "{key} in {file}: {told}");
            let _ = fs::remove_file(scratch.top.join(".git/config.worktree"));
        }
        if key != "hooksPath" {
            fs::write(&config, &before).unwrap();
            fs::write(&user, format!("{of_user}{text}")).unwrap();
            let told = problems();
            follow(&scratch, &told);
            assert_eq!(problems(), "", "{key}: {told}");
            fs::write(&user, of_user).unwrap();
        }
    }
    // What Git itself refuses is named by its key, not by its file.
    fs::write(&config, format!("{before}[core]\n\thooksPath\n")).unwrap();
    let told = problems();
    assert!(told.contains("fix: git config --show-origin --get-all core.hookspath"), "{told}");
}

#[test]
fn that_records_do_not_follow_an_amend_at_once_is_told() {
    let scratch = Scratch::set_up();
    scratch.git(["config", "notes.rewrite.amend", "false"]).ok();
    let told = scratch.shiftlog("doctor", ["--no-rehearsal"]).stdout;
    assert!(
        told.contains("note     notes.rewrite.amend is false: records go to a rewritten commit only when"),
        "{told}"
    );
    assert!(!told.contains("notes.rewrite.rebase"), "{told}");
}

#[test]
fn a_file_in_the_place_of_the_hooks_is_moved_by_the_advice() {
    let scratch = Scratch::set_up();
    if crate::setup::uses_config_hooks(&scratch) {
        return;
    }
    let hooks = scratch.top.join(".git/hooks");
    fs::remove_dir_all(&hooks).unwrap();
    fs::write(&hooks, "mine").unwrap();
    follow(&scratch, &scratch.shiftlog("doctor", ["-q", "--no-rehearsal"]).stdout);
    assert_eq!(scratch.shiftlog("doctor", ["-q", "--no-rehearsal"]).stdout, "");
    assert_eq!(fs::read_to_string(scratch.top.join(".git/hooks~")).unwrap(), "mine");
}

#[test]
fn an_old_lock_on_the_config_of_a_working_tree_is_told_of() {
    let scratch = Scratch::set_up();
    let lock = scratch.top.join(".git/config.worktree.lock");
    fs::write(&lock, "").unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    fs::File::options().write(true).open(&lock).unwrap().set_modified(old).unwrap();
    let told = scratch.shiftlog("doctor", ["-q", "--no-rehearsal"]).stdout;
    assert!(told.contains("problem  lock config.worktree.lock: "), "{told}");
    follow(&scratch, &told);
    assert_eq!(scratch.shiftlog("doctor", ["-q", "--no-rehearsal"]).stdout, "");
}

#[test]
fn how_git_merges_our_notes_is_looked_at() {
    let scratch = Scratch::set_up();
    let key = "notes.shiftlog.mergeStrategy";
    for value in ["foo", "twice", "", "none", "ours"] {
        scratch.git(["config", if value == "twice" { "--add" } else { "--replace-all" }, key, value]).ok();
        if value.is_empty() || value == "none" {
            scratch.git(["config", "--unset-all", key]).ok();
        }
        if value == "none" {
            let config = scratch.top.join(".git/config");
            let text = fs::read_to_string(&config).unwrap();
            fs::write(&config, format!("{text}[notes \"shiftlog\"]\n\tmergeStrategy\n")).unwrap();
        }
        let told = scratch.shiftlog("doctor", ["-q", "--no-rehearsal"]).stdout;
        assert_eq!(told.contains(&format!("problem  {key}: ")), value != "ours", "{value}: {told}");
        if value != "ours" {
            follow(&scratch, &told);
        }
        assert_eq!(scratch.shiftlog("doctor", ["-q", "--no-rehearsal"]).stdout, "", "{value}");
        let wanted = if value == "ours" { "ours" } else { "cat_sort_uniq" };
        assert_eq!(scratch.git(["config", key]).ok().trim(), wanted);
    }
}

#[test]
fn what_stands_where_something_else_belongs_is_moved_by_the_advice() {
    let scratch = Scratch::set_up();
    let state = scratch.top.join(".git/shiftlog");
    for name in ["live", "lock", "pending/x.json"] {
        let path = state.join(name);
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match name {
            "live" => fs::write(&path, "x").unwrap(),
            _ => drop(scratch.run_in(&scratch.top, "mkfifo", [path.to_str().unwrap()]).ok()),
        }
        let told = || scratch.shiftlog("doctor", ["-q", "--no-rehearsal"]).stdout;
        let before = told();
        assert!(before.contains("problem") && before.contains("fix: mv"), "{name}: {before}");
        follow(&scratch, &before);
        assert_eq!(told(), "", "{name}");
    }
}

#[test]
fn a_damaged_ref_of_transcripts_is_a_problem() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s");
    session.prompt("write");
    session.edits("a.txt", "a\n");
    session.commits("one");
    fs::write(scratch.top.join(".git/refs/shiftlog/sessions"), format!("{}\n", "1".repeat(40))).unwrap();
    let told = || scratch.shiftlog("doctor", ["-q", "--no-rehearsal"]).stdout;
    let before = told();
    assert!(
        before.contains("refs/shiftlog/sessions") && before.contains("fix: git shiftlog fsck --repair"),
        "{before}"
    );
    follow(&scratch, &before);
    assert_eq!(told(), "");
}

#[test]
fn a_hole_in_the_history_of_notes_is_a_problem() {
    let scratch = Scratch::set_up();
    for name in ["one", "two", "three"] {
        let session = scratch.session(name);
        session.prompt("write");
        session.edits(&format!("{name}.txt"), "a\n");
        session.commits(name);
        session.hook("SessionEnd");
    }
    let lost = scratch.id("refs/notes/shiftlog~1");
    fs::remove_file(scratch.top.join(".git/objects").join(&lost[..2]).join(&lost[2..])).unwrap();
    let told = scratch.shiftlog("doctor", ["-q", "--no-rehearsal"]).stdout;
    assert!(
        told.contains("problem  refs/notes/shiftlog: ") && told.contains("fix: git shiftlog fsck --repair"),
        "{told}"
    );
}

#[test]
fn a_lock_that_keeps_everybody_from_the_config_is_a_problem_with_a_fix() {
    let scratch = Scratch::set_up();
    let told = || scratch.shiftlog("doctor", ["-q", "--no-rehearsal"]).stdout;
    for name in ["config.lock", "packed-refs.lock"] {
        let lock = scratch.top.join(".git").join(name);
        fs::write(&lock, "").unwrap();
        assert_eq!(told(), "", "{name}: a process may still hold it");
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
        fs::File::options().write(true).open(&lock).unwrap().set_modified(old).unwrap();
        let before = told();
        assert!(before.contains(&format!("problem  lock {name}: left behind")), "{before}");
        follow(&scratch, &before);
        assert!(!lock.exists() && told().is_empty(), "{name}");
    }
}

#[test]
fn a_capture_that_waits_for_the_agents_hook_is_no_problem_and_one_behind_a_lock_names_it() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("an apple, please");
    session.edits("apple.txt", "apple");
    session.commits("apple");
    session.edits("pear.txt", "pear");
    session.calls("commit", "Bash", &serde_json::json!({ "command": "git commit -qam pear" }));
    session.runs_commit(&["-m", "pear"]);
    let told = || scratch.shiftlog("doctor", ["--no-rehearsal"]).stdout;
    let waits = told();
    assert!(
        !waits.contains("problem") && waits.contains("1 pending capture: the agent's hook after its tool call"),
        "{waits}"
    );
    let lock = scratch.top.join(".git/refs/shiftlog/sessions.lock");
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    fs::write(&lock, "").unwrap();
    let held = told();
    assert!(held.contains("could not be stored yet: the lock 'refs/shiftlog/sessions.lock' is there"), "{held}");
    follow(&scratch, &held);
    assert!(!lock.exists());
    scratch.shiftlog("log", [""; 0]).ok();
    assert!(told().contains("0 pending captures"));
    assert_eq!(scratch.records("HEAD").len(), 1);
}
