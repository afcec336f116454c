//! `git shiftlog web`: conversations as pages in a browser, on this machine alone.

use std::cell::Cell;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use clap::Parser;

use crate::cli::{self, NotesSource, Outcome};
use crate::error::Result;
use crate::git::{self, Range};
use crate::notes;
use crate::outside;
use crate::pretty;
use crate::web::Server;

/// How many minutes the server waits for a request by default.
const IDLE_MINUTES: u64 = 60;

/// Show conversations in a browser
#[derive(Debug, Parser)]
#[command(
    name = "git-shiftlog-web",
    override_usage = "git shiftlog web [<options>] [<revision-range>] [[--] <path>...]"
)]
pub struct Options {
    /// Listen on this port (default: one that is free)
    #[arg(long, value_name = "number")]
    port: Option<u16>,
    /// Open this browser
    #[arg(long, value_name = "tool", overrides_with = "no_browser")]
    browser: Option<String>,
    /// Open no browser
    #[arg(long, overrides_with = "browser")]
    no_browser: bool,
    /// End when nothing was asked for in so many minutes (default: 60)
    #[arg(long, value_name = "minutes")]
    idle: Option<u64>,
    /// Start from what all worktrees have checked out, too
    #[arg(long)]
    all_worktrees: bool,
    #[command(flatten)]
    source: NotesSource,
    /// Revisions and paths (default: HEAD and all local branches)
    #[arg(value_name = "revision-range")]
    words: Vec<OsString>,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let repo = crate::command::open::repository(&options.source)?;
        let words = cli::split_words(&repo, &options.words)?;
        // A wrong word is an error now, and not on each page.
        words.revisions.iter().try_for_each(|revision| repo.add_to_range(&mut Range::default(), revision))?;
        let notes_ref = cli::notes_ref(&repo, options.source.name());
        // A ref that does not exist is warned of now, and not on each page.
        options.source.reader(&repo);
        let directory = cli::current_directory()?;
        let idle_minutes = options.idle.unwrap_or(IDLE_MINUTES);
        let server = Server {
            directory,
            notes_ref: notes_ref.as_deref().map(notes::expand_ref),
            revisions: words.revisions,
            has_all_worktrees: options.all_worktrees,
            paths: words.paths,
            port: options.port.unwrap_or(0),
            idle: Duration::from_secs(60 * idle_minutes.min(60 * 24 * 365)),
        };
        let configured = ["shiftlog.browser", "web.browser"].iter().any(|key| repo.config_string(key).is_some());
        let is_first = Cell::new(std::io::stdout().is_terminal());
        let repo = Rc::new(repo);
        let of_announcement = Rc::clone(&repo);
        server.serve(move |link| -> Result<()> {
            cli::print(&format!("{link}\n"))?;
            if is_first.replace(false) {
                cli::hint(&of_announcement, "Ctrl-C ends the server");
                if !options.no_browser {
                    open(link, options.browser.as_deref(), configured);
                }
            }
            Ok(())
        })?;
        let idle = pretty::count(idle_minutes, "minute");
        cli::hint(&repo, &format!("the server has ended: nothing was asked for in {idle}"));
        Ok(Outcome::Done)
    })
}

/// Opens a link in a browser. A browser of the terminal runs as long as it is used, so only its end shows that it failed.
fn open(link: &str, tool: Option<&str>, is_configured: bool) {
    let Some(mut browser) = git::browse(link, tool, is_configured) else { return };
    let named = tool.map(|tool| format!(" '{}'", outside::line(tool))).unwrap_or_default();
    std::thread::spawn(move || {
        if browser.wait().is_ok_and(|status| !status.success()) {
            cli::warning(&format!("the browser{named} could not be opened; open the address yourself"));
        }
    });
}
