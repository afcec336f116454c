//! Where each agent's files are.
//!
//! The profile `ai-sync` has the places of the earlier tool whose store this is. The profile `current` has the places that
//! newer releases read, as documentation named them in November 2026: that of the agents, and for Kiro and Antigravity pages of
//! others.

use std::path::Path;

/// The agents that can get instructions.
pub const INSTRUCTION_TARGETS: &[&str] = &["cursor", "codex", "claude", "gemini"];
/// The agents that can get rules.
pub const RULE_TARGETS: &[&str] = &["cursor", "codex", "kiro"];
/// The agents that can get skills.
pub const SKILL_TARGETS: &[&str] = &["cursor", "codex", "claude", "gemini", "antigravity"];

/// The folders of agents, below a home.
pub const FOLDERS: &[&str] = &[".agents", ".claude", ".codex", ".cursor", ".gemini", ".kiro"];

/// How a rule looks in a directory of rules.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    /// Cursor's front matter.
    Cursor,
    /// Kiro's: `inclusion`.
    Kiro,
    /// Claude Code's: `paths`.
    Claude,
}

impl Form {
    /// Returns what the names of such files end with.
    pub fn suffix(self) -> &'static str {
        if self == Form::Cursor { ".mdc" } else { ".md" }
    }
}

/// A place for rules.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rules {
    /// All in one file, one after the other.
    Joined(&'static str),
    /// All in one file, each below a heading with its id.
    Headed(&'static str),
    /// One file for each, in a directory.
    Each(&'static str, Form),
}

/// The directory of Claude Code's rules, which has its instructions in the profile `current`.
pub const CLAUDE_RULES: &str = ".claude/rules";
/// What a home has that was set up for the places of the profile `ai-sync`.
const SIGNS: &[&str] =
    &[".codex/model-instructions.md", ".codex/skills", ".gemini/antigravity/skills", ".kiro/steering/conventions.md"];

/// Returns the profile that fits a home without a store: the places of today, unless those of the earlier tool are in use.
pub fn fitting_profile(base: &Path) -> &'static str {
    // Older releases of Codex had skills beside the file of today.
    let is_todays = |sign: &str| sign == ".codex/skills" && base.join(".codex/AGENTS.md").exists();
    let is_sign = |sign: &&str| base.join(sign).exists() && !is_todays(sign);
    if SIGNS.iter().any(is_sign) { "ai-sync" } else { "current" }
}

/// Returns the file with an agent's instructions, below the base; Cursor and Codex have `AGENTS.md`.
pub fn instructions(agent: &str, is_repository: bool) -> Option<&'static str> {
    match (agent, is_repository) {
        ("claude", false) => Some(".claude/CLAUDE.md"),
        ("gemini", false) => Some(".gemini/GEMINI.md"),
        ("claude", true) => Some("CLAUDE.md"),
        ("gemini", true) => Some("GEMINI.md"),
        _ => None,
    }
}

/// Returns the places of an agent's rules, below the base.
pub fn rules(agent: &str, is_current: bool, is_repository: bool) -> Option<Rules> {
    match agent {
        "cursor" => Some(Rules::Each(".cursor/rules", Form::Cursor)),
        // In a repository Codex reads AGENTS.md alone.
        "codex" if is_repository => None,
        "codex" if is_current => Some(Rules::Headed(".codex/AGENTS.md")),
        "codex" => Some(Rules::Headed(".codex/model-instructions.md")),
        "kiro" if is_current => Some(Rules::Each(".kiro/steering", Form::Kiro)),
        "kiro" => Some(Rules::Joined(".kiro/steering/conventions.md")),
        _ => None,
    }
}

/// Returns the directory of an agent's skills, below the base.
pub fn skills(agent: &str, is_current: bool, is_repository: bool) -> Option<&'static str> {
    match agent {
        "cursor" => Some(".cursor/skills"),
        "codex" if is_current || is_repository => Some(".agents/skills"),
        "codex" => Some(".codex/skills"),
        "claude" => Some(".claude/skills"),
        "gemini" => Some(".gemini/skills"),
        "antigravity" if is_repository => Some(".agents/skills"),
        "antigravity" if is_current => Some(".gemini/config/skills"),
        "antigravity" => Some(".gemini/antigravity/skills"),
        _ => None,
    }
}

/// Says whether a path below the base is that of a text of an agent, or of a file that agents read in any directory.
pub fn is_text(below: &Path) -> bool {
    is_own_text(below) || below.file_name().is_some_and(|name| name == "AGENTS.md" || name == "CLAUDE.md")
}

/// Says whether a path below the base is that of a text of an agent.
pub fn is_own_text(below: &Path) -> bool {
    let kinds = [(false, false), (true, false), (false, true)];
    let is_rules = |rules: Rules| match rules {
        Rules::Joined(file) | Rules::Headed(file) => below == Path::new(file),
        Rules::Each(directory, form) => {
            below.parent() == Some(Path::new(directory))
                && below.to_str().is_some_and(|path| path.ends_with(form.suffix()))
        }
    };
    let of_agent = |agent: &&str| {
        kinds.iter().any(|(is_current, is_repo)| {
            instructions(agent, *is_repo).is_some_and(|file| below == Path::new(file))
                || rules(agent, *is_current, *is_repo).is_some_and(is_rules)
        })
    };
    let is_claudes = is_rules(Rules::Each(CLAUDE_RULES, Form::Claude));
    is_claudes || INSTRUCTION_TARGETS.iter().chain(RULE_TARGETS).any(of_agent)
}

/// Says whether a path below the base is that of a skill of an agent.
pub fn is_skill(below: &Path) -> bool {
    let is_in =
        |directory: Option<&str>| directory.is_some_and(|directory| below.parent() == Some(Path::new(directory)));
    let kinds = [(false, false), (true, false), (false, true)];
    SKILL_TARGETS
        .iter()
        .any(|agent| kinds.iter().any(|(is_current, is_repo)| is_in(skills(agent, *is_current, *is_repo))))
}
