//! How much of a conversation is shown, and how a cut is marked.

use super::count;
use super::place::Directories;

/// How much of one kind of thing is shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Amount {
    /// Nothing.
    None,
    /// The first lines.
    Short,
    /// Everything.
    Full,
}

/// The parts of a conversation that are shown.
#[derive(Clone, Copy, Debug)]
pub struct Depth {
    /// How much of the model's thinking.
    pub thinking: Amount,
    /// Whether tool calls are shown.
    pub has_tools: bool,
    /// How much of tool calls and their answers.
    pub tool_output: Amount,
    /// Whether the whole input of each tool call is shown.
    pub has_inputs: bool,
    /// Whether a document has only a mark for what a sub-agent says within the transcript of its session.
    pub folds_sub_agents: bool,
    /// The option that shows what is cut, if the reader can give it.
    pub more: Option<&'static str>,
}

impl Depth {
    /// The words, and the tool calls in short; for readers without options.
    pub const BRIEF: Depth = Depth {
        thinking: Amount::None,
        has_tools: true,
        tool_output: Amount::Short,
        has_inputs: false,
        folds_sub_agents: false,
        more: None,
    };

    /// Says whether tool calls and their answers are shown whole.
    pub fn is_whole(&self) -> bool {
        self.tool_output == Amount::Full
    }

    /// Returns a tool's answer with paths as they are shown, unless inputs are shown as they were given.
    pub fn placed(&self, text: String, place: &Directories) -> String {
        if self.has_inputs { text } else { place.text(&text).into_owned() }
    }

    /// Returns the mark of a cut: how much is left out, and the option that shows it.
    pub fn cut(&self, number: usize, noun: &str) -> String {
        format!("… {}{}", count(number as u64, noun), self.how_to_see())
    }

    /// Returns the option that shows what is left out, in parentheses, to stand behind the mark.
    pub fn how_to_see(&self) -> String {
        self.more.map(|option| format!(" ({option})")).unwrap_or_default()
    }

    /// Returns at most `first` lines from the beginning and `last` from the end, with a mark for the cut, unless
    /// `amount` is everything. A single line is not cut: the mark would take its place.
    pub fn shortened(&self, mut lines: Vec<String>, amount: Amount, first: usize, last: usize) -> Shortened {
        if amount == Amount::Full || lines.len() <= first + last + 1 {
            return Shortened { first: lines, cut: None, last: Vec::new() };
        }
        let tail = lines.split_off(lines.len() - last);
        let cut = self.cut(lines.len() - first, "more line");
        lines.truncate(first);
        Shortened { first: lines, cut: Some(cut), last: tail }
    }

    /// Returns a line, cut after `max_chars` characters unless `amount` is everything.
    pub fn line(&self, line: &str, amount: Amount, max_chars: usize) -> String {
        let length = if amount == Amount::Full || line.len() <= max_chars { 0 } else { line.chars().count() };
        // What is little longer than the mark is shown.
        if length <= max_chars + 32 {
            return line.to_owned();
        }
        let end = line.char_indices().nth(max_chars).map_or(line.len(), |(at, _)| at);
        format!("{} {}", &line[..end], self.cut(length - max_chars, "more character"))
    }
}

/// Lines of which some are left out.
#[derive(Debug)]
pub struct Shortened {
    /// The first lines, or all.
    pub first: Vec<String>,
    /// The mark that stands for the lines that are left out.
    pub cut: Option<String>,
    /// The last lines.
    pub last: Vec<String>,
}

impl Shortened {
    /// Returns the lines; `line` and `mark` say how a line and the mark of the cut are printed.
    pub fn map(self, line: impl Fn(&str) -> String, mark: impl Fn(&str) -> String) -> Vec<String> {
        let marked = self.cut.map(|cut| mark(&cut));
        let (first, last) = (self.first.iter().map(|text| line(text)), self.last.iter().map(|text| line(text)));
        first.chain(marked).chain(last).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_says_how_much_and_what_shows_it() {
        let depth = Depth { more: Some("-v"), ..Depth::BRIEF };
        let lines = |number: usize| (1..=number).map(|number| number.to_string()).collect::<Vec<_>>();
        let shown = |number, first, last| {
            let shortened = depth.shortened(lines(number), Amount::Short, first, last);
            shortened.map(str::to_owned, str::to_owned).join(",")
        };
        assert_eq!(shown(9, 2, 0), "1,2,… 7 more lines (-v)");
        assert_eq!(shown(9, 2, 1), "1,2,… 6 more lines (-v),9");
        assert_eq!(shown(4, 2, 1), "1,2,3,4", "a mark for one line would take its place");
        assert_eq!(Depth::BRIEF.line(&"x".repeat(100), Amount::Short, 10), "xxxxxxxxxx … 90 more characters");
        assert_eq!(depth.line("né", Amount::Short, 1), "né");
        assert_eq!(depth.line(&"é".repeat(100), Amount::Full, 1), "é".repeat(100));
    }
}
