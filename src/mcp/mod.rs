//! `git shiftlog mcp`: conversations for agents, over the Model Context Protocol.
//!
//! Read `tools` for what is offered, then `conversations` for what it does; `transport` and `handler` put it on the wire.
//! Everything is read-only. `async` and the protocol's types stay in this room, and out of the tools.

mod answer;
mod conversations;
mod handler;
mod resources;
mod search;
mod tools;
mod transport;
mod values;

use std::io::{BufRead, Write};
use std::path::PathBuf;

use rmcp::ServiceExt as _;

use crate::error::{Error, Kind, Result};
use crate::git::Repository;
use crate::record::{self, Reader};

/// How the server was started.
#[derive(Clone, Debug)]
pub struct Server {
    /// The directory whose repository is served; the current one if `None`.
    pub directory: Option<PathBuf>,
    /// The word that the names of the first three tools begin with; `shiftlog` unless an earlier name is wanted.
    pub name: Option<String>,
    /// Which tools are offered.
    pub toolset: Toolset,
    /// The project's index, if it is not where it is looked for.
    pub index_directory: Option<PathBuf>,
}

/// Which tools are offered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Toolset {
    /// Those for conversations, and those for the project's index where there is one.
    Auto,
    /// These, whatever is there.
    Only {
        /// The tools for conversations.
        conversations: bool,
        /// The tools for the project's index.
        index: bool,
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
            "all" => return Ok(Toolset::Only { conversations: true, index: true }),
            _ => {}
        }
        let (mut conversations, mut index) = (false, false);
        for word in list.split(',') {
            match word.trim() {
                "conversations" => conversations = true,
                "index" => index = true,
                other => return Err(Error::new(Kind::Usage, format!("unknown toolset '{other}'"))),
            }
        }
        Ok(Toolset::Only { conversations, index })
    }
}

/// Finds the project index that a directory is, or holds in `.memo/index`.
pub fn find_index(directory: &std::path::Path) -> Option<PathBuf> {
    values::find_index(directory)
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
    // At a shell the way out of "not a git repository" is another one than for a server.
    let here =
        std::env::current_dir().map_err(|error| Error::other("cannot read the current directory").because(error))?;
    Repository::open(&here).map_err(|error| Error::other(error.to_string()))?;
    let server = Server { directory: None, name: None, toolset: Toolset::Auto, index_directory: None };
    read(&Context { server: &server, is_cancelled: &|| false }).map_err(|refusal| Error::new(Kind::Missing, refusal))
}

/// The name that tools have unless another is asked for.
pub const NAME: &str = "shiftlog";
/// The name of an earlier tool, under which the same three tools can be served.
pub const EARLIER_NAME: &str = "claudit";

/// Why a call came to nothing: one sentence that says what to do next.
type Refusal = String;

/// What a tool works with: the repository is opened with the first call that needs it, not when the server starts.
struct Context<'a> {
    server: &'a Server,
    /// Says whether the client has taken the call back.
    is_cancelled: &'a dyn Fn() -> bool,
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

    /// A check point: a call that was taken back stops here.
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

    /// Serves a client whose lines come from `input`, until they end, and go to `output`; each is made in the thread that
    /// uses it.
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
                // Input that ends before an opening is no failure.
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
