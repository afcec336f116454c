//! OpenCode and Kilo, which is made from it: sessions in a database (or, in older releases, in small files), and a plugin
//! instead of hooks.
//!
//! Sessions share a store. The path of a session is the path of the store followed by the session's id. The transcript is
//! the output of `opencode export`, as lines for each message; see `store`, `database` and `pieces`. Messages are parsed in
//! `messages`.
//!
//! Seen in real data: the tables `session`, `message` and `part`, the files of messages and parts, texts, tool calls and
//! tokens. Only in written data: the tables as a whole, the files of sessions, the export, reasoning, injected texts, what
//! the plugin gets. From reference alone: sessions of sub-agents, compaction, `summary` of prompts, `OPENCODE_DB`, the
//! other parts of messages. Not read: the layout below `project/<slug>/storage`, and what releases 2.x may have besides.

mod database;
mod messages;
mod pieces;
mod store;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use self::store::Store;
use super::hooks::{Commands, HookFile, HookForm};
use super::instructions::{Choice, FilePatterns, HomeFolder, Instructions};
use super::json::{at, field};
use super::place;
use super::{Agent, Ask, FoundTranscript, Parser, Recorded, Restoration, RestoredContent, ask, document};
use crate::error::{Error, Result};
use crate::outside;

/// OpenCode itself, or a program that is made from it.
pub struct OpenCode {
    name: &'static str,
    title: &'static str,
    programs: &'static [&'static str],
    /// The folder with its data, below that of all programs, and the beginning of its databases' names; also the folder
    /// with its configuration.
    folder: &'static str,
    /// The usual path of that with its configuration, below the home directory.
    config: &'static str,
    /// The variable that names another database.
    database: &'static str,
    variables: &'static [&'static str],
    plugin: &'static str,
    remark: &'static str,
    /// Whether it loads the plugins of the main working tree in a linked one, too.
    loads_plugins_of_main_worktree: bool,
    ask: Option<&'static Ask>,
}

impl OpenCode {
    /// OpenCode itself.
    pub const ITSELF: OpenCode = OpenCode {
        name: "opencode",
        title: "OpenCode",
        programs: &["opencode", "opencode2"],
        folder: "opencode",
        config: ".config/opencode",
        database: "OPENCODE_DB",
        variables: &["OPENCODE"],
        plugin: ".opencode/plugins/shiftlog.js",
        remark: "OpenCode loads its plugin when it starts, and then installs the package '@opencode-ai/plugin' (some 60 MB) \
                 into '.opencode', once",
        loads_plugins_of_main_worktree: false,
        ask: Some(&ASK),
    };
    /// Kilo.
    pub const KILO: OpenCode = OpenCode {
        name: "kilo",
        title: "Kilo",
        programs: &["kilo"],
        folder: "kilo",
        config: ".config/kilo",
        database: "KILO_DB",
        variables: &["KILO"],
        plugin: ".kilo/plugins/shiftlog.js",
        remark: "Kilo loads its plugin when it starts, and then tries to install a package for it, which takes a minute where \
                 there is no network",
        loads_plugins_of_main_worktree: true,
        ask: None,
    };

    /// Returns the directory for its data.
    fn data(&self) -> Option<PathBuf> {
        Some(place::data()?.join(self.folder))
    }

    fn stores(&self) -> Vec<Store> {
        self.data().map(|data| Store::all(&data, self.folder, self.database)).unwrap_or_default()
    }
}

const PLUGIN: &str = include_str!("plugin.js");

/// How it is asked headlessly.
const ASK: Ask = Ask {
    name: "opencode",
    program: "opencode",
    words: &["run", "--title", "git shiftlog summarise"],
    environment: &[("OPENCODE_CONFIG_CONTENT", r#"{"permission":{"*":"deny"}}"#)],
    ..ask::PLAIN
};

/// The instruction files that it reads, besides those that its settings name.
const INSTRUCTIONS: &[FilePatterns] =
    &[FilePatterns::path(&["AGENTS.md"]), FilePatterns::path(&["CLAUDE.md"]).fallback()];

impl Agent for OpenCode {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn is_installed(&self) -> bool {
        let has_config = || place::config().is_some_and(|config| config.join(self.folder).is_dir());
        has_config()
            || self.data().is_some_and(|data| data.is_dir())
            || self.programs.iter().any(|program| place::has_program(program))
    }

    fn instructions(&self) -> Option<Instructions> {
        let own = place::config().map(|config| config.join(self.folder));
        let mut home = HomeFolder::all(own, self.config, &["AGENTS.md"]);
        let of_claude = place::home().map(|home| home.join(".claude"));
        let of_claude = HomeFolder::all(of_claude, ".claude", &["CLAUDE.md"]).into_iter();
        home.extend(of_claude.map(|folder| HomeFolder { choice: Choice::Fallback, ..folder }));
        Some(Instructions { repo: INSTRUCTIONS, home, has_imports: false })
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(messages::parse)
    }

    fn session_id(&self, transcript: &[u8]) -> Option<String> {
        let mut found = None;
        document::each(transcript, "messages", |record, _| {
            let id = || at(record, &["info", "sessionID"]).or_else(|| at(record, &["info", "id"]));
            if found.is_none() && field(record, "info").is_some() {
                found = id().and_then(|id| Some(id.as_str()?.to_owned()));
            }
        });
        found
    }

    fn is_rendered(&self, _: &Path) -> bool {
        true
    }

    fn list(&self) -> Option<&'static str> {
        Some("messages")
    }

    fn lines(&self, native: Vec<u8>) -> Vec<u8> {
        let lines = document::to_lines(&native, "messages");
        // An export can have members that look like our marks.
        if store::export(&lines) == native { lines } else { document::in_one_piece(&native) }
    }

    fn native<'t>(&self, transcript: &'t [u8]) -> Cow<'t, [u8]> {
        Cow::Owned(store::export(transcript))
    }

    fn stored_bytes(&self, transcript: &Path) -> Option<u64> {
        match Store::of(transcript) {
            Some((store, session_id)) => store.bytes_of(&session_id),
            None => transcript.metadata().ok().map(|file| file.len()),
        }
    }

    fn read_until(&self, transcript: &Path, deadline: Option<Instant>) -> Result<Vec<u8>> {
        match Store::of(transcript) {
            Some((store, session_id)) => store.read(&session_id, deadline),
            None => {
                let bytes = place::read(transcript).map_err(|error| Error::io("read", transcript, error))?;
                Ok(self.lines(bytes))
            }
        }
    }

    fn transcript(&self, session_id: &str, _: &Path) -> Option<PathBuf> {
        let stores = if outside::is_plain_id(session_id) { self.stores() } else { Vec::new() };
        Some(stores.into_iter().find(|store| store.has(session_id))?.transcript(session_id))
    }

    fn recent(&self, directory: &Path, seconds: i64) -> Vec<FoundTranscript> {
        let mut found: Vec<FoundTranscript> = Vec::new();
        for store in self.stores() {
            for session_id in store.recent(directory, seconds) {
                // A newer release has taken over what an older one left in files.
                if !found.iter().any(|found| found.session_id == session_id) {
                    found.push(FoundTranscript { transcript: store.transcript(&session_id), session_id });
                }
            }
        }
        found
    }

    fn is_written_since(&self, transcript: &Path, seconds: i64) -> bool {
        Store::of(transcript).is_none_or(|(store, session_id)| store.is_written_since(&session_id, seconds))
    }

    fn sub_agents(&self, transcript: &Path) -> Vec<FoundTranscript> {
        let Some((store, session_id)) = Store::of(transcript) else { return Vec::new() };
        let named = |id: String| FoundTranscript {
            session_id: format!("{session_id}.{id}"),
            transcript: store.transcript(&id),
        };
        store.children(&session_id).into_iter().map(named).collect()
    }

    fn repeated_bytes(&self, transcript: &Path, deadline: Instant) -> Option<u64> {
        Store::of(transcript)?;
        messages::repeated_bytes(&self.read_until(transcript, Some(deadline)).ok()?)
    }

    fn runs_hooks_of_main_worktree(&self) -> bool {
        self.loads_plugins_of_main_worktree
    }

    fn restoration(&self, session: Recorded<'_>, _: &Path) -> Result<Option<Restoration>> {
        let Some(data) = place::data().filter(|_| outside::is_plain_id(session.session_id)) else { return Ok(None) };
        let id = session.session_id;
        // It takes a session from any file, and keeps it in its database from then on.
        let file = data.join("git-shiftlog").join(format!("{id}.json"));
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let commands = vec![words(&[self.name, "import", &file.to_string_lossy()]), words(&[self.name, "-s", id])];
        let export = self.native(session.transcript).into_owned();
        Ok(Some(Restoration { files: vec![(file, RestoredContent::Index(export))], commands }))
    }

    fn ask(&self) -> Option<&'static Ask> {
        self.ask
    }

    fn opening(&self, prompt: &str) -> Option<Vec<String>> {
        Some([self.name, "--prompt", prompt].map(str::to_owned).to_vec())
    }

    fn variables(&self) -> &'static [&'static str] {
        self.variables
    }

    fn hook_files(&self, _: bool) -> Vec<HookFile> {
        vec![HookFile {
            path: self.plugin,
            form: HookForm::Own(plugin, false),
            handlers: &[],
            remark: Some(self.remark),
        }]
    }
}

fn plugin(commands: &Commands<'_>) -> String {
    // JSON is JavaScript.
    let program = serde_json::Value::from(commands.program).to_string();
    PLUGIN.replace("\"@PROGRAM@\"", &program).replace("@AGENT@", commands.agent)
}
