//! Gemini CLI: JSON Lines in which later lines replace, amend and take back earlier ones.
//!
//! Seen in data of real sessions: messages, edits and `$set`, without a header. Only in data written after the
//! vendor's source: the header, a message that is written again, `$rewindTo`, the one document of releases before 2026,
//! hooks' payloads. From that source alone: `projects.json`, the markers, sub-agents, `--resume`.

mod chat;
mod registry;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json_borrow::Value;
use sha2::{Digest as _, Sha256};

use self::chat::MESSAGES;
use self::registry::Registry;
use super::hooks::{Handler, HookFile, HookForm, Layout};
use super::instructions::{FilePatterns, HomeFolder, Instructions};
use super::json::{self, string, text};
use super::place;
use super::{
    Agent, Ask, Event, FoundTranscript, Parser, Payload, Permission, Recognition, Recorded, Restoration,
    RestoredContent, Wording, ask, document, permission, tool,
};
use crate::error::{Error, Kind, Result};
use crate::hex::hex;
use crate::outside;

/// Gemini CLI.
pub struct Gemini;

const HANDLERS: &[Handler] = &[
    Handler { event: "SessionStart", matcher: None, timeout_secs: 10 },
    Handler { event: "BeforeAgent", matcher: None, timeout_secs: 10 },
    Handler { event: "AfterTool", matcher: Some("run_shell_command"), timeout_secs: 30 },
    Handler { event: "AfterAgent", matcher: None, timeout_secs: 30 },
    Handler { event: "PreCompress", matcher: None, timeout_secs: 10 },
    Handler { event: "SessionEnd", matcher: None, timeout_secs: 5 },
];

/// How it is asked headlessly.
const ASK: Ask = Ask {
    name: "gemini",
    program: "gemini",
    words: &["-o", "json", "-p", "Do what the text above asks for."],
    answer_key: Some("response"),
    ..ask::PLAIN
};

/// The instruction files that it reads, unless its settings name others.
const INSTRUCTIONS: &[FilePatterns] = &[FilePatterns::edited(&["GEMINI.md"])];

impl Agent for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn title(&self) -> &'static str {
        "Gemini CLI"
    }

    fn is_installed(&self) -> bool {
        // Antigravity has its files in the same directory.
        let is_there = |root: PathBuf| root.join("tmp").is_dir() || root.join("settings.json").is_file();
        root().is_some_and(is_there) || place::has_program("gemini")
    }

    fn instructions(&self) -> Option<Instructions> {
        Some(Instructions {
            repo: INSTRUCTIONS,
            home: HomeFolder::all(root(), ".gemini", &["GEMINI.md"]),
            has_imports: true,
        })
    }

    fn instruction_names(&self, worktree: &Path) -> Vec<String> {
        // Those of the working tree come before those of the user.
        let places = [Some(worktree.to_owned()), home()];
        let settings = places.into_iter().flatten().map(|place| place.join(".gemini/settings.json"));
        settings
            .filter_map(|path| permission::read_small(&path))
            .find_map(|settings| names(&settings))
            .unwrap_or_default()
    }

    fn parser(&self) -> Box<dyn Parser> {
        Box::new(chat::Chat::default())
    }

    fn wording(&self, _: &[u8]) -> Wording {
        Wording::InOnePiece
    }

    fn session_id(&self, transcript: &[u8]) -> Option<String> {
        head(transcript).map(|head| head.session_id)
    }

    fn is_rendered(&self, transcript: &Path) -> bool {
        transcript.extension().is_some_and(|extension| extension == "json")
    }

    fn list(&self) -> Option<&'static str> {
        Some(MESSAGES)
    }

    fn transcript(&self, session_id: &str, directory: &Path) -> Option<PathBuf> {
        let root = root().filter(|_| outside::is_plain_id(session_id))?;
        let is_it = |path: &PathBuf| self.head_of(path).is_some_and(|head| head.session_id == session_id);
        let in_folder = |folder: PathBuf| fullest(chats(&folder, session_id).into_iter().filter(is_it).collect());
        let all = || place::entries(&root.join("tmp")).into_iter().find_map(in_folder);
        folders(&root, directory).into_iter().find_map(in_folder).or_else(all)
    }

    fn fullest(&self, reported: PathBuf, session_id: &str) -> PathBuf {
        if has_words(&reported) {
            return reported;
        }
        let folder = reported.parent().and_then(Path::parent).unwrap_or(Path::new(""));
        let is_it = |path: &PathBuf| self.head_of(path).is_some_and(|head| head.session_id == session_id);
        let other = chats(folder, session_id).into_iter().filter(|path| has_words(path)).rfind(is_it);
        other.unwrap_or(reported)
    }

    fn recent(&self, directory: &Path, seconds: i64) -> Vec<FoundTranscript> {
        let Some(root) = root().filter(|root| root.join("tmp").is_dir()) else { return Vec::new() };
        let written = |folder: &PathBuf| place::recent_entries(&folder.join("chats"), seconds, is_chat);
        let paths = folders(&root, directory).into_iter().flat_map(|folder| written(&folder));
        let paths = paths.filter(|path| has_words(path));
        // A document of an earlier release that was taken up again is there once more, under the name that comes last.
        let mut found: HashMap<String, PathBuf> = HashMap::new();
        for path in paths {
            if let Some(head) =
                self.head_of(&path).filter(|head| !head.is_sub_agent && outside::is_plain_id(&head.session_id))
            {
                found.insert(head.session_id, path);
            }
        }
        let mut found: Vec<FoundTranscript> =
            found.into_iter().map(|(session_id, transcript)| FoundTranscript { session_id, transcript }).collect();
        found.sort_by(|a, b| a.transcript.cmp(&b.transcript));
        found
    }

    fn parent_session(&self, transcript: &Path) -> Option<String> {
        self.head_of(transcript).filter(|head| head.is_sub_agent)?;
        let folder = transcript.parent()?.file_name()?.to_str()?;
        outside::is_plain_id(folder).then(|| folder.to_owned())
    }

    fn sub_agents(&self, transcript: &Path) -> Vec<FoundTranscript> {
        let (Some(head), Some(chats)) = (self.head_of(transcript), transcript.parent()) else { return Vec::new() };
        if !outside::is_plain_id(&head.session_id) {
            return Vec::new();
        }
        let mut found = place::sessions(&chats.join(&head.session_id), "jsonl");
        found.retain(|found| outside::is_plain_id(&found.session_id));
        for sub_agent in &mut found {
            sub_agent.session_id = format!("{}.{}", head.session_id, sub_agent.session_id);
        }
        found
    }

    fn restoration(&self, session: Recorded<'_>, directory: &Path) -> Result<Option<Restoration>> {
        let Recorded { session_id, transcript, sub_agents } = session;
        let Some(root) = root() else { return Ok(None) };
        let nameless = || {
            Error::new(Kind::Unsupported, format!("the transcript does not tell that it is session {session_id}"))
                .hint("Gemini CLI finds a session only by what its file says; 'git shiftlog show' prints it")
        };
        let head = head(transcript).filter(|head| head.session_id == session_id).ok_or_else(nameless)?;
        let native = self.native(transcript).into_owned();
        let extension = if document::is_lines(transcript) { "json" } else { "jsonl" };
        let begun = head.begun.ok_or_else(nameless)?.strftime("%Y-%m-%dT%H-%M");
        let short_id = session_id.get(..8).unwrap_or(session_id);
        let registry = Registry::read(&root)?;
        let (slug, index) = registry.slug(&place::resolved(directory))?;
        let folder = root.join("tmp").join(&slug);
        let known = chats(&folder, session_id).into_iter().rfind(|path| {
            let is_it = self.head_of(path).is_some_and(|head| head.session_id == session_id);
            is_it && path.extension().is_some_and(|found| found == extension)
        });
        let path = known.unwrap_or_else(|| folder.join(format!("chats/session-{begun}-{short_id}.{extension}")));
        let mut files = vec![(path, RestoredContent::Transcript(native))];
        for (id, text) in sub_agents {
            let path = folder.join("chats").join(session_id).join(format!("{id}.jsonl"));
            files.push((path, RestoredContent::Transcript(text.clone())));
        }
        files.extend(index.map(|index| (root.join("projects.json"), RestoredContent::Index(index))));
        let owner = place::resolved(directory).to_string_lossy().into_owned().into_bytes();
        for place in ["tmp", "history"] {
            files.push((root.join(place).join(&slug).join(".project_root"), RestoredContent::Once(owner.clone())));
        }
        let words = ["gemini", "--resume", session_id].map(str::to_owned).to_vec();
        Ok(Some(Restoration { files, commands: vec![words] }))
    }

    fn session_of_environment(&self) -> Option<String> {
        std::env::var("GEMINI_SESSION_ID").ok().filter(|id| outside::is_plain_id(id))
    }

    fn ask(&self) -> Option<&'static Ask> {
        Some(&ASK)
    }

    fn opening(&self, prompt: &str) -> Option<Vec<String>> {
        Some(["gemini", "-i", prompt].map(str::to_owned).to_vec())
    }

    fn variables(&self) -> &'static [&'static str] {
        &["GEMINI_CLI"]
    }

    fn events(&self) -> &'static [(&'static str, Event)] {
        &[("AfterTool", Event::AfterTool)]
    }

    fn tools(&self) -> &'static tool::ToolNames {
        &tool::ToolNames { shells: &["run_shell_command"], ..tool::NONE }
    }

    fn recognizes(&self, payload: &Payload, _: &str) -> Option<Recognition> {
        payload.has_transcript_in("/.gemini/tmp/").then_some(Recognition::Place)
    }

    fn permission(&self, worktree: &Path) -> Permission {
        let Some(root) = root() else { return Permission::NotNeeded };
        let switch = permission::read(&root.join("settings.json"));
        let switch = switch.and_then(|settings| settings.pointer("/security/folderTrust/enabled")?.as_bool());
        if switch == Some(false) {
            return Permission::Given("since trust of folders is switched off".into());
        }
        let path = root.join("trustedFolders.json");
        let folders = permission::read(&path).and_then(|folders| folders.as_object().cloned()).unwrap_or_default();
        match permission::nearest(&folders, worktree).map(|(_, trust)| trust.as_str().unwrap_or_default()) {
            Some("TRUST_FOLDER" | "TRUST_PARENT") => Permission::Given(format!("by '{}'", path.display())),
            Some("DO_NOT_TRUST") => Permission::Missing {
                what: "it does not trust this folder".into(),
                fix: "start 'gemini' here and type '/permissions'".into(),
            },
            _ => Permission::Unknown("it runs them in folders that it trusts, and asks for that when it starts".into()),
        }
    }

    fn user_directory(&self) -> Option<PathBuf> {
        home()
    }

    fn hook_files(&self, _: bool) -> Vec<HookFile> {
        vec![HookFile {
            path: ".gemini/settings.json",
            form: HookForm::Json(Layout { is_millis: Some(true), is_named: true, ..Layout::GROUPS }),
            handlers: HANDLERS,
            remark: Some(
                "Gemini CLI hides Git's hooks from its shell, so its own must run: start it at the top of this working tree, in \
                 a folder that it trusts (releases of early 2026 also need 'tools.enableHooks' in its settings)",
            ),
        }]
    }
}

/// The largest file that may hold only a session's header, in bytes.
const LONGEST_STUB: u64 = 128 * 1024;

impl Gemini {
    fn head_of(&self, path: &Path) -> Option<Head> {
        if self.is_rendered(path) { head(&self.read(path).ok()?) } else { json::find_in_file(path, read_head) }
    }
}

fn home() -> Option<PathBuf> {
    place::variable("GEMINI_CLI_HOME").or_else(place::home)
}

fn root() -> Option<PathBuf> {
    Some(home()?.join(".gemini"))
}

/// Returns the names of instruction files in settings: one, or a list.
fn names(settings: &serde_json::Value) -> Option<Vec<String>> {
    // Settings of releases before September 2025 have another key.
    let names = settings.pointer("/context/fileName").or_else(|| settings.get("contextFileName"))?;
    let one = names.as_str().map(|name| vec![name.to_owned()]);
    one.or_else(|| Some(names.as_array()?.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()))
}

/// The head of a transcript.
struct Head {
    session_id: String,
    begun: Option<jiff::Timestamp>,
    is_sub_agent: bool,
}

fn head(transcript: &[u8]) -> Option<Head> {
    let mut head = None;
    document::each(transcript, MESSAGES, |record, _| {
        if head.is_none() {
            head = read_head(record);
        }
    });
    head
}

fn read_head(record: &Value<'_>) -> Option<Head> {
    Some(Head {
        session_id: string(record, "sessionId")?,
        begun: text(record, "startTime").and_then(|time| time.parse().ok()),
        is_sub_agent: text(record, "kind") == Some("subagent"),
    })
}

/// Returns the last of a session's transcripts in which something was said, else the last one.
fn fullest(mut paths: Vec<PathBuf>) -> Option<PathBuf> {
    let with_words = paths.iter().rposition(|path| has_words(path));
    with_words.map(|position| paths.swap_remove(position)).or_else(|| paths.pop())
}

/// Says whether anything was said in a transcript. A session that is taken up again leaves a second file of the same
/// id, which has only the beginning that each session has: the session goes on in the first.
fn has_words(path: &Path) -> bool {
    let is_message = |record: &Value<'_>| text(record, "id").and(text(record, "type")).map(drop);
    let is_long = || path.metadata().is_ok_and(|file| file.len() > LONGEST_STUB);
    path.extension().is_some_and(|extension| extension == "json")
        || is_long()
        || json::find_in_file(path, is_message).is_some()
}

/// Returns the transcripts in a project's folder that can be of a session, oldest first.
fn chats(folder: &Path, session_id: &str) -> Vec<PathBuf> {
    let ending = format!("-{}", session_id.get(..8).unwrap_or(session_id));
    let is_wanted = |path: &PathBuf| is_chat(path) && stem(path).ends_with(&ending);
    place::entries(&folder.join("chats")).into_iter().filter(is_wanted).collect()
}

/// Says whether a file is named as a transcript is.
fn is_chat(path: &Path) -> bool {
    let is_transcript = path.extension().is_some_and(|extension| extension == "jsonl" || extension == "json");
    is_transcript && stem(path).starts_with("session-")
}

fn stem(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
}

/// Returns the folders of the projects that are in a directory or below it.
fn folders(root: &Path, directory: &Path) -> Vec<PathBuf> {
    let tmp = root.join("tmp");
    let registry = Registry::read(root).unwrap_or_default();
    let mut folders: Vec<PathBuf> = registry
        .projects()
        .filter(|(path, slug)| outside::is_plain_id(slug) && place::is_below(path, directory))
        .map(|(_, slug)| tmp.join(slug))
        .collect();
    if registry.is_empty() {
        let owner = |folder: &PathBuf| place::read_text(&folder.join(".project_root")).ok();
        let is_here = |folder: &PathBuf| owner(folder).is_some_and(|path| place::is_below(path.trim(), directory));
        folders.extend(place::entries(&tmp).into_iter().filter(is_here));
    }
    // Before there were names, a project's folder was called by the digest of its path.
    for directory in HashSet::from([directory.to_owned(), place::resolved(directory)]) {
        let digest = Sha256::digest(directory.to_string_lossy().as_bytes());
        folders.push(tmp.join(hex(&digest)));
    }
    folders
}
