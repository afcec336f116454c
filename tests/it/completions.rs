//! Completions offer what the option definitions say, and no more.

use std::fs;
use std::path::Path;

use clap_complete::Shell;
use shiftlog::cli::prepared;
use shiftlog::command;

use crate::documents::{long_options, root};
use crate::support::Scratch;

const GENERATED: &str = "# What follows is generated from the definitions of the options; a test compares them.\n";

#[test]
fn completions_are_those_of_the_option_definitions() {
    for (shell, file) in [(Shell::Zsh, "_git-shiftlog"), (Shell::Fish, "git-shiftlog.fish")] {
        let path = root().join("completions").join(file);
        let text = fs::read_to_string(&path).unwrap();
        let (glue, there) = text.split_once(GENERATED).expect("the mark is there");
        let mut generated: String = command::ALL.iter().map(|listed| completion(shell, listed)).collect();
        if shell == Shell::Zsh {
            // The first Tab reads the file, which then has to be told to complete something, too.
            generated.push_str("\n_git-shiftlog \"$@\"\n");
        }
        if std::env::var_os("SNAPSHOTS").is_some_and(|value| value == "overwrite") {
            fs::write(&path, format!("{glue}{GENERATED}{generated}")).unwrap();
        } else {
            assert!(there == generated, "{file} is stale; SNAPSHOTS=overwrite brings it up to date");
        }
        if shell == Shell::Zsh {
            for listed in command::ALL {
                assert!(glue.contains(&format!("'{}:", listed.name)), "{file}: {}", listed.name);
            }
        }
        if shell == Shell::Fish {
            for listed in command::ALL {
                assert!(
                    glue.contains(&format!("-a {} -d '{}'", listed.name, listed.summary)),
                    "{file}: {}",
                    listed.name
                );
            }
        }
    }
}

#[test]
fn completions_know_all_agents_and_those_that_can_be_started() {
    for file in ["git-shiftlog.bash", "_git-shiftlog", "git-shiftlog.fish"] {
        let text = fs::read_to_string(root().join("completions").join(file)).unwrap();
        let lists = text.lines().filter_map(|line| line.split("claude codex gemini").nth(1));
        let lists: Vec<Vec<&str>> = lists
            .map(|rest| ["claude", "codex", "gemini"].into_iter().chain(rest.split([' ', '"'])).collect())
            .map(|names: Vec<&str>| names.into_iter().filter(|name| !name.is_empty()).collect())
            .collect();
        let names = |is_wanted: &dyn Fn(&dyn shiftlog::agent::Agent) -> bool| -> Vec<&str> {
            shiftlog::agent::ALL.iter().filter(|agent| is_wanted(**agent)).map(|agent| agent.name()).collect()
        };
        let [all, starters, askers] = lists.as_slice() else { panic!("{file}: {lists:?}") };
        let sorted = |names: &[&str]| {
            let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            names.sort();
            names
        };
        assert_eq!(sorted(all), sorted(&names(&|_| true)), "{file}");
        assert_eq!(sorted(starters), sorted(&names(&|agent| agent.opening("").is_some())), "{file}");
        assert_eq!(sorted(askers), sorted(&names(&|agent| agent.ask().is_some())), "{file}");
    }
}

#[test]
fn the_completion_of_bash_serves_every_program() {
    let text = fs::read_to_string(root().join("completions/git-shiftlog.bash")).unwrap();
    let (_, programs) = text.rsplit_once("-F __git_shiftlog_main").unwrap();
    let programs: Vec<&str> = programs.split_whitespace().filter(|word| *word != "\\").collect();
    let own = command::ALL.iter().map(|listed| format!("git-shiftlog-{}", listed.name));
    assert_eq!(programs, std::iter::once("git-shiftlog".to_owned()).chain(own).collect::<Vec<_>>());
    // The value behind a letter is no revision.
    for listed in command::ALL {
        let command = (listed.options)();
        let takes_word = |arg: &&clap::Arg| arg.get_action().takes_values() && !arg.is_require_equals_set();
        for letter in command.get_arguments().filter(takes_word).filter_map(clap::Arg::get_short) {
            let start = format!("{},-", listed.name);
            let has_it = |pattern: &str| {
                pattern.trim_end_matches(')').strip_prefix(&start).is_some_and(|letters| letters.contains(letter))
            };
            let cases = text.lines().filter(|line| line.starts_with('\t') && line.ends_with(')'));
            assert!(cases.flat_map(|line| line.trim().split('|')).any(has_it), "{} -{letter}", listed.name);
        }
    }
}

/// What the functions of the glue complete: values of options.
const OPTION_VALUES: &[(&str, &str)] = &[
    ("agent", "agents"),
    ("as", "starters"),
    ("session", "sessions"),
    ("model", "recorded_models"),
    ("ref", "notes_refs"),
    ("attach", "revisions"),
    ("contains", "revisions"),
    ("ignore-rev", "revisions"),
    ("date", "dates"),
    ("format", "formats"),
    ("pretty", "formats"),
    ("sort", "sort_keys"),
    ("branches", "branch_names"),
    ("tags", "tag_names"),
    ("remotes", "remote_names"),
    ("by", "stats_keys"),
    ("in", "parts"),
    ("mcp", "clients"),
    ("browser", "browsers"),
    ("toolset", "toolsets"),
    ("only", "rules_agents"),
];

/// What they complete where no option stands.
const WORDS: &[(&[&str], &str)] = &[
    (&["show"], "revisions_sessions_and_paths"),
    (&["resume"], "revisions_and_sessions"),
    (&["log", "grep", "search", "stats", "scan", "web", "why", "blame"], "revisions_and_paths"),
    (&["export", "summarise", "add", "remap", "purge", "verify"], "revisions"),
    (&["sync"], "remotes"),
    (&["prices"], "models"),
    (&["rules"], "rules_actions"),
    (&["index"], "index_actions"),
    (&["evidence"], "evidence_actions"),
];

/// Values of options that are files, or patterns of paths.
const FILES: &[&str] = &["file", "directory", "path", "pathspec", "repository"];

/// Has no file offered for a value that is none.
fn with_hint(listed: &command::Listed, arg: clap::Arg) -> clap::Arg {
    let is_file = value_of(&arg).is_none_or(|value| FILES.contains(&&*value));
    let is_completed = arg.get_long().is_some_and(|long| function_of(listed, long).is_some());
    if arg.is_positional() || is_file || is_completed { arg } else { arg.value_hint(clap::ValueHint::Other) }
}

/// Returns the name of the value that an option takes, if it takes one.
fn value_of(arg: &clap::Arg) -> Option<String> {
    let takes_value = arg.get_action().takes_values() && !arg.is_positional();
    takes_value.then(|| arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string)).flatten()
}

/// Returns the function of the glue that completes the values of an option of a command. Only 'log' knows Git's names of formats.
fn function_of(listed: &command::Listed, option: &str) -> Option<&'static str> {
    // These have an agent answer.
    if option == "agent" && ["summarise", "index"].contains(&listed.name) {
        return Some("askers");
    }
    let function = OPTION_VALUES.iter().find(|(name, _)| *name == option).map(|(_, function)| *function);
    function.filter(|function| *function != "formats" || ["log", "list"].contains(&listed.name))
}

/// A command, its actions, and the options that only some of them have.
type OfActions<'a> = (&'a str, &'a [&'a str], &'a [(&'a str, &'a [&'a str])]);

const OF_ACTIONS: &[OfActions<'_>] = &[
    (
        "evidence",
        &["list", "attach", "show", "drop", "pull"],
        &[
            ("kind", &["attach"]),
            ("note", &["attach"]),
            ("words", &["attach", "pull"]),
            ("json", &["list", "pull"]),
            ("since", &["pull"]),
            ("until", &["pull"]),
            ("user", &["pull"]),
            ("failed", &["pull"]),
            ("max-count", &["pull"]),
            ("target", &["pull"]),
            ("attach", &["pull"]),
        ],
    ),
    (
        "index",
        &["init", "validate", "scan", "watch", "status", "issues", "keys", "get"],
        &[
            ("locations", &["validate"]),
            ("json", &["status"]),
            ("agent", &["scan", "watch"]),
            ("model", &["scan", "watch"]),
            ("yes", &["scan", "watch"]),
            ("dry-run", &["init", "scan"]),
        ],
    ),
];

/// Returns the actions of a command that refuse an option.
fn refusing_actions(listed: &command::Listed, option: &str) -> Vec<&'static str> {
    let of_command = OF_ACTIONS.iter().find(|(name, ..)| *name == listed.name);
    let of_option = |(_, all, options): &(_, &[&'static str], &[(&str, &[&str])])| {
        let (_, having) = options.iter().find(|(name, _)| *name == option)?;
        Some(all.iter().filter(|action| !having.contains(action)).copied().collect())
    };
    of_command.and_then(of_option).unwrap_or_default()
}

/// Returns the name of the variable of zsh that is empty behind one of these actions.
fn variable(actions: &[&str]) -> String {
    format!("without_{}", actions.join("_"))
}

#[test]
fn an_option_that_an_action_refuses_is_not_offered_behind_it() {
    let scratch = Scratch::new();
    let glue = fs::read_to_string(root().join("completions/git-shiftlog.bash")).unwrap();
    for listed in command::ALL {
        let options = (listed.options)();
        for arg in options.get_arguments() {
            let Some(long) = arg.get_long() else { continue };
            for action in refusing_actions(listed, long) {
                let typed = if value_of(arg).is_some() { format!("--{long}=1") } else { format!("--{long}") };
                let ran = scratch.shiftlog(listed.name, [action, &typed]);
                assert_eq!(ran.code, 129, "{} {action} {typed}: {ran:?}", listed.name);
                let start = glue.find(&format!("\t{},--*)", listed.name)).unwrap();
                let of_command = &glue[start..start + glue[start..].find("\n\t\tesac").unwrap()];
                let offered = of_command.lines().find(|line| {
                    let actions = line.trim().split(") ").next().unwrap_or_default();
                    actions.split('|').any(|known| known == action)
                });
                let offered = offered.or_else(|| of_command.lines().find(|line| line.starts_with("\t\t*)"))).unwrap();
                assert!(!offered.contains(&format!("--{long}")), "{} {action}: {offered}", listed.name);
            }
        }
    }
}

/// Has no option offered behind an action that refuses it.
fn behind_actions(shell: Shell, listed: &command::Listed, text: &str) -> String {
    let options = (listed.options)();
    let longs = || options.get_arguments().filter_map(clap::Arg::get_long);
    let sets: std::collections::BTreeSet<_> = longs().map(|long| refusing_actions(listed, long)).collect();
    let define = |set: &Vec<&str>| {
        let (variable, actions) = (variable(set), set.join("|"));
        format!("\n    local {variable}=yes\n    (( ${{words[(I)({actions})]}} )) && {variable}=")
    };
    let defined: String = sets.iter().filter(|set| !set.is_empty()).map(define).collect();
    let behind = |line: &str| {
        let has_long = |name: &str| match shell {
            Shell::Zsh => ["=[", "[", "=-["].iter().any(|end| line.contains(&format!("--{name}{end}"))),
            _ => line.contains(&format!(" -l {name} ")),
        };
        let has_short = |short: char| shell == Shell::Zsh && line.starts_with(&format!("'-{short}"));
        let is_meant =
            |arg: &&clap::Arg| arg.get_long().is_some_and(has_long) || arg.get_short().is_some_and(has_short);
        let refusing = options.get_arguments().find(is_meant).and_then(clap::Arg::get_long);
        let refusing = refusing.map(|long| refusing_actions(listed, long)).unwrap_or_default();
        match shell {
            Shell::Zsh if line.trim_start().starts_with("local context curcontext=") => format!("{line}{defined}"),
            _ if refusing.is_empty() => line.to_owned(),
            Shell::Zsh => format!("${{{}:+{}}} \\", variable(&refusing), line.trim_end_matches(" \\")),
            // Values can stand on further lines.
            _ => {
                let command = format!("complete -c git-shiftlog-{}", listed.name);
                let condition = format!("{command} -n 'not __fish_git_shiftlog_has_one_of {}'", refusing.join(" "));
                line.replacen(&command, &condition, 1)
            }
        }
    };
    text.lines().map(behind).collect::<Vec<_>>().join("\n")
}

/// Has the glue complete what clap knows nothing of.
fn with_values(shell: Shell, listed: &command::Listed, text: &str) -> String {
    let words = WORDS.iter().find(|(names, _)| names.contains(&listed.name)).map(|(_, function)| *function);
    let options = (listed.options)();
    let mut lines = Vec::new();
    for line in text.lines() {
        let of_option = |(name, _): &&(&str, &str)| match shell {
            Shell::Zsh => line.contains(&format!("--{name}=[")),
            _ => line.contains(&format!(" -l {name} ")),
        };
        let function = OPTION_VALUES.iter().find(of_option).and_then(|(name, _)| function_of(listed, name));
        let line = match (shell, function) {
            (Shell::Zsh, Some(function)) => {
                line.replace(":_default'", &format!(":_git-shiftlog-{}'", function.replace('_', "-")))
            }
            (Shell::Zsh, None) if line.contains(" -- ") && line.ends_with(":_default' \\") => match words {
                Some(words) => line.replace(":_default'", &format!(":_git-shiftlog-{}'", words.replace('_', "-"))),
                None if ["get", "keys"].contains(&listed.name) => line.replace(":_default'", ": '"),
                None => line.to_owned(),
            },
            (Shell::Fish, Some(function)) if line.ends_with(" -r") => {
                format!("{line} -f -a '(__fish_git_shiftlog_{function})'")
            }
            _ => line.to_owned(),
        };
        // A value that may be left out stands in the same word.
        let is_optional = |name: &&str| match shell {
            Shell::Zsh => line.contains(&format!("--{name}=[")),
            _ => line.contains(&format!(" -l {name} ")),
        };
        let optional =
            options.get_arguments().filter(|arg| arg.is_require_equals_set()).filter_map(clap::Arg::get_long);
        lines.push(match (shell, optional.into_iter().find(is_optional)) {
            (Shell::Zsh, Some(name)) => line.replace(&format!("--{name}=["), &format!("--{name}=-[")),
            (Shell::Fish, Some(_)) => line.replace(" -r -f -a ", " -f -a ").trim_end_matches(" -r").to_owned(),
            _ => line,
        });
    }
    lines.join("\n")
}

/// Returns what clap generates for a program, fitted into the one file of a shell.
fn completion(shell: Shell, listed: &command::Listed) -> String {
    let name = format!("git-shiftlog-{}", listed.name);
    let mut bytes = Vec::new();
    let options = prepared((listed.options)()).mut_args(|arg| with_hint(listed, arg));
    clap_complete::generate(shell, &mut options.clone(), &name, &mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    let text = match shell {
        // zsh wants one '#compdef' line a file and finds the function by name.
        Shell::Zsh => {
            let body = text.split_once('\n').unwrap().1;
            let body = body.split("\nif [ \"$funcstack[1]\"").next().unwrap();
            // With '*:', zsh offers options behind a word too; with '*::' it does not.
            body.replace(&format!("_{name}"), &format!("_{name}-options")).replace("\n'*::", "\n'*:")
        }
        _ => text,
    };
    let text = behind_actions(shell, listed, &with_values(shell, listed, &text));
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    format!("\n{}\n", lines.join("\n").trim_matches('\n'))
}

#[test]
fn the_glue_for_git_offers_every_option() {
    let text = fs::read_to_string(root().join("completions/git-shiftlog.bash")).unwrap();
    let glue = &text;
    for listed in command::ALL {
        let start =
            glue.find(&format!("\t{},--*", listed.name)).unwrap_or_else(|| panic!("{} is in the glue", listed.name));
        let words = &glue[start..start + glue[start..].find(";;").unwrap()];
        for option in long_options(&(listed.options)()) {
            let has_it = words
                .split_whitespace()
                .any(|word| word.trim_matches('"').trim_end_matches('=') == format!("--{option}"));
            assert!(has_it, "{}: --{option}", listed.name);
        }
        // The value of each can be the next word.
        let own_word = |arg: &&clap::Arg| !arg.is_require_equals_set() && value_of(arg).is_some();
        for option in (listed.options)().get_arguments().filter(own_word).filter_map(clap::Arg::get_long) {
            let mut cases = glue.lines().filter(|line| line.starts_with("\t--") || line.starts_with("\t*\\ --"));
            let has_it = |line: &str| line.split(['|', '\t', ' ', ')', '\\']).any(|word| word == format!("--{option}"));
            assert!(cases.any(has_it), "{}: a value of --{option} in a word of its own", listed.name);
        }
        assert!(
            glue.contains(&format!(" {} ", listed.name))
                || glue.contains(&format!("\"{} ", listed.name))
                || glue.contains(&format!(" {}\"", listed.name))
        );
    }
}

#[test]
fn git_shiftlog_completes_through_gits_own_completion() {
    let candidates = ["/usr/share/bash-completion/completions/git", "/etc/bash_completion.d/git"];
    let Some(gits) = candidates.iter().find(|path| Path::new(path).is_file()) else {
        super::support::skip("no completion of Git here");
        return;
    };
    let scratch = Scratch::new();
    scratch.git(["branch", "feature-one"]).ok();
    let complete = |words: &[&str]| {
        let list: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let script = format!(
            "source {gits}; source {ours}; COMP_WORDS=({words}); COMP_CWORD={at}; COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; \
             __git_wrap__git_main; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            ours = root().join("completions/git-shiftlog.bash").display(),
            words = list.join(" "),
            at = words.len() - 1,
            line = words.join(" "),
        );
        let ran = scratch.run_in(&scratch.top, "bash", ["-c", &script]);
        ran.stdout.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>()
    };
    assert!(complete(&["git", "shiftlog", ""]).contains(&"branches".to_owned()));
    assert!(complete(&["git", "shiftlog", "show", "feat"]).contains(&"feature-one".to_owned()));
    assert!(complete(&["git", "shiftlog", "show", "--to"]).contains(&"--tool-output=".to_owned()));
    assert_eq!(complete(&["git", "shiftlog", "show", "--tool-output=sh"]), ["short"]);
}
