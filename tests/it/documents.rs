//! Manual pages and usage say what the option definitions say.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use shiftlog::cli::PAGES;
use shiftlog::command;

use crate::support::Scratch;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Returns the long options of a command, other names included.
pub fn long_options(command: &clap::Command) -> BTreeSet<String> {
    let args = command.get_arguments().filter(|arg| !arg.is_positional());
    args.flat_map(|arg| {
        let aliases = arg.get_visible_aliases().unwrap_or_default().into_iter().map(str::to_owned);
        arg.get_long().map(str::to_owned).into_iter().chain(aliases).collect::<Vec<_>>()
    })
    .collect()
}

fn page(name: &str) -> String {
    PAGES.iter().find(|page| page.name == name).unwrap_or_else(|| panic!("no page {name}")).source()
}

#[test]
fn every_option_is_in_its_manual_page_and_no_other() {
    for listed in command::ALL {
        let command = (listed.options)();
        let source = page(&format!("git-shiftlog-{}", listed.name));
        let described: BTreeSet<String> = source
            .lines()
            .filter(|line| line.starts_with(".It Fl"))
            .flat_map(|line| {
                line.split("Fl -")
                    .skip(1)
                    .map(|rest| rest.split_whitespace().next().unwrap().to_owned())
                    .collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(described, long_options(&command), "{}", listed.name);
        for arg in command.get_arguments() {
            if let Some(short) = arg.get_short() {
                assert!(source.contains(&format!(".It Fl {short}")), "{}: -{short}", listed.name);
            }
        }
        assert!(
            source.contains(&format!(".Nd {}", lower_first(listed.summary))),
            "{}: {}",
            listed.name,
            listed.summary
        );
    }
}

fn lower_first(text: &str) -> String {
    text[..1].to_lowercase() + &text[1..]
}

#[test]
fn every_page_is_listed_and_every_command_has_one() {
    let mut files: Vec<String> = fs::read_dir(root().join("man"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let mut listed: Vec<String> = PAGES.iter().map(|page| page.file_name()).collect();
    listed.sort();
    assert_eq!(files, listed);
    let main = page("git-shiftlog");
    for listed in command::ALL {
        assert!(
            main.contains(&format!(".It Xr git-shiftlog-{} 1\n{}.", listed.name, listed.summary)),
            "{}",
            listed.name
        );
    }
}
#[test]
fn usage_goes_to_stdout_and_names_the_command_as_typed() {
    let scratch = Scratch::new();
    for listed in command::ALL {
        let ran = scratch.shiftlog(listed.name, ["-h"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", listed.name);
        assert!(ran.stdout.starts_with(&format!("usage: git shiftlog {}", listed.name)), "{}", ran.stdout);
    }
}

#[test]
fn help_is_the_manual_page() {
    let mut scratch = Scratch::new();
    scratch.env.insert("MANPAGER".into(), "cat".into());
    scratch.env.insert("PAGER".into(), "cat".into());
    if scratch.run_in(&scratch.top, "sh", ["-c", "command -v man"]).code != 0 {
        super::support::skip("no man here");
        return;
    }
    for listed in command::ALL {
        let shown = scratch.shiftlog(listed.name, ["--help"]);
        assert_eq!(shown.code, 0, "{}: {}", listed.name, shown.stderr);
        assert!(shown.stdout.contains(&format!("git-shiftlog-{}", listed.name)), "{}: {}", listed.name, shown.stdout);
    }
}

#[test]
fn installed_pages_are_found_by_git_help() {
    let mut scratch = Scratch::new();
    let prefix = scratch.root().join("prefix");
    let written = scratch.shiftlog("install-docs", ["-v", "--prefix", prefix.to_str().unwrap()]).ok();
    let files = written.lines().filter_map(|line| line.strip_prefix("write ")).collect::<Vec<_>>();
    assert_eq!(files.len(), PAGES.len() + 4 + 2 * command::ALL.len());
    assert!(files.iter().all(|file| Path::new(file).is_file()), "{files:?}");
    scratch.env.insert("MANPATH".into(), prefix.join("share/man").to_str().unwrap().into());
    scratch.env.insert("MANPAGER".into(), "cat".into());
    scratch.env.insert("PAGER".into(), "cat".into());
    let of_man = |text: &str| text.lines().find(|line| line.starts_with("man needs ")).map(str::to_owned);
    assert_eq!(
        of_man(&scratch.shiftlog("install-docs", ["--prefix", prefix.to_str().unwrap()]).ok()),
        None,
        "man looks there now"
    );
    if scratch.run_in(&scratch.top, "sh", ["-c", "command -v man"]).code == 0 {
        // The line that is told makes a login shell find the page; where man looked before, it still looks.
        let told = of_man(&written).unwrap();
        let line = told.strip_prefix("man needs this line in ~/.profile: ").unwrap();
        for (before, after) in [("", prefix.join("share/man/man1")), ("/usr/share/man", "/usr/share/man".into())] {
            let script =
                format!("MANPATH={before}; {line}; manpath -q 2>/dev/null || echo $MANPATH; man -w git-shiftlog");
            let found = scratch.run_in(&scratch.top, "sh", ["-c", &script]).ok();
            assert!(found.contains(after.to_str().unwrap()), "{found}");
            assert!(
                found.ends_with(&format!("{}\n", prefix.join("share/man/man1/git-shiftlog.1").display())),
                "{found}"
            );
        }
        let page = scratch.git(["help", "shiftlog"]).ok();
        assert!(page.contains("keep the conversation with a coding agent"), "{page}");
    } else {
        super::support::skip("no man here");
    }
    scratch.shiftlog("install-docs", ["--prefix", prefix.to_str().unwrap(), "--uninstall"]).ok();
    assert!(files.iter().all(|file| !Path::new(file).exists()), "nothing is left");
}

#[test]
fn every_agent_is_in_the_manual_and_in_the_readme() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let (page, init, readme) = (read("man/gitshiftlog-agents.7"), read("man/git-shiftlog-init.1"), read("README.md"));
    for agent in shiftlog::agent::ALL {
        assert!(page.contains(&format!(".Ss {} ({})\n", title(agent.title()), agent.name())), "{}", agent.name());
        assert!(init.contains(&format!(" {}", agent.name())), "{}", agent.name());
        assert!(readme.contains(&format!("| {} |", title(agent.title()))), "{}", agent.title());
        for file in agent.hook_files(false) {
            let folder = file.path.rsplit_once('/').unwrap().0;
            let page = page.replace("\\:", "");
            assert!(page.contains(file.path) || page.contains(folder), "{}", file.path);
        }
    }
}

/// The second table of the README is written by the run that has tried them.
#[test]
fn the_table_of_agents_names_the_release_that_was_tried() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (agents, tried) = readme.split_once("<!-- written by tests/live/run --table -->").unwrap();
    let rows = agents.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" |"));
    let tried_rows: Vec<&str> = tried.lines().filter_map(|line| line.strip_prefix("| ")).collect();
    let mut count = 0;
    for (agent, row) in rows.filter(|(_, row)| row.contains("| tried")) {
        let release = row.split_once("| tried with ").unwrap_or_else(|| panic!("{agent} {row}")).1;
        let release = release.split([' ', ',', ';', '|']).next().unwrap();
        let is_it = |row: &&str| row.strip_prefix(agent).is_some_and(|rest| rest.starts_with(&format!(" {release}")));
        assert!(tried_rows.iter().any(is_it), "{agent} {release}");
        count += 1;
    }
    assert_eq!(count, 12);
}

/// Returns how a page calls an agent.
fn title(title: &str) -> &str {
    title.strip_prefix("GitHub ").unwrap_or(title)
}
