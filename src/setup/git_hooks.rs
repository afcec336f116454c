//! Git hooks: declared in config since Git 2.54, before that a block of ours in the hook files.
//!
//! Read [`plan`]. A hook that is no shell script, is turned off or is tracked stays as it is, with a remark.

use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;

use super::{advice, guard};
use crate::error::Result;
use crate::git::{Repository, git};
pub use crate::managed::hook::EVENTS;
use crate::managed::place::Places;
use crate::managed::{FileKind, HOOK_PROGRAM, Plan, file, hook};
use crate::outside;

/// Whether Git's hooks are set up.
pub const KEY: &str = "shiftlog.gitHooks";

/// Returns the directory that Git takes hooks from, absolute; an empty path if `core.hooksPath` is empty: then Git looks
/// for `/post-commit`, and runs no hook.
pub fn directory(repo: &Repository) -> Result<PathBuf> {
    if repo.config_string("core.hooksPath").is_some_and(|path| path.is_empty()) {
        return Ok(PathBuf::new());
    }
    let output = git(["rev-parse", "--git-path", "hooks"]).repository(repo).capture()?;
    let dir = output.trim_end().to_path_lossy().into_owned();
    Ok(repo.worktree().unwrap_or(repo.git_dir()).join(dir))
}

/// Returns the directory with the hook files that can be ours: where Git takes none, the one that it takes them from by
/// default.
pub fn files_directory(repo: &Repository) -> Result<PathBuf> {
    let hooks = directory(repo)?;
    Ok(if hooks.as_os_str().is_empty() { repo.common_dir().join("hooks") } else { hooks })
}

/// Returns what turns all hooks off, if they are: Git then runs no hook file.
fn turned_off(repo: &Repository, hooks: &Path) -> Option<String> {
    if hooks.as_os_str().is_empty() {
        return Some("hooks are turned off: core.hooksPath is empty".into());
    }
    if is_missing(repo, hooks) {
        return Some(format!("hooks are turned off: core.hooksPath names '{}', which is not there", hooks.display()));
    }
    (hooks.exists() && !hooks.is_dir()).then(|| format!("hooks are turned off: '{}' is no directory", hooks.display()))
}

/// Says whether `core.hooksPath` names a directory that is not there. The one that Git uses by default is made.
fn is_missing(repo: &Repository, hooks: &Path) -> bool {
    !hooks.exists() && repo.config_string("core.hooksPath").is_some_and(|path| !path.is_empty())
}

/// Says whether hooks are declared in config rather than in files: Git can since 2.54.
pub fn are_in_config() -> bool {
    crate::git::version() >= (2, 54)
}

/// Says whether Git's hooks are to be set up, as far as the config says.
pub fn are_wanted(repo: &Repository) -> bool {
    repo.config_bool(KEY) != Some(false)
}

/// Says whether a hook runs our program because somebody has put it there.
fn runs_ours(text: &[u8], event: &str) -> bool {
    line_of_ours(text, event).is_some()
}

/// Returns where the line of a hook begins that runs our program.
pub(super) fn line_of_ours(text: &[u8], event: &str) -> Option<usize> {
    hook::line_with(text, &format!("{HOOK_PROGRAM} git {event}"))
}

/// Says whether a hook file stops pushes that publish what is not shared, be it that our part is in it or that somebody has
/// put the line there.
///
/// # Errors
///
/// If the directory with Git's hooks is unknown.
pub fn stops_pushes(repo: &Repository) -> Result<bool> {
    let hooks = directory(repo)?;
    let path = hooks.join("pre-push");
    Ok(turned_off(repo, &hooks).is_none()
        && file::contents(&path).is_some_and(|text| runs_ours(&text, "pre-push"))
        && !is_disabled(&path))
}

/// The suffixes with which pre-commit and Lefthook rename a hook that they find. They may still run it.
const MOVED_ASIDE: [&str; 2] = ["legacy", "old"];

/// Returns the hooks with our part that such a program has renamed, for example to `post-commit.legacy`. Copies with other
/// names belong to the user. A file that a hook links to is that hook.
pub(super) fn moved_aside(hooks: &Path) -> Vec<PathBuf> {
    let own: Vec<PathBuf> = EVENTS.iter().map(|event| file::real(&hooks.join(event))).collect();
    let has_ours = |text: Vec<u8>| hook::has_block(&text) && hook::remove_block(&text) != text;
    let is_ours = |path: &PathBuf| {
        !own.contains(&file::real(path)) && path.is_file() && file::contents(path).is_some_and(has_ours)
    };
    let names = EVENTS.iter().flat_map(|event| MOVED_ASIDE.map(|suffix| format!("{event}.{suffix}")));
    names.map(|name| hooks.join(name)).filter(is_ours).collect()
}

/// Plans that our part of Git's hooks goes.
pub fn take_back(repo: &Repository, plan: &mut Plan) -> Result<()> {
    let hooks = files_directory(repo)?;
    for event in EVENTS {
        plan.remove_config(&format!("hook.shiftlog-{event}.command"), |_| true);
        plan.remove_config(&format!("hook.shiftlog-{event}.event"), |_| true);
        let path = hooks.join(event);
        if !plan.is_obstructed(&path) {
            plan.take_back(&path, FileKind::Hook)?;
        }
    }
    moved_aside(&hooks).iter().try_for_each(|path| plan.take_back(path, FileKind::Hook))
}

/// Plans that Git runs our program after what changes history, and before a push.
pub fn plan(repo: &Repository, plan: &mut Plan, program: &Path) -> Result<()> {
    if are_in_config() {
        for event in EVENTS {
            let name = format!("hook.shiftlog-{event}");
            let command = hook::command(event, &guard(program, false));
            plan.set_config(repo, &format!("{name}.command"), &command, false);
            plan.add_config(repo, &format!("{name}.event"), event);
        }
        return Ok(());
    }
    let hooks = directory(repo)?;
    if let Some(what) = turned_off(repo, &hooks) {
        plan.remark(what);
        if is_missing(repo, &hooks) {
            plan.hint(
                "'git shiftlog init' adds ours once it is there; 'git config --show-origin --get core.hooksPath' says \
                 where it is named",
            );
        }
        return Ok(());
    }
    // A directory in the working tree is one that a team commits; there a path of this machine has no business.
    let below_top = below_top(repo, &hooks);
    let is_committed = below_top.is_some();
    let edits_before = plan.edits().len();
    for event in EVENTS {
        let path = hooks.join(event);
        if let Some(ByHand { what, line, is_tracked }) = by_hand(repo, &hooks, event, is_committed, program) {
            if !is_tracked {
                // It can have the block of one of its hooks, which would run for all.
                plan.take_back(&path, FileKind::Hook)?;
            }
            let text = plan.planned(&path).ok().flatten().unwrap_or_default();
            if !runs_ours(&hook::remove_block(&text), event) {
                let path = path.display();
                plan.remark(format!("'{path}' {what} and is left alone; add this line to that file: {line}"));
            }
            continue;
        }
        if plan.is_obstructed(&path) {
            continue;
        }
        match plan.current(&path)? {
            Some(text) if !hook::is_shell_script(&text) => {
                // Somebody can have made it one of another language around our block, which that cannot run.
                if plan.planned(&path)?.is_some_and(|text| hook::has_block(&text)) {
                    plan.take_back(&path, FileKind::Hook)?;
                }
                plan.remark(format!(
                    "'{}' is no shell script and is left alone; have it run: {}",
                    path.display(),
                    hook::line(event, &guard(program, is_committed))
                ));
            }
            _ if is_disabled(&path) => {
                plan.remark(format!("'{}' is not executable and is left alone", path.display()));
            }
            text => {
                let after = hook::add_block(text.as_deref(), event, &guard(program, is_committed));
                plan.edit(path, FileKind::Hook, after)?;
            }
        }
    }
    if plan.edits().len() > edits_before {
        below_top.iter().for_each(|below_top| remark_on_tracked_hooks(repo, plan, below_top));
        let names_lefthook = |line: &[u8]| !line.trim_start().starts_with(b"#") && line.contains_str("lefthook");
        let is_of_lefthook =
            |event: &str| file::contents(&hooks.join(event)).is_some_and(|text| text.lines().any(names_lefthook));
        if EVENTS.iter().any(|event| is_of_lefthook(event)) {
            plan.remark(
                "lefthook writes hooks anew when it is installed or configured; run 'git shiftlog init' after that"
                    .into(),
            );
        }
    }
    // Else it would run twice.
    moved_aside(&hooks).iter().try_for_each(|path| plan.take_back(path, FileKind::Hook))
}

/// Returns why a hook gets no part of ours, whatever the options of `init`, and what to do instead.
///
/// # Errors
///
/// If the hook cannot be read.
pub(super) fn why_not_installed(repo: &Repository, hooks: &Path, event: &str) -> Result<Option<(String, String)>> {
    if let Some(what) = turned_off(repo, hooks) {
        let fix = match is_missing(repo, hooks) {
            true => {
                let is_outside = Places::of(repo).is_outside(hooks);
                let hooks = outside::shell(&hooks.to_string_lossy());
                let yes = if is_outside { " --yes    # other repositories may run them, too" } else { "" };
                format!("mkdir -p {hooks} && git shiftlog init{yes}")
            }
            false if repo.config_string("core.hooksPath").is_none() => {
                let hooks = outside::shell(&hooks.to_string_lossy());
                format!("mv {hooks} {hooks}~ && mkdir {hooks} && git shiftlog init")
            }
            false => match repo.config_with_scopes("core.hooksPath").pop() {
                Some((scope, _)) if matches!(&*scope, "local" | "worktree") => {
                    format!("{} && git shiftlog init", advice::unset(repo, "core.hooksPath"))
                }
                _ => "git config --show-origin --get core.hooksPath    # says where that is set".into(),
            },
        };
        return Ok(Some((what, fix)));
    }
    let path = hooks.join(event);
    let is_committed = below_top(repo, hooks).is_some();
    let program = super::program().unwrap_or_else(|_| HOOK_PROGRAM.into());
    let run = |is_bare_name: bool| format!("have it run: {}", hook::line(event, &guard(&program, is_bare_name)));
    if let Some(ByHand { what, line, .. }) = by_hand(repo, hooks, event, is_committed, &program) {
        return Ok(Some((
            format!("it {what}, so init leaves it alone"),
            format!("add this line to that file: {line}"),
        )));
    }
    let text = match file::read(&path) {
        Ok(text) => text.unwrap_or_default(),
        Err(error) => return Ok(Some((error.to_string(), "move it away, then git shiftlog init".into()))),
    };
    if !hook::is_shell_script(&text) {
        return Ok(Some(("it is no shell script, so init leaves it alone".into(), run(is_committed))));
    }
    if is_disabled(&path) {
        let fix = format!("chmod +x {}", outside::shell(&path.to_string_lossy()));
        return Ok(Some(("it is not executable, so Git does not run it and init leaves it alone".into(), fix)));
    }
    Ok(None)
}

/// Returns why a hook is not edited unasked: it is outside the repository, or leads there.
pub(super) fn others(places: &Places, path: &Path) -> Option<String> {
    let leads_out = path.is_symlink() && path.parent().is_some_and(|hooks| !places.is_outside(hooks));
    places.is_outside(path).then(|| match leads_out {
        true => {
            format!("not installed, since it leads to '{}' outside this repository", places.settled(path).display())
        }
        false => "not installed, since it would run in other repositories too".into(),
    })
}

/// Returns the directory with hooks below the top of the working tree, if that is where it is: then a team commits it.
fn below_top(repo: &Repository, hooks: &Path) -> Option<PathBuf> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let below_top = repo.worktree().and_then(|top| real(hooks).strip_prefix(real(top)).ok().map(Path::to_owned));
    below_top.filter(|_| !real(hooks).starts_with(real(&repo.common_dir())))
}

/// Says whether Git will run our part of a hook once a plan is carried out.
///
/// # Errors
///
/// If the directory with Git's hooks is unknown, or the hook cannot be read.
pub fn will_run(repo: &Repository, plan: &mut Plan, event: &str) -> Result<bool> {
    if are_in_config() {
        return Ok(true);
    }
    let hooks = directory(repo)?;
    let path = hooks.join(event);
    Ok(turned_off(repo, &hooks).is_none()
        && !is_disabled(&path)
        && !plan.is_obstructed(&path)
        && shared_with(&hooks, event).is_none()
        && plan.planned(&path)?.is_some_and(|text| hook::has_block_of(&text, event)))
}

/// Says whether a hook file is there but not executable, which is how a user turns it off.
pub(super) fn is_disabled(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 == 0)
}

/// Tells what it means that hooks are in the working tree.
fn remark_on_tracked_hooks(repo: &Repository, plan: &mut Plan, below_top: &Path) {
    let shown = below_top.display();
    let spec = format!(":(top,literal){shown}");
    let is_tracked = git(["ls-files", "--", &spec]).repository(repo).capture().is_ok_and(|files| !files.is_empty());
    if is_tracked {
        plan.remark(format!("the hooks in '{shown}' are tracked: our lines in them go to everybody once committed"));
    } else if below_top.ends_with(".husky/_") {
        plan.remark(format!("Husky writes '{shown}' anew when it is installed; run 'git shiftlog init' after that"));
    } else {
        return;
    }
    plan.hint("'git shiftlog init --no-git-hooks' leaves them alone; then what agents commit is recorded");
}

/// Why a hook's file is for the user to edit, and the line to add to it.
struct ByHand {
    what: String,
    line: String,
    is_tracked: bool,
}

/// Returns why the file that a hook leads to is for the user to edit, if it is.
fn by_hand(repo: &Repository, hooks: &Path, event: &str, is_committed: bool, program: &Path) -> Option<ByHand> {
    let path = hooks.join(event);
    let tracked = tracked_target(repo, &path).filter(|_| !is_committed);
    let shared = shared_with(hooks, event);
    let line = hook::line(event, &guard(program, is_committed || tracked.is_some()));
    let line = if shared.is_some() { hook::for_one(event, &line) } else { line };
    let what = match (&tracked, shared) {
        (Some(tracked), _) => format!("leads to the tracked file '{}'", tracked.display()),
        (None, Some(other)) if path.is_symlink() => {
            format!("leads to the same file '{}' as the hook {other}", file::real(&path).display())
        }
        (None, Some(other)) => format!("is the same file as the hook {other}"),
        (None, None) => return None,
    };
    Some(ByHand { what, line, is_tracked: tracked.is_some() })
}

/// Returns another hook that is the same script as this one. If a link leads from one of our events to the file of another, a
/// block for one of them would run for both. If they are hard links, an edit would make two files of them.
fn shared_with(hooks: &Path, event: &str) -> Option<String> {
    let path = hooks.join(event);
    let target = file::real(&path);
    let linked = EVENTS.iter().find(|other| **other != event && file::real(&hooks.join(other)) == target);
    let other = linked.map(|other| (*other).to_owned()).or_else(|| hard_link(hooks, event))?;
    // What no line can be added to is told in words of its own.
    let is_script = file::read(&path).is_ok_and(|text| text.is_none_or(|text| hook::is_shell_script(&text)));
    (is_script && !is_disabled(&path)).then_some(other)
}

/// Returns another file in the directory of hooks that is a hard link to a hook.
fn hard_link(hooks: &Path, event: &str) -> Option<String> {
    let place =
        |path: &Path| path.symlink_metadata().ok().filter(Metadata::is_file).map(|file| (file.dev(), file.ino()));
    let path = hooks.join(event);
    let own = place(&path).filter(|_| path.metadata().is_ok_and(|file| file.nlink() > 1))?;
    let mut names: Vec<String> =
        hooks.read_dir().ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names.into_iter().find(|name| name != event && place(&hooks.join(name)) == Some(own))
}

/// Returns the tracked file that a hook leads to through symbolic links: others would get what is private to this clone.
fn tracked_target(repo: &Repository, path: &Path) -> Option<PathBuf> {
    let target = file::real(path);
    let below_top = target.strip_prefix(repo.worktree()?.canonicalize().ok()?).ok()?.to_owned();
    if target.starts_with(repo.common_dir().canonicalize().ok()?) {
        return None;
    }
    let spec = format!(":(top,literal){}", below_top.display());
    git(["ls-files", "--error-unmatch", "--", &spec]).repository(repo).capture().ok().map(|_| below_top)
}
