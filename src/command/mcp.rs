//! `git shiftlog mcp`: conversations for agents, over the Model Context Protocol.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{self, Outcome};
use crate::error::{Error, Kind};
use crate::mcp::{EARLIER_NAME, NAME, Server};

/// Serve conversations to agents over MCP
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-mcp", override_usage = "git shiftlog mcp [<options>]")]
pub struct Options {
    /// Serve the repository that this directory is in
    #[arg(long, value_name = "directory")]
    repo: Option<PathBuf>,
    /// Begin the names of tools with this word (shiftlog or claudit)
    #[arg(long, value_name = "word")]
    name: Option<String>,
}

/// Runs the command.
pub fn run() -> ExitCode {
    cli::main(|options: Options| {
        let environment = || std::env::var_os("SHIFTLOG_REPO").filter(|path| !path.is_empty()).map(PathBuf::from);
        let directory = options.repo.or_else(environment);
        let configured = || cli::repository().ok().and_then(|repo| repo.config_string("shiftlog.mcp.name"));
        let name = options.name.or_else(|| directory.is_none().then(configured).flatten());
        if let Some(name) = name.as_deref().filter(|name| ![NAME, EARLIER_NAME].contains(name)) {
            return Err(Error::new(Kind::Usage, format!("unknown name '{name}'; it is {NAME} or {EARLIER_NAME}")));
        }
        Server { directory, name }.serve()?;
        Ok(Outcome::Done)
    })
}
