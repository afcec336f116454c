//! The change of a commit, which `log` and `show` print after the words if that is wanted.

use std::ffi::OsString;

use bstr::ByteSlice as _;

use crate::cli::Screen;
use crate::error::Result;
use crate::git::{ChangeOptions, ObjectId, Repository};
use crate::outside;

/// How much of a commit's change is printed.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Change {
    /// Also print how many lines the commit changed in each file
    #[arg(long, overrides_with = "no_patch", conflicts_with = "json")]
    pub stat: bool,
    /// Also print the change that the commit made
    #[arg(short = 'p', long, overrides_with = "no_patch", conflicts_with = "json")]
    pub patch: bool,
    /// Leave out the change that the commit made, which is the default
    #[arg(short = 's', long, overrides_with_all = ["stat", "patch"])]
    no_patch: bool,
}

impl Change {
    /// Returns the name of an option that wants something, if there is one.
    pub fn name(&self) -> Option<&'static str> {
        [(self.stat, "--stat"), (self.patch, "--patch")].iter().find(|(is_set, _)| *is_set).map(|(_, name)| *name)
    }

    /// Returns the options for Git. Pathspecs are relative to the current directory.
    pub fn options(&self, screen: &Screen, pathspecs: Vec<OsString>) -> ChangeOptions {
        ChangeOptions {
            has_stat: self.stat,
            has_patch: self.patch,
            pathspecs,
            is_colored: screen.style.is_colored(),
            columns: if screen.is_screen { Screen::columns() } else { None },
            of_merges: None,
        }
    }
}

/// Prints what a commit changed; `before` stands in front of it if there is anything. Nothing is printed unless
/// something is wanted.
///
/// # Errors
///
/// If Git fails, or if writing does.
pub(super) fn print(
    screen: &mut Screen,
    repo: &Repository,
    commit_id: ObjectId,
    options: &ChangeOptions,
    before: &str,
) -> Result<()> {
    if !options.has_stat && !options.has_patch {
        return Ok(());
    }
    let mut before = Some(before);
    for line in repo.shown_change(commit_id, options)? {
        let line = line?;
        let (is_screen, is_colored, before) = (screen.is_screen, options.is_colored, before.take());
        screen.write(|out, _| {
            out.write_all(before.unwrap_or_default().as_bytes())?;
            // Bytes on their way into a file stay as they are; a terminal would act on some of them.
            match is_screen {
                true if is_colored => out.write_all(outside::colored(&line.to_str_lossy()).as_bytes())?,
                true => out.write_all(outside::text(&line.to_str_lossy()).as_bytes())?,
                false => out.write_all(&line)?,
            }
            out.write_all(b"\n")
        })?;
    }
    Ok(())
}
