//! `git shiftlog mcp`: conversations for agents, over the Model Context Protocol.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{self, Outcome};
use crate::error::{Error, Kind};
use crate::git::Repository;
use crate::index;
use crate::mcp::{EARLIER_NAME, LOGS_NAME, NAME, RULES_NAME, Server, Toolset};

/// Serve conversations to agents over MCP
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-mcp", override_usage = "git shiftlog mcp [<options>]")]
pub struct Options {
    /// Serve the repository that this directory is in
    #[arg(long, value_name = "directory")]
    repo: Option<PathBuf>,
    /// Begin the names of tools with this word (shiftlog or claudit), or serve as apex-log-viewer-mcp or sync-ai-rules does
    #[arg(long, value_name = "word")]
    name: Option<String>,
    /// Offer these tools (a list of conversations, index, logs and rules, or auto, or all)
    #[arg(long, value_name = "list")]
    toolset: Option<String>,
    /// Serve the project index in this directory
    #[arg(long, value_name = "directory")]
    index: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let environment = || std::env::var_os("SHIFTLOG_REPO").filter(|path| !path.is_empty()).map(PathBuf::from);
        let directory = options.repo.or_else(environment);
        if let Some(missing) = directory.as_ref().filter(|directory| !directory.is_dir()) {
            return Err(Error::other(format!("'{}' is not a directory", missing.display())));
        }
        let here = directory.clone().unwrap_or_else(|| PathBuf::from("."));
        let configured = |key: &str| Repository::open(&here).ok().and_then(|repo| repo.config_string(key));
        let name = options.name.or_else(|| configured("shiftlog.mcp.name"));
        let names = [NAME, EARLIER_NAME, LOGS_NAME, RULES_NAME];
        if let Some(name) = name.as_deref().filter(|name| !names.contains(name)) {
            let known = format!("{NAME}, {EARLIER_NAME}, {LOGS_NAME} or {RULES_NAME}");
            return Err(Error::new(Kind::Usage, format!("unknown name '{name}'; it is {known}")));
        }
        let toolset = options.toolset.or_else(|| configured("shiftlog.mcp.toolset"));
        let toolset = toolset.map_or(Ok(Toolset::Auto), |list| Toolset::parse(&list))?;
        let index_directory = match &options.index {
            Some(directory) => {
                let missing = || Error::other(format!("no project index in '{}'", directory.display()));
                Some(index::find(directory).ok_or_else(missing)?)
            }
            None => None,
        };
        Server { directory, name, toolset, index_directory }.serve()?;
        Ok(Outcome::Done)
    })
}
