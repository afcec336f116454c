//! Keeps the conversation with a coding agent beside the commit it produced, as git notes.
//!
//! The rooms, each using only those above it (a test checks it):
//!
//! | room | what it is about |
//! | --- | --- |
//! | [`error`], [`hex`], [`outside`], [`path`] | kind, message, hints, source; bytes as digits; text of others made harmless; a way to name a value in JSON |
//! | [`git`], [`transcript`], [`redact`] | the repository as Git hands it to us; a conversation as a value; text without secrets |
//! | [`notes`], [`archive`], [`agent`] | bytes on objects; segments; each agent's files, hooks and transcripts |
//! | [`managed`] | files of other programs that have a part of ours, and putting them back |
//! | [`record`] | a session recorded on a commit, and reading it |
//! | [`capture`] | what hooks do: sessions that run, choosing, reading, recording, what waits |
//! | [`import`], [`remap`], [`migrate`], [`resume`], [`setup`] | past sessions; rewritten history; records of earlier tools; taking up again; what `init` puts in place |
//! | [`share`], [`upkeep`] | what others get and send, and purging; checking and repairing |
//! | [`pretty`] | a record as text: human, `--format`, porcelain, JSON, Markdown |
//! | [`cli`] | manners of a process: exit codes, messages, colour, pager |
//! | [`mcp`] | the server that agents ask |
//! | [`command`] | one file per command: its options, and a `run` that reads like a recipe |
//!
//! To follow `git shiftlog show HEAD` to the bytes: `src/bin/git-shiftlog.rs`, [`command::dispatch`], [`command::show`],
//! [`record::Reader`], [`notes`], [`archive`]. To follow what an agent says to the bytes: `src/bin/git-shiftlog--hook.rs`,
//! [`command::hook`], [`capture::hook`], [`capture::Recorder`], [`archive`], [`notes`].

#![warn(missing_docs)]

pub mod error;
pub mod hex;
pub mod outside;
pub mod path;

pub mod git;
pub mod redact;
pub mod transcript;

pub mod agent;
pub mod archive;
pub mod notes;

pub mod managed;

pub mod record;

pub mod capture;

pub mod import;
pub mod migrate;
pub mod remap;
pub mod resume;
pub mod setup;

pub mod share;
pub mod upkeep;

pub mod pretty;

pub mod cli;

pub mod mcp;

pub mod command;
