//! Transcripts whose records name the record before them: finding the records that were taken back, which are those of
//! branches that the conversation did not go on with.

use std::collections::HashMap;

use crate::transcript::Message;

/// A message with its place in the tree of records.
pub struct Node {
    /// The content of the record.
    pub message: Message,
    /// The id of the record.
    pub record_id: Option<String>,
    /// The id of the record before it.
    pub parent_id: Option<String>,
    /// Whether the agent wrote the record to go back to the one before it.
    pub is_rewind: bool,
}

/// Returns the messages. If a prompt continues from an earlier point, the messages that first followed that point are
/// marked as abandoned.
///
/// Parallel tool calls also make siblings, so only a prompt or a rewind starts a new branch.
pub fn messages(mut nodes: Vec<Node>) -> Vec<Message> {
    let mut children: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        if let Some(parent) = node.parent_id.as_deref().filter(|_| !node.message.is_sidechain) {
            children.entry(parent).or_default().push(index);
        }
    }
    let mut abandoned = Vec::new();
    for siblings in children.values() {
        let begins_branch = |index: &usize| nodes[*index].is_rewind || nodes[*index].message.is_prompt();
        let Some(last) = siblings.iter().rposition(begins_branch) else { continue };
        abandoned.extend(siblings[..last].iter().copied());
    }
    let mut is_abandoned = vec![false; nodes.len()];
    while let Some(index) = abandoned.pop() {
        if std::mem::replace(&mut is_abandoned[index], true) {
            continue;
        }
        let below = nodes[index].record_id.as_deref().and_then(|id| children.get(id));
        abandoned.extend(below.into_iter().flatten().copied());
    }
    drop(children);
    for (node, is_abandoned) in nodes.iter_mut().zip(is_abandoned) {
        node.message.is_abandoned = is_abandoned;
    }
    nodes.into_iter().map(|node| node.message).collect()
}
