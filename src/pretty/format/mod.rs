//! `--format=`: Git's placeholders, which Git itself puts in, and ours.
//!
//! Read [`Format::named`]. A format without placeholders of ours goes to Git as it is. Of any other, Git is asked for the
//! value of each of its placeholders, and `layout` puts the line together.

mod layout;
mod own;

use self::layout::Template;
use super::Style;
use crate::error::{Error, Result};
use crate::outside;
use crate::record::Listed;

/// A format, read once and used for every commit.
#[derive(Clone, Debug)]
pub struct Format {
    /// The option for `git log`.
    option: String,
    /// Whether something ends each commit, rather than stands between two.
    is_terminated: bool,
    /// Whether it prints nothing at all.
    is_empty: bool,
    /// How the values that Git puts in and ours come together; `None` if Git does all.
    layout: Option<Template>,
}

/// The formats of Git that have a name, and whether something ends each commit.
const NAMED: &[(&str, bool)] = &[
    ("oneline", true),
    ("reference", true),
    ("raw", false),
    ("short", false),
    ("medium", false),
    ("full", false),
    ("fuller", false),
    ("email", false),
    ("mboxrd", false),
];
/// How many names of formats can stand for each other.
const MAX_NAMES: usize = 8;

impl Format {
    /// Reads what `--format=` says: the name of a format, or placeholders. `configured` returns the format that the
    /// user's config gives a name, as `pretty.<name>` does.
    ///
    /// # Errors
    ///
    /// If it is neither, as in Git.
    pub fn named(text: &str, configured: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let mut name = text.to_owned();
        for _ in 0..MAX_NAMES {
            if let Some(rest) = name.strip_prefix("format:") {
                return Ok(Format::of(rest, false));
            }
            if let Some(rest) = name.strip_prefix("tformat:") {
                return Ok(Format::of(rest, true));
            }
            if name.contains('%') || name.is_empty() {
                return Ok(Format::of(&name, true));
            }
            let exact = NAMED.iter().find(|(known, _)| *known == name);
            if exact.is_none()
                && let Some(other) = configured(&name)
            {
                name = other;
                continue;
            }
            // Of those that begin so, Git takes the shortest.
            let begins =
                NAMED.iter().filter(|(known, _)| known.starts_with(&name)).min_by_key(|(known, _)| known.len());
            let Some((known, is_terminated)) = exact.or(begins) else { break };
            let option = format!("--format={known}");
            return Ok(Format { option, is_terminated: *is_terminated, is_empty: false, layout: None });
        }
        let names: Vec<&str> = NAMED.iter().map(|(name, _)| *name).collect();
        Err(Error::other(format!("invalid --pretty format: {text}"))
            .hint(format!("placeholders, or one of: {}", names.join(", "))))
    }

    /// Returns Git's `--oneline`.
    pub fn oneline() -> Self {
        Format { option: "--oneline".into(), is_terminated: true, is_empty: false, layout: None }
    }

    fn of(text: &str, is_terminated: bool) -> Self {
        let layout = Template::of(text);
        let prefix = if is_terminated { "tformat" } else { "format" };
        let placeholders = layout.as_ref().map(|layout| layout.git_placeholders().join("%x00"));
        let text = placeholders.as_deref().unwrap_or(text);
        Format {
            option: format!("--format={prefix}:{text}"),
            is_terminated,
            is_empty: layout.is_none() && text.is_empty() && is_terminated,
            layout,
        }
    }

    /// Returns the option with which `git log` prints the values that this format needs from it.
    pub fn git_option(&self) -> &str {
        &self.option
    }

    /// Returns how many parts, which NUL ends, Git prints for each commit.
    pub fn git_fields(&self) -> usize {
        self.layout.as_ref().map_or(1, |layout| layout.git_placeholders().len())
    }

    /// Says whether line ends stand between commits rather than after each.
    pub fn has_separator(&self) -> bool {
        !self.is_terminated
    }

    /// Says whether it is Git's format of one line, behind which a change follows without an empty line.
    pub fn is_oneline(&self) -> bool {
        self.option.ends_with("=oneline") || self.option == "--oneline"
    }

    /// Says whether nothing is printed, not even line ends.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Says whether the name is printed by which a commit was reached.
    pub fn has_source(&self) -> bool {
        self.layout.as_ref().is_some_and(Template::has_source)
    }

    /// Returns a commit in this format. `fields` are the texts that Git printed for it, `source` is the name by which
    /// it was reached.
    pub fn expand(&self, fields: &[Vec<u8>], listed: &Listed, source: &str, style: &Style) -> Vec<u8> {
        let is_colored = style.is_colored() || self.option.contains("%C(always,");
        let mut shown = fields.iter().map(|field| {
            let text = String::from_utf8_lossy(field);
            // Colours come from Git alone if they are wanted.
            if is_colored { outside::colored(&text) } else { outside::text(&text) }
        });
        match &self.layout {
            Some(layout) => {
                let authored = listed.commit.author.time;
                layout.expand(&shown.collect::<Vec<_>>(), source, &listed.summaries, authored, &style.prices)
            }
            None => shown.next().unwrap_or_default().into_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[test]
    fn a_format_of_git_alone_goes_to_git_as_it_is() {
        let option = |text: &str| Format::named(text, |_| None).map(|format| format.option).unwrap_or_default();
        assert_eq!(option("%h %<(20,trunc)%s"), "--format=tformat:%h %<(20,trunc)%s");
        assert_eq!(option("format:%w(20)%B%n%x20"), "--format=format:%w(20)%B%n%x20");
        assert_eq!(option("%h %<(20)%(prompt) %an"), "--format=tformat:%h%x00%an", "only the values come from Git");
        assert_eq!(option("full"), "--format=full");
        assert_eq!(option("fulle"), "--format=fuller");
        assert_eq!(option("nosuch"), "");
    }

    #[test]
    fn names_of_the_config_are_followed_and_circles_end() {
        let configured = |name: &str| match name {
            "mine" => Some("ours".to_owned()),
            "ours" => Some("%h %(agent)".to_owned()),
            "circle" => Some("circle".to_owned()),
            _ => None,
        };
        let mine = Format::named("mine", configured).expect("it is configured");
        assert!(mine.layout.is_some() && !mine.has_separator());
        assert!(Format::named("circle", configured).is_err());
    }
}
