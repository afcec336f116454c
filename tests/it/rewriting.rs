//! What is promised about rewritten history: a conversation follows its change, and never a wrong one.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::sharing::Team;
use crate::support::Scratch;

/// Makes commits one by one at growing times, as in real life.
fn tick(team: &mut Team) {
    let count = team.scratch.env.get("TICKS").map_or(0, |count| count.parse::<u32>().unwrap()) + 1;
    team.scratch.env.insert("TICKS".into(), count.to_string());
    let date = format!("2026-01-03T{:02}:{:02}:00Z", count / 60, count % 60);
    for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
        team.scratch.env.insert(name.into(), date.clone());
    }
}

fn commit(team: &mut Team, clone: &Path, path: &str, text: &str, words: &str) -> String {
    tick(team);
    team.commit(clone, path, text, words)
}

/// Makes a commit that nobody talked about.
fn plain(team: &mut Team, clone: &Path, path: &str, text: &str) -> String {
    tick(team);
    fs::write(clone.join(path), text).unwrap();
    team.git(clone, &["add", path]).ok();
    team.git(clone, &["commit", "-q", "-m", &format!("plain {path}")]).ok();
    team.id(clone, "HEAD")
}

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n";

/// Returns `LINES` with some lines replaced.
fn with(changes: &[(usize, &str)]) -> String {
    let replaced = |(index, line): (usize, &str)| {
        changes.iter().find(|(number, _)| *number == index + 1).map_or(line, |(_, text)| text).to_owned() + "\n"
    };
    LINES.lines().enumerate().map(replaced).collect()
}

/// Two clones; in `a` a branch `topic` with two commits that were talked about, and one that was not.
fn topic(team: &mut Team) -> (std::path::PathBuf, std::path::PathBuf) {
    let a = team.clone_of("a", &[]);
    plain(team, &a, "file", LINES);
    team.git(&a, &["push", "-q", "--no-verify"]).ok();
    let b = team.clone_of("b", &[]);
    team.git(&a, &["switch", "-q", "-c", "topic"]).ok();
    commit(team, &a, "file", &with(&[(18, "eighteen")]), "the first");
    plain(team, &a, "other", "x\n");
    commit(team, &a, "file", &with(&[(18, "eighteen"), (19, "nineteen")]), "the second");
    team.git(&a, &["push", "-q", "--no-verify", "-u", "origin", "topic"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    // Meanwhile the other branch moves on, in the same file.
    plain(team, &b, "file", &with(&[(2, "two")]));
    team.git(&b, &["push", "-q", "--no-verify"]).ok();
    tick(team);
    (a, b)
}

/// Merges on a server: in a clone of its own, which goes away.
fn merge_on_server(team: &mut Team, how: &[&[&str]]) {
    let work = team.bare_clone("server-work", &[]);
    for args in how {
        team.git(&work, args).ok();
    }
    team.git(&work, &["push", "-q", "origin", "main"]).ok();
    team.git(&work, &["push", "-q", "origin", "--delete", "topic"]).ok();
    fs::remove_dir_all(work).unwrap();
}

fn pull_and_prune(team: &Team, clone: &Path) {
    team.git(clone, &["switch", "-q", "main"]).ok();
    team.git(clone, &["pull", "-q", "--prune"]).ok();
    let _ = team.git(clone, &["branch", "-q", "-D", "topic"]);
}

#[test]
fn a_merge_on_the_server_needs_nothing() {
    let mut team = Team::new();
    let (a, b) = topic(&mut team);
    merge_on_server(&mut team, &[&["merge", "-q", "--no-ff", "origin/topic"]]);
    for clone in [&a, &b] {
        pull_and_prune(&team, clone);
        team.shiftlog(clone, "sync", &["-q"]).ok();
        team.assert_said(clone, "HEAD^2", &["the second"]);
        team.assert_said(clone, "HEAD^2~2", &["the first"]);
    }
}

#[test]
fn a_squash_merge_on_the_server_gets_all_conversations_of_the_branch_on_every_clone() {
    let mut team = Team::new();
    let (a, b) = topic(&mut team);
    merge_on_server(&mut team, &[&["merge", "-q", "--squash", "origin/topic"], &["commit", "-q", "-m", "topic (#1)"]]);
    pull_and_prune(&team, &a);
    team.assert_said(&a, "HEAD", &["the first", "the second"]);
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let c = team.clone_of("c", &[]);
    for clone in [&b, &c] {
        pull_and_prune(&team, clone);
        team.shiftlog(clone, "sync", &["-q"]).ok();
        team.assert_said(clone, "HEAD", &["the first", "the second"]);
    }
    let gone = team.git(&a, &["-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now"]);
    assert_eq!(gone.code, 0, "{gone:?}");
    team.assert_said(&a, "HEAD", &["the first", "the second"]);
}

#[test]
fn a_pull_that_rebases_finds_what_the_server_squashed() {
    let mut team = Team::new();
    let (a, _) = topic(&mut team);
    merge_on_server(&mut team, &[&["merge", "-q", "--squash", "origin/topic"], &["commit", "-q", "-m", "topic (#1)"]]);
    team.git(&a, &["switch", "-q", "main"]).ok();
    commit(&mut team, &a, "mine", "1\n", "not pushed yet");
    team.git(&a, &["pull", "-q", "--rebase"]).ok();
    team.assert_said(&a, "HEAD", &["not pushed yet"]);
    team.assert_said(&a, "HEAD~1", &["the first", "the second"]);
}

#[test]
fn a_rebase_merge_on_the_server_gives_each_commit_its_own() {
    let mut team = Team::new();
    let (a, b) = topic(&mut team);
    merge_on_server(
        &mut team,
        &[
            &["switch", "-q", "topic"],
            &["rebase", "-q", "origin/main"],
            &["switch", "-q", "main"],
            &["merge", "-q", "--ff-only", "topic"],
        ],
    );
    // The colleague never had the branch; the notes come from whoever did.
    pull_and_prune(&team, &b);
    pull_and_prune(&team, &a);
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    for clone in [&a, &b] {
        team.assert_said(clone, "HEAD", &["the second"]);
        team.assert_said(clone, "HEAD~2", &["the first"]);
        assert_eq!(team.raw(clone, "HEAD~1").code, 1, "nobody talked about that one");
        assert_eq!(team.raw(clone, "HEAD~3").code, 1);
    }
}

#[test]
fn a_colleague_who_pulls_the_branch_before_the_notes_gets_them_with_the_next_sync() {
    let mut team = Team::new();
    let (a, b) = topic(&mut team);
    team.git(&b, &["fetch", "-q", "origin", "topic"]).ok();
    merge_on_server(&mut team, &[&["merge", "-q", "--squash", "origin/topic"], &["commit", "-q", "-m", "topic (#1)"]]);
    team.git(&b, &["config", "--unset-all", "remote.origin.fetch", "shiftlog"]).ok();
    team.git(&b, &["update-ref", "-d", "refs/shiftlog/remotes/origin/notes"]).ok();
    pull_and_prune(&team, &b);
    assert_eq!(team.raw(&b, "HEAD").code, 1);
    team.shiftlog(&b, "sync", &["-q"]).ok();
    team.assert_said(&b, "HEAD", &["the first", "the second"]);
    drop(a);
}

#[test]
fn picked_mailed_and_reverted_twice_a_change_keeps_its_conversation() {
    let mut team = Team::new();
    let a = team.clone_of("a", &[]);
    plain(&mut team, &a, "file", LINES);
    team.git(&a, &["branch", "release"]).ok();
    let source = commit(&mut team, &a, "file", &with(&[(18, "eighteen")]), "why eighteen");
    let patch = team.git(&a, &["format-patch", "-1", "--stdout"]).ok();
    team.git(&a, &["branch", "mailed", "release"]).ok();
    team.git(&a, &["switch", "-q", "release"]).ok();
    plain(&mut team, &a, "file", &with(&[(2, "two")]));
    tick(&mut team);
    // Another program's pick, which runs no hook of ours.
    team.git(&a, &["-c", "core.hooksPath=/dev/null", "cherry-pick", &source]).ok();
    team.git(&a, &["switch", "-q", "mailed"]).ok();
    plain(&mut team, &a, "file", &with(&[(5, "five")]));
    tick(&mut team);
    team.scratch.write("../mail", &patch);
    team.git(&a, &["am", "-q", team.scratch.root().join("mail").to_str().unwrap()]).ok();
    team.git(&a, &["switch", "-q", "main"]).ok();
    tick(&mut team);
    team.git(&a, &["revert", "--no-edit", "HEAD"]).ok();
    tick(&mut team);
    team.git(&a, &["revert", "--no-edit", "HEAD"]).ok();
    let dry = team.shiftlog(&a, "remap", &["--dry-run"]).ok();
    assert_eq!(dry.lines().count(), 3, "{dry}");
    assert!(dry.lines().all(|line| line.contains(" would get what was said on ")), "{dry}");
    assert_eq!(team.raw(&a, "release").code, 1, "a dry run does nothing");
    let done = team.shiftlog(&a, "remap", &[]).ok();
    assert_eq!(done, dry.replace(" would get ", " has "));
    for revision in ["release", "mailed", "main"] {
        team.assert_said(&a, revision, &["why eighteen"]);
    }
    for revision in ["main~1", "release~1", "mailed~1"] {
        assert_eq!(team.raw(&a, revision).code, 1, "{revision} makes another change");
    }
    assert_eq!(team.shiftlog(&a, "remap", &[]).ok(), "", "twice is once");
    team.assert_sound(&a);
}

#[test]
fn a_pick_that_needed_work_is_found_by_what_its_message_says() {
    let mut team = Team::new();
    let a = team.clone_of("a", &[]);
    plain(&mut team, &a, "file", LINES);
    let source = commit(&mut team, &a, "file", &with(&[(18, "eighteen")]), "why eighteen");
    team.git(&a, &["switch", "-q", "-c", "release", "HEAD~1"]).ok();
    plain(&mut team, &a, "file", &with(&[(18, "XVIII")]));
    assert_eq!(team.git(&a, &["cherry-pick", "-x", &source]).code, 1, "there is a conflict");
    fs::write(a.join("file"), with(&[(18, "eighteen (XVIII)")])).unwrap();
    team.git(&a, &["add", "file"]).ok();
    tick(&mut team);
    team.git(&a, &["-c", "core.hooksPath=/dev/null", "-c", "core.editor=true", "cherry-pick", "--continue"]).ok();
    assert_eq!(team.raw(&a, "HEAD").code, 1);
    team.shiftlog(&a, "remap", &[]).ok();
    team.assert_said(&a, "HEAD", &["why eighteen"]);
}

#[test]
fn a_local_squash_is_found_while_its_branch_is_still_there() {
    let mut team = Team::new();
    let (a, _) = topic(&mut team);
    team.git(&a, &["switch", "-q", "main"]).ok();
    team.git(&a, &["merge", "-q", "--squash", "topic"]).ok();
    tick(&mut team);
    team.git(&a, &["-c", "core.hooksPath=/dev/null", "commit", "-q", "--no-edit"]).ok();
    let carried = team.shiftlog(&a, "remap", &["--json", "HEAD^!"]).ok();
    let carried: Value = serde_json::from_str(&carried).unwrap();
    assert_eq!(carried["carried"], Value::from(team.id(&a, "HEAD")));
    assert_eq!(carried["from"], serde_json::json!([team.id(&a, "topic~2"), team.id(&a, "topic")]));
    team.assert_said(&a, "HEAD", &["the first", "the second"]);
}

#[test]
fn what_fits_several_is_told_and_not_guessed() {
    let mut team = Team::new();
    let a = team.clone_of("a", &[]);
    let start = plain(&mut team, &a, "file", LINES);
    commit(&mut team, &a, "file", &with(&[(18, "eighteen")]), "one reason");
    team.git(&a, &["switch", "-q", "-c", "other", &start]).ok();
    commit(&mut team, &a, "file", &with(&[(18, "eighteen")]), "another reason");
    team.git(&a, &["switch", "-q", "-c", "third", &start]).ok();
    plain(&mut team, &a, "file", &with(&[(18, "eighteen")]));
    let ran = team.shiftlog(&a, "remap", &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
    assert!(ran.stderr.contains("makes the same change as commits with different conversations: "), "{ran:?}");
    assert_eq!(team.raw(&a, "HEAD").code, 1);
}

#[test]
fn a_commit_that_was_there_before_the_conversation_does_not_get_it() {
    let mut team = Team::new();
    let a = team.clone_of("a", &[]);
    plain(&mut team, &a, "file", LINES);
    let before = plain(&mut team, &a, "file", &with(&[(18, "eighteen")]));
    for _ in 0..10 {
        tick(&mut team);
    }
    team.git(&a, &["revert", "--no-edit", "HEAD"]).ok();
    commit(&mut team, &a, "file", &with(&[(18, "eighteen")]), "once more");
    team.shiftlog(&a, "remap", &[]).ok();
    assert_eq!(team.raw(&a, &before).code, 1);
}

#[test]
fn history_moved_into_a_directory_keeps_its_conversations() {
    let mut team = Team::new();
    let a = team.clone_of("a", &[]);
    commit(&mut team, &a, "file", LINES, "why it began");
    commit(&mut team, &a, "file", &with(&[(3, "three")]), "why three");
    plain(&mut team, &a, "file", &with(&[(3, "three"), (4, "four")]));
    // What an import into a monorepo does to each commit, without a note of what became of what.
    let filter = "git ls-files -s | sed 's,\\t,&sub/project/,' | GIT_INDEX_FILE=$GIT_INDEX_FILE.new \
                  git update-index --index-info && mv \"$GIT_INDEX_FILE.new\" \"$GIT_INDEX_FILE\"";
    team.scratch.env.insert("FILTER_BRANCH_SQUELCH_WARNING".into(), "1".into());
    team.git(&a, &["checkout", "-q", "-b", "moved"]).ok();
    team.git(&a, &["filter-branch", "-f", "--index-filter", filter, "moved"]).ok();
    team.git(&a, &["update-ref", "-d", "refs/original/refs/heads/moved"]).ok();
    team.shiftlog(&a, "remap", &[]).ok();
    team.assert_said(&a, "moved~1", &["why three"]);
    team.assert_said(&a, "moved~2", &["why it began"]);
    assert_eq!(team.raw(&a, "moved").code, 1);
}

#[test]
fn filters_that_change_what_commits_change_are_followed_by_their_own_records() {
    let mut team = Team::new();
    let a = team.clone_of("a", &[]);
    plain(&mut team, &a, "secret", "x\n");
    tick(&mut team);
    fs::write(a.join("secret"), "y\n").unwrap();
    let old = commit(&mut team, &a, "file", LINES, "why it began");
    team.git(&a, &["commit", "-q", "-a", "--amend", "--no-edit"]).ok();
    let old = (old, team.id(&a, "HEAD")).1;
    team.scratch.env.insert("FILTER_BRANCH_SQUELCH_WARNING".into(), "1".into());
    let filter = "git rm -q --cached --ignore-unmatch secret";
    team.git(&a, &["filter-branch", "-f", "--index-filter", filter, "main"]).ok();
    assert_ne!(team.id(&a, "HEAD"), old);
    team.shiftlog(&a, "remap", &[]).ok();
    team.assert_said(&a, "HEAD", &["why it began"]);
    // And what git filter-repo writes down.
    tick(&mut team);
    team.git(&a, &["commit", "-q", "--amend", "--reset-author", "-m", "other words", "--quiet"]).ok();
    team.git(&a, &["notes", "--ref=shiftlog", "remove", "--ignore-missing", "HEAD"]).ok();
    fs::create_dir_all(a.join(".git/filter-repo")).unwrap();
    let map = format!("old                                      new\n{old} {}\n", team.id(&a, "HEAD"));
    fs::write(a.join(".git/filter-repo/commit-map"), map).unwrap();
    team.shiftlog(&a, "remap", &[]).ok();
    team.assert_said(&a, "HEAD", &["why it began"]);
}

#[test]
fn conversations_whose_change_went_nowhere_are_told() {
    let mut team = Team::new();
    let a = team.clone_of("a", &[]);
    team.git(&a, &["switch", "-q", "-c", "given-up"]).ok();
    let lost = commit(&mut team, &a, "file", LINES, "an idea");
    team.git(&a, &["switch", "-q", "main"]).ok();
    team.git(&a, &["branch", "-q", "-D", "given-up"]).ok();
    let ran = team.shiftlog(&a, "remap", &[]);
    let expected = format!("warning: no branch has the change of a commit with a conversation: {}\n", &lost[..7]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr), (0, "", expected));
}

/// Runs what the GitHub Action runs.
fn action(team: &Team, clone: &Path, args: &[&str]) -> crate::support::Ran {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/actions/shiftlog/run.sh");
    team.scratch.run_in(clone, "sh", [&[script.to_str().unwrap()], args].concat())
}

#[test]
fn the_action_carries_conversations_over_a_merge_that_only_the_server_saw() {
    for how in ["squash", "rebase"] {
        let mut team = Team::new();
        let (a, _) = topic(&mut team);
        // A forge keeps the commits of a pull request under a ref of its own.
        team.git(&a, &["push", "-q", "--no-verify", "origin", "topic:refs/pull/1/head"]).ok();
        let merge: &[&[&str]] = match how {
            "squash" => &[&["merge", "-q", "--squash", "origin/topic"], &["commit", "-q", "-m", "topic (#1)"]],
            _ => &[
                &["switch", "-q", "topic"],
                &["rebase", "-q", "origin/main"],
                &["switch", "-q", "main"],
                &["merge", "-q", "--ff-only", "topic"],
            ],
        };
        merge_on_server(&mut team, merge);
        let runner = team.bare_clone("runner", &[]);
        action(&team, &runner, &["carry", "origin", "refs/pull/1/head"]).ok();
        let c = team.clone_of("c", &[]);
        team.git(&c, &["fetch", "-q"]).ok();
        let said: &[&str] = if how == "squash" { &["the first", "the second"] } else { &["the second"] };
        team.assert_said(&c, "HEAD", said);
    }
}

#[test]
fn the_summary_of_a_pull_request_keeps_what_people_typed_text() {
    let mut team = Team::new();
    let a = team.clone_of("a", &[]);
    let base = team.id(&a, "HEAD");
    let first = commit(&mut team, &a, "x", "1\n", "use | and `ticks` for @everybody <b>");
    let second = plain(&mut team, &a, "x", "2\n");
    let third = commit(&mut team, &a, "x", "3\n", "then more");
    let range = format!("{base}..HEAD");
    let summary = action(&team, &a, &["summary", "origin", &range]).ok();
    let expected = format!(
        "| commit | agent | messages | USD at list prices | it began with |\n| --- | --- | --- | --- | --- |\n\
         | {} | `claude` | 1 |  | `then more` |\n\
         | {} | `claude` | 1 |  | `use / and ticks for @everybody <b>` |\n",
        &third[..7],
        &first[..7]
    );
    assert_eq!(summary, expected);
    let linked = action(&team, &a, &["summary", "origin", &range, "https://example.com/pages/"]).ok();
    assert_eq!(linked, format!("{expected}\n[The conversations as pages](<https://example.com/pages/>)\n"));
    let focused = action(&team, &a, &["summary", "origin", &range, "focused"]).ok();
    let said = focused.strip_prefix(&expected).expect("the table comes first");
    let said = said.strip_prefix("\n<details><summary>What was said</summary>\n\n").expect("its place");
    let said = said.strip_suffix("\n\n</details>\n").expect("its end");
    let exported = team.shiftlog(&a, "export", &["--markdown", "--view=focused", &range]).ok();
    assert_eq!(said, exported.trim_end());
    assert!(said.contains("> then more") && !said.contains("@everybody <b>\n"), "{said}");
    assert_eq!(action(&team, &a, &["summary", "origin", &format!("{second}^!")]).ok(), "", "nothing was said there");
}

#[test]
fn what_is_done_to_notes_by_hand_is_followed() {
    let mut team = Team::new();
    let a = team.clone_of("a", &[]);
    let source = commit(&mut team, &a, "x", "1\n", "words");
    let target = plain(&mut team, &a, "x", "2\n");
    team.git(&a, &["notes", "--ref=shiftlog", "copy", &source, &target]).ok();
    team.assert_said(&a, &target, &["words"]);
    team.says(&a, &target, "more words");
    let note = team.git(&a, &["notes", "--ref=shiftlog", "show", &target]).ok();
    let kept = note.lines().find(|line| line.contains("more-words")).unwrap();
    team.git(&a, &["notes", "--ref=shiftlog", "add", "-f", "-m", kept, &target]).ok();
    team.assert_said(&a, &target, &["more words"]);
    team.git(&a, &["notes", "--ref=shiftlog", "remove", &source]).ok();
    assert_eq!(team.raw(&a, &source).code, 1);
    let listed = team.shiftlog(&a, "log", &["--format=%H"]).ok();
    assert_eq!(listed, format!("{target}\n"));
}

#[test]
fn a_change_that_somebody_else_makes_once_more_is_theirs() {
    let mut team = Team::new();
    let a = team.clone_of("a", &[]);
    plain(&mut team, &a, "flag", "off\n");
    commit(&mut team, &a, "flag", "on\n", "why it is on");
    plain(&mut team, &a, "flag", "off\n");
    plain(&mut team, &a, "flag", "on\n");
    team.shiftlog(&a, "remap", &[]).ok();
    assert_eq!(team.raw(&a, "HEAD").code, 1, "that was another reason");
}

/// Returns a series of commits as `git fast-import` reads it: each changes paths of its own, in one of several ways.
fn series(branch: &str, base: &str, count: usize, first_mark: usize) -> String {
    let mut import = format!("reset refs/heads/{branch}\nfrom {base}^0\n\n");
    for number in 0..count {
        let time = 1_800_000_000 + number;
        import += &format!("commit refs/heads/{branch}\nmark :{}\n", first_mark + number);
        import += &format!("author A <a@example.com> {time} +0000\ncommitter A <a@example.com> {time} +0000\n");
        let subject = format!("number {number}");
        import += &format!("data {}\n{subject}\n", subject.len());
        let path = format!("\"d{}/a \\303\\266 {number}\"", number % 7);
        let before = number.saturating_sub(4);
        let text = format!("{number}\n");
        match number % 5 {
            0 => import += &format!("M 100755 inline {path}\ndata {}\n{text}\n", text.len()),
            // The mode alone.
            4 => {
                import += &format!(
                    "M 100644 inline \"d{}/a \\303\\266 {before}\"\ndata {}\n{before}\n\n",
                    before % 7,
                    format!("{before}\n").len()
                )
            }
            _ => import += &format!("M 100644 inline {path}\ndata {}\n{text}\n", text.len()),
        }
    }
    import
}

#[test]
fn each_of_many_commits_that_were_made_anew_gets_the_records_of_its_own_source() {
    const COUNT: usize = 1100;
    let scratch = Scratch::set_up();
    scratch.commit("other", "moved on\n", "upstream");
    let mut import = series("old", "refs/heads/main~1", COUNT, 1);
    import += "commit refs/notes/shiftlog\ncommitter A <a@example.com> 1800000000 +0000\ndata 1\nx\n";
    for number in 0..COUNT {
        let note = format!(
            "{{\"shiftlog\":1,\"agent\":\"claude\",\"session\":\"s{number:04}\",\"time\":\"2026-01-02T03:04:05Z\",\"turns\":1,\
             \"messages\":1,\"since\":null,\"through\":\"{number:040x}\",\"bytes\":1,\"sha256\":\"{number:064x}\"}}"
        );
        import += &format!("N inline :{}\ndata {}\n{note}\n", number + 1, note.len());
    }
    import += &series("new", "refs/heads/main", COUNT, COUNT + 1);
    scratch.run_with_input("git", ["fast-import", "--quiet"], import.as_bytes()).ok();
    scratch.git(["repack", "-a", "-d", "-q"]).ok();
    scratch.shiftlog("remap", ["-q"]).ok();
    let log = scratch.git(["log", "-z", "--notes=shiftlog", "--format=%s %N", "main..new"]).ok();
    let commits: Vec<&str> = log.split('\0').filter(|text| !text.is_empty()).collect();
    assert_eq!(commits.len(), COUNT);
    for text in commits {
        let number: usize = text.split(' ').nth(1).unwrap().parse().unwrap();
        assert_eq!(text.matches("\"session\":").count(), 1, "{text}");
        assert!(text.contains(&format!("\"session\":\"s{number:04}\"")), "{text}");
    }
}
