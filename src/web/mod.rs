//! `git shiftlog web`: a read-only server of pages for one person's browser, on this machine alone.
//!
//! Read `gate` for who is let in, then `site` for the pages: the same that `git shiftlog export` writes. A page is made
//! in a thread of its own, and `sending` hands it to `wire`, the only file that knows of connections. Nothing here
//! changes the repository or reads a file outside of it.

mod asked;
mod gate;
mod pages;
mod sending;
mod site;
mod wire;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::Result;

/// The options of the server.
pub struct Server {
    /// The directory whose repository is served.
    pub directory: PathBuf,
    /// The notes ref, if it is not the usual one.
    pub notes_ref: Option<String>,
    /// Revisions and ranges; HEAD and all local branches if empty.
    pub revisions: Vec<String>,
    /// Whether the lists begin at what all worktrees have checked out, too.
    pub has_all_worktrees: bool,
    /// Pathspecs that limit the lists, from the directory.
    pub paths: Vec<OsString>,
    /// The port; any that is free if 0.
    pub port: u16,
    /// How long the server waits for a request before it ends.
    pub idle: Duration,
}

impl Server {
    /// Serves until nobody has asked for anything for a while. `announce` gets the address to open, and another one
    /// each time that one was used: each is good once.
    ///
    /// # Errors
    ///
    /// If the port cannot be used, or `announce` fails.
    pub fn serve(self, announce: impl Fn(&str) -> Result<()> + 'static) -> Result<()> {
        wire::serve(self, Box::new(announce))
    }
}
