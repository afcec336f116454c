//! Man pages and usages: how they look, and that they say the same.

use shiftlog::command;

use crate::support::{Ran, Scratch};

/// Runs the program without `man`, or anything else, on `PATH`.
fn page_as_text(scratch: &Scratch, name: &str) -> Ran {
    let mut command = scratch.command(crate::support::bin_dir().join("git-shiftlog"), &scratch.top);
    Ran::of(command.env("PATH", "/nowhere").args([name, "--help"]).output().unwrap())
}

/// Returns what a usage line says, whether it was taken from a page or from `-h`.
fn plain(usage: &str) -> String {
    let words = usage.split_whitespace().collect::<Vec<_>>().join(" ");
    words.replace(['<', '>'], "").replace(" ...", "...").replace(" | ", "|")
}

#[test]
fn without_man_help_prints_the_page_and_its_synopsis_is_the_usage() {
    let scratch = Scratch::new();
    for listed in command::ALL {
        let shown = page_as_text(&scratch, listed.name);
        assert_eq!((shown.code, shown.stderr.as_str()), (0, ""), "{}", listed.name);
        let text = shown.stdout;
        assert!(text.starts_with(&format!("NAME\n     git-shiftlog-{} - ", listed.name)), "{text}");
        let synopsis = text.split("\nSYNOPSIS\n").nth(1).unwrap().split("\n\n").next().unwrap();
        let usage = (listed.options)().render_usage().to_string();
        assert_eq!(plain(synopsis), plain(usage.trim_start_matches("Usage: ")), "{}", listed.name);
        assert!(text.contains("\nEXAMPLES\n"), "{} has examples", listed.name);
        assert!(text.lines().all(|line| line.chars().count() <= 140), "{}: {text}", listed.name);
    }
    let shown = page_as_text(&scratch, "summarize").stdout;
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("summarize and tldr are aliases of this command."), "{shown}");
}

#[test]
fn every_page_is_one_of_the_git_manual() {
    for page in shiftlog::cli::PAGES {
        assert!(page.source().contains("\n.Os \"Git Manual\"\n.ds doc-volume Git Manual\n"), "{}", page.name);
        assert!(page.source().contains("\n.Sh EXAMPLES\n"), "{} has examples", page.name);
    }
    let mut scratch = Scratch::new();
    if scratch.run_in(&scratch.top, "sh", ["-c", "command -v man"]).code != 0 {
        crate::support::skip("no man here");
        return;
    }
    scratch.env.insert("MANPAGER".into(), "cat".into());
    let shown = scratch.shiftlog("init", ["--help"]).ok();
    let (first, last) = (shown.lines().next().unwrap(), shown.trim_end().lines().last().unwrap());
    assert!(first.contains("Git Manual") || last.contains("Git Manual"), "{first}\n{last}");
}

#[test]
fn man_warns_of_no_page_at_any_usual_width() {
    let mut scratch = Scratch::new();
    if scratch.run_in(&scratch.top, "sh", ["-c", "command -v man"]).code != 0 {
        crate::support::skip("no man here");
        return;
    }
    scratch.env.insert("MANPAGER".into(), "cat".into());
    let pages = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("man");
    for page in shiftlog::cli::PAGES {
        for (width, locale) in [("40", "C.UTF-8"), ("80", "C.UTF-8"), ("80", "C")] {
            scratch.env.insert("MANWIDTH".into(), width.into());
            scratch.env.insert("LC_ALL".into(), locale.into());
            let shown = scratch.run_in(&pages, "man", [format!("./{}", page.file_name())]);
            assert_eq!((shown.code, shown.stderr.as_str()), (0, ""), "{} at {width}", page.name);
            assert!(shown.stdout.contains("EXAMPLES"), "{}", page.name);
        }
    }
}

#[test]
fn every_page_of_a_command_has_the_option_for_its_usage() {
    for listed in command::ALL {
        let name = format!("git-shiftlog-{}", listed.name);
        let page = shiftlog::cli::PAGES.iter().find(|page| page.name == name).unwrap();
        assert!(page.source().contains("\n.It Fl h\n"), "{name}");
    }
}

#[test]
fn lines_of_a_usage_fit_a_terminal() {
    let scratch = Scratch::new();
    for listed in command::ALL {
        let usage = scratch.shiftlog(listed.name, ["-h"]).ok();
        let too_long: Vec<_> = usage.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(too_long.is_empty(), "{}: {too_long:#?}", listed.name);
        // Wrapping loses no word.
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let whole = shiftlog::cli::prepared((listed.options)()).render_help().to_string();
        assert_eq!(words(&usage), words(&whole), "{}", listed.name);
        let fitting = whole.lines().filter(|line| line.chars().count() <= 80);
        let changed: Vec<_> = fitting.filter(|line| !usage.lines().any(|other| other == *line)).collect();
        assert!(changed.is_empty(), "{}: {changed:#?}", listed.name);
    }
}

#[test]
fn a_usage_says_each_value_once() {
    let scratch = Scratch::new();
    for name in ["init", "log", "show", "status", "branches", "scan", "import"] {
        let usage = scratch.shiftlog(name, ["-h"]).ok();
        assert!(usage.starts_with("usage: ") && !usage.contains("possible values"), "{usage}");
    }
    let usage = scratch.shiftlog("show", ["-h"]).ok();
    let words = usage.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("(none, short or full) "), "{usage}");
}
