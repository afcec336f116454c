//! The edits of tool calls, counted by path.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::{ToolCall, ToolResult};

/// The edits of one file by tool calls, counted.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct EditedPath {
    /// The path: as the agent gave it, or in a record from the top of the repository.
    pub path: String,
    /// The calls that did not fail.
    pub calls: u64,
    /// The lines that they added.
    pub added: u64,
    /// The lines that they removed.
    pub removed: u64,
}

impl EditedPath {
    /// Adds the counts of another one.
    pub fn add(&mut self, other: &EditedPath) {
        self.calls = self.calls.saturating_add(other.calls);
        self.added = self.added.saturating_add(other.added);
        self.removed = self.removed.saturating_add(other.removed);
    }

    /// Returns how many lines were added or removed; at least 1.
    pub fn lines(&self) -> u64 {
        self.added.saturating_add(self.removed).max(1)
    }
}

/// Counts edits by path. A call that is not answered yet counts as one that did not fail.
#[derive(Clone, Debug, Default)]
pub(super) struct Edits {
    by_path: BTreeMap<String, EditedPath>,
    /// The calls whose answers are not known yet.
    open: HashMap<String, Vec<EditedPath>>,
}

impl Edits {
    /// Adds the edits of a call.
    pub fn call(&mut self, call: &ToolCall) {
        if call.edits.is_empty() {
            return;
        }
        let mut own: BTreeMap<&str, EditedPath> = BTreeMap::new();
        for edit in &call.edits {
            let (added, removed) =
                changed_lines(edit.old.as_deref().unwrap_or_default(), edit.new.as_deref().unwrap_or_default());
            let known = own.entry(&edit.path).or_insert_with(|| EditedPath { calls: 1, ..EditedPath::default() });
            known.add(&EditedPath { added, removed, ..EditedPath::default() });
        }
        let own: Vec<EditedPath> =
            own.into_iter().map(|(path, edited)| EditedPath { path: path.to_owned(), ..edited }).collect();
        for edited in &own {
            let known = self.by_path.entry(edited.path.clone()).or_default();
            known.path.clone_from(&edited.path);
            known.add(edited);
        }
        if !call.call_id.is_empty() {
            self.open.insert(call.call_id.clone(), own);
        }
    }

    /// Takes back the edits of a call that failed.
    pub fn answer(&mut self, result: &ToolResult) {
        let Some(own) = self.open.remove(&result.call_id).filter(|_| result.is_error) else { return };
        for edited in own {
            let Some(known) = self.by_path.get_mut(&edited.path) else { continue };
            known.calls = known.calls.saturating_sub(edited.calls);
            known.added = known.added.saturating_sub(edited.added);
            known.removed = known.removed.saturating_sub(edited.removed);
            if known.calls == 0 {
                self.by_path.remove(&edited.path);
            }
        }
    }

    /// Returns the counts, sorted by path.
    pub fn list(&self) -> Vec<EditedPath> {
        self.by_path.values().cloned().collect()
    }
}

/// Returns how many lines an edit adds and removes. Lines that both texts begin or end with are not changed.
fn changed_lines(old: &str, new: &str) -> (u64, u64) {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
    let same = start + ends.take_while(|(a, b)| a == b).count();
    ((new.len() - same) as u64, (old.len() - same) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::Edit;

    fn call(id: &str, edits: &[(&str, Option<&str>, &str)]) -> ToolCall {
        let edit = |(path, old, new): &(&str, Option<&str>, &str)| Edit {
            path: (*path).into(),
            old: old.map(Into::into),
            new: Some((*new).into()),
            ..Edit::default()
        };
        let (name, input) = ("Edit".into(), serde_json::Value::Null);
        ToolCall { call_id: id.into(), name, input, command: None, edits: edits.iter().map(edit).collect() }
    }

    fn answer(id: &str, is_error: bool) -> ToolResult {
        ToolResult::new(id, String::new(), is_error)
    }

    #[test]
    fn lines_that_both_texts_begin_or_end_with_are_not_changed() {
        assert_eq!(changed_lines("a\nb\nc\n", "a\nx\ny\nc\n"), (2, 1));
        assert_eq!(changed_lines("a\n", "a\na\n"), (1, 0));
        assert_eq!(changed_lines("", "a\nb"), (2, 0));
        assert_eq!(changed_lines("a\nb\n", ""), (0, 2));
        assert_eq!(changed_lines("a", "a\n"), (0, 0));
    }

    #[test]
    fn many_files_in_one_call_cost_no_more_than_in_many_calls() {
        let calls = |count: usize, files: usize| {
            let paths: Vec<String> = (0..files).map(|number| format!("f{number}")).collect();
            let edits: Vec<_> = paths.iter().map(|path| (path.as_str(), None, "x")).collect();
            let call = call("1", &edits);
            let begin = std::time::Instant::now();
            let mut edits = Edits::default();
            (0..count).for_each(|_| edits.call(&call));
            (begin.elapsed(), edits.list().iter().map(|edited| edited.added).sum::<u64>())
        };
        let ((many, added), (one, added_at_once)) = (calls(20, 1000), calls(1, 20_000));
        assert_eq!(added, added_at_once);
        assert!(one < many * 5, "one call took {one:?}, many {many:?}");
    }

    #[test]
    fn calls_that_failed_do_not_count() {
        let mut edits = Edits::default();
        edits.call(&call("1", &[("a", None, "x\ny\n"), ("a", Some("x\n"), "z\n"), ("b", None, "x\n")]));
        edits.call(&call("2", &[("a", Some("z\n"), "")]));
        edits.call(&call("3", &[("c", None, "x\n")]));
        edits.call(&call("", &[("d", None, "x\n")]));
        edits.answer(&answer("2", true));
        edits.answer(&answer("2", true));
        edits.answer(&answer("3", true));
        edits.answer(&answer("1", false));
        edits.answer(&answer("1", true));
        edits.answer(&answer("", true));
        let told: Vec<_> = edits.list().into_iter().map(|one| (one.path, one.calls, one.added, one.removed)).collect();
        let expected = [("a", 1, 3, 1), ("b", 1, 1, 0), ("d", 1, 1, 0)];
        assert_eq!(told, expected.map(|(path, calls, added, removed)| (path.to_owned(), calls, added, removed)));
    }
}
