//! Claude Code: where it lives, its hooks, and how it names its files.
//!
//! How its transcripts read is in `records`, and how what is typed as a command reads in `typed`.

pub(super) mod records;
mod typed;

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::hooks::{Handler, HookFile, HookForm, Layout};
use super::instructions::{FilePatterns, HomeFolder, Instructions};
use super::place::{self, home};
use super::{
    Agent, Ask, FoundTranscript, Parser, Payload, Permission, Recognition, Recorded, Restoration, RestoredContent,
    Wording, ask, permission, tool,
};
use crate::error::Result;
use crate::git::private;
use crate::outside;

/// Claude Code, with its own files where it keeps them, or in another place.
pub struct Claude {
    root: Option<PathBuf>,
}

impl Claude {
    /// Claude Code as this user has it: `$CLAUDE_CONFIG_DIR`, else `~/.claude`.
    pub const INSTALLED: Claude = Claude { root: None };

    /// Returns Claude Code with its files in `root`.
    pub fn at(root: &Path) -> Self {
        Claude { root: Some(root.to_owned()) }
    }

    fn root(&self) -> Option<PathBuf> {
        self.root.clone().or_else(|| place::root("CLAUDE_CONFIG_DIR", ".claude"))
    }
}

const HANDLERS: &[Handler] = &[
    Handler { event: "SessionStart", matcher: None, timeout_secs: 10 },
    Handler { event: "UserPromptSubmit", matcher: None, timeout_secs: 10 },
    Handler { event: "PostToolUse", matcher: Some("Bash|PowerShell"), timeout_secs: 30 },
    Handler { event: "PostToolUseFailure", matcher: Some("Bash|PowerShell"), timeout_secs: 30 },
    Handler { event: "Stop", matcher: None, timeout_secs: 30 },
    Handler { event: "SubagentStop", matcher: None, timeout_secs: 30 },
    Handler { event: "PreCompact", matcher: None, timeout_secs: 10 },
    Handler { event: "SessionEnd", matcher: None, timeout_secs: 10 },
];

/// How it is asked headlessly.
const ASK: Ask = Ask {
    name: "claude",
    program: "claude",
    words: &[
        "-p",
        "--output-format",
        "json",
        "--setting-sources",
        "",
        "--strict-mcp-config",
        "--tools",
        "",
        "--no-session-persistence",
    ],
    answer_key: Some("result"),
    ..ask::PLAIN
};

/// The instruction files that it reads: those of the team and the user's own. It reads `AGENTS.md` where there is no
/// `CLAUDE.md`. Rules that are for some paths count whether or not they were needed.
const INSTRUCTIONS: &[FilePatterns] = &[
    FilePatterns::path(OWN_FILES),
    FilePatterns::path(&["AGENTS.md", ".claude/AGENTS.md"]).fallback(),
    FilePatterns::path(&[".claude/rules/**/*.md"]),
    FilePatterns::edited(OWN_FILES),
];
const OWN_FILES: &[&str] = &["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"];

impl Agent for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn title(&self) -> &'static str {
        "Claude Code"
    }

    fn is_installed(&self) -> bool {
        let older = || home().is_some_and(|home| home.join(".claude/local/claude").is_file());
        self.root().is_some_and(|root| root.is_dir()) || place::has_program("claude") || older()
    }

    fn instructions(&self) -> Option<Instructions> {
        let home = HomeFolder::all(self.root(), ".claude", &["CLAUDE.md", "rules/**/*.md"]);
        Some(Instructions { repo: INSTRUCTIONS, home, has_imports: true })
    }

    fn instructions_above(&self) -> Option<FilePatterns> {
        Some(FilePatterns::path(OWN_FILES))
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(records::parse)
    }

    fn file_before(&self, record: &[u8]) -> Option<String> {
        records::file_before(record)
    }

    fn wording(&self, beginning: &[u8]) -> Wording {
        if records::is_web_export(beginning) { Wording::InOnePiece } else { Wording::InLines }
    }

    fn answers_each_call(&self) -> bool {
        true
    }

    fn prompt_mark(&self) -> Option<&'static str> {
        Some(records::PROMPT_MARK)
    }

    fn may_be_prompt(&self, line: &[u8]) -> bool {
        records::may_be_prompt(line)
    }

    fn session_id(&self, transcript: &[u8]) -> Option<String> {
        records::session_id(transcript)
    }

    fn transcript(&self, session_id: &str, directory: &Path) -> Option<PathBuf> {
        if !outside::is_plain_id(session_id) {
            return None;
        }
        let projects = self.root()?.join("projects");
        let file = format!("{session_id}.jsonl");
        let expected = projects.join(project_name(directory)).join(&file);
        if expected.is_file() {
            return Some(expected);
        }
        let folders = std::fs::read_dir(projects).ok()?.flatten();
        folders.map(|folder| folder.path().join(&file)).find(|path| path.is_file())
    }

    fn recent(&self, directory: &Path, seconds: i64) -> Vec<FoundTranscript> {
        let Some(root) = self.root() else { return Vec::new() };
        let folder = root.join("projects").join(project_name(directory));
        // Directories whose names differ only in punctuation share a folder; the records tell them apart.
        let is_from_here =
            |path: &Path| records::first_string(path, "cwd").is_none_or(|cwd| place::is_below(&cwd, directory));
        let mut found = place::recent_sessions(&folder, "jsonl", seconds);
        found.retain(|found| !found.session_id.starts_with("agent-") && is_from_here(&found.transcript));
        found
    }

    fn sub_agents(&self, transcript: &Path) -> Vec<FoundTranscript> {
        let Some(session_id) = transcript.file_stem().map(|stem| stem.to_string_lossy().into_owned()) else {
            return Vec::new();
        };
        let mut found = place::sessions(&transcript.with_extension("").join("subagents"), "jsonl");
        // Older releases put them beside the session's file; then only their records tell whose they are.
        let siblings = transcript.parent().map(|folder| place::sessions_named(folder, "agent-", "jsonl"));
        found.extend(siblings.unwrap_or_default().into_iter().filter(|sibling| {
            records::first_string(&sibling.transcript, "sessionId").is_some_and(|id| id == session_id)
        }));
        found.retain(|found| found.session_id.starts_with("agent-"));
        for sub_agent in &mut found {
            let agent_id = sub_agent.session_id.trim_start_matches("agent-").to_owned();
            sub_agent.session_id = format!("{session_id}.{agent_id}");
        }
        found
    }

    fn forked_from(&self, transcript: &Path) -> Option<String> {
        records::forked_from(std::io::BufReader::new(private::open(transcript).ok()?))
    }

    fn repeated_bytes(&self, transcript: &Path, _: Instant) -> Option<u64> {
        records::repeated_bytes(std::io::BufReader::new(private::open(transcript).ok()?))
    }

    fn restoration(&self, session: Recorded<'_>, directory: &Path) -> Result<Option<Restoration>> {
        let Recorded { session_id, transcript, sub_agents } = session;
        let Some(root) = self.root() else { return Ok(None) };
        let folder = root.join("projects").join(project_name(directory));
        // It refuses a session whose records say that they are from elsewhere.
        let moved = |text: &[u8]| RestoredContent::Transcript(records::moved(text, directory));
        let mut files = vec![(folder.join(format!("{session_id}.jsonl")), moved(transcript))];
        for (id, text) in sub_agents {
            files.push((folder.join(session_id).join(format!("subagents/agent-{id}.jsonl")), moved(text)));
        }
        let words = ["claude", "--resume", session_id].map(str::to_owned).to_vec();
        Ok(Some(Restoration { files, commands: vec![words] }))
    }

    fn opening(&self, prompt: &str) -> Option<Vec<String>> {
        Some(["claude", prompt].map(str::to_owned).to_vec())
    }

    fn session_of_environment(&self) -> Option<String> {
        std::env::var("CLAUDE_CODE_SESSION_ID").ok().filter(|id| outside::is_plain_id(id))
    }

    fn ask(&self) -> Option<&'static Ask> {
        Some(&ASK)
    }

    fn variables(&self) -> &'static [&'static str] {
        &["CLAUDECODE", "CLAUDE_CODE_SESSION_ID"]
    }

    fn tools(&self) -> &'static tool::ToolNames {
        &tool::ToolNames {
            editors: &["MultiEdit", "NotebookEdit"],
            path: &["notebook_path"],
            new: &["new_source"],
            ..tool::NONE
        }
    }

    fn recognizes(&self, payload: &Payload, _: &str) -> Option<Recognition> {
        payload.has_transcript_in("/.claude/projects/").then_some(Recognition::Place)
    }

    fn permission(&self, worktree: &Path) -> Permission {
        let own = self.root().map(|root| root.join("settings.json"));
        let of_project = [".claude/settings.json", ".claude/settings.local.json"].map(|path| worktree.join(path));
        let is_off =
            |path: &PathBuf| permission::read(path).is_some_and(|settings| settings["disableAllHooks"] == true);
        match own.into_iter().chain(of_project).find(is_off) {
            Some(path) => Permission::Missing {
                what: format!("'disableAllHooks' in '{}' switches all hooks off", path.display()),
                fix: "take it out of the file".into(),
            },
            None => Permission::NotNeeded,
        }
    }

    fn runs_hooks_of_main_worktree(&self) -> bool {
        true
    }

    fn obstacle(&self, settings: &str) -> Option<String> {
        let is_read = settings.trim().is_empty() || serde_json::from_str::<serde_json::Value>(settings).is_ok();
        (!is_read).then(|| "Claude Code reads no settings that have comments or are no JSON".to_owned())
    }

    fn hook_files(&self, is_shared: bool) -> Vec<HookFile> {
        let path = if is_shared { ".claude/settings.json" } else { ".claude/settings.local.json" };
        vec![HookFile { path, form: HookForm::Json(Layout::GROUPS), handlers: HANDLERS, remark: None }]
    }
}

/// Returns the name of the folder that holds the transcripts of sessions in `directory`.
///
/// Every UTF-16 unit outside `[A-Za-z0-9]` becomes a dash; beyond 200 characters the rest becomes a hash of the
/// original. The name cannot be turned back into a path.
fn project_name(directory: &Path) -> String {
    if let Some(name) = std::env::var("CLAUDE_CODE_PROJECT_DIR_NAME").ok().filter(|name| outside::is_plain_id(name)) {
        return name;
    }
    let resolved = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    encode_directory(&resolved.to_string_lossy())
}

/// Encodes a directory as the name of a folder.
pub(super) fn encode_directory(directory: &str) -> String {
    let plain = |unit: u16| u8::try_from(unit).ok().filter(u8::is_ascii_alphanumeric).map_or('-', char::from);
    let name: String = directory.encode_utf16().map(plain).collect();
    if name.len() <= 200 {
        return name;
    }
    let hash = directory
        .encode_utf16()
        .fold(0i32, |hash, unit| (hash.wrapping_shl(5)).wrapping_sub(hash).wrapping_add(i32::from(unit)));
    format!("{}-{}", &name[..200], base36(hash.unsigned_abs()))
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_folders_are_named_as_claude_code_names_them() {
        let cases = [
            ("/home/dev/demo-app", "-home-dev-demo-app"),
            ("/Users/test/my project (v2.0)", "-Users-test-my-project--v2-0-"),
            ("/home/u/данные", "-home-u-------"),
            ("/home/u/emoji-🎉-dir", "-home-u-emoji----dir"),
            ("C:\\Users\\dev\\app", "C--Users-dev-app"),
        ];
        for (directory, name) in cases {
            assert_eq!(encode_directory(directory), name, "{directory}");
        }
        let long = format!("/srv/{}", "x/".repeat(120));
        assert_eq!(encode_directory(&long).len().cmp(&201), std::cmp::Ordering::Greater);
        assert!(encode_directory(&long).starts_with("-srv-x-x-"));
    }
}
