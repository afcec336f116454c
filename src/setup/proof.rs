//! What shows that an agent is recorded here: whether its hooks are in place and allowed, whether they reported its last
//! session, and what its last record lacks.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::finding::Finding;
use super::{Wanted, agents};
use crate::agent::{self, Agent, HookFile, HookForm, Permission};
use crate::capture::State;
use crate::capture::tracked::TrackedSession;
use crate::error::Result;
use crate::git::date::Time;
use crate::git::{ObjectId, Repository};
use crate::managed::{HOOK_PROGRAM, Plan, file};
use crate::outside;
use crate::record::{Query, Reader, Summary};
use crate::transcript::SessionKey;

/// How far back sessions are looked for: state of ended ones is kept for that long.
const RECENT_SECS: i64 = 3 * 24 * 60 * 60;

/// An agent's hooks in a working tree.
struct Hooks {
    files: Vec<HookFile>,
    texts: Vec<String>,
    /// The top of the working tree that they are in, or the user's own directory.
    top: PathBuf,
    /// Whether they are in the user's own settings.
    are_users: bool,
}

/// The files with hooks of a working tree: the private ones and those that a team shares.
const ALL: &[bool] = &[false, true];

impl Hooks {
    /// Reads the hooks that are in a directory. `kinds` says which files are read: the private ones (`false`), and those that a
    /// team shares.
    fn read(agent: &dyn Agent, top: PathBuf, kinds: &[bool]) -> Self {
        let mut files: Vec<HookFile> = Vec::new();
        for file in kinds.iter().flat_map(|is_shared| agent.hook_files(*is_shared)) {
            if files.iter().all(|known| known.path != file.path) {
                files.push(file);
            }
        }
        let read = |declared: &HookFile| file::text(&top.join(declared.path)).unwrap_or_default();
        Hooks { texts: files.iter().map(read).collect(), files, top, are_users: false }
    }

    /// Returns the hooks that the agent runs in the working tree of a repository.
    fn of(repo: &Repository, agent: &dyn Agent) -> Option<Self> {
        let own = Hooks::read(agent, repo.worktree()?.to_owned(), ALL);
        if own.are_set_up() {
            return Some(own);
        }
        let users = agent.user_directory().map(|home| Hooks { are_users: true, ..Hooks::read(agent, home, ALL) });
        if let Some(users) = users.filter(Hooks::are_set_up) {
            return Some(users);
        }
        if !agent.runs_hooks_of_main_worktree() {
            return Some(own);
        }
        // Those that a team shares are in each working tree.
        let main = repo.worktrees().into_iter().next().map(|main| Hooks::read(agent, main.top, &[false]));
        main.filter(Hooks::are_set_up).or(Some(own))
    }

    fn are_set_up(&self) -> bool {
        self.files.iter().zip(&self.texts).any(|(file, text)| match file.form {
            HookForm::Json(_) => agent::has_hooks(text, file.handlers),
            HookForm::Own(..) => text.contains(HOOK_PROGRAM),
        })
    }

    /// Returns the event and the matcher of a hook that is run for fewer tools than it is for, if there is one.
    fn narrowed(&self) -> Option<(String, String)> {
        let each = self.files.iter().zip(&self.texts);
        each.filter(|(file, _)| matches!(file.form, HookForm::Json(_)))
            .find_map(|(file, text)| agent::narrowed(text, file.handlers))
    }

    /// Returns the paths of the files with hooks of ours.
    fn paths(&self) -> impl Iterator<Item = &'static str> {
        self.files.iter().zip(&self.texts).filter(|(_, text)| text.contains(HOOK_PROGRAM)).map(|(file, _)| file.path)
    }

    /// Returns when they were last changed.
    fn changed(&self) -> Option<SystemTime> {
        self.paths().filter_map(|path| self.top.join(path).metadata().ok()?.modified().ok()).max()
    }
}

/// Looks at the hooks of an agent: `None` if it is neither set up nor on this machine.
///
/// An agent that nobody asked about is no problem where others are set up: these were chosen.
pub(super) fn set_up(repo: &Repository, agent: &dyn Agent, is_asked_about: bool) -> Option<Finding> {
    let hooks = Hooks::of(repo, agent)?;
    let (title, init) = (agent.title(), format!("git shiftlog init --agent={}", agent.name()));
    let problem = |what: &str, fix: &str| Some(Finding::problem(title, what, fix));
    match (hooks.are_set_up(), agent.is_installed()) {
        (false, false) => return None,
        (false, true) if hooks.files.is_empty() => {
            return Some(Finding::ok(format!("{title} has no hooks; each commit looks for its sessions")));
        }
        (false, true) => {
            let plan = plan_alone(repo, agent);
            return match &plan {
                // A file that cannot be edited keeps 'init' from setting them up.
                Some(plan) if !plan.failures().is_empty() => {
                    let errors: Vec<String> = plan.failures().iter().map(ToString::to_string).collect();
                    problem(&errors.join("; "), &format!("correct the file or move it away, then {init}"))
                }
                _ if !is_asked_about && has_chosen(repo) => {
                    Some(Finding::note(format!("{title} is on this machine and not set up here; '{init}' does it")))
                }
                Some(plan) if !plan.left().is_empty() => problem(
                    "its hooks are not set up, since their file is outside this repository",
                    &format!("{init} --yes"),
                ),
                _ => problem("its hooks are not set up", &init),
            };
        }
        (true, _) => {}
    }
    if let Some(why) = hooks.texts.iter().find_map(|text| unusable_program(text)) {
        return problem(&format!("its hooks name a program that is {why}"), &init);
    }
    if let Some((event, matcher)) = hooks.narrowed() {
        let matcher = outside::line(&matcher);
        return problem(&format!("its hook for {event} is run for the tools '{matcher}' alone"), &init);
    }
    let obstacles = hooks.files.iter().zip(&hooks.texts).find_map(|(file, text)| Some((file, agent.obstacle(text)?)));
    if let Some((file, obstacle)) = obstacles {
        return problem(&obstacle, &format!("edit '{}'", hooks.top.join(file.path).display()));
    }
    let is_here = repo.worktree() == Some(&hooks.top);
    let place = if is_here { String::new() } else { format!(" of '{}'", hooks.top.display()) };
    Some(Finding::ok(format!("{title}: hooks in {}{place}", hooks.paths().collect::<Vec<_>>().join(", "))))
}

/// Returns what `init` would do to set up the hooks of an agent; `None` if that is unknown.
fn plan_alone(repo: &Repository, agent: &dyn Agent) -> Option<Plan> {
    let program = super::program().ok()?;
    let mut plan = Plan::new(repo, false, false).ok()?;
    agents::plan(repo, &mut plan, agent, &Wanted::default(), &program).ok()?;
    Some(plan)
}

/// Says whether agents were set up in this repository.
fn has_chosen(repo: &Repository) -> bool {
    let is_here =
        |agent: &dyn Agent| Hooks::of(repo, agent).is_some_and(|hooks| hooks.are_set_up() && !hooks.are_users);
    agent::all().any(is_here)
}

/// Looks at what hooks of an agent have done: whether they may run, whether they reported its last session, and what its last
/// record lacks. Nothing for an agent that is not set up.
pub(super) fn proof(repo: &Repository, agent: &dyn Agent, last: &Result<LastRecords>) -> Vec<Finding> {
    let Some(hooks) = Hooks::of(repo, agent) else { return Vec::new() };
    let mut findings = Vec::new();
    if hooks.are_set_up() {
        let seen = last_session(repo, agent, &hooks);
        // Trust in a folder is about the hooks in it.
        let permission = if hooks.are_users { None } else { permission(agent, &hooks.top) };
        // Where hooks were seen to run, nobody has to ask what they depend on.
        findings.extend(permission.filter(|permission| !permission.is_note() || !seen.is_ok()));
        findings.push(seen);
    }
    // What else is wrong must be reported where records cannot be read.
    findings.extend(match last {
        Ok(last) => last.get(agent.name()).map(|(commit_id, summary)| last_record(repo, agent, *commit_id, summary)),
        Err(error) => Some(Finding::problem("the last records", &error.to_string(), "git shiftlog fsck --repair")),
    });
    findings
}

fn permission(agent: &dyn Agent, top: &Path) -> Option<Finding> {
    let title = agent.title();
    match agent.permission(top) {
        Permission::NotNeeded => None,
        Permission::Given(place) => Some(Finding::ok(format!("{title}: hooks are allowed, {place}"))),
        Permission::Missing { what, fix } => Some(Finding::problem(title, &what, &fix)),
        Permission::Unknown(what) => {
            Some(Finding::note(format!("{title}: whether hooks are allowed cannot be told; {what}")))
        }
    }
}

/// Says whether hooks have reported the last session that the agent's store has.
fn last_session(repo: &Repository, agent: &dyn Agent, hooks: &Hooks) -> Finding {
    let title = agent.title();
    let written = |path: &Path| path.metadata().and_then(|file| file.modified()).ok();
    let worktree = repo.worktree().unwrap_or(repo.git_dir());
    let recent = agent.recent(worktree, Time::now().seconds - RECENT_SECS).into_iter();
    let here = recent.filter(|found| agent.ran_in(&found.transcript, worktree) == Some(true));
    let state = State::new(&repo.common_dir());
    let Some(last) = here.max_by_key(|found| written(&found.transcript)) else {
        // The agent's store may keep a session that began in a subdirectory with those of that directory.
        let is_own = |live: &TrackedSession| {
            live.agent == agent.name() && live.is_reported_by_hooks() && live.worktree.as_deref() == Some(worktree)
        };
        let seen = state.all_sessions().into_iter().filter(is_own).max_by_key(|live| live.seen);
        return match seen {
            Some(live) => {
                Finding::ok(format!("{title}: hooks have told of the last session, {}", outside::line(&live.session)))
            }
            None => {
                Finding::note(format!("{title}: no session here in the last three days, so no hook was seen to run"))
            }
        };
    };
    let id = outside::line(&last.session_id);
    let live = state.session(&SessionKey::new(agent.name(), &last.session_id));
    match live.is_some_and(|live| live.is_reported_by_hooks()) {
        true => Finding::ok(format!("{title}: hooks have told of the last session, {id}")),
        false if written(&last.transcript) < hooks.changed() => {
            Finding::note(format!("{title}: the last session, {id}, is older than the hooks, so none was seen to run"))
        }
        false => Finding::problem(
            title,
            &format!("no hook has told of the last session, {id}"),
            &format!("restart {title}, and see 'man gitshiftlog-agents'"),
        ),
    }
}

/// The last record of each agent on the present branch, with its commit, by the agent's name.
pub(super) type LastRecords = HashMap<String, (ObjectId, Summary)>;

/// Finds the last records: once for all agents, as it can take the whole history.
///
/// # Errors
///
/// If a note cannot be read.
pub(super) fn last_records(repo: &Repository) -> Result<LastRecords> {
    let mut last = LastRecords::new();
    let Some(head) = repo.head()?.commit_id else { return Ok(last) };
    let range = crate::git::Range { tips: vec![head], hidden: Vec::new() };
    let mut missing: HashSet<&str> = agent::all().map(Agent::name).collect();
    Reader::new(repo, None).each(&Query { range, ..Query::default() }, |listed| {
        for summary in listed.summaries {
            if missing.remove(summary.key.agent.as_str()) {
                last.insert(summary.key.agent.clone(), (listed.commit.commit_id, summary));
            }
        }
        Ok(if missing.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(last)
}

/// Says what an agent's last record has, and what it lacks.
fn last_record(repo: &Repository, agent: &dyn Agent, commit_id: ObjectId, summary: &Summary) -> Finding {
    let hex = commit_id.to_string();
    let live = State::new(&repo.common_dir()).session(&summary.key);
    let is_awaited =
        live.and_then(|live| live.awaited_result).is_some_and(|awaited| awaited.commit == hex && !awaited.is_unsure);
    let Summary { prompt, model, tokens, .. } = summary;
    let mut told = vec![("prompt", prompt.is_some()), ("model", model.is_some()), ("tokens", tokens.is_some())];
    // A session that did not run 'git commit' has no result of it.
    told.extend(is_awaited.then_some(("the result of its own 'git commit'", false)));
    let names = |wanted: bool| {
        let names: Vec<&str> = told.iter().filter(|(_, is_there)| *is_there == wanted).map(|(name, _)| *name).collect();
        names.join(", ")
    };
    let title = format!("{}: the last record, on {}", agent.title(), commit_id.to_hex_with_len(7));
    match told.iter().all(|(_, is_there)| *is_there) {
        true => Finding::ok(format!("{title}, has {}", names(true))),
        false => Finding::note(format!("{title}, lacks {}", names(false))),
    }
}

/// Returns why the program cannot be run that a text names as our hook program, by its path: it is not there, or not executable.
/// The text is a shell script, or JSON or TOML with lines of one.
pub(super) fn unusable_program(text: &str) -> Option<&'static str> {
    // In JSON a backslash stands before each backslash and quote.
    let text = text.replace("\\\\", "\\").replace("\\\"", "\"");
    text.match_indices(HOOK_PROGRAM).find_map(|(at, _)| {
        let (head, end) = (&text[..at], &text[at + HOOK_PROGRAM.len()..]);
        let directory = if end.starts_with('\'') { quoted(head) } else { Some(plain(head).to_owned()) };
        let path = directory? + HOOK_PROGRAM;
        if !path.starts_with('/') || path.contains('\\') {
            return None;
        }
        match Path::new(&path).metadata() {
            Ok(file) if file.is_file() => (file.permissions().mode() & 0o111 == 0).then_some("not executable"),
            _ => Some("not there"),
        }
    })
}

/// Returns the end of a text from where its last word begins.
fn plain(text: &str) -> &str {
    &text[text.rfind(|c: char| c.is_whitespace() || matches!(c, '\'' | '"')).map_or(0, |at| at + 1)..]
}

/// Returns what a text has after the quote that is still open at its end, as [`outside::shell`] writes it; `None` if none is.
fn quoted(text: &str) -> Option<String> {
    const QUOTE: &str = r"'\''";
    let mut end = text.len();
    loop {
        let at = text[..end].rfind('\'')?;
        match text[..=at].strip_suffix(QUOTE) {
            Some(before) => end = before.len(),
            None => return Some(text[at + 1..].replace(QUOTE, "'")),
        }
    }
}
