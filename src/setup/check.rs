//! Looking at a set-up: what is in place, what is not, and the command that mends it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::MERGE_STRATEGY;
use super::finding::{Finding, Verdict};
use super::proof::{last_records, proof, set_up};
use super::sharing::remote_of;
use super::{advice, git_hooks, hook_check, program};
use crate::agent::{self, Agent};
use crate::archive;
use crate::capture::pending::{self, Pending};
use crate::capture::{self, State};
use crate::error::{Error, Kind, Result};
use crate::git::date::Time;
use crate::git::{REMOTES_PREFIX, Repository};
use crate::managed::place::Places;
use crate::managed::{HOOK_PROGRAM, Plan};
use crate::notes;
use crate::outside;
use crate::record;

/// Locks older than this were left behind by a process that was killed.
const STALE_LOCK: Duration = Duration::from_secs(60);
/// How long the hook that follows an agent's commit may take to come, since its tool call goes on, in seconds.
const MAX_CALL_SECS: i64 = 600;

/// Looks at everything that `init` sets up, at what came of each agent's hooks, and for what a killed process leaves behind.
///
/// # Errors
///
/// If the directory with Git's hooks is unknown.
pub fn check(repo: &Repository) -> Result<Vec<Finding>> {
    let last = last_records(repo);
    let found = check_with(repo, &|agent| {
        [set_up(repo, agent, false).into_iter().collect(), proof(repo, agent, &last)].concat()
    });
    found.map(with_program)
}

/// Looks at some agents alone: their hooks, and what came of them.
///
/// # Errors
///
/// [`Kind::Usage`](crate::error::Kind::Usage) if there is no such agent.
pub fn check_agents(repo: &Repository, names: &[String]) -> Result<Vec<Finding>> {
    let (mut findings, last) = (Vec::new(), last_records(repo));
    for name in names {
        let agent = agent::named(name)?;
        let absent = || Finding::note(format!("{}: it is not on this machine, and not set up here", agent.title()));
        findings.push(set_up(repo, agent, true).unwrap_or_else(absent));
        findings.extend(proof(repo, agent, &last));
    }
    Ok(with_program(findings))
}

/// Adds that our hook program is missing, if it is. Then `init` mends nothing before it is there.
fn with_program(mut findings: Vec<Finding>) -> Vec<Finding> {
    let Err(error) = program() else { return findings };
    let install = "install all programs of git-shiftlog in one place, as 'cargo install' does";
    for finding in &mut findings {
        if let Verdict::Problem { fix, .. } = &mut finding.verdict
            && fix.starts_with("git shiftlog init")
        {
            *fix = format!("{install}, then {fix}");
        }
    }
    findings.insert(0, Finding::problem(HOOK_PROGRAM, &error.to_string(), install));
    findings
}

/// The strategies of `git notes merge`.
const STRATEGIES: [&str; 5] = ["manual", "ours", "theirs", "union", "cat_sort_uniq"];

fn check_with(repo: &Repository, check_agent: &dyn Fn(&dyn Agent) -> Vec<Finding>) -> Result<Vec<Finding>> {
    let init = "git shiftlog init";
    let mut findings = Vec::new();
    let mut has_git_hooks = git_hooks::are_wanted(repo);
    if !has_git_hooks {
        findings.push(Finding::new("Git hooks are left alone: shiftlog.gitHooks is false", None));
    }
    let hooks = git_hooks::directory(repo);
    let are_known = hooks.is_ok();
    has_git_hooks &= are_known;
    let hooks = hooks.unwrap_or_else(|error| {
        findings.push(refused_config(&error));
        PathBuf::new()
    });
    let places = Places::of(repo);
    let (mut has_rewrite_hook, mut has_push_hook) = (false, false);
    for event in git_hooks::EVENTS.iter().filter(|_| has_git_hooks) {
        let found = hook_check::check(repo, &places, &hooks, event)?;
        has_rewrite_hook |= *event == "post-rewrite" && !found.is_problem();
        has_push_hook |= *event == "pre-push" && !found.is_problem();
        findings.push(found);
    }
    let before = findings.len();
    for agent in agent::all() {
        for finding in check_agent(agent) {
            // What is wrong with the notes is so for each of them.
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    if findings.len() == before && repo.worktree().is_some() {
        findings.push(Finding::note("no agent is on this machine"));
    }
    let is_copied = are_copied_by_git(repo);
    if are_known {
        findings.push(Finding::new(
            "notes follow rewritten commits",
            (!has_rewrite_hook && !is_copied)
                .then_some(("the hook post-rewrite does not run, and notes.rewriteRef is not set", init)),
        ));
    }
    for command in ["amend", "rebase"] {
        let key = format!("notes.rewrite.{command}");
        if repo.config_bool(&key) == Some(false) {
            let when = "records go to a rewritten commit only when it is read (shiftlog.carryOnRead), or by 'git shiftlog remap'";
            findings.push(Finding::note(format!("{key} is false: {when}")));
        }
    }
    if is_copied && repo.config_string("notes.rewriteMode").is_some_and(|mode| mode == "overwrite") {
        let fix = advice::set(repo, "notes.rewriteMode", "concatenate");
        findings.push(Finding::new("notes.rewriteMode", Some(("'overwrite' loses notes on amend", &fix))));
    }
    findings.extend(merge_strategy(repo, has_rewrite_hook || has_push_hook));
    findings.extend(forced_fetches(repo));
    if are_known {
        findings.extend(mirrors(repo, has_push_hook));
        findings.extend(sharing(repo, has_push_hook));
    }
    findings.extend(renamed_remotes(repo));
    findings.extend(unreadable_list(repo));
    findings.extend(leftovers(repo));
    Ok(findings)
}

/// Returns what is wrong if the list of what `init` has written cannot be read: then neither it nor `deinit` works.
fn unreadable_list(repo: &Repository) -> Option<Finding> {
    let error = Plan::new(repo, true, false).err().filter(|error| error.kind() == Kind::Corrupt)?;
    let list = outside::shell(&repo.common_dir().join("shiftlog/installed").to_string_lossy());
    let fix = format!("mv {list} {list}.bad && git shiftlog init    # our parts are known by what is in them");
    Some(Finding::problem("the list of what 'git shiftlog init' has written", &error.to_string(), &fix))
}

/// Returns what is wrong if no command of Git works here, as with a value of the config that it refuses: then none of its hooks
/// can be found.
fn refused_config(error: &Error) -> Finding {
    let what = error.to_string();
    let what = what.strip_prefix("'git rev-parse' failed: ").unwrap_or(&what);
    let is_word =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    // The name of a file may have a dot, too.
    let is_key = |word: &&str| {
        let ends = word.split_once('.').zip(word.rsplit_once('.'));
        ends.is_some_and(|((section, _), (_, name))| is_word(section) && is_word(name))
    };
    let key = what.split('\'').rfind(is_key);
    let fix = match key {
        Some(key) => {
            format!("git config --show-origin --get-all {}    # says where to correct it", outside::shell(key))
        }
        None => "git config --show-origin --list    # says where to correct it".to_owned(),
    };
    Finding::problem("Git, which does not run here", what, &fix)
}

/// Says whether Git itself copies our notes to rewritten commits.
pub(super) fn are_copied_by_git(repo: &Repository) -> bool {
    repo.config_strings("notes.rewriteRef").iter().any(|name| {
        name == notes::DEFAULT_REF || name.strip_suffix('*').is_some_and(|head| notes::DEFAULT_REF.starts_with(head))
    })
}

/// Says whether a ref fits a pattern of a refspec, in which `*` stands for any text.
fn fits(pattern: &str, ref_name: &str) -> bool {
    match pattern.split_once('*') {
        Some((head, tail)) => ref_name.starts_with(head) && ref_name.ends_with(tail),
        None => pattern == ref_name,
    }
}

/// Returns the refspecs by which a plain `git fetch` replaces our notes or transcripts with a remote's, with their keys.
pub(super) fn replacing_refspecs(repo: &Repository) -> Vec<(String, String)> {
    let own = [&*record::notes_ref(repo), archive::REF].map(str::to_owned);
    let mut found = Vec::new();
    for remote in repo.remotes() {
        let key = format!("remote.{remote}.fetch");
        let all: BTreeSet<String> = repo.config_strings(&key).into_iter().collect();
        for refspec in &all {
            let target =
                refspec.strip_prefix('+').and_then(|refspec| refspec.split_once(':')).map(|(_, target)| target);
            let replaces = |ref_name: &str| target.is_some_and(|target| fits(target, ref_name));
            let patterns = all.iter().filter_map(|refspec| refspec.strip_prefix('^'));
            let is_left_out = |ref_name: &str| patterns.clone().any(|pattern| fits(pattern, ref_name));
            if own.iter().any(|name| replaces(name) && !is_left_out(name)) {
                found.push((key.clone(), refspec.clone()));
            }
        }
    }
    found
}

/// Looks for refspecs by which a plain `git fetch` replaces our notes with a remote's.
fn forced_fetches(repo: &Repository) -> Vec<Finding> {
    let finding = |(key, refspec): (String, String)| {
        let (mut what, mut fix) = ("a fetch replaces our notes or transcripts".to_owned(), unset(&key, &refspec));
        if refspec == "+refs/*:refs/*" {
            // A mirror goes on fetching all other refs.
            let but = |pattern: &str| {
                format!("git config --add {} {}", outside::shell(&key), outside::shell(&format!("^{pattern}")))
            };
            fix = format!("{} && {}", but(&record::notes_ref(repo)), but("refs/shiftlog/*"));
            if repo.config_string("shiftlog.push").is_some() {
                what += "; what others share then comes by 'git shiftlog sync pull' alone";
            }
        }
        Finding::new(format!("{key} {refspec}"), Some((&what, &fix)))
    };
    replacing_refspecs(repo).into_iter().map(finding).collect()
}

/// Looks for what a push takes along that nobody stops, and for remotes from which nothing is fetched though something is
/// shared.
fn sharing(repo: &Repository, has_push_hook: bool) -> Vec<Finding> {
    let remotes = repo.remotes();
    let Some(level) = repo.config_string("shiftlog.push").filter(|level| ["notes", "all"].contains(&&**level)) else {
        let what = "no hook of ours stops 'git push --mirror', which takes conversations along";
        return (!has_push_hook && !remotes.is_empty()).then(|| Finding::note(what)).into_iter().collect();
    };
    let is_fetched = repo.config_bool("shiftlog.fetch") != Some(false);
    let lacks = |remote: &&String| {
        let refspecs = repo.config_strings(&format!("remote.{remote}.fetch"));
        let fetches = |refspec: &String| {
            refspec.contains(notes::DEFAULT_REF) && remote_of(refspec).is_none_or(|of| of == remote.as_str())
        };
        is_fetched && !refspecs.iter().any(fetches)
    };
    let note = |remote: &String| {
        let share = if level == "all" { "all" } else { "notes" };
        let fix = format!("'git shiftlog init --share={share}' sets it up");
        Finding::note(format!("what others share by '{remote}' is not fetched; {fix}"))
    };
    remotes.iter().filter(lacks).map(note).collect()
}

/// Returns the command that removes a value from the config, however often it stands there.
fn unset(key: &str, value: &str) -> String {
    format!("git config --unset-all --fixed-value {} {}", outside::shell(key), outside::shell(value))
}

/// Looks for what `git remote rename` and `git remote remove` leave under the old name: refspecs and copies of refs of ours,
/// and what is shared with the remote.
fn renamed_remotes(repo: &Repository) -> Vec<Finding> {
    let remotes = repo.remotes();
    let mut findings = Vec::new();
    let plan = Plan::new(repo, false, false).ok();
    let is_recorded = |key: &str, value: &str| plan.as_ref().is_some_and(|plan| plan.has_set(key, value));
    let share = match repo.config_string("shiftlog.push").as_deref() {
        Some("notes") => "git shiftlog init --share=notes",
        Some("all") => "git shiftlog init --share=all",
        _ => "git shiftlog init --no-share",
    };
    for remote in &remotes {
        let key = format!("remote.{remote}.fetch");
        for refspec in repo.config_strings(&key) {
            let Some(other) = remote_of(&refspec).filter(|other| other != remote) else { continue };
            let fix = match is_recorded(&key, &refspec) {
                true => share.to_owned(),
                false => unset(&key, &refspec),
            };
            let what = format!("it stores what '{remote}' has as that of '{other}', its name before");
            findings.push(Finding::problem(format!("{key} {refspec}"), &what, &fix));
        }
    }
    let is_gone = |name: &str| !remotes.iter().any(|remote| remote == name);
    let copies = repo.ref_names(REMOTES_PREFIX);
    let copied = copies.iter().filter_map(|name| Some(name.strip_prefix(REMOTES_PREFIX)?.rsplit_once('/')?.0));
    let is_below = |name: &str| remotes.iter().any(|remote| name.starts_with(&format!("{remote}/")));
    // What is fetched by a URL has no remote.
    let mut gone: Vec<&str> =
        copied.filter(|name| is_gone(name) && !is_below(name) && !name.starts_with("url-")).collect();
    gone.dedup();
    for name in gone {
        let prefix = outside::shell(&[REMOTES_PREFIX, name, "/"].concat());
        let way = format!("git for-each-ref --format='delete %(refname)' {prefix} | git update-ref --stdin");
        findings.push(Finding::note(format!(
            "copies of what '{}' had, which is no remote now, stay; to remove them: {way}",
            outside::line(name)
        )));
    }
    findings
}

/// Looks for remotes to which a plain `git push` takes all refs, ours too, though nothing is to be shared.
fn mirrors(repo: &Repository, has_push_hook: bool) -> Vec<Finding> {
    let what = match has_push_hook {
        true => "a push to it would take conversations along, and is stopped since they are not shared",
        false => "a push to it takes conversations along, though they are not shared: no hook of ours stops it",
    };
    let finding = |remote: &String| {
        let key = |name: &str| outside::shell(&format!("remote.{remote}.{name}")).to_string();
        let (mirror, push) = (key("mirror"), key("push"));
        let narrower = format!(
            "git config {mirror} false && git config --replace-all {push} '+refs/heads/*:refs/heads/*' && \
             git config --add {push} '+refs/tags/*:refs/tags/*'    # pushes branches and tags alone"
        );
        let fix = match has_push_hook {
            true => format!("{narrower}\n         or:  git config shiftlog.allowMirror true    # publishes them"),
            false => "git shiftlog init    # stops it".to_owned(),
        };
        Finding::problem(format!("mirror '{remote}'"), what, &fix)
    };
    mirrored(repo).iter().map(finding).collect()
}

/// Returns the remotes to which a plain `git push` takes all refs, ours too, though nothing is to be shared.
pub fn mirrored(repo: &Repository) -> Vec<String> {
    let mut mirrored = Vec::new();
    for remote in repo.remotes() {
        let keys = [format!("shiftlog.{remote}.push"), "shiftlog.push".to_owned()];
        let level = keys.iter().find_map(|key| repo.config_string(key));
        let is_shared = level.is_some_and(|level| level == "all");
        let takes_all = |refspec: &String| refspec.trim_start_matches('+').starts_with("refs/*");
        let is_mirror = repo.config_bool(&format!("remote.{remote}.mirror")) == Some(true)
            || repo.config_strings(&format!("remote.{remote}.push")).iter().any(takes_all);
        if is_mirror && !is_shared && repo.config_bool("shiftlog.allowMirror") != Some(true) {
            mirrored.push(remote);
        }
    }
    mirrored
}

/// Says whether nothing is left to do for `init`.
///
/// # Errors
///
/// As [`check`].
pub fn is_complete(repo: &Repository) -> Result<bool> {
    let is_for_init = |finding: &Finding| match &finding.verdict {
        Verdict::Problem { fix, .. } => fix.contains("git shiftlog init"),
        Verdict::Ok | Verdict::Note => false,
    };
    let findings = check_with(repo, &|agent| set_up(repo, agent, false).into_iter().collect())?;
    Ok(!findings.iter().any(is_for_init))
}

/// Looks at how `git notes merge` joins notes of ours: by Git's default it stops where two people have recorded on one commit.
fn merge_strategy(repo: &Repository, is_set_up: bool) -> Option<Finding> {
    let problem = |what: &str, fix: &str| Some(Finding::problem(MERGE_STRATEGY.0, what, fix));
    match repo.config_word(MERGE_STRATEGY.0) {
        None if is_set_up => problem("it is not set", "git shiftlog init"),
        Some(value) if !STRATEGIES.contains(&&*value) => problem(
            &format!("'{}' is not a value for it", outside::line(&value)),
            &advice::set(repo, MERGE_STRATEGY.0, MERGE_STRATEGY.1),
        ),
        _ => None,
    }
}

/// The locks that keep our refs from being written.
const LOCKS: [&str; 5] = [
    "refs/notes/shiftlog.lock",
    "refs/shiftlog/sessions.lock",
    "refs/shiftlog/kept/notes/shiftlog.lock",
    "refs/shiftlog/kept/sessions.lock",
    "packed-refs.lock",
];

/// Looks for what a killed process leaves: locks on our refs, unfinished objects, captures that wait.
fn leftovers(repo: &Repository) -> Vec<Finding> {
    let common = repo.common_dir();
    let mut findings = Vec::new();
    let age = |path: &Path| {
        path.metadata()
            .and_then(|metadata| metadata.modified())
            .ok()
            .map(|time| SystemTime::now().duration_since(time).unwrap_or_default())
    };
    let of_config = [(&*common, "config.lock"), (repo.git_dir(), "config.worktree.lock")];
    for (directory, name) in LOCKS.iter().map(|name| (&*common, *name)).chain(of_config) {
        let path = directory.join(name);
        if age(&path).is_some_and(|age| age > STALE_LOCK) {
            let fix = format!("rm {}", outside::shell(&path.to_string_lossy()));
            findings
                .push(Finding::new(format!("lock {name}"), Some(("left behind by a process that was killed", &fix))));
        }
    }
    let is_stale = |entry: &std::fs::DirEntry| {
        entry.file_name().to_string_lossy().starts_with(".tmp")
            && age(&entry.path()).is_some_and(|age| age > Duration::from_secs(24 * 60 * 60))
    };
    let stale = std::fs::read_dir(common.join("objects")).into_iter().flatten().flatten().filter(is_stale).count();
    if stale > 0 {
        let fix = format!("find '{}' -maxdepth 1 -name '.tmp*' -mtime +0 -delete", common.join("objects").display());
        let (objects, them) = if stale == 1 { ("object", "it") } else { ("objects", "them") };
        let what = format!("'git gc' does not remove {them}");
        findings.push(Finding::new(format!("{stale} unfinished {objects}"), Some((&what, &fix))));
    }
    for live in State::new(&common).sessions() {
        findings
            .extend(live.left_out().map(|reason| Finding::note(format!("the transcript of {}: {reason}", live.key()))));
    }
    findings.extend(pending_captures(repo, &State::new(&common)));
    findings
}

/// Looks at what waits to be stored: the next command stores it, unless it cannot be read.
fn pending_captures(repo: &Repository, state: &State) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut count = std::fs::read_dir(state.pending_dir()).into_iter().flatten().flatten().count();
    let mut expected = 0;
    for path in pending::list(state) {
        let error = match pending::read_head(&path) {
            Ok(Pending::Commit(commit)) => {
                let age = Time::now().seconds - commit.time;
                expected += usize::from(!commit.runners.is_empty() && (0..MAX_CALL_SECS).contains(&age));
                continue;
            }
            Ok(Pending::Capture(_)) => continue,
            Err(error) => error,
        };
        let is_file = path.symlink_metadata().is_ok_and(|file| file.is_file());
        if error.kind() == Kind::Corrupt || !is_file {
            // It may have words that somebody can still make out.
            let fix = format!("mv {} ~", outside::shell(&path.to_string_lossy()));
            findings.push(Finding::problem("pending capture", &error.to_string(), &fix));
            count = count.saturating_sub(1);
        }
    }
    let subject = if count == 1 { "1 pending capture".to_owned() } else { format!("{count} pending captures") };
    let fix = match repo.signs(&record::notes_ref(repo)) {
        true => "git shiftlog log    # if signing fails: git config shiftlog.sign false",
        false => "git shiftlog log",
    };
    let why = capture::why_waiting(repo, &capture::waiting(repo));
    let what = why.as_ref().map_or("could not be stored yet".into(), |why| format!("could not be stored yet: {why}"));
    let common = repo.common_dir();
    let lock = LOCKS.iter().find(|name| why.is_none() && common.join(name).symlink_metadata().is_ok());
    let what = lock.map_or(what, |name| format!("could not be stored yet: the lock '{name}' is there"));
    let unlock = lock.map(|name| {
        format!("rm {}    # if no Git process is running", outside::shell(&common.join(name).to_string_lossy()))
    });
    let is_purging = state.purge_journal().symlink_metadata().is_ok();
    if count > 0 && expected == count && lock.is_none() && why.is_none() && !is_purging {
        findings.push(Finding::note(format!(
            "{subject}: the agent's hook after its tool call stores it, or the next command"
        )));
        return findings;
    }
    let fix = match why.is_some() {
        _ if let Some(unlock) = &unlock => unlock,
        // Until then nothing is stored.
        _ if is_purging => "git shiftlog fsck    # finishes the purge first",
        true => capture::HOW_TO_READ,
        false => fix,
    };
    findings.push(Finding::new(subject, (count > 0).then_some((what.as_str(), fix))));
    findings
}
