//! `--porcelain=v1`: one line a record, fields separated by tabs. Frozen; a change is a new version.

use std::io::{self, Write};

use crate::outside;
use crate::record::Listed;

/// Writes a line for each record of a commit: commit id, commit time, agent, session, model, turns, messages, input
/// tokens, output tokens, prompt. An unknown field is `-`.
///
/// # Errors
///
/// If writing fails.
pub fn write_porcelain(out: &mut dyn Write, listed: &Listed, end: &[u8]) -> io::Result<()> {
    for summary in &listed.summaries {
        let known = |text: Option<&str>| match text {
            Some(text) if !text.is_empty() => outside::line(text),
            _ => "-".into(),
        };
        let tokens = |get: fn(&crate::transcript::Tokens) -> u64| {
            summary.tokens.as_ref().map_or_else(|| "-".into(), |tokens| get(tokens).to_string())
        };
        let fields = [
            listed.commit.commit_id.to_string(),
            listed.commit.committer.time.seconds.to_string(),
            known(Some(&summary.key.agent)),
            known(Some(&summary.key.id)),
            known(summary.model.as_deref()),
            summary.turns.to_string(),
            summary.messages.to_string(),
            tokens(|tokens| tokens.input),
            tokens(|tokens| tokens.output),
            known(summary.prompt.as_deref()),
        ];
        out.write_all(fields.join("\t").as_bytes())?;
        out.write_all(end)?;
    }
    Ok(())
}
