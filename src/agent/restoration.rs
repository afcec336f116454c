//! The files to write and the commands to run so that an agent resumes a recorded session.

use std::path::PathBuf;

/// A recorded session. All its ids are plain; see [`crate::outside::is_plain_id`].
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    /// The session's id.
    pub session_id: &'a str,
    /// Its transcript as it is stored.
    pub transcript: &'a [u8],
    /// The transcripts of its sub-agents, by their own ids.
    pub sub_agents: &'a [(String, Vec<u8>)],
}

/// The files that are written and the commands that are run so that an agent resumes a session.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Restoration {
    /// The files to write first. The first of them is the session's transcript, where the agent looks for it.
    pub files: Vec<(PathBuf, RestoredContent)>,
    /// The programs to run afterwards, in this order, with their arguments. The last one is the agent. They run in the
    /// directory that was asked for.
    pub commands: Vec<Vec<String>>,
}

/// The content of a file that a restoration writes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RestoredContent {
    /// A transcript. It must not replace a file that has more of the session.
    Transcript(Vec<u8>),
    /// A file that is made from a transcript. An existing file is kept.
    Once(Vec<u8>),
    /// The agent's index with our entry added. It replaces the existing file.
    Index(Vec<u8>),
}
