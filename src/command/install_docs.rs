//! `git shiftlog install-docs`: manual pages and completions, put where they are looked for.
//!
//! A file that this command has not written, or that somebody has changed since, is neither replaced nor removed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Parser;
use serde::{Deserialize, Serialize};

use crate::cli::{self, Outcome, PAGES, Quiet};
use crate::error::{Error, Result};
use crate::git::{private, temporary};
use crate::managed::file::digest;
use crate::{outside, pretty};

/// Install manual pages and completions
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-install-docs", override_usage = "git shiftlog install-docs [<options>]")]
pub struct Options {
    /// Install below this directory (default: where 'man' and the shells look)
    #[arg(long, value_name = "directory")]
    prefix: Option<PathBuf>,
    /// Remove the installed files that nobody has changed
    #[arg(long)]
    uninstall: bool,
    /// Print what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Name each file
    #[arg(short = 'v', long)]
    verbose: bool,
    #[command(flatten)]
    quiet: Quiet,
}

/// The completions, as the build has packed them, with the place below a folder such as `/usr/share` where each shell looks for them.
const COMPLETIONS: &[(&str, &[u8])] = &[
    ("bash-completion/completions/git-shiftlog", cli::packed!("git-shiftlog.bash")),
    ("zsh/site-functions/_git-shiftlog", cli::packed!("_git-shiftlog")),
    ("fish/vendor_completions.d/git-shiftlog.fish", cli::packed!("git-shiftlog.fish")),
    ("fish/vendor_conf.d/git-shiftlog.fish", cli::packed!("git-shiftlog-conf.fish")),
];

/// Where it is written down what was installed, below the folder of the completions.
const INSTALLED: &str = "git-shiftlog/installed.json";

/// The files and directories that were made by this command.
#[derive(Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
struct Installed {
    /// The SHA-256 of each file as it was written, by its path.
    files: BTreeMap<PathBuf, String>,
    /// In the order in which they were made.
    directories: Vec<PathBuf>,
}

/// What bash reads when the name of another program of ours is typed.
const BASH_LOADER: &str = ". \"${BASH_SOURCE[0]%/*}/git-shiftlog\"\n";

/// What fish reads when the name of another program of ours is typed, or completed by that of git-shiftlog. Without it, fish
/// would take what it makes of the manual page.
const FISH_LOADER: &str =
    "functions -q __fish_git_shiftlog_words; or source (dirname (status filename))/git-shiftlog.fish\n";

/// Where bash-completion is, which finds the completion of a command by its name.
const BASH_COMPLETION: &[&str] = &[
    "/usr/share/bash-completion/bash_completion",
    "/usr/local/share/bash-completion/bash_completion",
    "/opt/homebrew/share/bash-completion/bash_completion",
    "/etc/bash_completion",
];

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let prefix = match &options.prefix {
            // The printed lines go into shell start-up files, so the path must be absolute.
            Some(prefix) => {
                without_dots(&std::path::absolute(prefix).map_err(|error| Error::io("find", prefix, error))?)
            }
            None => default_prefix()?,
        };
        let share = match options.prefix {
            Some(_) => prefix.join("share"),
            None => completions_folder(&prefix),
        };
        let list = share.join(INSTALLED);
        if options.uninstall {
            return uninstall(&files(&prefix, &share), &list, &options);
        }
        let (mut installed, mut written) = (Installed::read(&list), Vec::new());
        let mut install = |path: PathBuf, text: &str| {
            match std::fs::read(&path) {
                Ok(there) if there == text.as_bytes() => return Ok(()),
                Ok(there) if !installed.has(&path, &there) => {
                    warn_of(&path);
                    return Ok(());
                }
                _ => {}
            }
            if !options.dry_run {
                installed.directories.extend(missing_directories(&path));
                write(&path, text)?;
                installed.files.insert(path.clone(), digest(text.as_bytes()));
            }
            written.push(path);
            Ok::<(), Error>(())
        };
        let outcome = files(&prefix, &share).into_iter().try_for_each(|(path, text)| install(path, &text));
        // Also of what was written before something failed, and before anything is printed.
        if !options.dry_run && !written.is_empty() {
            installed.directories.extend(missing_directories(&list));
            installed.write(&list)?;
        }
        outcome?;
        options.tell("write", &written)?;
        if options.quiet.is_on && !options.dry_run {
            return Ok(Outcome::Done);
        }
        let of_man = manual_line(&prefix.join("share/man"));
        of_man.iter().try_for_each(|line| cli::print(&format!("{line}\n")))?;
        missing_lines(&share).iter().try_for_each(|line| cli::print(&format!("{line}\n")))?;
        Ok(Outcome::Done)
    })
}

impl Installed {
    /// Reads the list; an empty one if there is none, or if it cannot be read.
    fn read(list: &Path) -> Self {
        std::fs::read(list).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Says whether a file is as this command has written it. It never writes through a link.
    fn has(&self, path: &Path, there: &[u8]) -> bool {
        !path.is_symlink() && self.files.get(path).is_some_and(|written| *written == digest(there))
    }

    /// Writes the list, or removes it if it is empty.
    fn write(&self, list: &Path) -> Result<()> {
        if *self == Installed::default() {
            return private::remove(list);
        }
        let text = serde_json::to_string(self).map_err(|error| Error::other("cannot write a list").because(error))?;
        write(list, &(text + "\n"))
    }
}

/// Says that a file stays as it is.
fn warn_of(path: &Path) {
    let path = outside::line(&path.display().to_string());
    cli::warning(&format!("'{path}' is not as this command has written it, and stays"));
}

/// Returns an absolute path without `..`. Above a link is what is above the place that it leads to.
fn without_dots(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        if part != Component::ParentDir {
            return plain.join(part);
        }
        if plain.is_symlink() {
            plain = plain.canonicalize().unwrap_or(plain);
        }
        plain.pop();
        plain
    })
}

impl Options {
    /// Says which files were written or removed: how many in each directory, or each one.
    fn tell(&self, verb: &str, files: &[PathBuf]) -> Result<()> {
        let steps = if self.verbose {
            files.iter().map(|path| format!("{verb} {}", path.display())).collect()
        } else {
            let mut directories: Vec<(&Path, u64)> = Vec::new();
            for directory in files.iter().filter_map(|path| path.parent()) {
                match directories.iter_mut().find(|(known, _)| *known == directory) {
                    Some((_, count)) => *count += 1,
                    None => directories.push((directory, 1)),
                }
            }
            let step = |(directory, count): (&Path, u64)| {
                format!("{verb} {} in {}", pretty::count(count, "file"), directory.display())
            };
            directories.into_iter().map(step).collect::<Vec<_>>()
        };
        cli::print_steps(&steps, self.quiet.is_on && !self.dry_run)
    }
}

/// Removes the files that are as they were installed, and the directories that were made for them if nothing is in them.
fn uninstall(files: &[(PathBuf, Cow<'_, str>)], list: &Path, options: &Options) -> Result<Outcome> {
    let (mut installed, mut removed) = (Installed::read(list), Vec::new());
    for (path, _) in files {
        match std::fs::read(path) {
            Ok(there) if installed.has(path, &there) => {
                if !options.dry_run {
                    private::remove(path)?;
                }
                removed.push(path.clone());
            }
            Ok(_) => warn_of(path),
            Err(_) => {}
        }
        installed.files.remove(path);
    }
    options.tell("remove", &removed)?;
    if !options.dry_run {
        // What another prefix has stays.
        let is_last = installed.files.is_empty();
        let made = std::mem::take(&mut installed.directories);
        if is_last {
            private::remove(list)?;
        }
        // The innermost come last. What somebody else put into one keeps it.
        made.iter().rev().for_each(|directory| drop(std::fs::remove_dir(directory)));
        if !is_last {
            installed.directories = made.into_iter().filter(|directory| directory.is_dir()).collect();
            installed.write(list)?;
        }
    }
    Ok(Outcome::Done)
}

/// Returns the directories that must be made for a file, the outermost first.
fn missing_directories(path: &Path) -> Vec<PathBuf> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let missing = path.ancestors().skip(1).take_while(|directory| !directory.exists());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Returns the files to install with what is in them.
fn files(prefix: &Path, share: &Path) -> Vec<(PathBuf, Cow<'static, str>)> {
    let pages = PAGES.iter().map(|page| {
        (prefix.join(format!("share/man/man{}", page.section)).join(page.file_name()), page.source().into())
    });
    let completions = COMPLETIONS.iter().map(|(place, text)| (share.join(place), cli::unpacked(text).into()));
    let of_programs = |folder: &str, ending: &'static str, loader: &'static str| {
        let folder = share.join(folder);
        super::ALL
            .iter()
            .map(move |listed| (folder.join(format!("git-shiftlog-{}{ending}", listed.name)), loader.into()))
    };
    let of_bash = of_programs("bash-completion/completions", "", BASH_LOADER);
    let of_fish = of_programs("fish/vendor_completions.d", ".fish", FISH_LOADER);
    pages.chain(completions).chain(of_bash).chain(of_fish).collect()
}

/// Returns the directory whose `bin` holds this program, or `~/.local`.
fn default_prefix() -> Result<PathBuf> {
    let own = std::env::current_exe().unwrap_or_default();
    let bin = own.parent().filter(|dir| dir.file_name().is_some_and(|name| name == "bin"));
    let home = || home().map(|home| home.join(".local"));
    bin.and_then(Path::parent).map(Path::to_owned).or_else(home).ok_or_else(|| {
        Error::other("cannot tell where to install to").hint("name a directory with --prefix=<directory>")
    })
}

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}

/// Returns the folder that shells look below: that of the system, or the user's own. No shell looks below others, such
/// as `~/.cargo`.
fn completions_folder(prefix: &Path) -> PathBuf {
    let share = prefix.join("share");
    if system_folders().contains(&share) { share } else { user_folder().unwrap_or(share) }
}

/// Returns the folders that all users share, as the specification of base directories names them.
fn system_folders() -> Vec<PathBuf> {
    let folders = std::env::var_os("XDG_DATA_DIRS").filter(|folders| !folders.is_empty());
    std::env::split_paths(&folders.unwrap_or_else(|| "/usr/local/share:/usr/share".into())).collect()
}

/// Returns the user's own folder.
fn user_folder() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    named.or_else(|| Some(home()?.join(".local/share")))
}

/// Returns the line that the user must add to a start-up file if `man` does not look below a folder with pages. Nothing is said
/// about a folder that is not there: `man` leaves it out wherever it is.
fn manual_line(folder: &Path) -> Option<String> {
    if !folder.is_dir() {
        return None;
    }
    let output = |program: &str, args: &[&str]| {
        Command::new(program).args(args).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()
    };
    let is_searched = match output("manpath", &[]) {
        Some(path) => {
            let text = String::from_utf8_lossy(&path.stdout).into_owned();
            let is_it = |known: PathBuf| known == folder || known.canonicalize().ok() == folder.canonicalize().ok();
            std::env::split_paths(text.trim_end()).any(is_it)
        }
        // Not every system has manpath; without man, there is nothing to look for.
        None => output("man", &["-w", PAGES[0].name]).is_none_or(|found| found.status.success()),
    };
    (!is_searched).then(|| {
        let folder = quoted(folder);
        format!("man needs this line in ~/.profile: export MANPATH=\"$MANPATH\":{folder}")
    })
}

/// Returns what the user must add to a start-up file where a shell does not look by itself, one line for each shell.
fn missing_lines(share: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let is_known = user_folder().as_deref() == Some(share) || system_folders().iter().any(|folder| folder == share);
    if !is_known || !BASH_COMPLETION.iter().any(|path| Path::new(path).exists()) {
        let file = share.join("bash-completion/completions/git-shiftlog");
        lines.push(format!("bash needs this line in ~/.bashrc: . {}", quoted(&file)));
    }
    let folder = share.join("zsh/site-functions");
    if let Some(known) = folders_of("zsh", &["-fc", "print -rl -- $fpath"])
        && !known.contains(&folder)
        && !names_folder(&zsh_file(), &folder)
    {
        let folder = quoted(&folder);
        lines.push(format!("zsh needs this line in ~/.zshrc, before compinit: fpath=({folder} $fpath)"));
    }
    let folder = share.join("fish/vendor_completions.d");
    let is_users_own = user_folder().is_some_and(|own| folder == own.join("fish/vendor_completions.d"));
    if let Some(known) = folders_of("fish", &["-c", "string join \\n -- $fish_complete_path"])
        && !known.contains(&folder)
        && !is_users_own
        && !names_folder(&fish_file(), &folder)
    {
        let (folder, file) = (quoted(&folder), quoted(&share.join("fish/vendor_conf.d/git-shiftlog.fish")));
        let line = format!("set -p fish_complete_path {folder}; source {file}");
        lines.push(format!("fish needs this line in ~/.config/fish/config.fish: {line}"));
    }
    lines
}

fn quoted(path: &Path) -> String {
    outside::shell(&path.to_string_lossy())
}

/// Returns the folders that a shell prints, which is run with a home of its own: fish makes directories in the one that it has.
/// `None` if the shell is not there; then it needs nothing.
fn folders_of(program: &str, args: &[&str]) -> Option<Vec<PathBuf>> {
    let home = temporary::directory().ok()?;
    let mut command = Command::new(program);
    command.args(args).env("HOME", home.path()).stdin(Stdio::null()).stderr(Stdio::null());
    for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "ZDOTDIR"] {
        command.env_remove(name);
    }
    let output = command.output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect())
}

fn zsh_file() -> PathBuf {
    std::env::var_os("ZDOTDIR").map(PathBuf::from).or_else(home).unwrap_or_default().join(".zshrc")
}

fn fish_file() -> PathBuf {
    let named = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let folder = named.or_else(|| Some(home()?.join(".config"))).unwrap_or_default();
    folder.join("fish/config.fish")
}

/// Says whether a start-up file names a folder.
fn names_folder(file: &Path, folder: &Path) -> bool {
    std::fs::read_to_string(file).is_ok_and(|text| text.contains(&*folder.to_string_lossy()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(directory).map_err(|error| Error::io("create", directory, error))?;
    std::fs::write(path, text).map_err(|error| Error::io("write", path, error))
}
