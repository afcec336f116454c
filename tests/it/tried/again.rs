//! Found by somebody who tried it a second time: setting up, leaving, and what is said about it.

use super::*;

#[test]
fn notes_of_an_earlier_setting_are_guarded_and_go_with_the_rest() {
    let scratch = Scratch::set_up();
    scratch.git(["config", "shiftlog.notesRef", "refs/notes/talk"]).ok();
    let session = scratch.session("s1");
    session.prompt("words that are mine");
    session.edits("a.txt", "a\n");
    session.commits("one");
    scratch.git(["config", "--unset", "shiftlog.notesRef"]).ok();
    scratch.git(["notes", "--ref=mine", "add", "-m", "a remark", "HEAD"]).ok();
    scratch.git(["init", "-q", "--bare", "../server.git"]).ok();
    let notes = || scratch.git(["ls-remote", "../server.git", "refs/notes/*"]).ok();
    let tip = format!("{}:refs/heads/x", scratch.id("refs/notes/talk"));
    for refspec in ["refs/notes/*:refs/notes/*", "refs/notes/talk", "refs/notes/talk:refs/heads/x", &tip] {
        let ran = scratch.git(["push", "../server.git", refspec]);
        assert!(ran.code != 0 && ran.stderr.starts_with("error: this push takes conversations along"), "{ran:?}");
        assert_eq!(scratch.git(["ls-remote", "../server.git"]).ok(), "", "{refspec}");
    }
    scratch.git(["push", "-q", "../server.git", "refs/notes/mine"]).ok();
    assert!(notes().contains("refs/notes/mine"));
    scratch.shiftlog("deinit", ["-q", "--purge-refs", "--yes"]).ok();
    assert_eq!(
        scratch.git(["for-each-ref", "--format=%(refname)", "refs/notes", "refs/shiftlog"]).ok(),
        "refs/notes/mine\n"
    );
    assert!(!scratch.state().exists());
}

#[test]
fn init_without_git_hooks_offers_to_take_ours_out_of_those_of_all_repositories() {
    let mut scratch = Scratch::new();
    if crate::setup::uses_config_hooks(&scratch) {
        return;
    }
    let hooks = scratch.home().join("hooks");
    fs::create_dir_all(&hooks).unwrap();
    let config = scratch.home().join(".gitconfig");
    fs::write(&config, format!("[core]\n\thooksPath = {}\n", hooks.display())).unwrap();
    scratch.env.insert("GIT_CONFIG_GLOBAL".into(), config.to_str().unwrap().into());
    scratch.shiftlog("init", ["--agent=claude", "-q", "--yes"]).ok();
    let are_ours = || fs::read_to_string(hooks.join("post-commit")).unwrap_or_default().contains("git-shiftlog--hook");
    assert!(are_ours());
    let told = format!(
        "warning: the hooks in '{}' run in other repositories too, and are left alone\n\
         hint: 'git shiftlog init --no-git-hooks --yes' takes ours out of them, for all of these repositories\n",
        hooks.display()
    );
    // The second time, the config says it.
    for options in [&["--agent=claude", "-q", "--no-git-hooks"][..], &["--agent=claude", "-q"]] {
        let ran = scratch.shiftlog("init", options);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, told.as_str()), "{options:?}");
        assert!(are_ours());
    }
    let ran = scratch.shiftlog("init", ["--agent=claude", "-q", "--no-git-hooks", "--yes"]);
    let changed = told.lines().next().unwrap().replace("are left alone", "they change for all of these");
    assert_eq!((ran.code, ran.stderr.trim_end()), (0, changed.as_str()));
    assert!(!are_ours());
}

#[test]
fn doctor_knows_that_init_mends_nothing_without_the_hook_program() {
    let scratch = Scratch::new();
    let programs = scratch.root().join("programs");
    fs::create_dir(&programs).unwrap();
    for name in ["git-shiftlog", "git-shiftlog-doctor"] {
        crate::support::copy_program(crate::support::bin_dir().join(name), &programs.join(name));
    }
    let doctor = programs.join("git-shiftlog-doctor");
    let ran = scratch.run_in(&scratch.top, doctor.to_str().unwrap(), ["--no-rehearsal", "-q"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let install = "install all programs of git-shiftlog in one place, as 'cargo install' does";
    let first = format!(
        "problem  git-shiftlog--hook: cannot find 'git-shiftlog--hook' beside this program\n         fix: {install}\n"
    );
    assert!(ran.stdout.starts_with(&first), "{ran:?}");
    let fixes: Vec<&str> = ran.stdout.lines().filter(|line| line.contains("git shiftlog init")).collect();
    assert!(!fixes.is_empty() && fixes.iter().all(|fix| fix.contains(install)), "{fixes:?}");
}

#[test]
fn install_docs_is_short_and_names_whole_paths() {
    let scratch = Scratch::new();
    let inside = scratch.root().join("inside");
    fs::create_dir(&inside).unwrap();
    let run = |args: &[&str]| scratch.shiftlog_in(&inside, "install-docs", args).ok();
    let share = inside.join("docs/share");
    let steps = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|line| line.starts_with("write ") || line.starts_with("remove "))
            .map(str::to_owned)
            .collect()
    };
    let dry = run(&["--prefix=docs", "-n"]);
    let expected = |verb: &str| -> Vec<String> {
        let places = ["man/man1", "man/man7", "man/man5"].into_iter();
        let shells =
            ["bash-completion/completions", "zsh/site-functions", "fish/vendor_completions.d", "fish/vendor_conf.d"];
        let count = |place: &str| fs::read_dir(share.join(place)).unwrap().count();
        places
            .chain(shells)
            .map(|place| {
                let count = count(place);
                let files = if count == 1 { "file" } else { "files" };
                format!("{verb} {count} {files} in {}", share.join(place).display())
            })
            .collect()
    };
    let bash = share.join("bash-completion/completions/git-shiftlog");
    let line = format!("bash needs this line in ~/.bashrc: . {}", bash.display());
    let written = run(&["--prefix=docs"]);
    assert!(written.lines().any(|each| each == line), "{written}");
    assert_eq!(steps(&written), expected("write"));
    assert_eq!(steps(&dry), steps(&written));
    let removed = expected("remove");
    assert_eq!(steps(&run(&["--prefix=docs", "--uninstall"])), removed);
    assert_eq!(run(&["--prefix=docs", "-q"]), "");
    assert!(bash.is_file());
    assert_eq!(run(&["--prefix=docs", "--uninstall", "-q"]), "");
    assert!(!share.exists());
}

#[test]
fn a_file_of_a_git_directory_makes_no_revision_ambiguous() {
    let scratch = recorded();
    let bare = scratch.root().join("bare.git");
    scratch.git(["clone", "-q", "--mirror", ".", bare.to_str().unwrap()]).ok();
    for command in ["log", "show"] {
        // Without a working tree, paths in it are shown in full.
        let first = |text: String| text.lines().next().map(str::to_owned);
        let expected = first(scratch.shiftlog(command, ["HEAD"]).ok());
        for directory in [scratch.top.join(".git"), bare.clone()] {
            let shown = first(scratch.shiftlog_in(&directory, command, ["HEAD"]).ok());
            assert_eq!(shown, expected, "{command} {directory:?}");
        }
    }
    scratch.write("HEAD", "a file of the user\n");
    for command in ["log", "show"] {
        let ran = scratch.shiftlog(command, ["HEAD"]);
        assert!(ran.stderr.starts_with("fatal: ambiguous argument 'HEAD': both revision and filename\n"), "{ran:?}");
    }
}

#[test]
fn an_option_that_counts_is_named_as_it_is_typed() {
    let scratch = recorded();
    told(&scratch.shiftlog("show", ["--verbose=2"]), 129, "error: option '--verbose' takes no value\n");
}

#[test]
fn a_mirror_is_no_matter_where_a_hook_of_the_users_own_still_stops_it() {
    let scratch = recorded();
    if crate::setup::uses_config_hooks(&scratch) {
        return;
    }
    scratch.git(["init", "-q", "--bare", "../mirror.git"]).ok();
    scratch.git(["remote", "add", "--mirror=push", "origin", "../mirror.git"]).ok();
    let hook = scratch.top.join(".git/hooks/pre-push");
    let program = crate::support::bin_dir().join("git-shiftlog--hook");
    fs::write(&hook, format!("#!/bin/sh\n{} git pre-push \"$@\" || exit 1\n", program.display())).unwrap();
    let warning = "warning: a push to the mirror 'origin' takes what is recorded along\n";
    let stderr = scratch.shiftlog("deinit", ["-q"]).stderr;
    assert_ne!(scratch.git(["push", "-q", "origin"]).code, 0);
    assert_eq!(stderr, "");
    // One that Git does not run stops nothing.
    scratch.shiftlog("init", ["--agent=claude", "-q", "--no-git-hooks"]).ok();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(scratch.shiftlog("deinit", ["-q"]).stderr.starts_with(warning));
    assert_eq!(scratch.git(["push", "-q", "origin"]).code, 0);
}
