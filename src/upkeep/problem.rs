//! The result of a check: problems by kind, and counts.

use crate::git::ObjectId;
use crate::transcript::SessionKey;

/// The kind of a problem.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Flaw {
    /// A ref of ours, or its commit or trees, cannot be read. Then nothing else is checked.
    DamagedRef,
    /// A ref of ours was replaced or deleted by another program, and lost data.
    LostRef,
    /// A segment that a record or another segment names is missing.
    MissingSegment,
    /// A segment cannot be read, or its digest is wrong.
    DamagedSegment,
    /// A segment exists, but the archive's ref does not reach it.
    UnarchivedSegment,
    /// The archive has a segment at a wrong path.
    WrongPath,
    /// Length or digest in a record differ from its segment.
    WrongRecord,
    /// A line of a note looks like a record but does not parse, or a note cannot be read.
    BadRecord,
    /// A document of an earlier tool that was merged line by line.
    DamagedNote,
    /// A record that a race between two writers has removed.
    LostRecord,
    /// A pending file.
    Pending,
    /// A ref of ours has, or had, a misfit; see `share::check`.
    BadEntry,
    /// The file of a purge mark or of an earlier note is missing or damaged.
    LostObject,
}

/// A problem.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    /// Its kind.
    pub flaw: Flaw,
    /// The object or file.
    pub subject: String,
    /// The commit, if it is about a note.
    pub commit_id: Option<ObjectId>,
    /// The session, if it is known.
    pub session: Option<SessionKey>,
    /// Details; may be empty.
    pub detail: String,
}

/// The result of a check.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// How many notes were read.
    pub notes: usize,
    /// How many records were read.
    pub records: usize,
    /// How many segments were read.
    pub segments: usize,
    /// The problems.
    pub problems: Vec<Problem>,
    /// Noted commits that no ref reaches.
    pub unreachable: Vec<ObjectId>,
    /// Noted commits that are missing.
    pub absent: Vec<ObjectId>,
    /// Records whose segments only a remote has.
    pub elsewhere: usize,
    /// Records, evidence and segments of a newer version, which are not checked.
    pub newer: usize,
    /// Segments whose digest was not checked, because that would read too much.
    pub unchecked: usize,
}

impl Flaw {
    /// Returns the name that `git shiftlog fsck` prints.
    pub fn name(self) -> &'static str {
        match self {
            Flaw::DamagedRef => "damaged-ref",
            Flaw::LostRef => "lost-ref",
            Flaw::MissingSegment => "missing-segment",
            Flaw::DamagedSegment => "damaged-segment",
            Flaw::UnarchivedSegment => "unarchived-segment",
            Flaw::WrongPath => "wrong-path",
            Flaw::WrongRecord => "wrong-record",
            Flaw::BadRecord => "bad-record",
            Flaw::DamagedNote => "damaged-note",
            Flaw::LostRecord => "lost-record",
            Flaw::Pending => "pending",
            Flaw::BadEntry => "bad-entry",
            Flaw::LostObject => "lost-object",
        }
    }
}
