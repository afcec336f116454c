//! Paths relative to the directory that a session ran in.

use std::borrow::Cow;

/// The directories from which paths are shown.
#[derive(Clone, Debug, Default)]
pub struct Directories {
    /// The directories, and what stands for each in front of a path below it.
    directories: Vec<(String, String)>,
}

impl Directories {
    /// Returns the directory that a session ran in, and the top of the reader's working tree. What is below the top and not
    /// below the session's directory is shown from that, too: `../other.rs`, or `../app/other.rs` if the session ran beside
    /// the working tree.
    pub fn new(directory: Option<&str>, top: Option<&str>) -> Self {
        let plain = |directory: Option<&str>| {
            directory
                .map(|directory| directory.trim_end_matches(SEPARATORS).to_owned())
                .filter(|plain| !plain.is_empty())
        };
        let (directory, top) = (plain(directory), plain(top));
        let mut directories: Vec<(String, String)> = Vec::new();
        directories.extend(directory.clone().map(|directory| (directory, String::new())));
        match (&directory, &top) {
            (Some(directory), Some(top)) if below(top, directory).or(below(directory, top)).is_none() => {
                if let Some(way) = way_between(directory, top) {
                    directories.push((top.clone(), way));
                }
            }
            (Some(directory), Some(top)) if below(directory, top).is_none() => {
                let mut place = directory.as_str();
                let mut upwards = String::new();
                while directories.len() <= MAX_LEVELS && below(top, place).is_some_and(|rest| rest != ".") {
                    place = parent(place);
                    upwards += "../";
                    directories.push((place.to_owned(), upwards.clone()));
                }
                if directories.len() > MAX_LEVELS {
                    directories.truncate(1);
                }
            }
            (None, Some(top)) => directories.push((top.clone(), String::new())),
            _ => {}
        }
        Directories { directories }
    }

    /// Returns a path from one of the directories, if it is below it.
    pub fn path<'p>(&self, path: &'p str) -> Cow<'p, str> {
        let shown = self.directories.iter().find_map(|(directory, upwards)| {
            let rest = below(directory, path)?;
            Some(match (upwards.as_str(), rest) {
                ("", rest) => Cow::Borrowed(rest),
                (upwards, ".") => Cow::Owned(upwards.trim_end_matches('/').to_owned()),
                (upwards, rest) => Cow::Owned(format!("{upwards}{rest}")),
            })
        });
        shown.unwrap_or(Cow::Borrowed(path))
    }

    /// Returns text with the paths in it as [`Directories::path`] has them. A directory that stands alone stays as it is.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        let mut inner = None;
        for (directory, upwards) in &self.directories {
            if let Some(shorter) = without(&text, directory, upwards, inner) {
                text = Cow::Owned(shorter);
            }
            inner = Some(directory.as_str());
        }
        text
    }
}

/// The separators of the names in a path.
const SEPARATORS: [char; 2] = ['/', '\\'];
/// How far below the top a session's directory may be for paths to be shown with `../`.
const MAX_LEVELS: usize = 32;

/// Returns the directory that a directory is in.
fn parent(directory: &str) -> &str {
    directory.rfind(SEPARATORS).map_or("", |at| &directory[..at])
}

/// Returns the way from a directory to another one that is beside it or beside one that it is in; `None` if only the root has
/// both, or the way up is long.
fn way_between(from: &str, to: &str) -> Option<String> {
    let mut place = from;
    for level in 1..=MAX_LEVELS {
        place = parent(place);
        if place.is_empty() || place.ends_with(':') {
            return None;
        }
        if let Some(rest) = below(place, to) {
            return Some(format!("{}{rest}/", "../".repeat(level)));
        }
    }
    None
}

fn below<'p>(directory: &str, path: &'p str) -> Option<&'p str> {
    match path.strip_prefix(directory)? {
        "" | "/" | "\\" => Some("."),
        rest => rest.strip_prefix(SEPARATORS),
    }
}

/// Returns text with something else than a directory in front of paths below it; `None` if there are none. The directory
/// `inner` stays where it stands alone.
fn without(text: &str, directory: &str, instead: &str, inner: Option<&str>) -> Option<String> {
    let (mut shorter, mut end) = (String::new(), 0);
    for (at, _) in text.match_indices(directory) {
        let mut rest = text[at + directory.len()..].chars();
        // In front may stand the rest of a longer path, or of an address.
        let begins = !text[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || "/\\._-~+@%".contains(c));
        let goes_on = matches!(rest.next(), Some('/' | '\\'))
            && rest.next().is_some_and(|c| !c.is_whitespace() && !"/\\\"'`:;,)]}>|".contains(c));
        let is_inner = || {
            let rest = inner.and_then(|inner| text[at..].strip_prefix(inner));
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || "._-".contains(c)))
        };
        if begins && goes_on && !is_inner() {
            shorter.push_str(&text[end..at]);
            shorter.push_str(instead);
            end = at + directory.len() + 1;
        }
    }
    (end > 0).then(|| shorter + &text[end..])
}

#[cfg(test)]
mod tests {
    use super::Directories;

    #[test]
    fn a_path_is_shown_from_the_directory_that_it_is_below() {
        let shown = |directory, top| move |path| Directories::new(directory, top).path(path).into_owned();
        let below_top = shown(Some("/home/dev/app/src/net/"), Some("/home/dev/app"));
        for (path, expected) in [
            ("/home/dev/app/src/net/a.rs", "a.rs"),
            ("/home/dev/app/src/net", "."),
            ("/home/dev/app/src/a.rs", "../a.rs"),
            ("/home/dev/app/src/network/a.rs", "../network/a.rs"),
            ("/home/dev/app/a.rs", "../../a.rs"),
            ("/home/dev/app", "../.."),
            ("/home/dev/apple", "/home/dev/apple"),
            ("/home/dev/a.rs", "/home/dev/a.rs"),
            ("a.rs", "a.rs"),
            ("/", "/"),
        ] {
            assert_eq!(below_top(path), expected);
        }
        let above_top = shown(Some("/home/dev"), Some("/home/dev/app"));
        assert_eq!((above_top("/home/dev/app/a.rs"), above_top("/home/dev/b")), ("app/a.rs".into(), "b".into()));
        let beside = shown(Some("/home/dev/tools/bin"), Some("/home/dev/app"));
        for (path, expected) in [
            ("/home/dev/app/src/a.rs", "../../app/src/a.rs"),
            ("/home/dev/app", "../../app"),
            ("/home/dev/tools/bin/a.sh", "a.sh"),
            ("/home/dev/tools/a.sh", "/home/dev/tools/a.sh"),
            ("/home/dev/apple/a.rs", "/home/dev/apple/a.rs"),
        ] {
            assert_eq!(beside(path), expected);
        }
        // Nobody reads a way through the root.
        let elsewhere = shown(Some("/srv"), Some("/home/dev/app"));
        assert_eq!(
            (elsewhere("/srv/a.rs"), elsewhere("/home/dev/app/a.rs")),
            ("a.rs".into(), "/home/dev/app/a.rs".into())
        );
        assert_eq!(shown(None, Some("/home/dev/app"))("/home/dev/app/a.rs"), "a.rs");
        assert_eq!(Directories::new(Some("C:\\app"), None).path("C:\\app\\src\\a.rs"), "src\\a.rs");
        assert_eq!(Directories::new(Some("/"), None).path("/etc"), "/etc");
        assert_eq!(Directories::default().path("/etc"), "/etc");
    }

    #[test]
    fn only_whole_paths_below_a_directory_are_shortened_in_a_text() {
        let place = Directories::new(Some("/srv/app"), Some("/srv"));
        for (text, expected) in [
            ("/srv/app/src/a.rs:3: fn a()\n/srv/app/b", "src/a.rs:3: fn a()\nb"),
            (" --> /srv/app/src/a.rs:3", " --> src/a.rs:3"),
            ("'/srv/app/a' (\"/srv/b c\")", "'a' (\"../b c\")"),
            ("error:/srv/app/a", "error:a"),
        ] {
            assert_eq!(place.text(text), expected);
        }
        for other in [
            "/srv/app",
            "/srv/app/\n",
            "\"/srv/app/\"",
            "/srvapple/a",
            "/mnt/srv/app/a",
            "file:///srv/app/a",
            "~/srv/a ./srv/b x-/srv/c",
            "/srv//a",
        ] {
            assert_eq!(place.text(other), other);
        }
    }
}
