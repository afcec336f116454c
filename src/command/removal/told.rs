//! Printing a removal: the plan, the objects that could not be removed, and where the words still are.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::cli;
use crate::error::{Error, Result};
use crate::git::{Holder, Repository};
use crate::share::purge::{self, Purged};
use crate::share::sync::{self, Level};
use crate::transcript::SessionKey;
use crate::{outside, pretty};

/// How many remotes of unknown state are named.
const MAX_REMOTES: usize = 3;
/// How many entries of a reflog one hint deletes.
const MAX_ENTRIES: usize = 20;

/// Returns the object of a plan for JSON.
pub(super) fn plan_value(plan: &purge::Removal<'_>, is_dry_run: bool) -> Value {
    let sessions: Vec<String> = plan.sessions.iter().map(ToString::to_string).collect();
    let unrecorded: Vec<String> = plan.unrecorded.iter().map(ToString::to_string).collect();
    let copies: Vec<String> = plan.copies.keys().map(ToString::to_string).collect();
    json!({"version": 1, "dryRun": is_dry_run, "dropped": plan.dropped, "changed": plan.changed, "notes": plan.notes,
        "sessions": sessions, "unrecorded": unrecorded, "copies": copies, "evidence": plan.evidence, "received": received(plan)})
}

/// Returns the object of a plan that was carried out.
pub(super) fn result_value(plan: &purge::Removal<'_>, purged: &Purged) -> Value {
    let mut value = plan_value(plan, false);
    value["objects"] = purged.objects.into();
    value["left"] = purged.left.iter().map(ToString::to_string).collect();
    value["temporary"] = purged.temporary.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    value["movedAside"] = purged.moved_aside.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    value["otherRefs"] = purged.holders.iter().map(|holder| holder.name.clone()).collect();
    value["agentFiles"] = json!(purged.agent_files);
    value["remotes"] = purged.held.keys().cloned().collect();
    value
}

pub(super) fn print_json(value: Value) -> Result<()> {
    cli::print(&(outside::json(&value) + "\n"))
}

/// Lists what others have removed, by who did.
pub(super) fn list(plan: &purge::Removal<'_>) -> Result<()> {
    let mut text = String::new();
    for (by, from) in &plan.received {
        let mut parts = Vec::new();
        parts.extend((from.segments > 0).then(|| count(from.segments, "segment")));
        parts.extend(from.sessions.iter().map(|session| format!("session {session}")));
        let are = if from.elsewhere == 1 { "is" } else { "are" };
        parts.extend((from.elsewhere > 0).then(|| format!("{} that {are} not here", from.elsewhere)));
        let note = if from.is_taken { "" } else { " (left alone: shiftlog.trustPurges is 'signed')" };
        text += &outside::line(&format!("{by}: {}{note}", parts.join(", ")));
        text.push('\n');
    }
    for (session, segments) in &plan.doubtful {
        let why = "was recorded here once more, and may have the words";
        text += &outside::line(&format!("session {session} {why}: {}", count(*segments, "segment")));
        text.push('\n');
    }
    cli::print(&text)
}

fn received(plan: &purge::Removal<'_>) -> Vec<Value> {
    let object = |(by, from): (&String, &purge::Received)| {
        json!({"by": by, "segments": from.segments, "sessions": from.sessions, "elsewhere": from.elsewhere,
            "taken": from.is_taken})
    };
    plan.received.iter().map(object).collect()
}

pub(super) fn count(number: usize, noun: &str) -> String {
    pretty::count(number as u64, noun)
}

pub(super) fn tell(plan: &purge::Removal<'_>, before: Option<String>, is_dry_run: bool) -> Result<()> {
    let (remove, change) = if is_dry_run { ("would remove", "change") } else { ("removing", "changing") };
    let before = before.map_or(String::new(), |before| format!("{before}: "));
    let mut text = format!(
        "{before}{remove} {} and {change} {} and {}\n",
        count(plan.dropped, "segment"),
        count(plan.changed, "segment"),
        count(plan.notes, "note"),
    );
    let is_of = |other: &SessionKey, session: &SessionKey| {
        other.agent == session.agent && other.parent_id() == Some(&session.id)
    };
    let is_listed = |session: &&SessionKey| !plan.sessions.iter().any(|parent| is_of(session, parent));
    for session in plan.sessions.iter().filter(is_listed) {
        let sub_agents = plan.sessions.iter().filter(|other| is_of(other, session)).count();
        let and = if sub_agents > 0 { format!(" and {}", count(sub_agents, "sub-agent")) } else { String::new() };
        text += &format!("session {session}{and}\n");
    }
    plan.evidence.iter().for_each(|name| text += &format!("evidence {}\n", outside::line(name)));
    cli::print(&text)?;
    tell_who_has_it(plan);
    Ok(())
}

/// Says which sessions stay and have the same words, or a part of them.
fn tell_who_has_it(plan: &purge::Removal<'_>) {
    let removes = |key: &SessionKey| format!("'git shiftlog purge --session={}' removes it", outside::shell(&key.id));
    for (copy, session) in &plan.copies {
        let why = format!("session {copy} begins as {session} does, and may have the same words");
        cli::warning(&format!("{why}; {}", removes(copy)));
    }
    let parents = plan.sessions.iter().filter_map(|key| Some((SessionKey::new(&key.agent, key.parent_id()?), key)));
    for (parent, sub_agent) in parents.filter(|(parent, _)| !plan.sessions.contains(parent)) {
        let why = format!("session {parent} keeps the task of its sub-agent {sub_agent}, and the answer");
        cli::warning(&format!("{why}; {}", removes(&parent)));
    }
}

/// Says what else has the words, and what removes them there.
pub(super) fn tell_what_has_it(repo: &Repository, notes_ref: &str, purged: &Purged) {
    for path in &purged.agent_files {
        cli::warning(&format!("the agent's own file still has the words: '{}'", path.display()));
    }
    let remotes = repo.remotes();
    for (remote, refs) in &purged.held {
        if remote.starts_with("url-") && !remotes.contains(remote) {
            let how = "git shiftlog sync push <url>    # replaces what a remote has";
            cli::hint(repo, &format!("{how} that was named by its URL, which is not recorded"));
            continue;
        }
        if !remotes.contains(remote) {
            cli::hint(repo, &format!("'{remote}', which is no remote any more, may still have it"));
            continue;
        }
        let by = |name: &String, least| Level::replaced_by(repo, remote, notes_ref, name, least).unwrap_or_default();
        let (replaced, left): (Vec<_>, Vec<_>) = refs.iter().partition(|name| by(name, Level::None).is_some());
        for by in replaced.iter().filter_map(|name| by(name, Level::None)).collect::<BTreeSet<_>>() {
            cli::hint(repo, &format!("git shiftlog sync push {by}    # replaces what '{remote}' has"));
        }
        if left.is_empty() {
            continue;
        }
        if left.iter().all(|name| by(name, Level::All).is_some()) {
            let how = format!("git shiftlog sync push --all {remote}");
            cli::hint(repo, &format!("{how}    # replaces what '{remote}' has, and shares all that is recorded here"));
        }
        let names: Vec<String> = left.iter().map(|name| outside::shell(name)).collect();
        let how = format!("git push --delete {remote} {}", names.join(" "));
        cli::hint(repo, &format!("{how}    # removes what everybody has shared there"));
    }
    // A push with '--no-verify' runs no hook that could note it.
    let known = sync::Known::read(repo);
    let is_unknown = |remote: &&String| !purged.held.contains_key(*remote) && !known.has_remote(repo, remote);
    for remote in remotes.iter().filter(is_unknown).take(MAX_REMOTES) {
        let remote = outside::shell(remote);
        let how = format!("git ls-remote {remote} \"refs/notes/*\" \"refs/shiftlog/*\"");
        cli::hint(repo, &format!("{how}    # lists what a push without our hook has put there"));
    }
    if !purged.held.is_empty() {
        cli::hint(repo, "colleagues then run 'git shiftlog sync pull' and 'git shiftlog purge --received'");
        cli::hint(repo, "the server keeps unreachable objects until its own 'git gc' prunes them");
    }
}

pub(super) fn tell_what_is_left(repo: &Repository, purged: &Purged) {
    if !purged.left.is_empty() {
        let (why, hint) = if repo.is_partial() {
            ("Git keeps what a partial clone has fetched", "a new clone has none of them if the remote has none")
        } else if repo.has_precious_objects() {
            ("extensions.preciousObjects is set", "other repositories may borrow its objects")
        } else if repo.has_kept_packs() {
            let way = "remove the pack's .keep file, or purge in the repository that objects/info/alternates names, and run this again";
            ("kept packs or borrowed objects have them", way)
        } else {
            ("another program has stored them again meanwhile", "run this again when no 'git gc' is running")
        };
        let number = count(purged.left.len(), "object");
        cli::error(&Error::other(format!("{number} cannot be removed: {why}")).hint(hint));
    }
    if let Some(first) = purged.temporary.first() {
        let number = count(purged.temporary.len(), "temporary file");
        cli::warning(&format!("{number} of Git may have removed words, such as '{}'", first.display()));
        cli::hint(repo, "if no Git process writes here, remove them; after a day the next purge does");
    }
    if let Some(first) = purged.moved_aside.first() {
        let number = count(purged.moved_aside.len(), "damaged file");
        let what = "that a repair moved out of the way may have removed words, such as";
        cli::warning(&format!("{number} {what} '{}'", first.display()));
        cli::hint(repo, "remove them if nothing in them is needed");
    }
    tell_of_holders(repo, &purged.holders);
    if let Some(first) = purged.kept.first() {
        let number = count(purged.kept.len(), "object");
        cli::warning(&format!("removed words stay in {number} that a commit, the index, a stash or a reflog has"));
        cli::hint(
            repo,
            &format!("git log --all --reflog -t --find-object={first}    # finds the commit, if one has it"),
        );
    }
}

/// Tells of each ref that still has removed words, and of each reflog, with what takes them away and no commit of the user's.
fn tell_of_holders(repo: &Repository, holders: &[Holder]) {
    let mut names = repo.names();
    let entry_of = |holder: &Holder| holder.name.rsplit_once("@{").map(|(log, _)| log.to_owned());
    for of_log in holders.chunk_by(|a, b| entry_of(a).is_some() && entry_of(a) == entry_of(b)) {
        let holder = &of_log[0];
        let name = &holder.name;
        let more = of_log.len() - 1;
        let has = match more {
            0 => "still has".to_owned(),
            more => format!("and {more} more of this reflog still have"),
        };
        let join = holder.join.map(|join| (names.shorten(join.commit_id), join.is_merge));
        let hint = match (entry_of(holder), &join) {
            (Some(_), _) => {
                let entries: Vec<String> =
                    of_log.iter().take(MAX_ENTRIES).map(|one| outside::shell(&one.name)).collect();
                let first =
                    if of_log.iter().any(|one| one.join.is_some()) { "keep what you need of it, then: " } else { "" };
                format!("{first}git reflog delete --rewrite {}", entries.join(" "))
            }
            (None, None) if name == "HEAD" => "check out a branch".to_owned(),
            (None, None) if !name.starts_with("refs/") => {
                "check out a branch there, or run 'git worktree prune' if the worktree is gone".to_owned()
            }
            (None, None) => match name.strip_prefix("refs/heads/").filter(|branch| !branch.starts_with('-')) {
                Some(branch) => format!("git branch -D {}", outside::shell(branch)),
                None => format!("git update-ref -d {}", outside::shell(name)),
            },
            (None, Some((commit, true))) => {
                format!(
                    "'{commit}' has merged them; make it name commits without that merge, and keep what else that changed"
                )
            }
            (None, Some((commit, false))) => {
                format!("'{commit}' was made on top of them; make it name another commit, and keep what you need")
            }
        };
        cli::error(&Error::other(format!("'{name}' {has} the removed words")).hint(hint));
    }
}
