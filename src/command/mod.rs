//! The commands: one file each, with its options and a `run` that reads like a recipe.

pub mod add;
pub mod branches;
pub mod deinit;
pub mod dispatch;
pub mod doctor;
mod elsewhere;
pub mod fsck;
pub mod get;
pub mod hook;
pub mod import;
pub mod init;
pub mod install_docs;
pub mod keys;
pub mod log;
pub mod mcp;
pub mod migrate;
pub mod purge;
pub mod remap;
pub mod resume;
pub mod scan;
pub mod show;
pub mod summarise;
pub mod sync;
pub mod verify;

use clap::CommandFactory as _;

/// A command as `git shiftlog` lists it.
pub struct Listed {
    /// The word after `git shiftlog`.
    pub name: &'static str,
    /// What it does, in a few words.
    pub summary: &'static str,
    /// Its options.
    pub options: fn() -> clap::Command,
}

/// The commands, in the order a newcomer meets them. `git-shiftlog--hook` is run by hooks alone and not listed.
pub const ALL: &[Listed] = &[
    Listed { name: "init", summary: "Set up recording in this repository", options: init::Options::command },
    Listed { name: "log", summary: "List commits that have a conversation", options: log::Options::command },
    Listed { name: "show", summary: "Show the conversation of a commit", options: show::Options::command },
    Listed {
        name: "summarise",
        summary: "Have an agent summarise the conversation of a commit",
        options: summarise::Options::command,
    },
    Listed { name: "resume", summary: "Take the session of a commit up again", options: resume::Options::command },
    Listed { name: "branches", summary: "List branches with their conversations", options: branches::Options::command },
    Listed { name: "get", summary: "Read one recorded value by its path", options: get::Options::command },
    Listed { name: "keys", summary: "List what is at a path of the recorded data", options: keys::Options::command },
    Listed { name: "mcp", summary: "Serve conversations to agents over MCP", options: mcp::Options::command },
    Listed { name: "add", summary: "Attach a transcript to a commit by hand", options: add::Options::command },
    Listed { name: "import", summary: "Record what agents did before", options: import::Options::command },
    Listed { name: "sync", summary: "Exchange conversations with a remote", options: sync::Options::command },
    Listed { name: "remap", summary: "Carry conversations over rewritten history", options: remap::Options::command },
    Listed {
        name: "migrate",
        summary: "Take over what an earlier tool of this name recorded",
        options: migrate::Options::command,
    },
    Listed { name: "fsck", summary: "Check that all that is recorded is there", options: fsck::Options::command },
    Listed {
        name: "verify",
        summary: "Check that records are intact, and who signed them",
        options: verify::Options::command,
    },
    Listed { name: "scan", summary: "Look for secrets in conversations", options: scan::Options::command },
    Listed { name: "purge", summary: "Remove conversations for good", options: purge::Options::command },
    Listed { name: "doctor", summary: "Check the set-up and prove that it records", options: doctor::Options::command },
    Listed { name: "deinit", summary: "Take back what init did", options: deinit::Options::command },
    Listed {
        name: "install-docs",
        summary: "Install manual pages and completions",
        options: install_docs::Options::command,
    },
];
