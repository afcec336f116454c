//! The tool for the tokens and costs of recorded work.

use serde_json::{Value, json};

use super::arguments::{Arguments, string};
use super::texts::{LIST_BYTES, shortened};
use super::{Answer, Context, Refusal, refusal};
use crate::git::Range;
use crate::outside::quoted;
use crate::pretty::{self, Statistics};
use crate::record::{Query, redaction};
use crate::stats::{self, Key, Prices};

/// How many groups an answer has at most.
const MAX_GROUPS: usize = 50;
/// How many models without a price each group names at most.
const MAX_UNPRICED: usize = 8;

/// `stats`.
pub fn stats(context: &Context<'_>, arguments: &Arguments) -> Result<Answer, Refusal> {
    let repo = context.repository()?;
    let keys = string(arguments, "by").unwrap_or("agent,model").split(',').map(|name| name.trim().parse());
    let keys: Vec<Key> = keys
        .collect::<Result<_, _>>()
        .map_err(|known: String| format!("invalid arguments: by must be one or more of {known}"))?;
    let mut range = Range::default();
    for revision in string(arguments, "range").unwrap_or("HEAD").split_whitespace() {
        // Options of Git are no revisions.
        let added = if revision.starts_with('-') { None } else { repo.add_to_range(&mut range, revision).ok() };
        added.ok_or_else(|| format!("no commit matches {}; a range is written as main..topic", quoted(revision)))?;
    }
    let date = |name: &str| match string(arguments, name) {
        Some(text) => repo.parse_date(text).map(Some).map_err(|_| format!("invalid arguments: {name} is not a date")),
        None => Ok(None),
    };
    let query = Query { range, since: date("since")?, until: date("until")?, ..Query::default() };
    let reader = context.reader(&repo);
    let fail = |error| refusal(&error);
    let found = stats::collect(&reader, &query).map_err(fail)?;
    let prices = Prices::configured(&repo, None).map_err(fail)?;
    context.go_on().map_err(fail)?;
    let mut counted = stats::counted(&reader, &query, &found, &keys, &prices).map_err(fail)?;
    let redactor = redaction::redactor(&repo).map_err(fail)?;
    counted.clean(&keys, &redactor);
    let statistics = Statistics { counted: &counted, keys: &keys, prices: Some(&prices) };
    let total = short(pretty::total_object(statistics));
    let mut bytes = total.to_string().len();
    let mut groups = Vec::new();
    for group in counted.groups.iter().take(MAX_GROUPS) {
        let group = short(pretty::group_object(group, &keys, true));
        bytes += group.to_string().len();
        if bytes > LIST_BYTES && !groups.is_empty() {
            break;
        }
        groups.push(group);
    }
    let (left, unnamed) =
        (counted.groups.len() - groups.len(), counted.total.unpriced.len().saturating_sub(MAX_UNPRICED));
    let mut structured = json!({ "groups": groups, "total": total });
    let mut notes: Vec<String> = found.uncounted.warnings();
    let problems = found.problems.len() + reader.problems().len();
    if problems > 0 {
        notes.push(format!("{} with notes are not counted", pretty::count(problems as u64, "problem")));
    }
    if left > 0 {
        notes.push(format!("{left} groups more; 'git shiftlog stats' lists all"));
    }
    if unnamed > 0 {
        notes.push(format!("{unnamed} models more have no price; 'git shiftlog stats' names all"));
    }
    if !notes.is_empty() {
        structured["note"] = json!(notes.join("; "));
    }
    Ok(Answer { text: structured.clone(), structured })
}

/// Returns an object without the members that only readers of lines need, and with texts that are not too long.
fn short(mut object: Value) -> Value {
    if let Some(keys) = object.as_object_mut() {
        keys.remove("version");
        keys.remove("total");
    }
    if let Some(unpriced) = object.get_mut("unpriced").and_then(Value::as_array_mut) {
        unpriced.truncate(MAX_UNPRICED);
        unpriced.iter_mut().for_each(shorten);
    }
    if let Some(by) = object.get_mut("by").and_then(Value::as_object_mut) {
        by.values_mut().for_each(shorten);
    }
    object
}

fn shorten(value: &mut Value) {
    if let Value::String(text) = value {
        *text = shortened(text);
    }
}
