//! The commands: one file each, with its options and a `run` that reads like a recipe.
//!
//! A command uses no other command. What several of them need, if it prints or reads options, is in a file that is no
//! command (a test checks that each of them is listed here, and that at least two commands use it):
//!
//! - `asked`: the file, lines and history that `why` and `blame` are asked about
//! - `blamed`: the options for `git blame`, and its lines with their explanation
//! - `change`: the change of a commit below its conversation
//! - `chosen`: the options that choose commits
//! - `machine`: the formats of `git blame` for programs
//! - `open`: opening the repository to read from it: first, commits get what hooks have missed
//! - `removal`: removing what is recorded, and finishing a removal that was interrupted
//! - `target`: the commits, sessions and paths that words name
//! - `value_path`: the path to a recorded value

pub mod add;
mod asked;
pub mod blame;
mod blamed;
pub mod branches;
mod change;
mod chosen;
pub mod deinit;
pub mod dispatch;
pub mod doctor;
pub mod evidence;
pub mod export;
pub mod fsck;
pub mod get;
pub mod grep;
pub mod hook;
pub mod import;
pub mod index;
pub mod init;
pub mod install_docs;
pub mod keys;
pub mod log;
pub mod logs;
pub mod lsp;
mod machine;
pub mod mcp;
pub mod migrate;
mod open;
pub mod prices;
pub mod purge;
pub mod remap;
mod removal;
pub mod resume;
pub mod rules;
pub mod scan;
pub mod search;
pub mod show;
pub mod stats;
pub mod status;
pub mod summarise;
pub mod sync;
mod target;
mod value_path;
pub mod verify;
pub mod web;
pub mod why;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::CommandFactory as _;

/// A command as `git shiftlog` lists it.
pub struct Listed {
    /// The word after `git shiftlog`.
    pub name: &'static str,
    /// What it does, in a few words.
    pub summary: &'static str,
    /// Its options.
    pub options: fn() -> clap::Command,
    /// Runs it: the arguments are its name, as a program has it, and what was typed behind it.
    pub run: fn(Vec<OsString>) -> ExitCode,
}

/// The commands, in the order a newcomer meets them. `git-shiftlog--hook` is run by hooks alone and not listed.
pub const ALL: &[Listed] = &[
    Listed {
        name: "init",
        summary: "Set up recording in this repository",
        options: init::Options::command,
        run: init::run,
    },
    Listed {
        name: "log",
        summary: "List commits that have a conversation",
        options: log::Options::command,
        run: log::run,
    },
    Listed {
        name: "show",
        summary: "Show the conversation of a commit",
        options: show::Options::command,
        run: show::run,
    },
    Listed {
        name: "why",
        summary: "Show the conversation behind a line",
        options: why::Options::command,
        run: why::run,
    },
    Listed {
        name: "blame",
        summary: "Show which turn wrote each line of a file",
        options: blame::Options::command,
        run: blame::run,
    },
    Listed {
        name: "grep",
        summary: "Print lines of conversations that match a pattern",
        options: grep::Options::command,
        run: grep::run,
    },
    Listed {
        name: "search",
        summary: "Find turns of conversations by words, best first",
        options: search::Options::command,
        run: search::run,
    },
    Listed {
        name: "status",
        summary: "Show what would be recorded now",
        options: status::Options::command,
        run: status::run,
    },
    Listed {
        name: "summarise",
        summary: "Have an agent summarise the conversation of a commit",
        options: summarise::Options::command,
        run: summarise::run,
    },
    Listed {
        name: "resume",
        summary: "Resume the session of a commit",
        options: resume::Options::command,
        run: resume::run,
    },
    Listed {
        name: "branches",
        summary: "List branches with their conversations",
        options: branches::Options::command,
        run: branches::run,
    },
    Listed {
        name: "stats",
        summary: "Count commits, turns, tokens and their cost",
        options: stats::Options::command,
        run: stats::run,
    },
    Listed {
        name: "prices",
        summary: "Print the list prices of models",
        options: prices::Options::command,
        run: prices::run,
    },
    Listed {
        name: "export",
        summary: "Write conversations to files, as pages or Markdown",
        options: export::Options::command,
        run: export::run,
    },
    Listed { name: "web", summary: "Show conversations in a browser", options: web::Options::command, run: web::run },
    Listed {
        name: "get",
        summary: "Read one recorded value by its path",
        options: get::Options::command,
        run: get::run,
    },
    Listed {
        name: "keys",
        summary: "List the keys at a path of the recorded data",
        options: keys::Options::command,
        run: keys::run,
    },
    Listed {
        name: "index",
        summary: "Make, check and read the index of a project",
        options: index::Options::command,
        run: index::run,
    },
    Listed {
        name: "lsp",
        summary: "Show editors the conversation behind a line",
        options: lsp::Options::command,
        run: lsp::run,
    },
    Listed {
        name: "mcp",
        summary: "Serve conversations to agents over MCP",
        options: mcp::Options::command,
        run: mcp::run,
    },
    Listed {
        name: "add",
        summary: "Attach a transcript to a commit by hand",
        options: add::Options::command,
        run: add::run,
    },
    Listed { name: "import", summary: "Record past sessions", options: import::Options::command, run: import::run },
    Listed {
        name: "evidence",
        summary: "Keep logs and test output with a commit",
        options: evidence::Options::command,
        run: evidence::run,
    },
    Listed {
        name: "logs",
        summary: "Fetch debug logs of a Salesforce org",
        options: logs::Options::command,
        run: logs::run,
    },
    Listed {
        name: "sync",
        summary: "Exchange conversations with a remote",
        options: sync::Options::command,
        run: sync::run,
    },
    Listed {
        name: "remap",
        summary: "Carry conversations over rewritten history",
        options: remap::Options::command,
        run: remap::run,
    },
    Listed {
        name: "migrate",
        summary: "Convert the notes of earlier tools of this name",
        options: migrate::Options::command,
        run: migrate::run,
    },
    Listed {
        name: "fsck",
        summary: "Check that everything recorded can be read",
        options: fsck::Options::command,
        run: fsck::run,
    },
    Listed {
        name: "verify",
        summary: "Check that records are intact, and who signed them",
        options: verify::Options::command,
        run: verify::run,
    },
    Listed {
        name: "scan",
        summary: "Look for secrets in conversations",
        options: scan::Options::command,
        run: scan::run,
    },
    Listed {
        name: "purge",
        summary: "Remove conversations permanently",
        options: purge::Options::command,
        run: purge::run,
    },
    Listed {
        name: "rules",
        summary: "Keep rules and skills for agents, and write them to their files",
        options: rules::Options::command,
        run: rules::run,
    },
    Listed {
        name: "doctor",
        summary: "Check the set-up and test recording",
        options: doctor::Options::command,
        run: doctor::run,
    },
    Listed { name: "deinit", summary: "Undo what init did", options: deinit::Options::command, run: deinit::run },
    Listed {
        name: "install-docs",
        summary: "Install manual pages and completions",
        options: install_docs::Options::command,
        run: install_docs::run,
    },
];
