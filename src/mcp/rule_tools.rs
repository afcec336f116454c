//! The table of the tools for rules. Their names and arguments are those of an earlier tool, whose server agents know.

use serde_json::{Value, json};

use super::rules;
use super::schema::object;
use super::tools::{TOOLS, Tool, Word};

/// Returns all tools, in the order they are listed.
pub fn all() -> impl Iterator<Item = &'static Tool> {
    TOOLS.iter().chain(RULE_TOOLS)
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn with_default(mut schema: Value, default: Value) -> Value {
    schema["default"] = default;
    schema
}

fn list(description: &str) -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "description": description })
}

fn dry_run() -> Value {
    json!({ "type": "boolean", "default": false, "description": "Say what would be done, and write nothing" })
}

fn names() -> Value {
    object(json!({ "names": list("Names of skills; all are moved, or none"), "dry_run": dry_run() }), &["names"])
}

fn nothing() -> Value {
    object(json!({}), &[])
}

fn strings() -> Value {
    json!({ "type": "array", "items": { "type": "string" } })
}

fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

/// The schema of the answers of tools that change something.
fn outcome() -> Value {
    let change = object(json!({ "path": { "type": "string" }, "action": { "type": "string" } }), &["path", "action"]);
    let counts = object(
        json!({ "instructions": count(), "rules": count(), "skills": count() }),
        &["instructions", "rules", "skills"],
    );
    object(
        json!({
            "success": { "type": "boolean" }, "output": { "type": "string" }, "error": { "type": "string" },
            "changed": { "type": "array", "items": change }, "changed_count": count(), "counts": counts,
            "backup_id": { "type": ["string", "null"] }, "dry_run": { "type": "boolean" },
        }),
        &["success"],
    )
}

fn overview() -> Value {
    let rule = object(
        json!({
            "id": { "type": "string" }, "file": { "type": "string" }, "imported_from": { "type": "string" },
            "alwaysApply": { "type": "boolean" }, "description": { "type": "string" },
        }),
        &["id", "file", "imported_from", "alwaysApply", "description"],
    );
    let skill = object(
        json!({
            "name": { "type": "string" }, "sync_mode": { "type": "string" }, "conflict_strategy": { "type": "string" },
        }),
        &["name", "sync_mode", "conflict_strategy"],
    );
    let targets = object(
        json!({ "instructions": strings(), "rules": strings(), "skills": { "type": "array", "items": skill } }),
        &["instructions", "rules", "skills"],
    );
    object(
        json!({
            "rules": { "type": "array", "items": rule }, "active_targets": targets, "skills": strings(),
            "archived_skills": strings(), "agents_md_paths": strings(), "claude_md_paths": strings(),
            "last_synced": { "type": "string" },
            // Only where a list is cut.
            "rules_count": count(), "skills_count": count(), "archived_skills_count": count(), "success": { "type": "boolean" }, "error": { "type": "string" },
        }),
        &[],
    )
}

const RULE_TOOLS: &[Tool] = &[
    Tool {
        name: "status",
        word: Word::Rules,
        title: "Rules and skills",
        description: "Show the rules and skills that all coding agents of this user share, and which agents get them. \
                      Reads only.",
        input: nothing,
        output: overview,
        max_result_chars: None,
        run: rules::status,
    },
    Tool {
        name: "list_archived",
        word: Word::Rules,
        title: "Archived skills",
        description: "List the names of archived skills, which sync_restore_skill can bring back.",
        input: nothing,
        output: || {
            object(
                json!({ "archived_skills": strings(), "success": { "type": "boolean" }, "error": { "type": "string" } }),
                &[],
            )
        },
        max_result_chars: None,
        run: rules::list_archived,
    },
    Tool {
        name: "rules",
        word: Word::Rules,
        title: "Write rules to the agents' files",
        description: "Write the rules and skills to the files that each agent reads. Files that the user has changed are \
                      never overwritten: then nothing is written, and the error names them.",
        input: || {
            let only = json!({ "type": ["string", "null"], "default": null, "description": "Only this agent: cursor, codex, claude, gemini, kiro or antigravity" });
            object(json!({ "only": only, "dry_run": dry_run() }), &[])
        },
        output: outcome,
        max_result_chars: None,
        run: rules::sync,
    },
    Tool {
        name: "set_config",
        word: Word::Rules,
        title: "Set a value of the rules' settings",
        description: "Set agents_md.paths, agents_md.header, agents_md.preamble or claude_md.paths. Paths are separated by \
                      commas. Then call sync_rules.",
        input: || object(json!({ "key": text("The key"), "value": text("The value") }), &["key", "value"]),
        output: outcome,
        max_result_chars: None,
        run: rules::set_config,
    },
    Tool {
        name: "reconfigure",
        word: Word::Rules,
        title: "Choose which agents get rules",
        description: "Choose which agents get rules (cursor, codex, kiro), skills (cursor, codex, claude, gemini, \
                      antigravity) and instructions (cursor, codex, claude, gemini), and sync. What was written for agents \
                      that are left out is removed.",
        input: || {
            object(
                json!({
                    "rule_targets": list("Agents that get rules"), "skill_targets": list("Agents that get skills"),
                    "instruction_targets": list("Agents that get instructions; without it they stay as they are"),
                }),
                &["rule_targets", "skill_targets"],
            )
        },
        output: outcome,
        max_result_chars: None,
        run: rules::reconfigure,
    },
    Tool {
        name: "add_rule",
        word: Word::Rules,
        title: "Add a rule for all agents",
        description: "Add a rule that holds for all coding agents of this user, and sync. Ask the user before you add one.",
        input: || {
            object(
                json!({
                    "id": text("Name of the rule: letters, digits, '.', '_' and '-'"),
                    "description": with_default(text("What the rule is about, in a line"), json!("")),
                    "content": with_default(text("The text, in Markdown"), json!("")),
                    "always_apply": { "type": "boolean", "default": true, "description": "Whether it holds in each conversation" },
                    "exclude": with_default(text("Agents that do not get it, separated by commas"), json!("")),
                }),
                &["id"],
            )
        },
        output: outcome,
        max_result_chars: None,
        run: rules::add_rule,
    },
    Tool {
        name: "remove_rule",
        word: Word::Rules,
        title: "Remove a rule",
        description: "Remove a rule, and sync. Its text is kept in a backup.",
        input: || object(json!({ "id": text("Name of the rule") }), &["id"]),
        output: outcome,
        max_result_chars: None,
        run: rules::remove_rule,
    },
    Tool {
        name: "archive_skill",
        word: Word::Rules,
        title: "Archive skills",
        description: "Move skills to the archive, all or none, and sync.",
        input: names,
        output: outcome,
        max_result_chars: None,
        run: rules::archive_skill,
    },
    Tool {
        name: "restore_skill",
        word: Word::Rules,
        title: "Restore archived skills",
        description: "Move skills back from the archive, all or none, and sync.",
        input: names,
        output: outcome,
        max_result_chars: None,
        run: rules::restore_skill,
    },
    Tool {
        name: "clean",
        word: Word::Rules,
        title: "Remove what was generated",
        description: "Remove everything that was generated for all agents, and put back what was there before. The rules \
                      and skills themselves stay. Asks nothing: call it only if the user wants that.",
        input: || object(json!({ "dry_run": dry_run() }), &[]),
        output: outcome,
        max_result_chars: None,
        run: rules::clean,
    },
];
