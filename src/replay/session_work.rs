//! The work of a session on files: its edits and commands in order, each with the words around it.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use serde_json::Value;

use crate::agent;
use crate::transcript::{Edit, Message, Part, REMARK_MARK, Role, SessionKey, ToolCall, ToolResult, turn_numbers};

/// How much of the beginning of a command's output is kept, where some agents note its exit, and how much of the end, where
/// programs sum up; in bytes.
const KEPT_BYTES: (usize, usize) = (80, 1000);

/// The position of a call: that of its session among those of the commit, and its own among the calls of the session.
pub type CallIndex = (usize, usize);

/// Files as edits have found them, by the calls that edited them.
pub type Befores = HashMap<CallIndex, String>;

/// The edits and commands of one session, or of one sub-agent.
#[derive(Debug)]
pub struct SessionWork {
    /// The session.
    pub key: SessionKey,
    /// The model that answered last.
    pub model: Option<String>,
    /// How many turns the part of the session has that was read.
    pub turns: usize,
    /// Whether its turns are counted from the beginning of the session, although the record of the commit begins later.
    pub is_beyond_record: bool,
    /// The segment that its record begins after, as in the record.
    pub since: Option<String>,
    /// The segment that its record ends with.
    pub through: Option<String>,
    /// The directory that the session ran in, if its transcript has it.
    pub directory: Option<String>,
    /// Whether the words were read from the transcript of a running session, since no commit has them.
    pub is_live: bool,
    /// Its calls that change files or run commands, in order.
    pub calls: Vec<Call>,
    /// The commands that the person typed in the session.
    pub(super) typed: Vec<Typed>,
    /// The remarks of the person during turns: the number of the turn, how many tool calls came before, and the text.
    remarks: Vec<(usize, usize, Rc<str>)>,
    /// The prompts, each with its time and the number of its turn.
    prompts: Vec<(Option<i64>, usize, Rc<str>)>,
    /// The turn that sent each sub-agent, by the sub-agent's id.
    sent: HashMap<String, usize>,
}

/// A command that the person typed in a session.
#[derive(Debug)]
pub struct Typed {
    /// How many calls of [`SessionWork::calls`] were before it.
    pub before: usize,
    /// When, as [`Call::moment`] has it.
    pub moment: Option<Moment>,
    /// The command line.
    pub command: String,
}

/// A time in seconds since the epoch, and nanoseconds after that.
pub type Moment = (i64, u32);

/// How agents' parsers mark a command that the person typed.
const TYPED_MARK: &str = "! ";

/// A text or a thought of the agent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reasoning {
    /// Whether it was thought and not said.
    pub is_thought: bool,
    /// The words.
    pub text: String,
}

/// How an edit changes its file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EditKind {
    /// Replaces a text, at its first place or everywhere.
    Replace {
        /// Whether at each place.
        everywhere: bool,
    },
    /// Writes the whole file.
    Write,
    /// Inserts lines after this many lines.
    Insert(usize),
    /// Appends lines.
    Append,
}

/// An edit, and how it changes its file.
#[derive(Debug)]
pub struct Change {
    /// The edit as the agent's parser found it.
    pub edit: Edit,
    /// How it changes the file.
    pub kind: EditKind,
}

/// A tool call that changes files or runs a command.
#[derive(Debug)]
pub struct Call {
    /// Its id.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// The model that made it, if its message tells.
    pub model: Option<String>,
    /// Its position among all tool calls that were read.
    pub index: usize,
    /// The position of its message among those that say something.
    pub message: usize,
    /// Where its record stands in the bytes that were read.
    pub span: Range<usize>,
    /// Where the record of its result stands in them.
    pub result: Option<Range<usize>>,
    /// The number of its turn, as `show` counts.
    pub turn: usize,
    /// When it was made, in seconds since the epoch; never before the call in front of it.
    pub time: Option<i64>,
    /// That time to the nanosecond, if the transcript has it.
    pub(super) moment: Option<Moment>,
    /// The prompt of its turn.
    pub prompt: Option<Rc<str>>,
    /// The task of the sub-agent, if one made the call.
    pub task: Option<Rc<str>>,
    /// The last remark of the person during the same turn, if it was made before the call.
    pub remark: Option<Rc<str>>,
    /// The last texts and thoughts of the agent in the same turn.
    pub reasoning: Rc<[Reasoning]>,
    /// The changes that the call makes.
    pub changes: Vec<Change>,
    /// The command line that it runs.
    pub command: Option<String>,
    /// The beginning and the end of the output of its command; `None` if there is none, or it was not recorded.
    pub output: Option<String>,
    /// Whether the tool says that it failed. Such a call is only kept for its command.
    pub has_failed: bool,
    /// Whether its branch of the conversation was taken back.
    pub is_abandoned: bool,
    /// Whether it never had a result although the conversation went on: it was interrupted.
    pub is_unanswered: bool,
}

/// The state of reading a conversation.
#[derive(Default)]
struct Position {
    index: usize,
    said: usize,
    prompt: Option<Rc<str>>,
    task: Option<Rc<str>>,
    remark: Option<Rc<str>>,
    words: Vec<Reasoning>,
    /// The words as calls share them; made when the first call needs them.
    shared: Option<Rc<[Reasoning]>>,
    moment: Option<Moment>,
}

impl SessionWork {
    /// Returns the edits and commands of a conversation. Edits that failed are left out.
    pub fn of(key: SessionKey, model: Option<String>, messages: Vec<Message>) -> Self {
        let is_sub_agent = key.parent_id().is_some();
        let failed: HashSet<String> =
            results(&messages).filter(|result| result.is_error).map(|result| result.call_id.clone()).collect();
        let answered = answered(&messages);
        let is_answering = agent::find(&key.agent).is_some_and(|agent| agent.answers_each_call());
        let settled = if is_answering { settled(&messages) } else { [0, 0] };
        let mut work = SessionWork {
            key,
            model,
            turns: messages.iter().filter(|message| message.is_prompt()).count(),
            is_beyond_record: false,
            since: None,
            through: None,
            directory: None,
            is_live: false,
            calls: Vec::new(),
            typed: Vec::new(),
            remarks: Vec::new(),
            prompts: Vec::new(),
            sent: HashMap::new(),
        };
        let turn_of = turn_numbers(&messages);
        let mut at = Position::default();
        for ((number, message), turn) in messages.into_iter().enumerate().zip(turn_of) {
            if message.parts.is_empty() {
                continue;
            }
            at.moment = message.time.map(|seconds| (seconds, message.time_nanos)).max(at.moment);
            if message.role == Role::User {
                work.hear(&message, turn, &mut at, is_sub_agent);
            }
            let (span, is_abandoned, is_sidechain) = (message.span, message.is_abandoned, message.is_sidechain);
            let model = message.model;
            for part in message.parts {
                match part {
                    Part::Text(text) if message.role == Role::Assistant => at.say(false, text),
                    Part::Thinking(text) => at.say(true, text),
                    Part::ToolCall(call) => {
                        let has_failed = !call.call_id.is_empty() && failed.contains(&call.call_id);
                        let mut call = at.call(call, turn, &span, is_abandoned);
                        (call.has_failed, call.model) = (has_failed, model.clone());
                        call.is_unanswered = number < settled[usize::from(is_sidechain)]
                            && !call.id.is_empty()
                            && !answered.contains_key(&call.id);
                        if has_failed {
                            call.changes.clear();
                        }
                        if !call.changes.is_empty() || call.command.is_some() {
                            let answer = answered.get(&call.id).cloned();
                            let (result, output) = answer.unzip();
                            (call.result, call.output) = (result, output.filter(|_| call.command.is_some()));
                            call.task = call.task.filter(|_| is_sidechain || is_sub_agent);
                            work.calls.push(call);
                        }
                    }
                    Part::Notice(text) if text.starts_with(REMARK_MARK) => {
                        let remark: Rc<str> = text[REMARK_MARK.len()..].into();
                        work.remarks.push((turn, at.index, Rc::clone(&remark)));
                        at.remark = Some(remark);
                    }
                    Part::Notice(text) if text.starts_with(TYPED_MARK) => {
                        let (before, moment) = (work.calls.len(), at.moment);
                        let command = text[TYPED_MARK.len()..].to_owned();
                        work.typed.push(Typed { before, moment, command });
                    }
                    _ => {}
                }
            }
            at.said += 1;
        }
        work
    }

    /// Takes in a prompt, the task of a sub-agent, or a result that names a sub-agent.
    fn hear(&mut self, message: &Message, turn: usize, at: &mut Position, is_sub_agent: bool) {
        for part in &message.parts {
            if let Part::ToolResult(result) = part
                && let Some(sub_agent) = result.sub_agent.clone()
            {
                self.sent.insert(sub_agent, turn);
            }
        }
        let text = message.text();
        if text.trim().is_empty() {
            return;
        }
        at.forget();
        let text: Rc<str> = text.trim_end().into();
        if message.is_sidechain || (is_sub_agent && at.task.is_none()) {
            at.task = Some(text);
        } else if message.is_prompt() {
            self.prompts.push((at.seconds(), turn, Rc::clone(&text)));
            at.prompt = Some(text);
            at.remark = None;
        }
    }

    /// Returns what the person said after a call: while the agent was at work on its turn, and the prompts of later turns, the
    /// first of them first.
    pub fn prompts_after<'t>(&'t self, call: &Call) -> impl Iterator<Item = &'t str> {
        let (turn, index) = (call.turn, call.index);
        let remarks = self.remarks.iter().filter(move |(own, before, _)| *own == turn && *before > index);
        let prompts = self.prompts.iter().filter(move |(_, own, _)| *own > turn);
        remarks.map(|(_, _, remark)| &**remark).chain(prompts.map(|(_, _, prompt)| &**prompt))
    }

    /// Returns the prompt of this session that sent a sub-agent, or that was being answered at a time.
    pub fn prompt_that_sent(&self, sub_agent: &SessionKey, time: Option<i64>) -> Option<Rc<str>> {
        let turn = self.turn_that_sent(sub_agent, time)?;
        self.prompts.iter().find(|(_, own, _)| *own == turn).map(|(_, _, prompt)| Rc::clone(prompt))
    }

    /// Returns the number of the turn whose prompt [`SessionWork::prompt_that_sent`] returns.
    pub fn turn_that_sent(&self, sub_agent: &SessionKey, time: Option<i64>) -> Option<usize> {
        let id = sub_agent.id.split_once('.').map_or("", |(_, id)| id);
        let at_that_time = || {
            let is_before = |(asked, ..): &&(Option<i64>, usize, Rc<str>)| time.is_none() || *asked <= time;
            self.prompts.iter().rev().find(is_before).map(|(_, turn, _)| *turn)
        };
        self.sent.get(id).copied().or_else(at_that_time)
    }
}

impl Position {
    fn say(&mut self, is_thought: bool, text: String) {
        if text.trim().is_empty() {
            return;
        }
        // A call has had the words so far: these are about the next one.
        if self.shared.is_some() {
            self.forget();
        }
        self.words.push(Reasoning { is_thought, text });
    }

    fn seconds(&self) -> Option<i64> {
        self.moment.map(|(seconds, _)| seconds)
    }

    fn forget(&mut self) {
        self.words.clear();
        self.shared = None;
    }

    fn call(&mut self, call: ToolCall, turn: usize, span: &Range<usize>, is_abandoned: bool) -> Call {
        let words = &self.words;
        let reasoning = Rc::clone(self.shared.get_or_insert_with(|| words.clone().into()));
        let ToolCall { call_id: id, name: tool, input, command, edits } = call;
        let (index, message) = (self.index, self.said);
        self.index += 1;
        let changes = edits.into_iter().enumerate();
        let changes = changes.filter_map(|(at, edit)| Some(Change { kind: kind(&edit, &input, at)?, edit })).collect();
        let (prompt, task, remark) = (self.prompt.clone(), self.task.clone(), self.remark.clone());
        Call {
            id,
            tool,
            index,
            message,
            span: span.clone(),
            model: None,
            result: None,
            turn,
            time: self.seconds(),
            moment: self.moment,
            prompt,
            task,
            remark,
            reasoning,
            changes,
            command,
            output: None,
            has_failed: false,
            is_abandoned,
            is_unanswered: false,
        }
    }
}

/// Returns the results of a conversation.
fn results(messages: &[Message]) -> impl Iterator<Item = &ToolResult> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    parts.filter_map(|part| if let Part::ToolResult(result) = part { Some(result) } else { None })
}

/// Returns before which message all calls have had their results, of the conversation itself and of sub-agents within it:
/// an agent goes on when it has the results of its calls, and a person when the agent has stopped.
fn settled(messages: &[Message]) -> [usize; 2] {
    let (mut settled, mut heard) = ([0, 0], [0, 0]);
    for (number, message) in messages.iter().enumerate().filter(|(_, message)| !message.parts.is_empty()) {
        let of = usize::from(message.is_sidechain);
        match message.role {
            Role::Assistant => settled[of] = heard[of].max(settled[of]),
            Role::User if message.is_prompt() => (heard[of], settled[of]) = (number, number),
            Role::User => heard[of] = number,
            // An interruption, say.
            Role::System => settled[of] = number.max(settled[of]),
        }
    }
    settled
}

/// Returns where the result of each call stands, and the ends of its text.
fn answered(messages: &[Message]) -> HashMap<String, (Range<usize>, String)> {
    let of_message = |message: &Message| {
        let one = std::slice::from_ref(message);
        let answer = |result: &ToolResult| (result.call_id.clone(), (message.span.clone(), ends(&result.text)));
        results(one).map(answer).collect::<Vec<_>>()
    };
    messages.iter().flat_map(of_message).filter(|(id, _)| !id.is_empty()).collect()
}

/// Returns the beginning and the end of a text.
fn ends(text: &str) -> String {
    let (beginning, end) = KEPT_BYTES;
    if text.len() <= beginning + end {
        return text.to_owned();
    }
    let first = (0..=beginning).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let last = (text.len() - end..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    format!("{}\n{}", &text[..first], &text[last..])
}

/// Tells how an edit changes its file, by the input of its call; `None` if it writes nothing.
fn kind(edit: &Edit, input: &Value, at: usize) -> Option<EditKind> {
    edit.new.as_ref()?;
    let own = ["edits", "replacements"].iter().find_map(|key| input.get(key)?.get(at));
    let get = |keys: &[&str]| {
        let values = [own, Some(input)].into_iter().flatten();
        values.flat_map(|value| keys.iter().filter_map(|key| value.get(key))).next()
    };
    let line = get(&["insert_line", "insertLine"]).and_then(Value::as_u64);
    let is_append = input.get("command").is_some_and(|command| command == "append");
    Some(match (&edit.old, line) {
        (_, Some(line)) => EditKind::Insert(usize::try_from(line).unwrap_or(usize::MAX)),
        _ if is_append => EditKind::Append,
        (None, None) => EditKind::Write,
        (Some(old), None) if old.is_empty() => EditKind::Append,
        (Some(_), None) => {
            let told = get(&["replace_all", "replaceAll", "allow_multiple", "allowMultiple"]).and_then(Value::as_bool);
            let expected = get(&["expected_replacements"]).and_then(Value::as_u64);
            EditKind::Replace { everywhere: told.unwrap_or(false) || expected.is_some_and(|count| count > 1) }
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(old: Option<&str>, new: Option<&str>, input: &Value) -> Option<EditKind> {
        let edit = Edit { path: "f".into(), old: old.map(Into::into), new: new.map(Into::into), under: None };
        kind(&edit, input, 0)
    }

    #[test]
    fn the_input_of_a_call_tells_how_it_changes_the_file() {
        let replace = |everywhere| Some(EditKind::Replace { everywhere });
        assert_eq!(change(Some("a"), Some("b"), &json!({})), replace(false));
        assert_eq!(change(Some("a"), Some("b"), &json!({ "replace_all": true })), replace(true));
        assert_eq!(change(Some("a"), Some("b"), &json!({ "edits": [{ "replace_all": true }] })), replace(true));
        assert_eq!(change(Some("a"), Some("b"), &json!({ "expected_replacements": 2 })), replace(true));
        assert_eq!(change(None, Some("b"), &json!({})), Some(EditKind::Write));
        assert_eq!(change(Some(""), Some("b"), &json!({})), Some(EditKind::Append));
        assert_eq!(change(None, Some("b"), &json!({ "insert_line": 3 })), Some(EditKind::Insert(3)));
        assert_eq!(change(None, None, &json!({})), None, "a file that is deleted has no lines");
    }

    #[test]
    fn a_call_has_the_words_in_front_of_it_and_failed_calls_are_left_out() {
        let message = |role, part| Message { parts: vec![part], ..Message::new(role, 0..0) };
        let call = |id: &str| {
            let edit = Edit { path: "f".into(), new: Some("x".into()), ..Edit::default() };
            let (call_id, input, command) = (id.to_owned(), json!({}), None);
            Part::ToolCall(ToolCall { call_id, name: "Write".into(), input, command, edits: vec![edit] })
        };
        let answer = |id: &str, is_error| {
            let (call_id, text, sub_agent) = (id.to_owned(), String::new(), None);
            Part::ToolResult(ToolResult { call_id, text, is_error, sub_agent, pictures: Vec::new() })
        };
        let said = |text: &str| Part::Text(text.into());
        let (person, agent) = (Role::User, Role::Assistant);
        let messages = vec![
            message(person, said("first")),
            message(agent, said("because")),
            message(agent, call("a")),
            message(agent, call("b")),
            message(person, answer("b", true)),
            message(person, said("second")),
            message(agent, call("c")),
        ];
        let work = SessionWork::of(SessionKey::new("claude", "s"), None, messages);
        let told: Vec<_> =
            work.calls.iter().map(|call| (&*call.id, call.turn, call.reasoning.len(), call.index)).collect();
        assert_eq!(told, [("a", 1, 1, 0), ("c", 2, 0, 2)]);
        assert_eq!(work.calls[1].prompt.as_deref(), Some("second"));
    }
}
