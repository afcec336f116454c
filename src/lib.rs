//! Keeps the conversation with a coding agent beside the commit it produced, as git notes.
//!
//! The rooms, each using only those above it (a test checks it):
//!
//! | room | what it is about |
//! | --- | --- |
//! | [`compare`], [`error`], [`hex`], [`outside`], [`path`], [`progress`] | how two texts differ; errors with hints; bytes as hex digits; cleaning text of other people; paths to values in JSON; how far long work has come |
//! | [`git`], [`transcript`], [`redact`] | a Git repository; a parsed conversation; removing secrets from text |
//! | [`notes`], [`archive`], [`agent`] | notes as bytes; stored transcripts; each agent's files, hooks and transcripts |
//! | [`managed`] | adding our part to files of other programs, and removing it |
//! | [`told`] | the instruction files that an agent reads: finding, storing and comparing them |
//! | [`record`] | records of sessions on commits, and reading them |
//! | [`capture`] | hooks: running sessions, choosing those of a commit, recording them, pending files |
//! | [`replay`] | which edit of a session wrote a line |
//! | [`stats`] | counting commits, turns, tokens and their cost |
//! | [`find`] | searching recorded conversations: by pattern, and by words |
//! | [`evidence`], [`import`], [`index`], [`remap`], [`migrate`], [`resume`], [`rules`], [`setup`] | what was observed beside a commit; past sessions; the project's index; rewritten history; records of earlier tools; resuming a session; rules and skills for agents; what `init` sets up |
//! | [`share`], [`upkeep`] | exchange with remotes, purging; checking and repairing |
//! | [`pretty`] | a record as text: human, `--format`, porcelain, JSON, Markdown, HTML |
//! | [`export`] | conversations as pages and documents, for files and for browsers |
//! | [`cli`] | the terminal: exit codes, messages, colour, pager |
//! | [`mcp`], [`lsp`], [`web`] | the MCP server for agents; the language server for editors; pages for a browser |
//! | [`command`] | one file per command: its options, and a `run` that reads like a recipe |
//!
//! To follow `git shiftlog show HEAD` to the bytes: `src/bin/git-shiftlog.rs`, [`command::dispatch`], [`command::show`],
//! [`record::Reader`], [`notes`], [`archive`]. To follow a hook's payload to the bytes: `src/bin/git-shiftlog--hook.rs`,
//! [`command::hook`], [`capture::hook`], [`capture::Recorder`], [`archive`], [`notes`].

#![warn(missing_docs)]

pub mod compare;
pub mod error;
pub mod hex;
pub mod outside;
pub mod path;
pub mod progress;

pub mod git;
pub mod redact;
pub mod transcript;

pub mod agent;
pub mod archive;
pub mod notes;

pub mod managed;
pub mod told;

pub mod record;

pub mod capture;

pub mod find;
pub mod replay;
pub mod stats;

pub mod evidence;
pub mod import;
pub mod index;
pub mod migrate;
pub mod remap;
pub mod resume;
pub mod rules;
pub mod setup;

pub mod share;
pub mod upkeep;

pub mod pretty;

pub mod export;

pub mod cli;

pub mod lsp;
pub mod mcp;
pub mod web;

pub mod command;
