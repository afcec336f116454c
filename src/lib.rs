//! Keeps the conversation with a coding agent beside the commit it produced, as git notes.
//!
//! The rooms, each using only those above it (a test checks it):
//!
//! | room | what it is about |
//! | --- | --- |
//! | [`error`], [`outside`] | kind, message, hints, source; text of others made harmless |
//! | [`git`], [`transcript`], [`redact`], [`path`] | the repository as Git hands it to us; a conversation as a value; text without secrets; a way to name a value in JSON |
//! | [`notes`], [`archive`], [`agent`] | bytes on objects; segments; each agent's files, hooks and transcripts |
//! | [`record`], [`setup`] | a session recorded on a commit; what `init` puts in place |
//! | [`pretty`] | a record as text: human, `--format`, porcelain, JSON, Markdown |
//! | [`cli`] | manners of a process: exit codes, messages, colour, pager |
//! | [`mcp`] | the server that agents ask |
//! | [`command`] | one file per command: its options, and a `run` that reads like a recipe |
//!
//! To follow `git shiftlog show HEAD` to the bytes: `src/bin/git-shiftlog.rs`, [`command::dispatch`], [`command::show`],
//! [`record::Reader`], [`notes`], [`archive`].

#![warn(missing_docs)]

pub mod error;
pub mod outside;

pub mod git;
pub mod path;
pub mod redact;
pub mod transcript;

pub mod agent;
pub mod archive;
pub mod notes;

pub mod record;
pub mod setup;

pub mod pretty;

pub mod cli;

pub mod mcp;

pub mod command;
