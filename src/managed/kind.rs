//! The kinds of files that we edit.

/// The kind of a file. It decides how our part is removed after the user has edited the file.
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
