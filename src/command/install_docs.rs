//! `git shiftlog install-docs`: manual pages and completions, put where they are looked for.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{self, Outcome, PAGES};
use crate::error::{Error, Result};

/// Install manual pages and completions
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-install-docs", override_usage = "git shiftlog install-docs [<options>]")]
pub struct Options {
    /// Install below this directory (default: where 'man' and the shells look)
    #[arg(long, value_name = "directory")]
    prefix: Option<PathBuf>,
    /// Remove them again
    #[arg(long)]
    uninstall: bool,
    /// Print what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// The completions, with the place below the prefix where each shell looks for them.
const COMPLETIONS: &[(&str, &str)] = &[
    ("share/bash-completion/completions/git-shiftlog", include_str!("../../completions/git-shiftlog.bash")),
    ("share/zsh/site-functions/_git-shiftlog", include_str!("../../completions/_git-shiftlog")),
    ("share/fish/vendor_completions.d/git-shiftlog.fish", include_str!("../../completions/git-shiftlog.fish")),
];

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let prefix = match options.prefix.clone() {
            Some(prefix) => prefix,
            None => default_prefix()?,
        };
        let pages = PAGES
            .iter()
            .map(|page| (prefix.join(format!("share/man/man{}", page.section)).join(page.file_name()), page.source));
        let completions = COMPLETIONS.iter().map(|(place, text)| (prefix.join(place), *text));
        for (path, text) in pages.chain(completions) {
            let verb = if options.uninstall { "remove" } else { "write" };
            if !options.dry_run {
                if options.uninstall { remove(&path)? } else { write(&path, text)? }
            }
            cli::print(&format!("{verb} {}\n", path.display()))?;
        }
        Ok(Outcome::Done)
    })
}

/// Returns the directory whose `bin` holds this program, or `~/.local`.
fn default_prefix() -> Result<PathBuf> {
    let own = std::env::current_exe().unwrap_or_default();
    let bin = own.parent().filter(|dir| dir.file_name().is_some_and(|name| name == "bin"));
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local"));
    bin.and_then(Path::parent).map(Path::to_owned).or_else(home).ok_or_else(|| {
        Error::other("cannot tell where to install to").hint("name a directory with --prefix=<directory>")
    })
}

fn write(path: &Path, text: &str) -> Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(directory).map_err(|error| Error::io("create", directory, error))?;
    std::fs::write(path, text).map_err(|error| Error::io("write", path, error))
}

fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", path, error)),
        _ => Ok(()),
    }
}
