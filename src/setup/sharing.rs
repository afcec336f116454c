//! What leaves the machine: the value of `shiftlog.push`, and the refspecs by which what others share is fetched.
//!
//! Read [`plan`]. A value that a user has set stays; where it would win over what is asked for, a value of ours comes after
//! it. One that still wins is told.

use bstr::ByteSlice as _;

use super::Share;
use crate::git::{Repository, git};
use crate::managed::{Edit, Plan};
use crate::outside;

/// The key of Git's config that says what is shared.
const PUSH_KEY: &str = "shiftlog.push";

/// Refs that are fetched from a remote, what they are called here, and whether they hold transcripts. Wildcards, because Git
/// refuses to fetch an exact ref that the remote does not have. The marks of what was removed for good say nothing of what
/// it was.
const FETCHED: [(&str, &str, bool); 3] = [
    ("refs/notes/shiftlog*", "notes*", false),
    ("refs/shiftlog/purged*", "purged*", false),
    ("refs/shiftlog/sessions*", "sessions*", true),
];

fn refspec(remote: &str, (ours, theirs, _): &(&str, &str, bool)) -> String {
    format!("+{ours}:refs/shiftlog/remotes/{remote}/{theirs}")
}

/// Returns the remote for which `init` has made a refspec: `git remote rename` leaves it the old name. `None` if it is none of
/// ours.
pub(super) fn remote_of(value: &str) -> Option<&str> {
    FETCHED.iter().find_map(|fetched| {
        let made = refspec("\0", fetched);
        let (head, tail) = made.split_once('\0')?;
        value.strip_prefix(head)?.strip_suffix(tail).filter(|remote| !remote.is_empty())
    })
}

/// Returns the level that a value of `shiftlog.push` means.
fn level(value: &str) -> &str {
    if ["false", "no", "off", ""].contains(&value) { "none" } else { value }
}

/// Plans that as much is shared and fetched as is asked for.
pub(super) fn plan(repo: &Repository, plan: &mut Plan, share: Share) {
    let wanted = match share {
        Share::Nothing => "none",
        Share::Notes => "notes",
        Share::All => "all",
    };
    plan_level(repo, plan, wanted);
    let remotes = git(["remote"]).repository(repo).capture().unwrap_or_default();
    let remotes: Vec<String> = remotes.lines().map(|line| line.to_str_lossy().into_owned()).collect();
    if remotes.is_empty() && share != Share::Nothing {
        plan.remark("there is no remote to share with yet; run this again when there is one".into());
    }
    // A plain `git fetch` tells of every ref that moves; not everybody wants to see ours there.
    let is_fetched = repo.config_bool("shiftlog.fetch") != Some(false) && share != Share::Nothing;
    for remote in remotes {
        let key = format!("remote.{remote}.fetch");
        let is_wanted = |fetched: &&(&str, &str, bool)| is_fetched && (!fetched.2 || share == Share::All);
        let wanted: Vec<String> = FETCHED.iter().filter(is_wanted).map(|fetched| refspec(&remote, fetched)).collect();
        // Also those that it has from the time when it had another name.
        plan.remove_config(&key, |value| !wanted.iter().any(|wanted| wanted == value));
        wanted.iter().for_each(|refspec| plan.add_config(repo, &key, refspec));
    }
}

/// Plans the value of `shiftlog.push`, and tells of values that win over it.
fn plan_level(repo: &Repository, plan: &mut Plan, wanted: &str) {
    let is_later = |scope: &str| ["worktree", "command"].contains(&scope);
    let (later, values): (Vec<_>, Vec<_>) =
        repo.config_with_scopes(PUSH_KEY).into_iter().partition(|(scope, _)| is_later(scope));
    let is_ours = |(scope, value): &&(String, String)| scope == "local" && plan.has_set(PUSH_KEY, value);
    let of_user = values.iter().rev().find(|entry| !is_ours(entry));
    let is_default = wanted == "none" && of_user.is_none_or(|(_, value)| level(value) == "none");
    if is_default {
        plan.remove_config(PUSH_KEY, |_| true);
    } else if values.last().is_some_and(|(_, value)| value == wanted) {
        plan.remove_config(PUSH_KEY, |value| value != wanted);
    } else {
        plan.remove_config(PUSH_KEY, |_| true);
        plan.append_config(PUSH_KEY, wanted);
    }
    let wins = later.into_iter().next_back().map(|(_, value)| (PUSH_KEY.to_owned(), value));
    for (key, value) in wins.into_iter().chain(of_remotes(repo)).filter(|(_, value)| level(value) != wanted) {
        plan.remark(format!("{key} is '{value}', which 'git shiftlog init' did not set, and wins"));
        plan.hint(&format!("git config --show-origin --get {}    # says where that is set", outside::shell(&key)));
    }
}

/// Returns what is said about single remotes, which are named by their names or URLs.
fn of_remotes(repo: &Repository) -> Vec<(String, String)> {
    let remotes = repo.remotes();
    let mut names = repo.config_subsections("shiftlog");
    names.retain(|name| remotes.contains(name) || name.contains([':', '/']));
    let value = |name: String| {
        let key = format!("shiftlog.{name}.push");
        repo.config_string(&key).map(|value| (key, value))
    };
    names.into_iter().filter_map(value).collect()
}

/// Tells what is shared already, where nobody says in this run what shall be and `init` has not set it.
pub(super) fn remark_on_present(repo: &Repository, plan: &mut Plan) {
    let of_all = repo.config_string(PUSH_KEY).map(|value| (PUSH_KEY.to_owned(), value));
    for (key, value) in of_all.into_iter().chain(of_remotes(repo)) {
        let what = match level(&value) {
            _ if plan.has_set(&key, &value) => continue,
            "notes" => "notes",
            "all" => "notes and transcripts",
            _ => continue,
        };
        plan.remark(format!("a push publishes {what}: {key} is '{value}', which 'git shiftlog init' did not set"));
        match key == PUSH_KEY {
            true => plan.hint("'git shiftlog init --no-share' turns that off"),
            false => plan
                .hint(&format!("git config --show-origin --get {}    # says where that is set", outside::shell(&key))),
        }
    }
}

/// Tells which values of the repository's config stay though they can be ours: those that share, refspecs as `init` makes
/// them, and, where it is unknown what was installed, everything about this program.
pub(super) fn remark_on_rest(repo: &Repository, plan: &mut Plan, is_unknown: bool) {
    for (key, value) in repo.own_config() {
        let goes = |step: &Edit| matches!(step, Edit::RemoveConfig { key: k, value: v } if *k == key && *v == value);
        let is_refspec = key.starts_with("remote.") && key.ends_with(".fetch") && remote_of(&value).is_some();
        let is_of_program = key.starts_with("shiftlog.");
        let shares = is_of_program && key.ends_with(".push") && level(&value) != "none";
        let can_be_ours = is_refspec || shares || is_unknown && is_of_program;
        if !can_be_ours || plan.edits().iter().any(goes) {
            continue;
        }
        plan.remark(format!("{key} is '{value}' and stays, since nothing says that 'git shiftlog init' set it"));
        let (key, value) = (outside::shell(&key), outside::shell(&value));
        plan.hint(&format!("git config --unset-all --fixed-value {key} {value}    # removes it"));
    }
}
