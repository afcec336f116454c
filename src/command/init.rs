//! `git shiftlog init`: sets up recording in a repository.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;

use crate::agent::{self, Agent};
use crate::cli::{self, Outcome, Quiet};
use crate::error::{Error, Kind};
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
    /// Put hooks of agents that support it into your own settings, which hold in every directory
    #[arg(long)]
    global: bool,
    /// Fetch what others share, and share notes or all, or nothing any more
    #[arg(long, value_name = "what", require_equals = true, num_args = 0..=1, default_missing_value = "notes",
          overrides_with = "no_share")]
    share: Option<What>,
    /// Neither share anything any more nor fetch what others share
    #[arg(long, overrides_with = "share")]
    no_share: bool,
    /// Declare the MCP server to these clients (default: VS Code and those whose file is there)
    #[arg(long, value_name = "clients", require_equals = true, num_args = 0..=1, default_missing_value = "")]
    mcp: Option<String>,
    /// Declare the server by the command 'git', for files that a team commits
    #[arg(long)]
    portable: bool,
    /// Set up Git's hooks (default)
    #[arg(long, overrides_with = "no_git_hooks")]
    git_hooks: bool,
    /// Set up no Git hooks; then only commits that agents make are recorded
    #[arg(long, overrides_with = "git_hooks")]
    no_git_hooks: bool,
    /// Print what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Do not ask before files outside this repository change
    #[arg(short = 'y', long)]
    yes: bool,
    #[command(flatten)]
    quiet: Quiet,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum What {
    Notes,
    All,
    None,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    if let Some(option) = args.iter().find(|arg| *arg == "--no-mcp" || *arg == "--no-agent") {
        let error = Error::new(Kind::Usage, format!("'{}' would take nothing back", option.display()));
        let hint = "'git shiftlog deinit' takes back all that was set up; then set up what is wanted";
        return cli::finish(Err(error.hint(hint)));
    }
    cli::main(args, |options: Options| {
        let repo = setup::open_when_free(cli::repository)?;
        let share = match options.share {
            _ if options.no_share => Some(Share::Nothing),
            Some(What::Notes) => Some(Share::Notes),
            Some(What::All) => Some(Share::All),
            Some(What::None) => Some(Share::Nothing),
            None => None,
        };
        let is_choice = !options.agent.is_empty();
        let names = |list: String| list.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let wanted = Wanted {
            agents: options.agent,
            is_shared: options.shared,
            is_global: options.global,
            share,
            clients: options.mcp.map(names),
            is_portable: options.portable,
            git_hooks: (options.git_hooks || options.no_git_hooks).then_some(options.git_hooks),
            is_for_all: options.yes,
        };
        let mut plan = setup::install(&repo, &Wanted { is_for_all: false, ..wanted.clone() })?;
        if options.yes {
            setup::changed_for_all(plan.left()).iter().for_each(|warning| cli::warning(warning));
            plan = setup::install(&repo, &wanted)?;
        }
        let takes_out = wanted.git_hooks.map_or_else(|| !setup::wants_git_hooks(&repo), |is_wanted| !is_wanted);
        let of_hooks = if takes_out { "Take ours out of them?" } else { "Add ours to them?" };
        if let Some(question) = setup::question(plan.left(), of_hooks, "Edit it there?") {
            if !options.dry_run && cli::confirm(&question)? == Some(true) {
                plan = setup::install(&repo, &Wanted { is_for_all: true, ..wanted })?;
            } else {
                setup::left_alone(plan.left()).iter().for_each(|warning| cli::warning(warning));
                let hints: &[&str] = match setup::has_hooks_of_others(plan.left()) {
                    true if takes_out => &[
                        "'git shiftlog init --no-git-hooks --yes' takes ours out of them, for all of these repositories",
                    ],
                    true => &[
                        "'git shiftlog init --yes' adds ours to them; then each of these repositories is recorded",
                        "'git shiftlog init --no-git-hooks' goes without; then what agents commit is recorded",
                    ],
                    false => &["'git shiftlog init --yes' edits it there"],
                };
                hints.iter().for_each(|hint| cli::hint(&repo, hint));
            }
        }
        let steps = setup::describe(&plan);
        plan.remarks().iter().for_each(|remark| cli::warning(remark));
        plan.hints().iter().for_each(|hint| cli::hint(&repo, hint));
        plan.failures().iter().for_each(cli::error);
        let is_whole = plan.failures().is_empty();
        let is_known = |agent: &dyn Agent| agent.is_installed() || setup::has_hooks(&repo, agent);
        if !is_choice && !agent::all().any(is_known) {
            cli::warning("no agent found on this machine");
            let names: Vec<&str> = agent::ALL.iter().map(|agent| agent.name()).collect();
            cli::hint(&repo, &format!("git shiftlog init --agent={}", names.join("|")));
        }
        if !options.dry_run {
            let begun = repo.common_dir().join("shiftlog/installed");
            plan.carry_out(&repo).map_err(|error| match begun.exists() {
                true => error.hint("'git shiftlog deinit' takes back what was done before that"),
                false => error,
            })?;
            // What an earlier version recorded is not safe from a rewrite of history yet.
            let notes_ref = cli::full_notes_ref(&repo, None);
            kept::keep(&repo, &notes_ref, Instant::now() + TIMEOUT)
                .unwrap_or_else(|error| cli::warning(&error.to_string()));
        }
        cli::print_steps(&steps, options.quiet.is_on && !options.dry_run)?;
        Ok(if is_whole { Outcome::Done } else { Outcome::No })
    })
}
