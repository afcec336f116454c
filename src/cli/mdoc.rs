//! A manual page, and as text, for where there is no `man`: as much of mdoc(7) as our own pages use.

use super::packed::unpacked;

/// How wide a line may be at most.
const MAX_WIDTH: usize = 78;
/// How far the text of a section stands in.
const INDENT: usize = 5;

/// A man page.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// The name, such as `git-shiftlog-show`.
    pub name: &'static str,
    /// The section of the manual.
    pub section: u8,
    /// The source, in mdoc(7), as the build has packed it.
    pub packed: &'static [u8],
}

impl Page {
    /// Returns the name of the page's file, such as `git-shiftlog-show.1`.
    pub fn file_name(&self) -> String {
        format!("{}.{}", self.name, self.section)
    }

    /// Returns the source, in mdoc(7).
    pub fn source(&self) -> String {
        unpacked(self.packed)
    }
}

/// Returns a page as text, for a terminal of so many columns if there is one.
pub(super) fn to_text(source: &str, columns: Option<usize>) -> String {
    let width = columns.map_or(MAX_WIDTH, |columns| MAX_WIDTH.min(columns.saturating_sub(2)));
    let mut printer = Printer { indent: INDENT, width, ..Printer::default() };
    source.lines().for_each(|line| printer.line(line));
    printer.flush();
    format!("{}\n", printer.text.trim_start_matches('\n').trim_end())
}

/// What is written so far, and what the next words become part of.
#[derive(Default)]
struct Printer {
    text: String,
    /// The words of the paragraph that is being read.
    words: Words,
    indent: usize,
    /// How wide a line may be.
    width: usize,
    /// What stands in front of the next paragraph, in its margin.
    mark: String,
    /// What `.Nm` stands for by itself.
    name: String,
    section: String,
    /// Whether lines stay as they are.
    is_literal: bool,
    /// The lists that are open, each with whether its items have a head of their own.
    lists: Vec<bool>,
}

/// Words with spaces between them, where mdoc puts some.
#[derive(Default)]
struct Words {
    text: String,
    is_joined: bool,
}

impl Words {
    fn add(&mut self, word: &str) {
        let closes = matches!(word, "." | "," | ";" | ":" | ")" | "]" | "?" | "!");
        if !(self.text.is_empty() || self.is_joined || closes) {
            self.text.push(' ');
        }
        self.text.push_str(word);
        self.is_joined = matches!(word, "(" | "[");
    }

    /// Adds words between two marks.
    fn enclose(&mut self, opening: &str, words: &str, closing: &str) {
        self.add(&format!("{opening}{words}{closing}"));
    }
}

impl Printer {
    fn line(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix('.') else {
            if self.is_literal {
                self.text += &format!("{:indent$}{}\n", "", unescaped(line), indent = self.indent);
            } else {
                line.split_whitespace().for_each(|word| self.words.add(&unescaped(word)));
            }
            return;
        };
        let words = arguments(rest);
        let (name, args) = words.split_first().map_or(("", &[][..]), |(name, args)| (name.as_str(), args));
        match name {
            "Dd" | "Dt" | "Os" | "ds" | "\\\"" => {}
            "Sh" | "Ss" => {
                self.flush();
                let title = self.inline(args);
                let margin = if name == "Sh" { 0 } else { 3 };
                self.text += &format!("\n{:margin$}{title}\n", "");
                (self.section, self.indent, self.is_literal) = (title, INDENT, false);
                self.lists.clear();
            }
            "Nd" => self.words.add(&format!("- {}", self.inline(args))),
            "Pp" => {
                self.flush();
                self.blank_line();
            }
            "Bl" => {
                self.flush();
                self.lists.push(args.iter().any(|arg| arg == "-tag"));
                self.indent += 4;
            }
            "El" => {
                self.flush();
                self.lists.pop();
                self.indent = self.indent.saturating_sub(4).max(INDENT);
            }
            "It" => self.item(args),
            "Bd" => {
                self.flush();
                self.blank_line();
                (self.is_literal, self.indent) = (true, self.indent + 4);
            }
            "Ed" => (self.is_literal, self.indent) = (false, self.indent.saturating_sub(4).max(INDENT)),
            "Nm" if self.section == "SYNOPSIS" => {
                self.flush();
                let name = self.inline(args);
                self.words.add(&name);
            }
            "Nm" if self.section == "NAME" && !args.is_empty() => {
                self.name = args.join(" ");
                self.words.add(&args.join(" "));
            }
            _ => {
                let mut line = std::mem::take(&mut self.words);
                self.inline_into(&mut line, &words);
                self.words = line;
            }
        }
    }

    fn item(&mut self, args: &[String]) {
        self.flush();
        let head = self.inline(args);
        let margin = self.indent.saturating_sub(4);
        if self.lists.last() == Some(&true) {
            self.blank_line();
            self.text += &format!("{:margin$}{head}\n", "");
        } else {
            self.mark = format!("{:margin$}-   ", "");
        }
    }

    fn inline(&self, args: &[String]) -> String {
        let mut words = Words::default();
        self.inline_into(&mut words, args);
        words.text
    }

    /// Adds what a line of macros and words says.
    fn inline_into(&self, words: &mut Words, args: &[String]) {
        let mut is_option = false;
        let mut at = 0;
        while let Some(arg) = args.get(at) {
            at += 1;
            match arg.as_str() {
                "Fl" => {
                    is_option = true;
                    if args.get(at).is_none_or(|next| is_macro(next)) {
                        words.add("-");
                    }
                    continue;
                }
                "Ns" => words.is_joined = true,
                "Nm" if args.get(at).is_none_or(|next| is_macro(next) || is_mark(next)) => words.add(&self.name),
                "Xr" => {
                    if let [name, section, ..] = &args[at..] {
                        words.add(&format!("{name}({section})"));
                        at += 2;
                    }
                }
                // These enclose the rest of the line, without the marks at its end.
                "Op" | "Pq" | "Dq" | "Ql" => {
                    let mut end = args.len();
                    while end > at && is_mark(&args[end - 1]) {
                        end -= 1;
                    }
                    let (opening, closing) = match arg.as_str() {
                        "Op" => ("[", "]"),
                        "Pq" => ("(", ")"),
                        _ => ("'", "'"),
                    };
                    words.enclose(opening, &self.inline(&args[at..end]), closing);
                    at = end;
                }
                "Oo" => words.add("["),
                "Oc" => words.add("]"),
                "Po" => words.add("("),
                "Pc" => words.add(")"),
                name if is_macro(name) => {}
                word if is_option && !is_mark(word) && word != "|" => words.add(&format!("-{}", unescaped(word))),
                word => words.add(&unescaped(word)),
            }
            is_option &= !is_macro(arg);
        }
    }

    /// Writes the paragraph that was read.
    fn flush(&mut self) {
        let words = std::mem::take(&mut self.words).text;
        let mark = std::mem::take(&mut self.mark);
        if words.is_empty() {
            return;
        }
        let mut line = if mark.is_empty() { " ".repeat(self.indent) } else { mark };
        let mut has_words = false;
        for word in words.split(' ') {
            if has_words && line.chars().count() + 1 + word.chars().count() > self.width {
                self.text += &format!("{line}\n");
                line = " ".repeat(self.indent);
                has_words = false;
            }
            if has_words {
                line.push(' ');
            }
            line.push_str(word);
            has_words = true;
        }
        self.text += &format!("{line}\n");
    }

    fn blank_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }
}

/// Says whether a word is a macro that can stand within a line.
fn is_macro(word: &str) -> bool {
    const NAMES: &[&str] = &[
        "Ar", "Cm", "Dq", "Em", "Ev", "Fl", "Ic", "Li", "Nm", "Ns", "Oc", "Oo", "Op", "Pa", "Pc", "Po", "Pq", "Ql",
        "Sx", "Sy", "Va", "Xr",
    ];
    NAMES.contains(&word)
}

fn is_mark(word: &str) -> bool {
    matches!(word, "." | "," | ";" | ":" | ")" | "?" | "!")
}

/// Splits a line into its words; quotes hold some together.
fn arguments(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => {
                // A space behind a backslash belongs to its word.
                let spaces = rest.match_indices(char::is_whitespace).map(|(at, _)| at);
                let end = spaces.into_iter().find(|at| !rest[..*at].ends_with('\\')).unwrap_or(rest.len());
                rest.split_at(end)
            }
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

/// Returns a word without the escapes of the source.
fn unescaped(word: &str) -> String {
    let mut text = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let known = ESCAPES.iter().find_map(|(escape, means)| Some((means, after.strip_prefix(escape)?)));
        match known {
            Some((means, after)) => {
                text.push_str(means);
                rest = after;
            }
            None => rest = after,
        }
    }
    text + rest
}

/// The escapes of the source, without their backslash, and what they print.
const ESCAPES: [(&str, &str); 9] =
    [("e", "\\"), ("&", ""), (":", ""), (" ", " "), ("~", " "), ("-", "-"), ("(dq", "\""), ("(ti", "~"), ("(ha", "^")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_reads_as_man_prints_it() {
        let source = ".Dd November 20, 2026\n.Dt X 1\n.Os \"Git Manual\"\n.Sh NAME\n.Nm git-x\n.Nd do x\n.Sh SYNOPSIS\n\
                      .Nm git x\n.Op Ar options\n.Pq Fl -all | Fl -some Ns = Ns Ar id\n.Sh DESCRIPTION\nDoes x, as\n\
                      .Xr git-y 1 ,\nbut not\n.Ql z .\n.Bl -tag -width Ds\n.It Fl n , Fl -dry-run\nSay it.\n.El\n\
                      .Bd -literal -offset indent\ngit x \\e\n    --all\n.Ed\n";
        let text = to_text(source, None);
        let expected = "NAME\n     git-x - do x\n\nSYNOPSIS\n     git x [options] (--all | --some=id)\n\nDESCRIPTION\n     \
                        Does x, as git-y(1), but not 'z'.\n\n     -n, --dry-run\n         Say it.\n\n         git x \\\n             \
                        --all\n";
        assert_eq!(text, expected);
        let narrow = to_text(source, Some(24));
        assert!(narrow.contains("\n     Does x, as\n     git-y(1), but not\n"), "{narrow}");
        let words: Vec<String> = arguments(".Cm a\\ b \"c d\" \\(dqe").iter().map(|word| unescaped(word)).collect();
        assert_eq!(words, [".Cm", "a b", "c d", "\"e"]);
    }

    #[test]
    fn no_page_of_ours_has_a_macro_that_is_not_known() {
        for page in super::super::PAGES {
            let source = page.source();
            let text = to_text(&source, None);
            // No escape stays, but for backslashes that are meant.
            let mut escapes = source.lines().flat_map(|line| line.split('\\').skip(1)).filter(|rest| !rest.is_empty());
            let is_known =
                |rest: &str| rest.starts_with('"') || ESCAPES.iter().any(|(escape, _)| rest.starts_with(escape));
            assert_eq!(escapes.find(|rest| !is_known(rest)), None, "{}", page.name);
            assert!(["\\(", "\\~", "\\&"].iter().all(|escape| !text.contains(escape)), "{}", page.name);
            let is_macro = |word: &str| word.len() == 2 && is_macro(word) && word != "Op";
            let left: Vec<&str> = text.split_whitespace().filter(|word| is_macro(word)).collect();
            assert_eq!(left, [""; 0], "{}", page.name);
            for line in text.lines().map(str::trim_start) {
                let name = line.strip_prefix('.').unwrap_or_default();
                assert!(!name.starts_with(|c: char| c.is_ascii_uppercase()), "{}: {line}", page.name);
            }
        }
    }
}
