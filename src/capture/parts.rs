//! Recording a whole transcript, in parts that belong to different commits, as `import` does.

use std::collections::BTreeMap;

use super::increment::Increment;
use super::progress::Progress;
use super::reading::Reading;
use super::recorder::Recorder;
use crate::agent;
use crate::error::Result;
use crate::git::ObjectId;
use crate::transcript::SessionKey;

/// Archives a whole transcript and records its parts on commits. `ends` are line ends with their commits; a part
/// extends from the end before it to its own end.
///
/// Archived text is not split again: a part whose end is in archived text ends where that text ends.
///
/// # Errors
///
/// If a part cannot be stored. The parts before it stay recorded, and `progress` includes them.
pub(crate) fn record_parts(
    recorder: &mut Recorder<'_>,
    key: &SessionKey,
    transcript: Vec<u8>,
    ends: &[(u64, ObjectId)],
    progress: &mut Progress,
) -> Result<()> {
    let agent = agent::named(&key.agent)?;
    let mut reading = Reading::of_bytes(recorder.context(agent, key), progress, transcript)?;
    let (kept, end) = (reading.kept(), reading.end());
    let mut parts: BTreeMap<u64, Vec<ObjectId>> = BTreeMap::from([(end, Vec::new())]);
    for (until, commit_id) in ends {
        parts.entry((*until).clamp(kept, end)).or_default().push(*commit_id);
    }
    for (until, commit_ids) in parts {
        let since = progress.recorded.clone();
        let from = if commit_ids.is_empty() { reading.kept() } else { reading.position(&since)? };
        let survey = reading.survey(&since, from, until)?;
        let mut increment = Increment { commit_ids, ..Increment::new(key.clone(), reading, survey, since) };
        if increment.until > from {
            recorder.try_record(&mut increment, progress)?;
        }
        reading = increment.reading;
    }
    Ok(())
}
