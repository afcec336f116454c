//! All texts of a message.

use serde_json::Value;

use super::{Edit, Message, Part};

impl Message {
    /// Visits each text: words, what tools are given, and what they answer.
    pub fn each_text(&mut self, visit: &mut dyn FnMut(&mut String)) {
        for part in &mut self.parts {
            match part {
                Part::Text(text) | Part::Thinking(text) | Part::Notice(text) => visit(text),
                Part::ToolResult(result) => visit(&mut result.text),
                Part::ToolCall(call) => {
                    call.command.iter_mut().for_each(&mut *visit);
                    for Edit { old, new, under, .. } in &mut call.edits {
                        [old, new, under].into_iter().flatten().for_each(&mut *visit);
                    }
                    each_string(&mut call.input, visit);
                }
                Part::Attachment(_) => {}
            }
        }
    }
}

fn each_string(value: &mut Value, visit: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(values) => values.iter_mut().for_each(|value| each_string(value, visit)),
        Value::Object(map) => map.values_mut().for_each(|value| each_string(value, visit)),
        _ => {}
    }
}
