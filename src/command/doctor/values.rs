//! Values of the config that mean nothing: whoever wrote them wanted something else than the default.

use crate::cli;
use crate::git::{self, REMOTES_PREFIX, Repository, date};
use crate::mcp::{EARLIER_NAME, LOGS_NAME, NAME, RULES_NAME, Toolset};
use crate::setup::{Finding, advice};
use crate::share::sync::Level;
use crate::stats::Prices;
use crate::{agent, notes, outside};

/// A key, what its value must be, and a value that takes the place of a bad one.
struct Key {
    name: &'static str,
    is_good: fn(&Repository, &str) -> bool,
    good: &'static str,
}

/// The keys with a value that can be checked by itself.
const KEYS: &[Key] = &[
    Key { name: "shiftlog.push", is_good: is_level, good: "none    # or notes, or all" },
    Key { name: "shiftlog.gitHooks", is_good: |repo, _| is_bool(repo, "shiftlog.gitHooks"), good: "true" },
    Key { name: "shiftlog.fetch", is_good: |repo, _| is_bool(repo, "shiftlog.fetch"), good: "true" },
    Key { name: "shiftlog.carryOnRead", is_good: |repo, _| is_bool(repo, "shiftlog.carryOnRead"), good: "true" },
    Key { name: "shiftlog.allowMirror", is_good: |repo, _| is_bool(repo, "shiftlog.allowMirror"), good: "false" },
    Key { name: "shiftlog.sign", is_good: |repo, _| is_bool(repo, "shiftlog.sign"), good: "true    # or false" },
    Key {
        name: "shiftlog.rulesIncludeHome",
        is_good: |repo, _| is_bool(repo, "shiftlog.rulesIncludeHome"),
        good: "false",
    },
    Key { name: "advice.shiftlog", is_good: |repo, _| is_bool(repo, "advice.shiftlog"), good: "true" },
    Key {
        name: "shiftlog.rules",
        is_good: |repo, value| value == "all" || is_bool(repo, "shiftlog.rules"),
        good: "true    # or all, or false",
    },
    Key {
        name: "shiftlog.hookTimeout",
        is_good: |repo, _| repo.config_integer("shiftlog.hookTimeout").is_some_and(|seconds| seconds >= 1),
        good: "5    # seconds",
    },
    Key {
        name: "shiftlog.notesRef",
        is_good: |_, value| git::is_ref_name(&notes::expand_ref(value)),
        good: notes::DEFAULT_REF,
    },
    Key {
        name: "shiftlog.trustPurges",
        is_good: |_, value| ["all", "signed"].contains(&value),
        good: "all    # or signed",
    },
    Key {
        name: "shiftlog.mcp.name",
        is_good: |_, value| [NAME, EARLIER_NAME, LOGS_NAME, RULES_NAME].contains(&value),
        good: NAME,
    },
    Key { name: "shiftlog.mcp.toolset", is_good: |_, value| Toolset::parse(value).is_ok(), good: "auto" },
    Key { name: "shiftlog.summariseAgent", is_good: can_be_asked, good: "claude    # or another agent" },
    Key { name: "shiftlog.indexAgent", is_good: can_be_asked, good: "claude    # or another agent" },
    Key {
        name: "shiftlog.index",
        is_good: |repo, value| value == "commit" || repo.config_bool("shiftlog.index") == Some(false),
        good: "commit    # or false",
    },
    Key {
        name: "shiftlog.pricesFrom",
        is_good: |_, value| !value.is_empty() && !value.starts_with('-'),
        good: "'<url of a clone of the project>'",
    },
    Key { name: "color.shiftlog", is_good: |_, value| cli::is_color_when(value), good: "auto" },
    Key {
        name: "log.date",
        is_good: |_, value| date::Format::parse(value.strip_prefix("auto:").unwrap_or(value)).is_ok(),
        good: "default",
    },
];

/// The other keys of the section.
const OTHERS: [&str; 8] = [
    "browser",
    "prices",
    "redact",
    "redact.allow",
    "redact.allowSha256",
    "redact.pattern",
    "redact.personal",
    "sessionsRemote",
];
/// The keys that define an agent.
const OF_AGENT: [&str; 3] = ["transcript", "format", "resume"];

/// The colours of `git grep` that we use, too, each with what it is by default.
const GREP_COLORS: [(&str, &str); 4] =
    [("match", "bold red"), ("filename", "magenta"), ("lineNumber", "green"), ("separator", "cyan")];

/// The words of `shiftlog.agent.<name>.format`.
const FORMAT_WORDS: [&str; 6] = ["role", "text", "time", "model", "session", "cwd"];

/// Looks at the value of each key of ours.
pub(super) fn bad(repo: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for Key { name, is_good, good } in KEYS {
        findings
            .extend(repo.config_string(name).and_then(|value| check(repo, name, &value, is_good(repo, &value), good)));
    }
    for remote in [repo.remotes(), Level::left_behind(repo)].concat() {
        let name = format!("shiftlog.{remote}.push");
        let value = repo.config_string(&name);
        findings.extend(
            value.and_then(|value| check(repo, &name, &value, is_level(repo, &value), "none    # or notes, or all")),
        );
    }
    findings.extend(Level::left_behind(repo).iter().map(|name| left_behind(repo, name)));
    let of_slot = |(slot, color)| (format!("color.shiftlog.{slot}"), color);
    let of_grep = |(slot, color)| (format!("color.grep.{slot}"), color);
    for (name, color) in cli::SLOTS.map(of_slot).into_iter().chain(GREP_COLORS.map(of_grep)) {
        let value = repo.config_string(&name);
        findings
            .extend(value.and_then(|value| check(repo, &name, &value, cli::is_color(&value), &outside::shell(color))));
    }
    findings.extend(sessions_remote(repo));
    findings.extend(prices(repo));
    findings.extend(browser(repo));
    findings.extend(agents(repo));
    findings.extend(repo.config_names("shiftlog").iter().filter(|name| !is_known(name)).map(|name| {
        let subject = outside::line(&format!("shiftlog.{name}"));
        Finding::note(format!("{subject} has no effect: there is no such key; 'git help shiftlog' lists the keys"))
    }));
    findings
}

/// Says whether there is a key of this name below `shiftlog`.
fn is_known(name: &str) -> bool {
    let is_among = |known: &[&str], name: &str| known.iter().any(|known| known.eq_ignore_ascii_case(name));
    let is_of_subsection = match name.rsplit_once('.') {
        Some((section, last)) if section.starts_with("agent.") => is_among(&OF_AGENT, last),
        // That of a remote.
        Some((_, last)) => is_among(&["push"], last),
        None => false,
    };
    let keys: Vec<&str> = KEYS.iter().filter_map(|key| key.name.strip_prefix("shiftlog.")).collect();
    is_of_subsection || is_among(&keys, name) || is_among(&OTHERS, name)
}

fn check(repo: &Repository, name: &str, value: &str, is_good: bool, good: &str) -> Option<Finding> {
    let what = || format!("'{}' is not a value for it", outside::line(value));
    (!is_good).then(|| Finding::problem(name, &what(), &advice::set(repo, name, good)))
}

fn is_bool(repo: &Repository, key: &str) -> bool {
    repo.config_bool(key).is_some()
}

fn is_level(_: &Repository, value: &str) -> bool {
    Level::parse(value).is_some()
}

fn can_be_asked(_: &Repository, name: &str) -> bool {
    agent::all().filter_map(|agent| agent.ask()).any(|ask| ask.name == name)
}

/// The entry of a remote that was renamed, as `git remote rename` leaves it, or removed.
fn left_behind(repo: &Repository, name: &str) -> Finding {
    let section = |name: &str| format!("shiftlog.{name}");
    let key = format!("{}.push", section(name));
    let level = |key: &str| repo.config_string(key).and_then(|value| Level::parse(&value)).unwrap_or_default();
    if level(&key) >= level("shiftlog.push") {
        let what = "has no effect: there is no remote";
        return Finding::note(format!("{} {what} '{}'", outside::line(&key), outside::line(name)));
    }
    let scope = match repo.config_with_scopes(&key).pop() {
        Some((scope, _)) if scope != "local" => format!("--{scope} "),
        _ => String::new(),
    };
    let remotes = repo.remotes();
    let has_none = |remote: &&String| repo.config_string(&format!("{}.push", section(remote))).is_none();
    let fix = match remotes.iter().filter(has_none).collect::<Vec<_>>()[..] {
        [remote] => {
            let [from, to] = [name, remote].map(|name| outside::shell(&section(name)));
            format!("git config {scope}--rename-section {from} {to}")
        }
        _ => format!("git config {scope}--unset {}", outside::shell(&key)),
    };
    let what = format!("there is no remote '{}'; it holds for each remote without an entry", outside::line(name));
    Finding::problem(outside::line(&key), &what, &fix)
}

/// Transcripts go to a remote of this repository. No fix sends them to another one than before: which remote it was is known
/// if that has the refspecs that we gave it.
fn sessions_remote(repo: &Repository) -> Option<Finding> {
    let (key, remotes) = ("shiftlog.sessionsRemote", repo.remotes());
    let value = repo.config_string(key).filter(|value| !remotes.contains(value))?;
    let copies = [":", REMOTES_PREFIX, &value, "/"].concat();
    let was_it = |remote: &&String| {
        repo.config_strings(&format!("remote.{remote}.fetch")).iter().any(|refspec| refspec.contains(&copies))
    };
    let fix = match remotes.iter().find(was_it) {
        Some(remote) => format!("git config {key} {}", outside::shell(remote)),
        None => format!("git config {key} <remote>    # transcripts go there, and nowhere else"),
    };
    Some(Finding::problem(key, &format!("there is no remote '{}'", outside::line(&value)), &fix))
}

fn prices(repo: &Repository) -> Option<Finding> {
    let error = Prices::configured(repo, None).err()?;
    let fix = "correct the file, or git config shiftlog.prices ''";
    Some(Finding::problem("shiftlog.prices", &error.to_string(), fix))
}

/// As 'git web--browse' finds a browser: by a command or a path in the config, or on PATH.
fn browser(repo: &Repository) -> Option<Finding> {
    let (key, value) = ("shiftlog.browser", repo.config_string("shiftlog.browser")?);
    let is_configured =
        ["cmd", "path"].iter().any(|name| repo.config_string(&format!("browser.{value}.{name}")).is_some());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_known = is_configured || std::env::split_paths(&path).any(|directory| directory.join(&value).is_file());
    let name = outside::line(&value);
    let fix = format!("git config {} <command>", outside::shell(&format!("browser.{value}.cmd")));
    (!is_known).then(|| Finding::problem(key, &format!("there is no program '{name}' on PATH"), &fix))
}

/// Definitions of agents that define none, and words of their formats that mean nothing.
fn agents(repo: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for section in repo.config_subsections("shiftlog") {
        let Some(name) = section.strip_prefix("agent.") else { continue };
        let key = |last: &str| format!("shiftlog.{section}.{last}");
        if !OF_AGENT.iter().any(|last| repo.config_string(&key(last)).is_some()) {
            continue;
        }
        let is_defined = agent::all().any(|agent| agent.name() == name);
        let subject = outside::line(&format!("shiftlog.{section}"));
        if repo.config_string(&key("transcript")).is_none_or(|value| value.is_empty()) {
            let fix = format!("git config {} <path>", outside::shell(&key("transcript")));
            findings.push(Finding::problem(subject, "it does not say where the transcripts are", &fix));
        } else if !is_defined {
            let fix = format!(
                "git config --rename-section {} shiftlog.agent.<name>",
                outside::shell(&format!("shiftlog.{section}"))
            );
            findings.push(Finding::problem(
                subject,
                &format!("'{}' cannot be the name of an agent", outside::line(name)),
                &fix,
            ));
        }
        let format = repo.config_string(&key("format")).unwrap_or_default();
        let is_known = |word: &&str| word.split_once('=').is_some_and(|(word, _)| FORMAT_WORDS.contains(&word));
        if let Some(word) = format.split_whitespace().find(|word| !is_known(word)) {
            let (key, word) = (key("format"), outside::line(word));
            let fix = format!(
                "git config {} 'role=<key> text=<key> ...'    # see man gitshiftlog-agents",
                outside::shell(&key)
            );
            findings.push(Finding::problem(outside::line(&key), &format!("'{word}' means nothing in it"), &fix));
        }
    }
    findings
}
