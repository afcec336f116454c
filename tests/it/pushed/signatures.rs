//! Ways to have somebody's signature on what somebody else wrote.

use super::*;

/// A team whose colleague has signed a patch of the attacker's, with marks and a record in it. Returns it with the victim, the
/// attacker, and that commit; `None` where nothing can be signed.
fn merged_patch() -> Option<(Team, PathBuf, PathBuf, String)> {
    let team = Team::new();
    let [victim, attacker, colleague] = ["victim", "attacker", "colleague"].map(|name| team.clone_of(name, &[]));
    if !signs(&team, &colleague, "colleague@example.com", &[&victim, &colleague]) {
        return None;
    }
    team.git(&victim, &["config", "shiftlog.trustPurges", "signed"]).ok();
    team.says(&victim, "HEAD", WORDS);
    team.shiftlog(&victim, "sync", &["-q"]).ok();
    team.shiftlog(&attacker, "sync", &["-q"]).ok();
    let head = team.id(&attacker, "HEAD");
    let note = team.git(&attacker, &["notes", "--ref=shiftlog", "show", "HEAD"]).ok();
    let forged = note.replace("honest-words-of-the-victim", "forged");
    let mut files = marks(&segment_of(&team, &attacker), &head);
    files.push((head, format!("100644 text:{forged}")));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, entry)| (path.as_str(), entry.as_str())).collect();
    team.git(&attacker, &["push", "-q", "--no-verify", "origin", "HEAD:refs/heads/patch"]).ok();
    push_files(&team, &attacker, "Mallory", "refs/heads/patch", &files);
    team.git(&colleague, &["fetch", "-q", "origin", "patch"]).ok();
    team.git(&colleague, &["merge", "-q", "--squash", "FETCH_HEAD"]).ok();
    team.git(&colleague, &["commit", "-q", "-S", "-m", "shiftlog: purge"]).ok();
    team.git(&colleague, &["push", "-q", "--no-verify", "origin", "HEAD:main"]).ok();
    team.git(&attacker, &["fetch", "-q"]).ok();
    let merged = team.id(&colleague, "HEAD");
    team.git(&victim, &["fetch", "-q"]).ok();
    assert_eq!(team.git(&victim, &["log", "-1", "--format=%G?", &merged]).ok(), "G\n", "the signature is good");
    Some((team, victim, attacker, merged))
}

#[test]
fn a_signed_commit_of_the_project_is_no_signed_purge() {
    let Some((team, victim, attacker, merged)) = merged_patch() else { return };
    let to = format!("{merged}:refs/shiftlog/purged");
    team.git(&attacker, &["push", "-q", "--no-verify", "-f", "origin", &to]).ok();
    team.shiftlog(&victim, "sync", &["-q"]).ok();
    let purged = team.shiftlog(&victim, "purge", &["--received", "--yes", "--all"]);
    assert_eq!(purged.code, 1, "{purged:?}");
    assert!(purged.stdout.contains(", unsigned: 1 segment, session "), "{purged:?}");
    assert!(purged.stdout.contains(" (left alone: shiftlog.trustPurges is 'signed')\n"), "{purged:?}");
    assert!(kept(&team, &victim).0.contains("honest-words-of-the-victim"));
}

#[test]
fn a_signed_commit_of_the_project_signs_no_record() {
    for is_joined_by_git in [false, true] {
        let Some((team, victim, attacker, merged)) = merged_patch() else { return };
        // The victim's notes, with the file of the patch taken over from its commit.
        let notes = team.id(&attacker, "refs/notes/shiftlog");
        let args = ["commit-tree", "-m", "merge", "-p", &notes, "-p", &merged, &format!("{merged}^{{tree}}")];
        let joined = team.git(&attacker, &args).ok();
        let to = format!("{}:refs/notes/shiftlog", joined.trim());
        team.git(&attacker, &["push", "-q", "--no-verify", "-f", "origin", &to]).ok();
        if is_joined_by_git {
            team.git(&victim, &["fetch", "-q", "origin", "+refs/notes/shiftlog:refs/notes/shiftlog"]).ok();
        } else {
            let synced = team.shiftlog(&victim, "sync", &[]);
            assert!(synced.stderr.contains(" of origin: a file that is no note at 'README'\n"), "{synced:?}");
        }
        let verified = verified(&team, &victim);
        let forged = verified.iter().find(|each| each.0.ends_with("/forged")).unwrap();
        assert_eq!((forged.1.as_str(), forged.2.as_str()), ("unsigned", ""), "{verified:?}");
    }
}

#[test]
fn a_purge_puts_no_record_of_somebody_else_under_our_signature() {
    let team = Team::new();
    let (a, m) = (team.clone_of("a", &[]), team.clone_of("m", &[]));
    if !signs(&team, &a, "a@example.com", &[&a]) {
        return;
    }
    team.says(&a, "HEAD", "mine SECRET");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.says(&m, "HEAD", "forged SECRET");
    team.shiftlog(&m, "sync", &["-q"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.shiftlog(&a, "purge", &["--yes", "--match=(mine|forged) SECRET"]).ok();
    assert!(!team.raw(&a, "HEAD").stdout.contains(" SECRET"));
    let signatures: Vec<_> =
        verified(&team, &a).into_iter().map(|(session, signature, ..)| (session, signature)).collect();
    let expected = [("claude/forged-SECRET", "unsigned"), ("claude/mine-SECRET", "good")];
    assert_eq!(signatures, expected.map(|(session, state)| (session.to_owned(), state.to_owned())));
}
