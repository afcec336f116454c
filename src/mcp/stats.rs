//! The tool that tells what recorded work has used.

use serde_json::{Value, json};

use super::conversations::{Arguments, refusal, string};
use super::{Answer, Context, Refusal};
use crate::git::Range;
use crate::outside::quoted;
use crate::pretty::{self, Statistics};
use crate::record::{Query, redaction};
use crate::stats::{self, Key, Prices};

/// How many groups an answer has at most.
const MAX_GROUPS: usize = 50;

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
    counted.clean(&keys, |text| redactor.without_secrets(text).into_owned());
    let statistics = Statistics { counted: &counted, keys: &keys, prices: Some(&prices) };
    let groups: Vec<Value> = counted
        .groups
        .iter()
        .take(MAX_GROUPS)
        .map(|group| without_version(pretty::group_object(group, &keys, true)))
        .collect();
    let mut structured = json!({ "groups": groups, "total": without_version(pretty::total_object(statistics)) });
    let mut notes: Vec<String> = found.uncounted.warnings();
    let problems = found.problems.len() + reader.problems().len();
    if problems > 0 {
        notes.push(format!("{} with notes are not counted", pretty::count(problems as u64, "problem")));
    }
    if counted.groups.len() > MAX_GROUPS {
        notes.push(format!("{} groups more; 'git shiftlog stats' lists all", counted.groups.len() - MAX_GROUPS));
    }
    if !notes.is_empty() {
        structured["note"] = json!(notes.join("; "));
    }
    Ok(Answer { text: structured.clone(), structured })
}

/// Returns an object without what only readers of lines need.
fn without_version(mut object: Value) -> Value {
    if let Some(keys) = object.as_object_mut() {
        keys.remove("version");
        keys.remove("total");
    }
    object
}
