//! The placeholders that are ours.

use crate::git::date::Time;
use crate::outside;
use crate::pretty::rows::main_sessions;
use crate::record::Summary;
use crate::stats::{Cost, Prices, cost_of};
use crate::told::Told;

/// Our placeholders, without their `%(` and `)`.
pub(super) const NAMES: &[&str] = &[
    "agent",
    "model",
    "session",
    "messages",
    "turns",
    "prompt",
    "summary",
    "rules",
    "time",
    "tokens:input",
    "tokens:output",
    "cost",
];

/// Returns the value of one of our placeholders, on one line. `authored` is the author date of the commit.
pub(super) fn value(name: &str, summaries: &[Summary], authored: Time, prices: &Prices) -> String {
    let join = |get: fn(&Summary) -> Option<String>| {
        let mut values: Vec<String> = Vec::new();
        for value in summaries.iter().filter_map(get) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values.join(",")
    };
    let sum = |get: fn(&Summary) -> u64| main_sessions(summaries).map(get).fold(0, u64::saturating_add).to_string();
    let tokens = |get: fn(&Summary) -> Option<u64>| {
        let sum = summaries.iter().filter_map(get).reduce(u64::saturating_add);
        sum.map_or_else(String::new, |sum| sum.to_string())
    };
    let value = match name {
        "agent" => join(|summary| Some(summary.key.agent.clone())),
        "model" => join(|summary| summary.model.clone()),
        "session" => join(|summary| Some(summary.key.id.clone())),
        "time" => join(|summary| Some(summary.time.clone())),
        "messages" => sum(|summary| summary.messages),
        "turns" => sum(|summary| summary.turns),
        "tokens:input" => tokens(|summary| summary.tokens.map(|tokens| tokens.input)),
        "tokens:output" => tokens(|summary| summary.tokens.map(|tokens| tokens.output)),
        "cost" => {
            let records = summaries.iter().map(|summary| (authored, summary));
            cost_of(prices, records).map_or_else(String::new, Cost::rounded)
        }
        "rules" => {
            let files = summaries.iter().filter_map(|summary| summary.rules.as_ref()).flat_map(Told::files);
            let mut names: Vec<String> = Vec::new();
            for name in files.map(|file| file.name()) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            names.join(",")
        }
        "prompt" => summaries.iter().find_map(|summary| summary.prompt.clone()).unwrap_or_default(),
        "summary" => summaries.iter().find_map(|summary| summary.summary.clone()).unwrap_or_default(),
        _ => String::new(),
    };
    outside::line(&value)
}
