//! The table of tools, and checking their arguments.
//!
//! A tool is a function from arguments to an answer. Its schemas are written by hand, in a form that every client accepts;
//! arguments are checked against the input schema.

use rmcp::model::{self, MetaObject, ToolAnnotations};
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::edge::Edge;
use super::schema::{branch, check, limit, natural, object, offset};
use super::{
    Answer, Context, LOGS_NAME, NAME, RULES_NAME, Refusal, Server, Toolset, conversations, logs, search, stats, values,
    why,
};

/// The first word of a tool's name, which is also the toolset it belongs to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Word {
    /// Always `shiftlog`.
    Own,
    /// `shiftlog`, or the name of an earlier tool.
    Earlier,
    /// `memo`: the project's index.
    Index,
    /// `apex`: logs of a Salesforce org.
    Logs,
    /// `sync`: the rules of all agents.
    Rules,
}

/// A tool.
pub struct Tool {
    /// The name without its first word.
    pub name: &'static str,
    pub word: Word,
    pub title: &'static str,
    /// Its purpose, when to use it, and its answer.
    pub description: &'static str,
    pub input: fn() -> Value,
    pub output: fn() -> Value,
    /// The largest result in characters, for clients that know this key.
    pub max_result_chars: Option<u32>,
    pub run: fn(&Context<'_>, &Arguments) -> Result<Answer, Refusal>,
}

/// All tools, in the order they are listed.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "why",
        word: Word::Own,
        title: "Why a line is as it is",
        description: "Ask this before you change code that you did not write. Finds the prompt, the reasoning and the edit \
                      behind lines of a file, what the user said about it later, what was tried before and replaced, and \
                      the checks that were run. Returns at most 500 tokens, the strongest evidence first, with the call \
                      that reads more.",
        input: || {
            object(
                json!({
                    "path": { "type": "string", "description": "The file, from the top of the repository" },
                    "line": { "type": "integer", "minimum": 1, "maximum": 100_000_000, "description": "The line, or the first of them" },
                    "end_line": { "type": "integer", "minimum": 1, "maximum": 100_000_000, "description": "The last line" },
                    "revision": { "type": "string", "description": "The revision that has these lines; the working tree by default" },
                }),
                &["path", "line"],
            )
        },
        output: || {
            let found = object(
                json!({
                    "lines": { "type": "string" }, "prompt": { "type": "string" }, "task": { "type": "string" },
                    "saidMeanwhile": { "type": "string" }, "reasoning": { "type": "string" },
                    "laterPrompts": { "type": "array", "items": { "type": "string" } },
                    "replaced": { "type": "array", "items": { "type": "string" } },
                    "checks": { "type": "array", "items": { "type": "string" } },
                    "commit": { "type": "string" }, "date": { "type": "string" }, "age": { "type": "string" },
                    "fileChangesSince": natural(), "stillThere": { "type": "boolean" },
                    "fileNow": { "type": "string" }, "fileDeleted": { "type": "boolean" },
                    "evidence": { "type": "string" }, "agent": { "type": "string" }, "turn": natural(),
                    "more": { "type": "string" },
                }),
                &["lines", "evidence"],
            );
            object(
                json!({ "found": { "type": "array", "items": found }, "note": { "type": "string" } }),
                &["found", "note"],
            )
        },
        max_result_chars: None,
        run: why::why,
    },
    Tool {
        name: "search",
        word: Word::Own,
        title: "Search conversations",
        description: "Search the recorded AI conversations for words, or with regex=true for a pattern: what was asked, \
                      answered, tried and printed by tools. Words are ranked, a pattern is newest first; nothing is \
                      returned that fits badly. Returns commit, its age, session, turn, role, an excerpt, and the offset \
                      at which shiftlog_get_conversation with incremental=true reads on.",
        input: || {
            object(
                json!({
                    "query": { "type": "string", "description": "Words to look for; a phrase in quotes" },
                    "regex": { "type": "boolean", "default": false, "description": "Whether the query is a regular expression" },
                    "case_sensitive": { "type": "boolean", "default": false, "description": "Whether upper and lower case differ" },
                    "agent": { "type": "string", "description": "Only sessions of this agent, such as claude" },
                    "branch": branch(),
                    "path": { "type": "string", "description": "Only commits that change this file or directory, from the top of the repository" },
                    "since": { "type": "string", "description": "Only commits made at or after this date, as git log --since takes it" },
                    "until": { "type": "string", "description": "Only commits made at or before this date" },
                    "limit": { "type": "integer", "minimum": 1, "maximum": 100, "default": search::LIMIT, "description": "Maximum number of results" },
                    "offset": offset(),
                }),
                &["query"],
            )
        },
        output: || {
            let found = object(
                json!({
                    "sha": { "type": "string" }, "date": { "type": "string" }, "age": { "type": "string" },
                    "fileChangesSince": natural(), "filesDeletedSince": natural(), "sessionId": { "type": "string" }, "turn": natural(),
                    "role": { "type": "string" }, "excerpt": { "type": "string" }, "messageOffset": natural(),
                }),
                &["sha", "date", "age", "sessionId", "turn", "role", "excerpt", "messageOffset"],
            );
            let left = object(
                json!({
                    "sessions": natural(), "of": natural(), "from": { "type": "string" },
                    "reason": { "type": "string" },
                }),
                &["sessions", "of", "from", "reason"],
            );
            object(
                json!({
                    "matches": { "type": "array", "items": found }, "nextOffset": natural(), "notSearched": left,
                }),
                &["matches"],
            )
        },
        max_result_chars: None,
        run: search::search,
    },
    Tool {
        name: "list_conversations",
        word: Word::Earlier,
        title: "List conversations",
        description: "List commits that have a recorded AI conversation, newest first. Page with limit and offset; read \
                      one with shiftlog_get_conversation.",
        input: || object(json!({ "limit": limit(), "offset": offset(), "branch": branch() }), &[]),
        output: || {
            let listed = object(
                json!({
                    "sha": { "type": "string" }, "message": { "type": "string" }, "author": { "type": "string" },
                    "date": { "type": "string" }, "messageCount": natural(),
                }),
                &["sha", "message", "author", "date", "messageCount"],
            );
            object(
                json!({ "conversations": { "type": "array", "items": listed }, "nextOffset": natural() }),
                &["conversations"],
            )
        },
        max_result_chars: None,
        run: conversations::list,
    },
    Tool {
        name: "get_conversation",
        word: Word::Earlier,
        title: "Read a conversation",
        description: "Read the AI conversation behind a commit: the whole session up to it, or with incremental=true only \
                      what led from the commit before to this one. Long ones come in pages of whole entries: call again \
                      with offset set to nextOffset.",
        input: || {
            object(
                json!({
                    "commit_sha": { "type": "string", "description": "The commit: an id, full or abbreviated, or any other revision" },
                    "incremental": { "type": "boolean", "default": false, "description": "Only what this commit recorded" },
                    "format": { "type": "string", "enum": ["messages", "raw", "markdown"], "default": "messages",
                        "description": "One JSON object a message, the agent's own records, or Markdown" },
                    "session": { "type": "string", "description": "Which session, if several made the commit" },
                    "offset": { "type": "integer", "minimum": 0, "default": 0, "description": "Entries to skip" },
                    "limit": { "type": "integer", "minimum": 1, "maximum": 10_000, "description": "Maximum number of entries" },
                }),
                &["commit_sha"],
            )
        },
        output: || {
            object(
                json!({
                    "sha": { "type": "string" }, "sessionId": { "type": "string" }, "timestamp": { "type": "string" },
                    "age": { "type": "string" }, "fileChangesSince": natural(), "filesDeletedSince": natural(),
                    "messageCount": natural(), "transcript": { "type": "string" }, "isIncremental": { "type": "boolean" },
                    "entryCount": natural(), "nextOffset": natural(), "note": { "type": "string" },
                    "sessions": { "type": "array", "items": { "type": "string" } },
                    "rules": { "type": "array", "items": { "type": "object" } },
                    "evidence": { "type": "array", "items": { "type": "string" } },
                }),
                &["sha", "sessionId", "timestamp", "messageCount", "transcript", "isIncremental"],
            )
        },
        max_result_chars: Some(500_000),
        run: conversations::get,
    },
    Tool {
        name: "list_branches",
        word: Word::Earlier,
        title: "List branches",
        description: "List the local branches with the number of commits reachable from each that have a recorded AI \
                      conversation.",
        input: || json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        output: || {
            let listed = object(
                json!({
                    "name": { "type": "string" }, "headSha": { "type": "string" }, "isCurrent": { "type": "boolean" },
                    "conversationCount": natural(),
                }),
                &["name", "headSha", "isCurrent", "conversationCount"],
            );
            object(
                json!({ "branches": { "type": "array", "items": listed }, "note": { "type": "string" } }),
                &["branches"],
            )
        },
        max_result_chars: None,
        run: conversations::branches,
    },
    Tool {
        name: "stats",
        word: Word::Own,
        title: "What recorded work has used",
        description: "Count commits, turns, tokens and their cost in US dollars at list prices, for a range of commits such \
                      as main..topic, grouped by agent, model, author, branch, commit, day, week, month, session or path. \
                      Says how many commits have a record. A cost with atLeast=true is not complete; 0.00 with atLeast=true means \
                      that nothing of it has a known price.",
        input: || {
            object(
                json!({
                    "range": { "type": "string", "default": "HEAD", "description": "Revisions, as git log takes them" },
                    "by": { "type": "string", "default": "agent,model", "description": "Keys, separated by commas" },
                    "since": { "type": "string", "description": "Only commits made at or after this date" },
                    "until": { "type": "string", "description": "Only commits made at or before this date" },
                }),
                &[],
            )
        },
        output: || {
            let used = json!({
                "by": { "type": "object", "additionalProperties": { "type": "string" } },
                "commits": natural(), "sessions": natural(), "turns": natural(), "messages": natural(),
                "active": natural(), "cut": { "type": "boolean" },
                "tokens": { "type": "object", "additionalProperties": natural() },
                "cost": { "type": "string" }, "told": { "type": "string" }, "atLeast": { "type": "boolean" },
                "unpriced": { "type": "array", "items": { "type": "string" } },
                "coverage": { "type": "object", "additionalProperties": natural() }, "prices": { "type": "string" },
            });
            let counts = &["commits", "sessions", "turns", "messages", "active", "tokens"];
            let group = object(used, counts);
            let groups = json!({ "type": "array", "items": group });
            object(json!({ "groups": groups, "total": group, "note": { "type": "string" } }), &["groups", "total"])
        },
        max_result_chars: None,
        run: stats::stats,
    },
    Tool {
        name: "list_keys",
        word: Word::Own,
        title: "List keys",
        description: "List what is at a path of the recorded data, to walk a long conversation in small reads: \
                      [conversation][<revision>], [commit][<revision>] or [branches], then keys and indexes. Returns the \
                      keys of an object or the length of a list.",
        input: || path_input("The path, such as [conversation][HEAD][messages]"),
        output: keys_output,
        max_result_chars: None,
        run: |context, arguments| values::list_keys(context, arguments, false),
    },
    Tool {
        name: "get_value",
        word: Word::Own,
        title: "Read a value",
        description: "Read one value of the recorded data by its path, such as \
                      [conversation][HEAD~2][messages][0][text] or [commit][abc1234][records][0][prompt]. Returns it as \
                      JSON text.",
        input: || path_input("The path, such as [conversation][HEAD][messages][0][text]"),
        output: value_output,
        max_result_chars: Some(500_000),
        run: |context, arguments| values::get_value(context, arguments, false),
    },
    Tool {
        name: "list_keys",
        word: Word::Index,
        title: "List keys of the project index",
        description: INDEX_KEYS,
        input: || path_input("The path, such as [arch][modules][0]"),
        output: keys_output,
        max_result_chars: None,
        run: |context, arguments| values::list_keys(context, arguments, true),
    },
    Tool {
        name: "get_value",
        word: Word::Index,
        title: "Read a value of the project index",
        description: INDEX_VALUE,
        input: || path_input("The path, such as [arch][modules][0][name]"),
        output: value_output,
        max_result_chars: None,
        run: |context, arguments| values::get_value(context, arguments, true),
    },
    Tool {
        name: "logs_sync",
        word: Word::Logs,
        title: "Sync Apex Logs",
        description: "Fetch the newest Apex debug logs of the Salesforce org into apexlogs/, with the login of the \
                      Salesforce CLI. Returns the rows of the logs and the files that were saved; read the files for \
                      their text.",
        input: logs::input,
        output: logs::output,
        max_result_chars: None,
        run: logs::sync,
    },
];

/// The shapes of the four files of an index.
macro_rules! index_shapes {
    () => {
        "arch {modules: [{name, description, interfaces, internal?}], relationships}; interface {external: [{type, name, \
         params, description}], internal: [...]}; stories {stories: [{title, tags, content}]}; issues {issues: [{tags, \
         title, description, locations: [{file, keyword, line}]}]}."
    };
}

const INDEX_KEYS: &str = concat!(
    "List what is at a path of the project's index: the keys of an object or the length of a list. The files are ",
    index_shapes!()
);
const INDEX_VALUE: &str =
    concat!("Read one value of the project's index by its path, as JSON text. The files are ", index_shapes!());

fn path_input(description: &str) -> Value {
    object(json!({ "path": { "type": "string", "description": description } }), &["path"])
}

fn keys_output() -> Value {
    object(
        json!({
            "type": { "type": "string", "enum": ["dict", "list"] },
            "keys": { "type": "array", "items": { "type": "string" } },
            "length": natural(),
        }),
        &["type"],
    )
}

fn value_output() -> Value {
    object(json!({ "value": { "type": "string" } }), &["value"])
}

impl Tool {
    /// Says whether a server offers the tool.
    pub fn is_offered(&self, server: &Server) -> bool {
        if server.name.as_deref() == Some(LOGS_NAME) {
            return self.word == Word::Logs;
        }
        if server.name.as_deref() == Some(RULES_NAME) {
            return self.word == Word::Rules;
        }
        match (self.word, server.toolset) {
            (Word::Logs, Toolset::Auto) => server.is_in_salesforce_project(),
            (Word::Logs, Toolset::Only { logs, .. }) => logs,
            (Word::Index, Toolset::Auto) => server.index().is_some(),
            (Word::Rules, Toolset::Auto) => server.has_rules(),
            (_, Toolset::Auto) => true,
            (Word::Rules, Toolset::Only { rules, .. }) => rules,
            (Word::Index, Toolset::Only { index, .. }) => index,
            (_, Toolset::Only { conversations, .. }) => conversations,
        }
    }
    /// Returns the name on the wire.
    pub fn full_name(&self, word: &str) -> String {
        let first = match self.word {
            Word::Own => NAME,
            Word::Earlier => word,
            Word::Index => "memo",
            Word::Logs => "apex",
            Word::Rules => "sync",
        };
        format!("{first}_{}", self.name)
    }

    /// Returns the tool as `tools/list` shows it.
    pub fn listed(&self, word: &str) -> model::Tool {
        let is_fetching = self.word == Word::Logs;
        let of_rules = |names: &[&str]| self.word == Word::Rules && names.contains(&self.name);
        let is_reading = !is_fetching && (self.word != Word::Rules || of_rules(&["status", "list_archived"]));
        let adds = of_rules(&["add_rule", "remove_rule", "archive_skill", "restore_skill"]);
        let annotations = ToolAnnotations::new()
            .read_only(is_reading)
            .destructive(of_rules(&["clean", "remove_rule"]))
            .idempotent(!adds)
            .open_world(is_fetching);
        let mut tool =
            model::Tool::new(self.full_name(word), renamed(self.description, word), model::object((self.input)()))
                .with_title(self.title)
                .with_raw_output_schema(model::object((self.output)()).into())
                .with_annotations(annotations);
        tool.meta =
            self.max_result_chars.map(|chars| MetaObject(rmcp::object!({ "anthropic/maxResultSizeChars": chars })));
        tool
    }

    /// Checks the arguments and runs the tool.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong and what to do.
    pub fn call(&self, context: &Context<'_>, arguments: &Arguments) -> Result<Answer, Refusal> {
        if crate::git::has_fault("tool-panics") {
            panic!("a defect of ours");
        }
        // Clients of the existing server for logs send null for what is absent.
        let given: Arguments;
        let arguments = if self.word == Word::Logs {
            given =
                arguments.iter().filter(|(_, value)| !value.is_null()).map(|(k, v)| (k.clone(), v.clone())).collect();
            &given
        } else {
            arguments
        };
        // No text that anything here is asked with can have it, and Git takes no such word.
        let has_nul = |value: &Value| value.as_str().is_some_and(|text| text.contains('\0'));
        if let Some((name, _)) = arguments.iter().find(|(_, value)| has_nul(value)) {
            return Err(format!("invalid arguments: {} has a NUL character", crate::outside::quoted(name)));
        }
        check(&(self.input)(), arguments).map_err(|what| format!("invalid arguments: {what}"))?;
        // The other tools answer with files of the user, which no recording has changed.
        if !matches!(self.word, Word::Own | Word::Earlier) {
            return (self.run)(context, arguments);
        }
        let edge = Edge::of(context)?;
        match (self.run)(context, arguments) {
            Ok(answer) => Ok(edge.answer(answer)),
            Err(refusal) => Err(edge.text(refusal)),
        }
    }
}

/// Returns a text with the names of tools as the client knows them.
pub fn renamed(text: &str, word: &str) -> String {
    let rename = |text: String, tool: &Tool| text.replace(&tool.full_name(NAME), &tool.full_name(word));
    TOOLS.iter().fold(text.to_owned(), rename)
}
