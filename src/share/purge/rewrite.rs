//! Storing a session again without the purged words.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use sha2::{Digest as _, Sha256};

use crate::archive::{Archive, Header, hex, text};
use crate::error::{Error, Kind, Result};
use crate::git::{ObjectId, Repository};
use crate::record::tombstone::Replacement;
use crate::redact::Redactor;
use crate::transcript::{SessionKey, line_ends};

/// The result for one session.
#[derive(Default)]
pub struct Rewritten {
    /// How many segments were removed.
    pub dropped: usize,
    /// How many segments were replaced.
    pub changed: usize,
    /// The session.
    pub session: Option<SessionKey>,
    /// The replacements.
    pub became: HashMap<ObjectId, Replacement>,
    /// The segments that lose words of their own.
    pub cut: HashSet<ObjectId>,
    /// The segments that are damaged, so that nobody knows what they say.
    pub unreadable: Vec<ObjectId>,
}

/// A range of the old transcript and its place in the new one.
#[derive(Clone)]
struct MovedRange {
    from: u64,
    to: u64,
    new_from: u64,
    /// The line ends before and after, within the range, if its text changed; the latter are empty if all of it is
    /// purged.
    lines: Option<Rc<(Vec<u64>, Vec<u64>)>>,
}

/// A segment after the rewriting.
struct RewrittenSegment {
    /// The segment that replaces it.
    segment_id: Option<ObjectId>,
    /// The length and the digest of the transcript at the replacing segment.
    bytes: u64,
    digest: Sha256,
    is_same: bool,
    ranges: Vec<MovedRange>,
}

/// Returns the position in the new transcript of a line end of the old one.
fn moved(ranges: &[MovedRange], position: u64) -> u64 {
    let Some(range) = ranges.iter().find(|range| range.from < position && position <= range.to) else {
        return 0;
    };
    let offset = position - range.from;
    match range.lines.as_deref() {
        None => range.new_from.saturating_add(offset),
        Some((before, after)) => {
            let moved = match before.partition_point(|end| *end <= offset) {
                0 => 0,
                // A key of several lines can have become one line, or belong to the next segment.
                all if all == before.len() => after.last().copied().unwrap_or(0),
                count => after.get(count - 1).copied().unwrap_or(0),
            };
            range.new_from.saturating_add(moved)
        }
    }
}

fn ends(text: &[u8]) -> Vec<u64> {
    line_ends(text).map(|end| end as u64).collect()
}

/// The segments of a session, and what of them is purged.
#[derive(Default)]
struct Examined {
    /// Those that can be read, in the order of their chain.
    headers: Vec<(ObjectId, Header)>,
    /// Those that have words to purge.
    concerns: HashSet<ObjectId>,
    /// The keys in plain text that go on in another segment, by the segment that has the rest: where each begins, and its
    /// part there.
    begun: HashMap<ObjectId, (ObjectId, Vec<u8>)>,
    /// Those that are damaged.
    unreadable: Vec<ObjectId>,
}

/// The end of a segment, with that of those before it, that may be the beginning of a key.
struct OpenKey {
    /// Where it ends in the transcript.
    end: u64,
    begun: Vec<u8>,
    /// The segments behind the first, which may be within the key: each with the one before it and what that has begun.
    path: Vec<(ObjectId, (ObjectId, Vec<u8>))>,
}

/// Reads a session's segments and finds out which have words to purge.
fn examined(
    archive: &Archive<'_>,
    segment_ids: &[ObjectId],
    is_wanted: impl Fn(ObjectId, &Header) -> bool,
    redactor: Option<&Redactor>,
) -> Result<Examined> {
    let mut examined = Examined::default();
    let mut open: HashMap<ObjectId, OpenKey> = HashMap::new();
    for segment_id in archive.in_chain_order(segment_ids) {
        let (header, body) = match archive.read(segment_id) {
            Ok(read) => read,
            // Its words cannot be examined, so they might stay.
            Err(error) if error.kind() == Kind::Unsupported => {
                return Err(Error::new(Kind::Unsupported, format!("cannot purge segment {segment_id}")).because(error));
            }
            // A missing segment has no words here, and cannot be rewritten; 'fsck' reports it.
            Err(error) if error.kind() == Kind::Missing => continue,
            Err(_) => {
                examined.unreadable.push(segment_id);
                continue;
            }
        };
        let is_wanted = is_wanted(segment_id, &header);
        if is_wanted {
            examined.concerns.insert(segment_id);
        }
        if let Some(redactor) = redactor {
            let parent = header.parent.as_deref().and_then(|hex| archive.repo().parse_id(hex));
            let before = parent.and_then(|parent| Some((parent, open.get(&parent)?)));
            let before = before.filter(|(_, key)| key.end == header.keep);
            let begun = before.map_or(&[][..], |(_, key)| &key.begun);
            let text = [begun, &body].concat();
            let (clean, dealt) = redactor.redact(&text);
            let mut path = Vec::new();
            if let Some((parent, key)) = before {
                path.clone_from(&key.path);
                path.push((segment_id, (parent, key.begun.clone())));
            }
            if clean[..] != text[..dealt] {
                examined.concerns.insert(segment_id);
                if !clean.starts_with(begun) {
                    examined.concerns.extend(path.iter().map(|(_, (parent, _))| *parent));
                    examined.begun.extend(path.iter().cloned());
                }
            }
            if dealt < text.len() {
                let is_same = dealt == 0 && !begun.is_empty();
                let path = if is_same { path } else { Vec::new() };
                open.insert(segment_id, OpenKey { end: header.total_bytes(), begun: text[dealt..].to_vec(), path });
            }
        }
        examined.headers.push((segment_id, header));
    }
    Ok(examined)
}

/// Returns the ranges of the parent's transcript, which `known` has if the parent is in our archive.
fn kept_ranges(
    archive: &Archive<'_>,
    header: &Header,
    parent: Option<ObjectId>,
    known: Option<&RewrittenSegment>,
) -> Vec<MovedRange> {
    match (parent, known) {
        (_, Some(known)) => known.ranges.clone(),
        (Some(parent), None) => {
            let bytes = archive.header(parent).map_or(header.keep, |header| header.total_bytes());
            vec![MovedRange { from: 0, to: bytes, new_from: 0, lines: None }]
        }
        (None, None) => Vec::new(),
    }
}

/// Makes the segments of one session again without the purged words; those before the first change stay. `store` gets each new
/// segment and returns its id.
///
/// # Errors
///
/// If a segment cannot be read or stored.
pub fn rewrite(
    repo: &Repository,
    store: impl Fn(&Header, &[u8]) -> Result<ObjectId>,
    segment_ids: &[ObjectId],
    is_wanted: impl Fn(ObjectId, &Header) -> bool,
    redactor: Option<&Redactor>,
) -> Result<Rewritten> {
    let archive = Archive::new(repo);
    let mut rewritten = Rewritten::default();
    let Examined { headers, concerns, begun, unreadable } = examined(&archive, segment_ids, is_wanted, redactor)?;
    rewritten.unreadable = unreadable;
    rewritten.session = headers.first().map(|(_, header)| SessionKey::new(&header.agent, &header.session));
    if concerns.is_empty() {
        return Ok(rewritten);
    }
    rewritten.cut.clone_from(&concerns);
    let goes_on: HashSet<ObjectId> = begun.values().map(|(segment_id, _)| *segment_id).collect();
    let mut segments: HashMap<ObjectId, RewrittenSegment> = HashMap::new();
    for (segment_id, header) in headers {
        let (_, body) = archive.read(segment_id)?;
        let parent = header.parent.as_deref().and_then(|hex| repo.parse_id(hex));
        let known = parent.and_then(|parent| segments.get(&parent));
        let mut ranges = kept_ranges(&archive, &header, parent, known);
        let keep = moved(&ranges, header.keep);
        ranges.retain(|range| range.from < header.keep);
        if let Some(last) = ranges.last_mut() {
            last.to = last.to.min(header.keep);
        }
        let is_dropped = concerns.contains(&segment_id) && redactor.is_none();
        let new_body = match redactor {
            Some(redactor) => {
                let text = [begun.get(&segment_id).map_or(&[][..], |(_, begun)| begun), &body].concat();
                let (clean, dealt) = redactor.redact(&text);
                let rest = if goes_on.contains(&segment_id) { &[] } else { &text[dealt..] };
                [&clean[..], rest].concat()
            }
            None if is_dropped => Vec::new(),
            None => body.clone(),
        };
        let is_same_body = new_body == body;
        ranges.push(MovedRange {
            from: header.keep,
            to: header.total_bytes(),
            new_from: keep,
            lines: (!is_same_body).then(|| Rc::new((ends(&body), ends(&new_body)))),
        });
        let is_same_parent = known.is_none_or(|known| known.is_same);
        let new_parent = known.map_or(parent, |known| known.segment_id);
        let prefix = |length: u64| -> Sha256 {
            match known {
                Some(known) if known.bytes == length => known.digest.clone(),
                _ => {
                    let text = new_parent.map(|id| archive.transcript(id).bytes()).unwrap_or_default();
                    let length = usize::try_from(length).unwrap_or(usize::MAX).min(text.len());
                    Sha256::new().chain_update(&text[..length])
                }
            }
        };
        let (new_id, bytes, digest) = if is_dropped {
            rewritten.dropped += 1;
            let bytes = known.map_or(keep, |known| known.bytes);
            (new_parent, bytes, prefix(bytes))
        } else {
            let digest = prefix(keep).chain_update(&new_body);
            let bytes = keep.saturating_add(new_body.len() as u64);
            if is_same_body && is_same_parent {
                let segment = RewrittenSegment { segment_id: Some(segment_id), bytes, digest, is_same: true, ranges };
                segments.insert(segment_id, segment);
                continue;
            }
            let parent = new_parent.map(|id| id.to_string());
            let sha256 = hex(&digest.clone().finalize());
            let is_text = text::is_text(&SessionKey::new(&header.agent, &header.session));
            // The name of a text that is no transcript is its digest, which would give words of the old text away.
            let session = if is_text { sha256.clone() } else { header.session.clone() };
            let new_header = Header { parent, keep, bytes: new_body.len() as u64, sha256, session, ..header };
            rewritten.changed += 1;
            (Some(store(&new_header, &new_body)?), bytes, digest)
        };
        let (became, sha256) = (new_id.map(|id| id.to_string()), hex(&digest.clone().finalize()));
        let session = rewritten.session.as_ref().filter(|key| !text::is_text(key)).map(SessionKey::file_name);
        rewritten.became.insert(segment_id, Replacement { became, bytes, sha256, session, ..Replacement::nothing() });
        segments.insert(segment_id, RewrittenSegment { segment_id: new_id, bytes, digest, is_same: false, ranges });
    }
    Ok(rewritten)
}
