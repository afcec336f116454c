//! How lines of a file are named: an address, a revision, commits to leave out.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use bstr::{BStr, BString, ByteSlice as _};

use crate::cli;
use crate::error::{Error, Kind, Result};
use crate::git::{ObjectId, Range, Repository};
use crate::outside;

/// Lines of a file that somebody asks about.
#[derive(Debug)]
pub struct Asked {
    /// The path from the top.
    pub path: BString,
    /// The revision; the working tree if `None`.
    pub revision: Option<ObjectId>,
    /// The commits that are not followed, nor their ancestors.
    pub hidden: Vec<ObjectId>,
    /// The value of `-L` that the address has.
    pub range: Option<String>,
}

/// Finds out which words name the file, its lines and the history.
///
/// An address is `<file>:<line>`, `<file>:<line>-<line>`, `<file>:<line>:<column>`, `<file>#L<line>-L<line>`, or a file
/// alone, each also behind an `@`. A file that is really named so wins. History is a revision, or a range as `git blame`
/// takes it; a single revision may also stand behind the address. `usage` is the hint for who names nothing.
///
/// # Errors
///
/// [`Kind::Usage`] if there is no file, are too many words, or each of two words may be the file; another kind if a revision
/// names no commit.
pub fn asked(repo: &Repository, words: &[OsString], usage: &str) -> Result<Asked> {
    let (before, after) = cli::split_at_dashes(words);
    let before: Vec<&OsString> = before.iter().filter(|word| *word != "--").collect();
    match (before.as_slice(), after) {
        (revisions, [file]) => address(repo, file, history(repo, revisions)?),
        ([], []) => Err(Error::new(Kind::Usage, "no file is named").hint(usage)),
        ([file], []) => {
            let asked = address(repo, file, (None, Vec::new()))?;
            match of_commit(repo, file).filter(|_| !has_file(repo, asked.path.as_bstr(), None)) {
                Some((revision, lines)) => {
                    let command = usage.split(" <").next().unwrap_or_default();
                    let (revision, lines) = (outside::shell(revision), outside::shell(lines));
                    Err(Error::other(format!("no such path in the working tree: '{}'", file.to_string_lossy()))
                        .hint(format!("{command} {revision} {lines}    # asks about the file of that commit")))
                }
                None => Ok(asked),
            }
        }
        ([one, other], []) => {
            // Either order is fine, as long as it is clear which word is the revision.
            let fits = |file: &OsString, revision: &&OsString| {
                let history = history(repo, &[*revision]).ok()?;
                address(repo, file, history).ok().filter(|asked| has_file(repo, asked.path.as_bstr(), asked.revision))
            };
            match (fits(one, other), fits(other, one)) {
                (Some(_), Some(_)) if one != other => {
                    let one = one.to_string_lossy();
                    let error = Error::new(Kind::Usage, format!("'{one}' is both a revision and a file"));
                    Err(error.hint("'--' before the file tells them apart"))
                }
                (Some(asked), _) | (_, Some(asked)) => Ok(asked),
                (None, None) => match (history(repo, &[*one]), history(repo, &[*other])) {
                    (Ok(history), _) => address(repo, other, history),
                    (_, Ok(history)) => address(repo, one, history),
                    // The word that is no file was meant as the revision.
                    (Err(_), Err(error)) if is_present(repo, one) => Err(match line_number(other) {
                        Some(line) => error.hint(format!("'{}:{line}' names line {line}", one.to_string_lossy())),
                        None => error,
                    }),
                    (Err(error), Err(_)) => Err(error),
                },
            }
        }
        ([revisions @ .., file], []) => match history(repo, revisions) {
            Err(_) if !is_present(repo, file) && revisions.iter().all(|word| history(repo, &[*word]).is_err()) => {
                Err(too_many())
            }
            history => address(repo, file, history?),
        },
        _ => Err(too_many()),
    }
}

fn too_many() -> Error {
    Error::new(Kind::Usage, "too many words: one file, and revisions before it")
}

/// Says whether a word names a file of the working tree, or lines of one.
fn is_present(repo: &Repository, word: &OsStr) -> bool {
    address(repo, word, (None, Vec::new())).is_ok_and(|asked| has_file(repo, asked.path.as_bstr(), None))
}

/// Splits a word that names a file of a commit as `git show` has it.
fn of_commit<'w>(repo: &Repository, word: &'w OsStr) -> Option<(&'w str, &'w str)> {
    let (revision, file) = word.to_str()?.split_once(':')?;
    (!revision.is_empty() && !file.is_empty() && repo.resolve(revision).is_ok()).then_some((revision, file))
}

fn line_number(word: &OsStr) -> Option<usize> {
    word.to_str()?.parse().ok().filter(|line| *line > 0)
}

/// Where to begin, and what to leave out.
type History = (Option<ObjectId>, Vec<ObjectId>);

fn history(repo: &Repository, words: &[&OsString]) -> Result<History> {
    let mut range = Range::default();
    for word in words {
        // A revision that names no commit is no "nothing found".
        let added = repo.add_to_range(&mut range, &word.to_string_lossy());
        added.map_err(|error| Error::other(error.to_string()))?;
    }
    match range.tips.as_slice() {
        [] => Ok((None, range.hidden)),
        [tip] => Ok((Some(*tip), range.hidden)),
        _ => Err(Error::new(Kind::Usage, "more than one revision to begin with")),
    }
}

fn has_file(repo: &Repository, path: &BStr, revision: Option<ObjectId>) -> bool {
    match revision {
        Some(id) => repo.blob_at(id, path).is_ok_and(|blob| blob.is_some()),
        None => repo.worktree().is_some_and(|top| top.join(OsStr::from_bytes(path)).symlink_metadata().is_ok()),
    }
}

/// Reads an address.
fn address(repo: &Repository, word: &OsStr, (revision, hidden): History) -> Result<Asked> {
    let is_file = |word: &[u8]| from_top(repo, word).is_ok_and(|path| has_file(repo, path.as_bstr(), revision));
    let word = word.as_bytes();
    let plain = word.strip_prefix(b"@").unwrap_or(word);
    let (as_typed, without_sign) = (split_address(word), split_address(plain));
    // If no file is there, the likeliest reading is the one that the error is about.
    let likeliest = without_sign[0].clone();
    // Many directories of packages have a name that begins with the sign.
    let readings = [(word, None), (plain, None)].into_iter().chain(as_typed).chain(without_sign);
    let (file, range) = readings.into_iter().find(|(file, _)| is_file(file)).unwrap_or(likeliest);
    if file.is_empty() {
        return Err(Error::new(Kind::Usage, format!("no file is named in '{}'", word.as_bstr())));
    }
    if range.as_ref().is_some_and(|range| range.starts_with("0,")) {
        return Err(Error::new(Kind::Usage, format!("lines begin with 1, not with 0 as in '{}'", word.as_bstr())));
    }
    Ok(Asked { path: from_top(repo, file)?, revision, hidden, range })
}

/// Splits an address into the file and the value of `-L`; the likeliest reading comes first, and there is always one.
fn split_address(word: &[u8]) -> Vec<(&[u8], Option<String>)> {
    let number = |text: &[u8]| text.to_str().ok()?.parse::<usize>().ok();
    let range = |text: &[u8], separator: &str| {
        let (first, last) = match text.split_once_str(separator) {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(text)?, number(text)?),
        };
        Some(format!("{},{}", first.min(last), first.max(last)))
    };
    let mut readings = Vec::new();
    if let Some((file, lines)) = word.rsplit_once_str("#") {
        let range = range(&lines.replace("L", ""), "-");
        readings.extend(range.map(|range| (file, Some(range))));
    }
    if let Some((file, last)) = word.rsplit_once_str(":") {
        // A compiler prints the column behind the line.
        let column = file.rsplit_once_str(":").filter(|_| number(last).is_some());
        let line = column.and_then(|(file, line)| Some((file, number(line)?)));
        readings.extend(line.map(|(file, line)| (file, Some(format!("{line},{line}")))));
        let range = range(last, "-").or_else(|| range(last, ","));
        readings.extend(range.map(|range| (file, Some(range))));
    }
    readings.push((word, None));
    readings
}

/// Returns a path from the top of the working tree.
fn from_top(repo: &Repository, word: &[u8]) -> Result<BString> {
    let Some(top) = repo.worktree() else { return Ok(word.into()) };
    let here = cli::current_directory()?;
    let inside = [top.to_owned(), top.canonicalize().unwrap_or_default()];
    // As in Git, paths begin at the top if they are typed outside the working tree.
    let base = if inside.iter().any(|top| here.starts_with(top)) { here } else { top.to_owned() };
    let whole = super::target::plain(&base.join(OsStr::from_bytes(word)));
    let inside = inside.iter().find_map(|top| whole.strip_prefix(top).ok());
    let inside = inside.ok_or_else(|| {
        let (word, top) = (word.as_bstr(), top.display());
        Error::other(format!("'{word}' is outside repository at '{top}'"))
    })?;
    Ok(inside.as_os_str().as_bytes().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_named_as_people_and_compilers_name_them() {
        let split = |word: &str| {
            let (file, range) = split_address(word.as_bytes()).swap_remove(0);
            (String::from_utf8_lossy(file).into_owned(), range.unwrap_or_default())
        };
        let expected = |file: &str, range: &str| (file.to_owned(), range.to_owned());
        assert_eq!(split("src/a.rs:12"), expected("src/a.rs", "12,12"));
        assert_eq!(split("src/a.rs:12-15"), expected("src/a.rs", "12,15"));
        assert_eq!(split("src/a.rs:15-12"), expected("src/a.rs", "12,15"));
        assert_eq!(split("src/a.rs:12:7"), expected("src/a.rs", "12,12"));
        assert_eq!(split("src/a.rs:12,15"), expected("src/a.rs", "12,15"));
        assert_eq!(split("src/a.rs#L3-L9"), expected("src/a.rs", "3,9"));
        assert_eq!(split("src/a.rs#L3"), expected("src/a.rs", "3,3"));
        for plain in ["src/a.rs", "a:b", "a:12x", "a:-3", "a#b", "c:/x", ":12x"] {
            assert_eq!(split(plain), expected(plain, ""), "{plain}");
        }
    }
}
