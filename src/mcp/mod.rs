//! `git shiftlog mcp`: a read-only server for agents, over the Model Context Protocol.
//!
//! Read `tools` for the list of tools, then `conversations` for an example of them. `handler` answers requests, `transport`
//! reads and writes messages; only these two use `async`. Tools read `arguments` and write `texts`; `edge` removes secrets
//! from every answer.

mod arguments;
mod conversations;
mod edge;
mod handler;
mod logs;
mod resources;
mod rule_tools;
mod rules;
mod schema;
mod search;
mod stats;
mod texts;
mod tokens;
mod tools;
mod transport;
mod values;
mod why;

use std::io::{BufRead, Write};
use std::path::PathBuf;

use rmcp::ServiceExt as _;
use serde_json::Value;

use crate::error::{Error, Kind, Result};
use crate::git::Repository;
use crate::outside;
use crate::record::{self, Reader};

/// How the server was started.
#[derive(Clone, Debug)]
pub struct Server {
    /// The directory whose repository is served; the current one if `None`.
    pub directory: Option<PathBuf>,
    /// The prefix of the names of three tools; `shiftlog`, or the name of an earlier tool.
    pub name: Option<String>,
    /// Which tools are offered.
    pub toolset: Toolset,
    /// The directory of the project's index, if it is not `.memo/index`.
    pub index_directory: Option<PathBuf>,
}

/// Which tools are offered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Toolset {
    /// The tools for conversations, and those for the project's index, for logs in a Salesforce project and for rules,
    /// where these are.
    Auto,
    /// Exactly these.
    Only {
        /// The tools for conversations.
        conversations: bool,
        /// The tools for the project's index.
        index: bool,
        /// The tools for logs of a Salesforce org.
        logs: bool,
        /// The tools for rules.
        rules: bool,
    },
}

impl Toolset {
    /// Parses a list such as `conversations,index`; `auto` and `all` stand alone.
    ///
    /// # Errors
    ///
    /// [`Kind::Usage`] for a word that is no toolset.
    pub fn parse(list: &str) -> Result<Self> {
        match list {
            "auto" => return Ok(Toolset::Auto),
            "all" => return Ok(Toolset::Only { conversations: true, index: true, logs: true, rules: true }),
            _ => {}
        }
        let (mut conversations, mut index, mut logs, mut rules) = (false, false, false, false);
        for word in list.split(',') {
            match word.trim() {
                "conversations" => conversations = true,
                "index" => index = true,
                "logs" => logs = true,
                "rules" => rules = true,
                other => {
                    return Err(Error::new(
                        Kind::Usage,
                        format!("unknown toolset '{other}'; it is conversations, index, logs, rules, auto or all"),
                    ));
                }
            }
        }
        Ok(Toolset::Only { conversations, index, logs, rules })
    }
}

/// Reads one value by its path, as compact JSON.
///
/// # Errors
///
/// [`Kind::Missing`] if the path leads nowhere.
pub fn value(path: &str) -> Result<String> {
    at_shell(|context| values::value(context, path, false))
}

/// Lists the keys of a value by its path: each key of an object, each index of an array.
///
/// # Errors
///
/// As [`value`].
pub fn keys(path: &str) -> Result<Vec<String>> {
    let keys = at_shell(|context| values::keys(context, path, false))?;
    Ok(match keys["length"].as_u64() {
        Some(length) => (0..length).map(|index| index.to_string()).collect(),
        None => {
            keys["keys"].as_array().into_iter().flatten().filter_map(|key| key.as_str().map(str::to_owned)).collect()
        }
    })
}

fn at_shell<T>(read: impl FnOnce(&Context<'_>) -> std::result::Result<T, Refusal>) -> Result<T> {
    // The server's message about a missing repository advises what only applies to a server.
    let here =
        std::env::current_dir().map_err(|error| Error::other("cannot read the current directory").because(error))?;
    Repository::open(&here).map_err(|error| Error::other(error.to_string()))?;
    let server = Server { directory: None, name: None, toolset: Toolset::Auto, index_directory: None };
    read(&Context { server: &server, is_cancelled: &|| false }).map_err(|refusal| Error::new(Kind::Missing, refusal))
}

/// The usual prefix of tool names.
pub const NAME: &str = "shiftlog";
/// The name of an earlier tool, as a prefix for the three tools that it had.
pub const EARLIER_NAME: &str = "claudit";
/// The name of the earlier server for rules: one that is started under it offers the tools for rules alone.
pub const RULES_NAME: &str = "sync-ai-rules";

/// The name of an earlier tool for logs of a Salesforce org. A server with this name offers that tool alone.
pub const LOGS_NAME: &str = "apex-log-viewer-mcp";

/// Why a call failed: one sentence that says what to do next.
type Refusal = String;

/// Turns an error into a sentence for an agent.
fn refusal(error: &Error) -> Refusal {
    format!("{}; run 'git shiftlog doctor' if this stays", outside::line(&error.to_string()))
}

/// The answer of a tool.
struct Answer {
    /// The value that the tool promises, for clients that show text.
    text: Value,
    /// The value with an object at its root, and further members that belong to it.
    structured: Value,
}

impl Answer {
    /// Says whether the tool could not do it: then its answer has `"ok":false`.
    fn is_error(&self) -> bool {
        self.structured.get("ok") == Some(&Value::Bool(false))
    }
}

/// The context of a tool call. Each call opens the repository, not the start of the server.
struct Context<'a> {
    server: &'a Server,
    /// Says whether the client has cancelled the call.
    is_cancelled: &'a (dyn Fn() -> bool + Sync),
}

impl Context<'_> {
    fn repository(&self) -> std::result::Result<Repository, Refusal> {
        let here = match &self.server.directory {
            Some(directory) => directory.clone(),
            None => std::env::current_dir().map_err(|_| "the server's working directory is gone; start it again")?,
        };
        let repo = Repository::open(&here).map_err(|error| match error.kind() {
            Kind::Missing => "not in a git repository; start the server in one, or with --repo=<directory>".to_owned(),
            _ => format!("{error}; run 'git shiftlog doctor' there"),
        })?;
        crate::capture::agents::define(&repo);
        Ok(repo)
    }

    fn reader<'r>(&self, repo: &'r Repository) -> Reader<'r> {
        Reader::new(repo, record::configured_notes_ref(repo).as_deref())
    }

    /// Fails if the call was cancelled.
    fn go_on(&self) -> Result<()> {
        if (self.is_cancelled)() { Err(Error::other("the call was cancelled")) } else { Ok(()) }
    }
}

impl Server {
    /// Serves standard input and output until the input ends.
    ///
    /// # Errors
    ///
    /// If the runtime cannot be started.
    pub fn serve(self) -> Result<()> {
        self.serve_on(|| std::io::stdin().lock(), || std::io::stdout().lock())
    }

    /// Serves a client that writes to `input` and reads from `output`, until the input ends. Each is created in the thread
    /// that uses it.
    ///
    /// # Errors
    ///
    /// As [`Server::serve`].
    pub fn serve_on<I: BufRead, O: Write>(
        self,
        input: impl FnOnce() -> I + Send + 'static,
        output: impl FnOnce() -> O + Send + 'static,
    ) -> Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .max_blocking_threads(handler::MAX_CALLS)
            .build()
            .map_err(|error| Error::other("cannot start the server").because(error))?;
        let (wire, writer) = transport::Wire::start(input, output)?;
        let outcome = runtime.block_on(async {
            match handler::Finished(handler::Handler::new(self)).serve(wire).await {
                Ok(running) => drop(running.waiting().await),
                // Input that ends before the client has initialized is not a failure.
                Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => {}
                Err(error) => return Err(Error::other("cannot serve").because(error.to_string())),
            }
            Ok(())
        });
        drop(runtime);
        writer.finish();
        outcome
    }
}
