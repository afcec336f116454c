//! The kinds of files that we edit.

/// What a file is, and so how our part is taken out of it after the user has edited it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FileKind {
    /// A hook of Git.
    Hook,
    /// Settings of an agent.
    Settings,
    /// A file that is ours alone, for an agent.
    Own {
        /// Whether the agent runs it.
        is_executable: bool,
    },
    /// The file in which a client declares MCP servers.
    Client,
    /// `info/exclude`.
    Exclude,
}
