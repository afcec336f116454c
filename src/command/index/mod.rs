//! `git shiftlog index`: makes the project's index, keeps it up to date, checks it, and reads it.

mod read;
mod scan;
mod watch;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{self, Outcome, Quiet};
use crate::error::{Error, Kind, Result};
use crate::index::Project;

/// The words for what to do.
const ACTIONS: &[&str] = &["init", "validate", "scan", "watch", "status", "issues", "keys", "get"];

/// Make, check and read the index of a project
#[derive(Debug, Parser)]
#[command(
    name = "git-shiftlog-index",
    override_usage = "git shiftlog index <action> [<options>] [<path> [<revision>]]"
)]
pub struct Options {
    /// Use the index of the project in this directory
    #[arg(long, value_name = "directory")]
    path: Option<PathBuf>,
    /// With 'validate', also look for the keywords of issues in the files
    #[arg(long)]
    locations: bool,
    /// With 'scan' and 'watch', ask this agent; what changed goes to its provider
    #[arg(long, value_name = "name")]
    agent: Option<String>,
    /// With 'scan' and 'watch', let the agent use this model
    #[arg(long, value_name = "name")]
    model: Option<String>,
    /// With 'scan' and 'watch', wait this long for an answer (default: 600)
    #[arg(long, value_name = "seconds", default_value_t = 600, hide_default_value = true,
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// With 'scan' and 'watch', do not ask before something is sent
    #[arg(short = 'y', long)]
    yes: bool,
    /// With 'watch', scan when files have rested this long (default: 30)
    #[arg(long, value_name = "seconds", default_value_t = 30, hide_default_value = true,
          value_parser = clap::value_parser!(u64).range(..=86_400))]
    debounce: u64,
    /// With 'watch', scan this long after the first change at the latest (default: 300)
    #[arg(long, value_name = "seconds", default_value_t = 300, hide_default_value = true,
          value_parser = clap::value_parser!(u64).range(..=86_400))]
    max_wait: u64,
    /// Say what would be written or sent, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// With 'status', print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    quiet: Quiet,
    /// The action; for 'keys' and 'get' also a path, and a revision
    #[arg(value_name = "action", num_args = 0..=3)]
    words: Vec<String>,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let words: Vec<&str> = options.words.iter().map(String::as_str).collect();
        let project = match &options.path {
            Some(directory) => Project::at(cli::current_directory()?.join(directory)),
            None => Project::around(cli::current_directory()?),
        };
        options.check(words.first().copied().unwrap_or_default())?;
        match words.as_slice() {
            ["init"] => init(&project, &options),
            ["scan"] => cli::or_no(scan::scan(&project, &options)),
            ["watch"] => cli::or_no(watch::watch(&project, &options)),
            ["validate"] => cli::or_no(read::validate(&project, &options)),
            ["status"] => cli::or_no(read::status(&project, &options)),
            ["issues"] => cli::or_no(read::issues(&project)),
            ["keys", path] => read::keys(&project, path, None),
            ["keys", path, revision] => read::keys(&project, path, Some(revision)),
            ["get", path] => read::value(&project, path, None),
            ["get", path, revision] => read::value(&project, path, Some(revision)),
            ["keys" | "get"] => {
                Err(Error::new(Kind::Usage, "<path> is missing")
                    .hint("git shiftlog index get '[arch][modules][0][name]'"))
            }
            [] => Err(Error::new(Kind::Usage, "an action is missing").hint(known())),
            [action, .., word] if ACTIONS.contains(action) => {
                Err(Error::new(Kind::Usage, format!("unexpected argument '{word}'")))
            }
            [other, ..] => Err(Error::new(Kind::Usage, format!("unknown action '{other}'")).hint(known())),
        }
    })
}

fn known() -> String {
    format!("the actions are: {}", ACTIONS.join(", "))
}

impl Options {
    /// Fails for an option that the action does not have.
    fn check(&self, action: &str) -> Result<()> {
        let given = [
            ("--locations", self.locations, &["validate"][..]),
            ("--json", self.json, &["status"]),
            ("--agent", self.agent.is_some(), &["scan", "watch"]),
            ("--model", self.model.is_some(), &["scan", "watch"]),
            ("--yes", self.yes, &["scan", "watch"]),
            ("--dry-run", self.dry_run, &["init", "scan"]),
        ];
        match given.iter().find(|(_, is_given, actions)| *is_given && !actions.contains(&action)) {
            Some((option, ..)) => Err(Error::new(Kind::Usage, format!("option '{option}' is not for '{action}'"))),
            None => Ok(()),
        }
    }
}

fn init(project: &Project, options: &Options) -> Result<Outcome> {
    let written = project.create(options.dry_run)?;
    let verb = if options.dry_run { "would write" } else { "wrote" };
    let lines: Vec<String> = written.iter().map(|path| format!("{verb} {path}")).collect();
    cli::print_steps(&lines, options.quiet.is_on && !options.dry_run)?;
    Ok(Outcome::Done)
}
