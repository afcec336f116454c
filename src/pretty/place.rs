//! Paths relative to the directory that a session ran in.

use std::borrow::Cow;

/// The directories from which paths are shown.
#[derive(Clone, Debug, Default)]
pub struct Directories {
    directories: Vec<String>,
}

impl Directories {
    /// Returns the directory that a session ran in, and the top of the reader's working tree.
    pub fn new(directory: Option<&str>, top: Option<&str>) -> Self {
        let plain = |directory: &str| directory.trim_end_matches(['/', '\\']).to_owned();
        let directories = [directory, top].into_iter().flatten().map(plain);
        Directories { directories: directories.filter(|directory| !directory.is_empty()).collect() }
    }

    /// Returns a path from one of the directories, if it is below it.
    pub fn path<'p>(&self, path: &'p str) -> &'p str {
        self.directories.iter().find_map(|directory| below(directory, path)).unwrap_or(path)
    }

    /// Returns text with the paths in it as [`Directories::path`] has them. A directory that stands alone stays as it is.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.directories.iter().fold(Cow::Borrowed(text), |text, directory| match without(&text, directory) {
            Some(shorter) => Cow::Owned(shorter),
            None => text,
        })
    }
}

fn below<'p>(directory: &str, path: &'p str) -> Option<&'p str> {
    match path.strip_prefix(directory)? {
        "" | "/" | "\\" => Some("."),
        rest => rest.strip_prefix(['/', '\\']),
    }
}

/// Returns text without a directory in front of paths below it; `None` if there are none.
fn without(text: &str, directory: &str) -> Option<String> {
    let (mut shorter, mut end) = (String::new(), 0);
    for (at, _) in text.match_indices(directory) {
        let mut rest = text[at + directory.len()..].chars();
        // In front may stand the rest of a longer path, or of an address.
        let begins = !text[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || "/\\._-~+@%".contains(c));
        let goes_on = matches!(rest.next(), Some('/' | '\\'))
            && rest.next().is_some_and(|c| !c.is_whitespace() && !"/\\\"'`:;,)]}>|".contains(c));
        if begins && goes_on {
            shorter.push_str(&text[end..at]);
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
        let place = Directories::new(Some("/home/dev/app/"), Some("/srv"));
        let shown = |path| place.path(path);
        assert_eq!((shown("/home/dev/app/a.rs"), shown("/home/dev/app"), shown("/srv/b/c")), ("a.rs", ".", "b/c"));
        assert_eq!((shown("/home/dev/apple"), shown("a.rs"), shown("/")), ("/home/dev/apple", "a.rs", "/"));
        assert_eq!(Directories::new(Some("C:\\app"), None).path("C:\\app\\src\\a.rs"), "src\\a.rs");
        assert_eq!(Directories::new(Some("/"), None).path("/etc"), "/etc");
        assert_eq!(Directories::default().path("/etc"), "/etc");
    }

    #[test]
    fn only_whole_paths_below_a_directory_are_shortened_in_a_text() {
        let place = Directories::new(Some("/home/dev/app"), Some("/srv"));
        for (text, expected) in [
            ("/home/dev/app/src/a.rs:3: fn a()\n/home/dev/app/b", "src/a.rs:3: fn a()\nb"),
            (" --> /home/dev/app/src/a.rs:3", " --> src/a.rs:3"),
            ("'/home/dev/app/a' (\"/srv/b c\")", "'a' (\"b c\")"),
            ("error:/home/dev/app/a", "error:a"),
        ] {
            assert_eq!(place.text(text), expected);
        }
        for other in [
            "/home/dev/app",
            "/home/dev/app/\n",
            "\"/home/dev/app/\"",
            "/home/dev/apple/a",
            "/mnt/home/dev/app/a",
            "file:///home/dev/app/a",
            "~/srv/a ./srv/b x-/srv/c",
            "/home/dev/app//a",
        ] {
            assert_eq!(place.text(other), other);
        }
    }
}
