//! The man pages, which every program carries, so that `--help` works before anything is installed.

use std::process::Command;

use super::mdoc::Page;
use super::packed::packed;
use super::{Screen, mdoc, print};
use crate::error::{Error, Kind, Result};
use crate::git::temporary;

macro_rules! page {
    ($name:literal $section:literal) => {
        Page { name: $name, section: $section, packed: packed!(concat!($name, ".", $section)) }
    };
}

macro_rules! pages {
    ($($name:literal $section:literal),* $(,)?) => {
        &[$(page!($name $section)),*]
    };
}

/// The page of the hook's program, which has no other one in it.
const HOOK_PAGE: Page = page!("git-shiftlog--hook" 1);

/// All pages.
pub const PAGES: &[Page] = pages![
    "git-shiftlog" 1,
    "git-shiftlog--hook" 1,
    "git-shiftlog-add" 1,
    "git-shiftlog-blame" 1,
    "git-shiftlog-branches" 1,
    "git-shiftlog-deinit" 1,
    "git-shiftlog-doctor" 1,
    "git-shiftlog-evidence" 1,
    "git-shiftlog-export" 1,
    "git-shiftlog-fsck" 1,
    "git-shiftlog-get" 1,
    "git-shiftlog-grep" 1,
    "git-shiftlog-import" 1,
    "git-shiftlog-index" 1,
    "git-shiftlog-init" 1,
    "git-shiftlog-install-docs" 1,
    "git-shiftlog-keys" 1,
    "git-shiftlog-log" 1,
    "git-shiftlog-logs" 1,
    "git-shiftlog-lsp" 1,
    "git-shiftlog-mcp" 1,
    "git-shiftlog-migrate" 1,
    "git-shiftlog-prices" 1,
    "git-shiftlog-purge" 1,
    "git-shiftlog-remap" 1,
    "git-shiftlog-resume" 1,
    "git-shiftlog-rules" 1,
    "git-shiftlog-scan" 1,
    "git-shiftlog-search" 1,
    "git-shiftlog-show" 1,
    "git-shiftlog-stats" 1,
    "git-shiftlog-status" 1,
    "git-shiftlog-summarise" 1,
    "git-shiftlog-sync" 1,
    "git-shiftlog-verify" 1,
    "git-shiftlog-web" 1,
    "git-shiftlog-why" 1,
    "gitshiftlog-agents" 7,
    "gitshiftlog-editors" 7,
    "gitshiftlog-format" 5,
];

/// Shows the man page of a program with `man`; where there is no `man`, prints it as text.
///
/// # Errors
///
/// If there is no such page, or it cannot be shown.
pub fn show_page(name: &str) -> Result<()> {
    let page = PAGES.iter().find(|page| page.name == name);
    show(page.ok_or_else(|| Error::new(Kind::Missing, format!("no manual entry for {name}")))?)
}

/// Shows the man page of the hook's program; see [`show_page`].
///
/// # Errors
///
/// If it cannot be shown.
pub fn show_hook_page() -> Result<()> {
    show(&HOOK_PAGE)
}

fn show(page: &Page) -> Result<()> {
    let failed = |error: std::io::Error| Error::other("cannot show the manual page").because(error);
    let directory = temporary::directory().map_err(failed)?;
    let file = directory.path().join(page.file_name());
    std::fs::write(&file, page.source()).map_err(failed)?;
    // A name with a slash is a file, for every 'man' there is.
    match Command::new("man").arg(&file).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Error::other("cannot show the manual page").because("'man' failed")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            print(&mdoc::to_text(&page.source(), Screen::columns()))
        }
        Err(error) => Err(failed(error)),
    }
}
