//! Keeps the conversation with a coding agent beside the commit it produced, as git notes.
//!
//! The rooms are the modules at the top of `src`. Each uses only those in lines above its own (a test reads this table and
//! checks it):
//!
//! | room | what it is about |
//! | --- | --- |
//! | [`compare`], [`error`], [`hex`], [`outside`], [`path`], [`progress`] | how two texts differ; errors with hints; bytes as hex digits; cleaning text of other people; paths to values in JSON; how far long work has come |
//! | [`git`], [`transcript`], [`redact`] | a Git repository; a parsed conversation, and the shell lines in it; removing secrets from text |
//! | [`notes`], [`archive`], [`agent`] | notes as bytes; stored transcripts; each agent's files, hooks and transcripts |
//! | [`managed`], [`told`] | editing files of other programs so that the edit can be undone; the instruction files that an agent reads |
//! | [`record`] | records of sessions on commits, and reading them |
//! | [`capture`], [`find`], [`stats`] | hooks: running sessions, choosing those of a commit, recording them, pending files; searching recorded conversations; counting commits, turns, tokens and their cost |
//! | [`replay`], [`evidence`], [`import`], [`index`], [`remap`], [`migrate`], [`resume`], [`rules`], [`setup`] | which edit of a session wrote a line; what was observed beside a commit; past sessions; the project's index; rewritten history; records of earlier tools; resuming a session; rules and skills for agents; what `init` sets up |
//! | [`share`] | exchange with remotes, purging |
//! | [`upkeep`] | checking and repairing |
//! | [`pretty`] | a record as text: human, `--format`, porcelain, JSON, Markdown, HTML |
//! | [`export`], [`cli`] | conversations as pages and documents, for files and for browsers; the terminal: exit codes, messages, colour, pager |
//! | [`mcp`], [`lsp`], [`web`] | the MCP server for agents; the language server for editors; pages for a browser |
//! | [`command`] | a file or a folder for each command: its options, and a `run` that reads like a recipe |
//!
//! # From `git shiftlog show HEAD` to the bytes
//!
//! 1. `src/bin/git-shiftlog.rs` calls [`command::dispatch::run`], which finds [`command::show`]. It first stores what
//!    hooks missed ([`capture`]), and of each commit it carries the records of those that it was made of ([`remap`])
//!    before it reads them; `command::open` has both.
//! 2. [`record::Reader::note`] gets the notes of the commit from all refs ([`notes`]), parses them, and joins them without
//!    what was purged.
//! 3. [`record::Reader::each_conversation`] gets the bytes of each record with [`archive::Archive::beginning`], which reads
//!    blobs through [`git`], and has the parser of the session's [`agent`] make messages of them.
//! 4. `command::show::shown` puts each session together with its sub-agents. For each session it looks back in [`record`]:
//!    what it continues, what its agent was told, its tasks. It has [`pretty`] write all of this to a [`cli::Screen`]:
//!    standard output, or a pager in front of it. What was observed beside the commit comes from [`evidence`], and whether
//!    the record is intact from [`upkeep`].
//!
//! # From a hook's payload to the bytes
//!
//! 1. `src/bin/git-shiftlog--hook.rs` calls [`command::hook::run`], which has [`agent::Payload`] parse the payload, opens
//!    the repository that it names, and asks [`agent::caller`] whose hook it is and [`setup`] whether that agent is recorded
//!    here. [`capture::hook_recorder`] takes the lock and first stores what earlier hooks left (`capture::catch_up`).
//! 2. [`capture::agent_hook`] updates the state of the session and finds the commits that its tool call made. (Git's
//!    `post-commit` begins with the next step.) When a session ends, it stores the words that no commit has, too, and the
//!    next step is left out.
//! 3. [`capture::commit`] takes each session in turn: `capture::awaited` first completes the record of the session's last
//!    commit, and `capture::new_words` has `capture::reading` read what is new in its transcript: [`redact`], set up
//!    by [`record`] for this repository, removes secrets from each piece first, then the parser of the [`agent`] makes messages of it, and [`transcript::Tally`]
//!    counts them. Then `capture::choose` chooses the sessions of the commit by what they said and edited, and
//!    `capture::told` adds the instruction files that the agent of each has read ([`told`]).
//! 4. [`capture::Recorder`] has `capture::reading` write segments ([`archive::Archive::write`]) and make the archive's ref
//!    name them ([`archive::Archive::add`]).
//! 5. [`record::Record`] says what was stored. It is joined to the records that the note of the commit has, and
//!    [`notes::edit`] writes the note. In both steps, [`git`] writes the objects and the refs.

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
pub mod stats;

pub mod evidence;
pub mod import;
pub mod index;
pub mod migrate;
pub mod remap;
pub mod replay;
pub mod resume;
pub mod rules;
pub mod setup;

pub mod share;

pub mod upkeep;

pub mod pretty;

pub mod cli;
pub mod export;

pub mod lsp;
pub mod mcp;
pub mod web;

pub mod command;
