//! The records of a chat: one JSON object a line, in which later ones replace, amend and take back earlier ones.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde_json_borrow::Value;

use crate::agent::json::{self, at, field, list, number, string, text};
use crate::agent::{Parser, document, prompt, tool};
use crate::transcript::{Attachment, Message, Part, Role, Tokens, ToolResult};

/// The tags of text that Gemini CLI adds to a prompt.
const NOISE: &[&str] = &["session_context", "hook_context"];
/// The member of a document that holds the messages.
pub const MESSAGES: &str = "messages";

/// The parts of a message that were returned already; the message may be written again.
#[derive(Default)]
struct Said {
    order: usize,
    thoughts: usize,
    text: String,
    calls: HashSet<String>,
    results: HashSet<String>,
    usage: Option<Tokens>,
}

/// The state of parsing a conversation.
#[derive(Default)]
pub struct Chat {
    /// Whether it is read from its beginning.
    is_whole: bool,
    said: HashMap<String, Said>,
    /// The ids of the messages, in order.
    ids: Vec<String>,
    count: usize,
}

/// The messages of some lines. A message that is written again has the same number as before.
#[derive(Default)]
struct NumberedMessages {
    messages: Vec<(usize, Message)>,
    /// The places of the messages with words, by number.
    worded: HashMap<usize, Vec<usize>>,
    /// For each rewind: the number of messages before it, and the number of the first message that it removes.
    taken_back: Vec<(usize, usize)>,
}

impl NumberedMessages {
    fn push(&mut self, number: usize, message: Message) {
        if message.parts.iter().any(|part| matches!(part, Part::Text(_) | Part::Notice(_))) {
            self.worded.entry(number).or_default().push(self.messages.len());
        }
        self.messages.push((number, message));
    }

    /// Removes the words of a message that is written again.
    fn forget_words(&mut self, number: usize) {
        for at in self.worded.remove(&number).unwrap_or_default() {
            self.messages[at].1.parts.retain(|part| !matches!(part, Part::Text(_) | Part::Notice(_)));
        }
    }

    /// Returns the messages, and marks those that a later rewind removed.
    fn finish(self) -> Vec<Message> {
        let (mut messages, mut taken_back) = (self.messages, self.taken_back);
        let mut from = usize::MAX;
        for (at, (number, message)) in messages.iter_mut().enumerate().rev() {
            while let Some((_, number)) = taken_back.pop_if(|(length, _)| *length > at) {
                from = from.min(number);
            }
            message.is_abandoned |= *number >= from;
        }
        messages.into_iter().map(|(_, message)| message).collect()
    }
}

impl Parser for Chat {
    fn parse(&mut self, lines: &[u8]) -> Vec<Message> {
        let mut numbered = NumberedMessages::default();
        document::each(lines, MESSAGES, |record, span| {
            self.is_whole |= text(record, "sessionId").or_else(|| text(record, "shiftlog")).is_some();
            if let Some(id) = text(record, "$rewindTo") {
                self.take_back(id, &mut numbered);
                let mut notice = Message::new(Role::System, span.clone());
                notice.parts.push(Part::Notice("taken back".into()));
                numbered.push(self.count, notice);
            }
            // A session that is taken up again is written once more: a header, its id, then the list of all messages.
            self.is_whole &= at(record, &["$set", "sessionId"]).is_none();
            // A list that replaces the one so far says nothing new; but it may be where an older document came in.
            let replaced = at(record, &["$set", MESSAGES]).and_then(Value::as_array).filter(|_| self.is_whole);
            for record in replaced.unwrap_or_default() {
                self.read(record, span.clone(), &mut numbered);
            }
            self.read(record, span, &mut numbered);
        });
        numbered.finish()
    }
}

impl Chat {
    /// Marks a message and all that came after it as taken back. One that is not known is before all that is.
    fn take_back(&mut self, id: &str, numbered: &mut NumberedMessages) {
        let from = self.said.get(id).map_or(0, |said| said.order);
        numbered.taken_back.push((numbered.messages.len(), from));
        while let Some(id) = self.ids.pop_if(|id| self.said.get(id).is_none_or(|said| said.order >= from)) {
            self.said.remove(&id);
        }
    }

    /// Reads a message; of a message that was read before, only its new parts.
    fn read(&mut self, record: &Value<'_>, span: Range<usize>, numbered: &mut NumberedMessages) {
        let (Some(kind), Some(id)) = (text(record, "type"), string(record, "id")) else { return };
        // A message is written once more with the calls it made, when they are over. If that comes first in an increment,
        // its words are in the one before.
        let is_rest = !self.is_whole && self.said.is_empty() && list(record, "toolCalls").iter().any(is_over);
        let said = self.said.entry(id.clone()).or_insert_with(|| {
            self.count += 1;
            self.ids.push(id.clone());
            let usage = field(record, "tokens").filter(|_| is_rest).map(usage);
            let thoughts = if is_rest { list(record, "thoughts").len() } else { 0 };
            Said { order: self.count, thoughts, usage, ..Said::default() }
        });
        let mut message = Message::new(Role::System, span);
        json::set_time(&mut message, record, "timestamp");
        let shown = field(record, "displayContent").or_else(|| field(record, "content"));
        let (words, attachments) = words(shown.unwrap_or(&Value::Null));
        if is_rest {
            said.text.clone_from(&words);
        }
        let is_news = words != said.text && !words.trim().is_empty();
        if is_news {
            numbered.forget_words(said.order);
            said.text.clone_from(&words);
        }
        match kind {
            "user" => {
                message.role = Role::User;
                let typed = prompt::without(&words, NOISE);
                message.parts.extend(Some(typed).filter(|typed| is_news && !typed.is_empty()).map(Part::Text));
                message.parts.extend(attachments.into_iter().filter(|_| is_news).map(Part::Attachment));
            }
            "gemini" => {
                message.role = Role::Assistant;
                message.model = string(record, "model");
                let thoughts = list(record, "thoughts");
                let new = thoughts.iter().skip(said.thoughts).filter_map(thought);
                message.parts.extend(new.map(Part::Thinking));
                said.thoughts = said.thoughts.max(thoughts.len());
                message.parts.extend(Some(words).filter(|_| is_news).map(Part::Text));
                for call in list(record, "toolCalls") {
                    read_call(call, said, &mut message);
                }
                let usage = field(record, "tokens").and_then(|tokens| tokens.is_object().then(|| usage(tokens)));
                message.usage = usage.filter(|usage| said.usage.replace(*usage) != Some(*usage));
                message.answer_id = Some(id);
            }
            _ => message.parts.extend(Some(words).filter(|_| is_news).map(Part::Notice)),
        }
        if !message.parts.is_empty() || message.usage.is_some() {
            numbered.push(said.order, message);
        }
    }
}

/// Reads `content`: a string, a part, or a list of parts; returns its words and what else is in it.
fn words(content: &Value<'_>) -> (String, Vec<Attachment>) {
    let parts = match content {
        Value::Str(text) => return (text.to_string(), Vec::new()),
        Value::Array(parts) => parts.iter().collect(),
        part => vec![part],
    };
    let words: Vec<&str> = parts.iter().filter_map(|part| part.as_str().or_else(|| text(part, "text"))).collect();
    let kind = |part: &&Value<'_>| {
        let data = field(part, "inlineData").or_else(|| field(part, "fileData"))?;
        Some(json::attachment(text(data, "mimeType").unwrap_or("file"), data))
    };
    (words.join("\n"), parts.iter().filter_map(kind).collect())
}

fn thought(thought: &Value<'_>) -> Option<String> {
    let parts = [text(thought, "subject"), text(thought, "description")];
    let parts: Vec<&str> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

fn read_call(call: &Value<'_>, said: &mut Said, message: &mut Message) {
    let call_id = string(call, "id").unwrap_or_default();
    if said.calls.insert(call_id.clone()) {
        let input = field(call, "args").map(Into::into).unwrap_or_default();
        message.parts.push(Part::ToolCall(tool::call(&*call_id, text(call, "name").unwrap_or_default(), input)));
    }
    if is_over(call) && said.results.insert(call_id.clone()) {
        let (text, is_error) = (output(call), has_failed(call));
        let sub_agent = string(call, "agentId");
        message.parts.push(Part::ToolResult(ToolResult { sub_agent, ..ToolResult::new(call_id, text, is_error) }));
    }
}

fn has_failed(call: &Value<'_>) -> bool {
    matches!(text(call, "status"), Some("error" | "cancelled"))
}

fn is_over(call: &Value<'_>) -> bool {
    has_failed(call) || text(call, "status") == Some("success") || !list(call, "result").is_empty()
}

/// Returns the result that a tool gave the model, or else the result that was shown to the user.
fn output(call: &Value<'_>) -> String {
    let of_part = |part: &Value<'_>| {
        let response = at(part, &["functionResponse", "response"])?;
        ["output", "error", "content"].iter().find_map(|key| string(response, key))
    };
    let texts: Vec<String> = list(call, "result").iter().filter_map(of_part).collect();
    if texts.is_empty() { string(call, "resultDisplay").unwrap_or_default() } else { texts.join("\n") }
}

fn usage(tokens: &Value<'_>) -> Tokens {
    let cached = number(tokens, "cached");
    Tokens {
        input: (number(tokens, "input") + number(tokens, "tool")).saturating_sub(cached),
        output: number(tokens, "output") + number(tokens, "thoughts"),
        cache_read: cached,
        ..Tokens::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_names_the_sub_agent_that_did_it() {
        let text = concat!(
            r#"{"id":"m1","type":"gemini","content":"","toolCalls":[{"id":"c1","name":"invoke_agent","args":{},"#,
            r#""status":"success","agentId":"a-1","result":[{"functionResponse":{"response":{"output":"done"}}}]}]}"#,
            "\n",
        );
        let messages = Chat::default().parse(text.as_bytes());
        let results = messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
            Part::ToolResult(result) => Some(result.sub_agent.as_deref()),
            _ => None,
        });
        assert_eq!(results.collect::<Vec<_>>(), [Some("a-1")]);
    }

    #[test]
    fn a_session_taken_up_again_repeats_nothing() {
        let first = concat!(
            r#"{"sessionId":"s","kind":"main"}"#,
            "\n",
            r#"{"id":"m1","type":"user","content":[{"text":"be polite"}]}"#,
            "\n",
            r#"{"id":"m2","type":"gemini","content":"Done."}"#,
            "\n",
        );
        let second = concat!(
            r#"{"sessionId":"s","kind":"main"}"#,
            "\n",
            r#"{"$set":{"messages":[{"id":"m0","type":"user","content":[{"text":"<session_context>x</session_context>"}]}]}}"#,
            "\n",
            r#"{"$set":{"sessionId":"s"}}"#,
            "\n",
            r#"{"$set":{"messages":[{"id":"m1","type":"user","content":[{"text":"be polite"}]},{"id":"m2","type":"gemini","content":"Done."}]}}"#,
            "\n",
            r#"{"id":"m3","type":"user","content":[{"text":"and brief"}]}"#,
            "\n",
        );
        let read = |text: &str| {
            let messages = Chat::default().parse(text.as_bytes());
            messages.iter().map(Message::text).filter(|words| !words.is_empty()).collect::<Vec<_>>()
        };
        assert_eq!(read(second), ["and brief"], "as an increment");
        assert_eq!(read(&[first, second].concat()), ["be polite", "Done.", "and brief"], "as a whole");
    }

    #[test]
    fn what_is_written_again_is_told_once_and_what_is_taken_back_is_marked() {
        let text = concat!(
            r#"{"id":"m1","type":"user","content":[{"text":"<hook_context>x</hook_context>go"}]}"#,
            "\n",
            r#"{"id":"m2","type":"gemini","content":"On","tokens":{"input":5,"output":1}}"#,
            "\n",
            r#"{"id":"m2","type":"gemini","content":"On it","tokens":{"input":5,"output":2},"toolCalls":[{"id":"c","name":"x"}]}"#,
            "\n",
            r#"{"id":"m2","type":"gemini","content":"On it","tokens":{"input":5,"output":2},"toolCalls":[{"id":"c","name":"x","status":"error","resultDisplay":"no"}]}"#,
            "\n",
            r#"{"id":"m3","type":"user","content":"stop"}"#,
            "\n",
            r#"{"$rewindTo":"m3"}"#,
            "\n",
            r#"{"$rewindTo":"unknown"}"#,
            "\n",
        );
        let read = |text: &str| Chat::default().parse(text.as_bytes());
        let messages = read(text);
        assert!(messages.iter().all(|message| message.is_abandoned || message.role == Role::System));
        let cut = text.rfind("{\"$rew").expect("it is there");
        let messages = read(&text[..cut]);
        let told: Vec<(String, bool)> = messages
            .iter()
            .map(|message| (message.text(), message.is_abandoned))
            .filter(|(t, _)| !t.is_empty())
            .collect();
        assert_eq!(told, [("go".into(), false), ("On it".into(), false), ("stop".into(), true)]);
        let results = messages.iter().flat_map(|message| &message.parts);
        assert_eq!(results.filter(|part| matches!(part, Part::ToolResult(result) if result.is_error)).count(), 1);
        let mut tally = crate::transcript::Tally::default();
        tally.add(&messages);
        assert_eq!(tally.tokens().map(|tokens| tokens.output), Some(2), "an answer counts once");
    }

    #[test]
    fn a_chat_that_takes_back_and_says_anew_all_the_time_is_read_in_its_length() {
        let count = 200_000;
        let said = |number: usize| format!("{{\"id\":\"m{number}\",\"type\":\"user\",\"content\":\"go\"}}\n");
        let all: String = (0..count).map(said).collect();
        let again = |at: usize| format!("{{\"id\":\"m0\",\"type\":\"gemini\",\"content\":\"{at}\"}}\n");
        let anew: String = (0..count).map(again).collect();
        let back: String = (1..count).rev().map(|number| format!("{{\"$rewindTo\":\"m{number}\"}}\n")).collect();
        let messages = Chat::default().parse(format!("{all}{anew}{back}").as_bytes());
        let (kept, taken_back): (Vec<&Message>, Vec<&Message>) =
            messages.iter().filter(|message| message.role != Role::System).partition(|message| !message.is_abandoned);
        assert_eq!(taken_back.len(), count - 1);
        let words = kept.iter().filter(|message| !message.text().is_empty()).count();
        assert_eq!(words, 1, "the last answer of the first one");
    }
}
