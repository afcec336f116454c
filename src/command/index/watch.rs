//! Bringing the index up to date whenever files have changed.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::Options;
use super::scan::repository;
use crate::cli::{self, Outcome};
use crate::error::{Error, Result};
use crate::index::{self, Debounce, News, Project, Watcher};

/// Watches the project until a signal ends this process.
pub fn watch(project: &Project, options: &Options) -> Result<Outcome> {
    let repo = repository(project)?;
    project.require()?;
    let ask = index::choose(&repo, options.agent.as_deref())?;
    cli::print(&format!("files that change are sent to the provider of {}\n", ask.name))?;
    if !options.yes && cli::confirm("Watch them?")? == Some(false) {
        return Ok(Outcome::No);
    }
    let debounce = Debounce::new(Duration::from_secs(options.debounce), Duration::from_secs(options.max_wait));
    let tell = |news: News<'_>| match news {
        News::Watching(1) => say("watching 1 directory\n", options),
        News::Watching(count) => say(&format!("watching {count} directories\n"), options),
        News::Unwatched(path, reason) => cli::warning(&format!("cannot watch '{}': {reason}", path.display())),
        News::Failed => cli::warning("the index stays as it is until files change again"),
    };
    Watcher::new(&repo, project, debounce)?.run(|| start(project, options, ask.name), tell)?;
    Ok(Outcome::Done)
}

fn say(text: &str, options: &Options) {
    if !options.quiet.is_on {
        // The index is brought up to date even if nobody reads the output.
        let _ = cli::print(text);
    }
}

/// Starts a scan as a process of its own.
fn start(project: &Project, options: &Options, agent: &str) -> Result<Child> {
    let cannot = |error| Error::other("cannot start a scan").because(error);
    let mut scan = Command::new(std::env::current_exe().map_err(cannot)?);
    scan.args(["index", "scan", "--yes", "--agent", agent, "--path"]).arg(project.top());
    scan.args(options.model.iter().flat_map(|model| ["--model", model]));
    scan.args(["--timeout", &options.timeout.to_string()]);
    scan.args(options.quiet.is_on.then_some("--quiet"));
    scan.stdin(Stdio::null()).spawn().map_err(cannot)
}
