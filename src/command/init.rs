//! `git shiftlog init`: sets up recording in a repository.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;

use crate::agent;
use crate::cli::{self, Outcome};
use crate::error::Result;
use crate::record::kept;
use crate::setup::{self, Share, Wanted};

/// How long one write may wait for other processes.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Set up recording in this repository
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-init", override_usage = "git shiftlog init [<options>]")]
pub struct Options {
    /// Set up this agent; may be given several times (default: those that are installed)
    #[arg(long, value_name = "name", action = clap::ArgAction::Append)]
    agent: Vec<String>,
    /// Put agents' hooks into the files that a team commits
    #[arg(long)]
    shared: bool,
    /// Fetch what others share, and share notes or all
    #[arg(long, value_name = "what", require_equals = true, num_args = 0..=1, default_missing_value = "notes")]
    share: Option<What>,
    /// Declare the MCP server to these clients (default: VS Code and those whose file is there)
    #[arg(long, value_name = "clients", require_equals = true, num_args = 0..=1, default_missing_value = "")]
    mcp: Option<String>,
    /// Declare it as a git command, for files that a team commits
    #[arg(long)]
    portable: bool,
    /// Print what would be done
    #[arg(long)]
    dry_run: bool,
    /// Say nothing when it is done
    #[arg(short = 'q', long)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum What {
    Notes,
    All,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let repo = cli::repository()?;
        let share = options.share.map(|what| match what {
            What::Notes => Share::Notes,
            What::All => Share::All,
        });
        let is_choice = !options.agent.is_empty();
        let names = |list: String| list.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let wanted = Wanted {
            agents: options.agent,
            is_shared: options.shared,
            share,
            clients: options.mcp.map(names),
            is_portable: options.portable,
        };
        let plan = setup::install(&repo, &wanted)?;
        let steps = setup::describe(&plan);
        plan.remarks().iter().for_each(|remark| cli::warning(remark));
        if !is_choice && !agent::ALL.iter().any(|agent| agent.is_installed()) {
            cli::warning("no agent found on this machine");
            let names: Vec<&str> = agent::ALL.iter().map(|agent| agent.name()).collect();
            cli::hint(&repo, &format!("git shiftlog init --agent={}", names.join("|")));
        }
        if !options.dry_run {
            plan.carry_out(&repo)?;
            // What an earlier version recorded is not safe from a rewrite of history yet.
            let notes_ref = cli::full_notes_ref(&repo, None);
            kept::keep(&repo, &notes_ref, Instant::now() + TIMEOUT)
                .unwrap_or_else(|error| cli::warning(&error.to_string()));
        }
        report(&steps, options.quiet && !options.dry_run)
    })
}

/// Prints what was done, or that there was nothing to do.
pub(super) fn report(steps: &[String], is_quiet: bool) -> Result<Outcome> {
    if !is_quiet {
        let nothing = ["nothing to do".to_owned()];
        let lines = if steps.is_empty() { &nothing } else { steps };
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        cli::print(&text)?;
    }
    Ok(Outcome::Done)
}
