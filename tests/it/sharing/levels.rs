//! What is configured for one remote holds for it by each name that it has, or had.

use std::fs;

use crate::sharing::Team;

/// Commits something and pushes it. Returns which refs of ours the server has after that.
fn pushed(team: &Team, clone: &std::path::Path, to: &str) -> String {
    team.git(clone, &["commit", "-q", "--allow-empty", "-m", "next"]).ok();
    team.scratch.run_until_nothing_runs(clone, &["git", "push", "-q", to, "main"]).ok();
    team.git(&team.server, &["for-each-ref", "--format=%(refname)", "refs/notes", "refs/shiftlog"]).ok()
}

#[test]
fn what_goes_to_no_remote_by_its_name_does_not_go_to_it_by_a_url() {
    let team = Team::new();
    let clone = team.clone_of("a", &[]);
    team.git(&clone, &["config", "shiftlog.origin.push", "none"]).ok();
    team.commit(&clone, "x", "1\n", "words for nobody else");
    let path = team.server.to_str().unwrap();
    let (url, bare) = (format!("file://{path}"), path.trim_end_matches(".git").to_owned());
    team.git(&clone, &["config", "url.file:///.insteadOf", "ours:"]).ok();
    let short = format!("ours:{}", path.trim_start_matches('/'));
    let with_host = format!("file://localhost{path}");
    for to in ["origin", &url, &with_host, path, &format!("{path}/"), &bare, "../server.git", &short] {
        assert_eq!(pushed(&team, &clone, to), "", "{to}");
        let ran = team.shiftlog(&clone, "sync", &["push", to]);
        let told = format!(
            "fatal: shiftlog.origin.push is 'none': nothing may go to '{to}'\n\
             hint: 'git shiftlog sync push --notes-only' or '--all' pushes once\n"
        );
        assert_eq!((ran.code, ran.stderr.as_str()), (128, told.as_str()), "{to}");
    }
    // Nor by a second name of it.
    team.git(&clone, &["remote", "add", "second", &url]).ok();
    assert_eq!(pushed(&team, &clone, "second"), "");
    team.git(&clone, &["remote", "remove", "second"]).ok();
    // Elsewhere it goes.
    let other = team.scratch.root().join("other.git");
    team.git(&clone, &["init", "-q", "--bare", other.to_str().unwrap()]).ok();
    pushed(&team, &clone, other.to_str().unwrap());
    let theirs = team.git(&other, &["for-each-ref", "--format=%(refname)", "refs/shiftlog"]).ok();
    assert_eq!(theirs, "refs/shiftlog/sessions\n");
}

#[test]
fn a_remote_that_was_renamed_gets_no_more_than_before() {
    let team = Team::new();
    let clone = team.clone_of("a", &[]);
    team.git(&clone, &["config", "shiftlog.origin.push", "none"]).ok();
    team.commit(&clone, "x", "1\n", "words for nobody else");
    team.git(&clone, &["remote", "rename", "origin", "team"]).ok();
    assert_eq!(pushed(&team, &clone, "team"), "");
    let ran = team.shiftlog(&clone, "sync", &["push", "team"]);
    assert!(ran.stderr.starts_with("fatal: shiftlog.origin.push is 'none': nothing may go to 'team'\n"), "{ran:?}");
    // What is said of the remote as it is called now counts.
    let own = ["-c", "shiftlog.team.push=notes", "shiftlog", "sync", "push", "team", "--dry-run"];
    assert_eq!(team.git(&clone, &own).ok(), "would push refs/notes/shiftlog to team\n");
    // The fix that is named is one.
    let found = team.shiftlog(&clone, "doctor", &["--no-rehearsal"]).stdout;
    let problem = found.lines().skip_while(|line| !line.starts_with("problem  shiftlog.origin.push: ")).take(2);
    let fix = "git config --rename-section shiftlog.origin shiftlog.team";
    assert_eq!(
        problem.map(str::trim).collect::<Vec<_>>(),
        [
            "problem  shiftlog.origin.push: there is no remote 'origin'; it holds for each remote without an entry",
            &format!("fix: {fix}")
        ],
        "{found}"
    );
    team.git(&clone, &fix.split(' ').skip(1).collect::<Vec<_>>()).ok();
    assert_eq!(pushed(&team, &clone, "team"), "");
    assert!(!team.shiftlog(&clone, "doctor", &["--no-rehearsal"]).stdout.contains("shiftlog.origin"));
}

/// The advice for a remote that was renamed sends transcripts to no other one.
#[test]
fn advice_about_the_remote_of_transcripts_publishes_nothing() {
    let team = Team::new();
    let clone = team.clone_of("a", &[]);
    let words = team.scratch.root().join("words.git");
    team.git(&clone, &["init", "-q", "--bare", words.to_str().unwrap()]).ok();
    team.git(&clone, &["remote", "add", "words", words.to_str().unwrap()]).ok();
    team.git(&clone, &["config", "shiftlog.sessionsRemote", "words"]).ok();
    team.shiftlog(&clone, "init", &["--agent=claude", "--share=all", "-q"]).ok();
    team.commit(&clone, "x", "1\n", "words for few");
    team.git(&clone, &["remote", "rename", "words", "few"]).ok();
    let fix = |clone: &std::path::Path| {
        let found = team.shiftlog(clone, "doctor", &["--no-rehearsal"]).stdout;
        let mut lines = found.lines().skip_while(|line| !line.starts_with("problem  shiftlog.sessionsRemote: "));
        lines.nth(1).unwrap_or_else(|| panic!("{found}")).trim().to_owned()
    };
    assert_eq!(fix(&clone), "fix: git config shiftlog.sessionsRemote few");
    let (server, refs) = (&team.server, ["for-each-ref", "--format=%(refname)", "refs/shiftlog/sessions"]);
    pushed(&team, &clone, "origin");
    assert_eq!(team.git(server, &refs).ok(), "");
    team.git(&clone, &["remote", "remove", "few"]).ok();
    let advice = "fix: git config shiftlog.sessionsRemote <remote>    # transcripts go there, and nowhere else";
    assert_eq!(fix(&clone), advice);
}

#[test]
fn a_level_without_a_value_shares_nothing() {
    let team = Team::new();
    let clone = team.clone_of("a", &[]);
    team.commit(&clone, "x", "1\n", "words of mine");
    let config = clone.join(".git/config");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text + "[shiftlog]\n\tpush\n").unwrap();
    assert_eq!(team.git(&clone, &["config", "shiftlog.push"]).ok(), "\n");
    assert_eq!(pushed(&team, &clone, "origin"), "");
}

#[test]
fn a_dry_run_announces_no_push_that_is_not_made() {
    let team = Team::new();
    let [a, b] = team.clones_after("words of a");
    team.git(&b, &["-c", "core.hooksPath=/dev/null", "pull", "-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    // Each time the remote moves on, and once the clone has something of its own.
    for step in ["more", "purged", "fetched", "own"] {
        match step {
            "purged" => drop(team.shiftlog(&a, "purge", &["-y", "HEAD"]).ok()),
            _ => drop(team.commit(&a, "x", &format!("{step}\n"), step)),
        }
        team.shiftlog(&a, "sync", &["-q"]).ok();
        if step == "fetched" {
            team.git(&b, &["fetch", "-q"]).ok();
        }
        if step == "own" {
            team.commit(&b, "y", "2\n", "words of b");
        }
        let planned = team.shiftlog(&b, "sync", &["-n"]).ok();
        let tip = || team.id(&team.server, "refs/notes/shiftlog");
        let before = tip();
        team.shiftlog(&b, "sync", &["-q"]).ok();
        assert_eq!(planned.contains("would push refs/notes/shiftlog"), tip() != before, "{step}: {planned}");
        assert_eq!(tip() != before, step == "own", "{step}");
    }
}
