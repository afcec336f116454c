//! A format with placeholders of ours: padding (`%<`, `%>`), wrapping (`%w`) and `%+`, `%-`, `% ` by the rules of
//! git-log(1), since Git does not see our values. Everything else is Git's.

use unicode_width::UnicodeWidthChar as _;

use super::own;
use crate::git::date::Time;
use crate::outside;
use crate::record::Summary;
use crate::stats::Prices;

/// A format, taken apart.
#[derive(Clone, Debug)]
pub(super) struct Template {
    pieces: Vec<Element>,
    git_placeholders: Vec<String>,
}

#[derive(Clone, Debug)]
enum Element {
    Literal(Vec<u8>),
    /// The value that Git has for the placeholder of this number.
    Git {
        number: usize,
        is_color: bool,
    },
    Own(String),
    /// The name by which the commit was reached. Git prints commits of which it does not know that.
    Source,
    Pad(Pad),
    Wrap(Wrap),
    Modify(u8),
}

/// How the next value gets its width.
#[derive(Clone, Copy, Debug)]
struct Pad {
    align: Align,
    columns: usize,
    /// Whether the columns count from the beginning of the line.
    is_absolute: bool,
    cut: Option<Cut>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Align {
    Left,
    Right,
    /// As `Right`, but what has no room takes the spaces before it.
    RightTaking,
    Center,
}

#[derive(Clone, Copy, Debug)]
enum Cut {
    Left,
    Middle,
    Right,
}

/// How lines are wrapped from here on.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Wrap {
    width: usize,
    first_indent: usize,
    next_indent: usize,
}

impl Template {
    /// Takes a format apart; `None` if it can go to Git as it stands: nothing in it is ours, and none of its literals
    /// would be taken for what a commit says to a terminal.
    pub fn of(text: &str) -> Option<Self> {
        let mut layout = Template { pieces: Vec::new(), git_placeholders: Vec::new() };
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            layout.literal(&rest.as_bytes()[..at]);
            let after = &rest[at + 1..];
            let used = layout.placeholder(after);
            rest = &after[used..];
        }
        layout.literal(rest.as_bytes());
        let is_ours = |piece: &Element| match piece {
            Element::Own(_) | Element::Source => true,
            Element::Literal(bytes) => bytes.iter().any(|byte| byte.is_ascii_control() && !b"\n\t".contains(byte)),
            _ => false,
        };
        let has_ours = layout.pieces.iter().any(is_ours);
        if layout.git_placeholders.is_empty() {
            // Git prints nothing, not even line ends, for a format without anything in it.
            layout.git_placeholders.push("%H".into());
        }
        has_ours.then_some(layout)
    }

    /// Says whether the format has the name by which a commit was reached.
    pub fn has_source(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Element::Source))
    }

    /// Returns the placeholders whose values Git prints.
    pub fn git_placeholders(&self) -> &[String] {
        &self.git_placeholders
    }

    fn literal(&mut self, bytes: &[u8]) {
        match self.pieces.last_mut() {
            _ if bytes.is_empty() => {}
            Some(Element::Literal(literal)) => literal.extend_from_slice(bytes),
            _ => self.pieces.push(Element::Literal(bytes.to_vec())),
        }
    }

    /// Adds what follows a `%` and returns how long it is.
    fn placeholder(&mut self, after: &str) -> usize {
        let first = after.bytes().next().unwrap_or_default();
        let hex = || u8::from_str_radix(after.get(1..3).filter(|hex| !hex.starts_with('+'))?, 16).ok();
        let own = after.strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(name, _)| name);
        match first {
            b'%' => self.literal(b"%"),
            b'n' => self.literal(b"\n"),
            b'S' => self.pieces.push(Element::Source),
            b'x' if hex().is_some() => {
                self.literal(&[hex().unwrap_or_default()]);
                return 3;
            }
            b'(' if own.is_some_and(|name| own::NAMES.contains(&name)) => {
                let name = own.unwrap_or_default();
                self.pieces.push(Element::Own(name.to_owned()));
                return name.len() + 2;
            }
            b'<' | b'>' => match pad(after) {
                Some((pad, used)) => {
                    self.pieces.push(Element::Pad(pad));
                    return used;
                }
                None => {
                    self.literal(b"%");
                    return 0;
                }
            },
            b'w' => match wrap(after) {
                Some((wrap, used)) => {
                    self.pieces.push(Element::Wrap(wrap));
                    return used;
                }
                None => {
                    self.literal(b"%");
                    return 0;
                }
            },
            b'+' | b'-' | b' ' => {
                let at = self.pieces.len();
                self.pieces.push(Element::Modify(first));
                let used = self.placeholder(&after[1..]);
                if used == 0 {
                    self.pieces.remove(at);
                    return 0;
                }
                return used + 1;
            }
            _ => {
                let used = length_in_git(after);
                if used == 0 {
                    self.literal(b"%");
                } else {
                    let number = self.git_placeholders.len();
                    self.git_placeholders.push(format!("%{}", &after[..used]));
                    self.pieces.push(Element::Git { number, is_color: first == b'C' });
                }
                return used;
            }
        }
        1
    }

    /// Returns a commit in this format. `authored` is its author date, `source` the name by which it was reached.
    pub fn expand(
        &self,
        fields: &[String],
        source: &str,
        summaries: &[Summary],
        authored: Time,
        prices: &Prices,
    ) -> Vec<u8> {
        let mut line = Line::default();
        for piece in &self.pieces {
            match piece {
                Element::Literal(bytes) => {
                    if !line.held.is_empty() {
                        line.put("");
                    }
                    line.out.extend_from_slice(bytes);
                }
                // Git pads a value with the colours before it.
                Element::Git { number, is_color: true } if line.pad.is_some() => line.held.push_str(&fields[*number]),
                Element::Git { number, .. } => line.put(&fields[*number]),
                Element::Source => line.put(&outside::line(source)),
                Element::Own(name) => line.put(&own::value(name, summaries, authored, prices)),
                Element::Pad(pad) => line.pad = Some(*pad),
                Element::Wrap(wrap) => line.wrap_as(*wrap),
                Element::Modify(how) => line.modify = Some(*how),
            }
        }
        if !line.held.is_empty() {
            line.put("");
        }
        line.wrap_as(Wrap::default());
        line.out
    }
}

/// A commit that is being put together.
#[derive(Default)]
struct Line {
    out: Vec<u8>,
    pad: Option<Pad>,
    modify: Option<u8>,
    /// Colours that wait for the value that is padded.
    held: String,
    wrap: Wrap,
    wrap_start: usize,
}

impl Line {
    /// Adds a value.
    fn put(&mut self, value: &str) {
        match self.modify.take() {
            Some(b'-') if value.is_empty() => {
                let kept = self.out.iter().rposition(|byte| *byte != b'\n').map_or(0, |last| last + 1);
                self.out.truncate(kept);
            }
            Some(b'+') if !value.is_empty() => self.out.push(b'\n'),
            Some(b' ') if !value.is_empty() => self.out.push(b' '),
            _ => {}
        }
        let mut value = std::mem::take(&mut self.held) + value;
        let Some(pad) = self.pad.take() else {
            self.out.extend_from_slice(value.as_bytes());
            return;
        };
        let mut columns = pad.columns;
        if pad.is_absolute {
            let start = self.out.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            columns = columns.saturating_sub(width(&String::from_utf8_lossy(&self.out[start..])));
        }
        if pad.align == Align::RightTaking {
            while width(&value) > columns && self.out.last() == Some(&b' ') {
                self.out.pop();
                columns += 1;
            }
        }
        let wide = width(&value);
        if wide > columns {
            let kept = columns.saturating_sub(2);
            match pad.cut {
                Some(Cut::Left) => value = without_columns(&value, 0, wide - kept),
                Some(Cut::Middle) => value = without_columns(&value, (columns / 2).saturating_sub(1), wide - kept),
                Some(Cut::Right) => value = without_columns(&value, kept, wide - kept),
                None => {}
            }
            self.out.extend_from_slice(value.as_bytes());
            return;
        }
        let room = columns - wide;
        let before = match pad.align {
            Align::Left => 0,
            Align::Right | Align::RightTaking => room,
            Align::Center => room / 2,
        };
        self.out.extend(std::iter::repeat_n(b' ', before));
        self.out.extend_from_slice(value.as_bytes());
        self.out.extend(std::iter::repeat_n(b' ', room - before));
    }

    /// Wraps what was added since the last time, and goes on with another width.
    fn wrap_as(&mut self, wrap: Wrap) {
        if self.wrap != Wrap::default() {
            let text = String::from_utf8_lossy(&self.out[self.wrap_start..]).into_owned();
            self.out.truncate(self.wrap_start);
            self.out.extend_from_slice(wrapped(&text, self.wrap).as_bytes());
        }
        self.wrap_start = self.out.len();
        self.wrap = wrap;
    }
}

/// Parses `<(10,trunc)` and the like; returns the padding and the length of the text.
fn pad(text: &str) -> Option<(Pad, usize)> {
    let signs = [("><", Align::Center), (">>", Align::RightTaking), (">", Align::Right), ("<", Align::Left)];
    let (sign, align) = *signs.iter().find(|(sign, _)| text.starts_with(sign))?;
    let rest = &text[sign.len()..];
    let (is_absolute, rest) = rest.strip_prefix('|').map_or((false, rest), |rest| (true, rest));
    let inside = rest.strip_prefix('(')?.split_once(')')?.0;
    let (number, cut) = inside.split_once(',').map_or((inside, None), |(number, cut)| (number, Some(cut.trim())));
    let cut = match cut {
        None => None,
        Some("trunc") => Some(Cut::Right),
        Some("ltrunc") => Some(Cut::Left),
        Some("mtrunc") => Some(Cut::Middle),
        Some(_) => return None,
    };
    let columns = number.trim().parse().ok().filter(|columns| *columns > 0)?;
    let used = sign.len() + usize::from(is_absolute) + inside.len() + 2;
    Some((Pad { align, columns, is_absolute, cut }, used))
}

/// Parses `w(76,6,9)`; returns the wrapping and the length of the text.
fn wrap(text: &str) -> Option<(Wrap, usize)> {
    let inside = text.strip_prefix("w(")?.split_once(')')?.0;
    let mut numbers = [0; 3];
    let parts = if inside.is_empty() { Vec::new() } else { inside.split(',').collect() };
    if parts.len() > numbers.len() {
        return None;
    }
    for (number, part) in numbers.iter_mut().zip(parts) {
        *number = part.trim().parse().ok()?;
    }
    let [width, first_indent, next_indent] = numbers;
    Some((Wrap { width, first_indent, next_indent }, inside.len() + 3))
}

/// Returns how long the placeholder of Git is that a text begins with, as git-log(1) lists them; 0 if there is none.
fn length_in_git(text: &str) -> usize {
    let bytes = text.as_bytes();
    let to_end = |start: usize| text[start..].find(')').map_or(0, |at| start + at + 1);
    match bytes.first() {
        Some(b'(') => to_end(0),
        Some(b'C') if bytes.get(1) == Some(&b'(') => to_end(1),
        Some(b'C') => {
            let colors = ["Cred", "Cgreen", "Cblue", "Creset"];
            colors.iter().find(|color| text.starts_with(**color)).map_or(0, |color| color.len())
        }
        Some(b'a' | b'c' | b'g' | b'G') => 2 * usize::from(bytes.get(1).is_some_and(u8::is_ascii_graphic)),
        Some(byte) if byte.is_ascii_alphabetic() => 1,
        _ => 0,
    }
}

/// Returns how many columns a text takes, without its colours.
fn width(text: &str) -> usize {
    parts(text).map(|(_, columns)| columns).sum()
}

/// Returns the characters and colours of a text with the columns that each takes.
fn parts(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let color = outside::color_length(rest);
        let (length, columns) = if color > 0 { (color, 0) } else { (first.len_utf8(), first.width().unwrap_or(0)) };
        let (part, after) = rest.split_at(length);
        rest = after;
        Some((part, columns))
    })
}

/// Returns a text with two dots in place of so many columns from `start` on; colours stay.
fn without_columns(text: &str, start: usize, count: usize) -> String {
    let mut short = String::new();
    let (mut column, mut has_dots) = (0, false);
    for (part, columns) in parts(text) {
        let is_kept = columns == 0 || column < start || column >= start + count;
        if is_kept {
            short.push_str(part);
        } else if !has_dots {
            short.push_str("..");
            has_dots = true;
        }
        column += columns;
    }
    short
}

/// Returns a text as `%w` wraps it: paragraphs stay, and so does a line end before anything but a letter or a digit.
fn wrapped(text: &str, wrap: Wrap) -> String {
    let indent = |columns: usize| " ".repeat(columns);
    if wrap.width == 0 {
        let lines = text.split_inclusive('\n').enumerate();
        let indented = lines.map(|(at, line)| {
            let columns = if at == 0 { wrap.first_indent } else { wrap.next_indent };
            indent(columns) + line
        });
        return indented.collect();
    }
    let mut out = String::new();
    let mut rest = text;
    let mut column = wrap.first_indent;
    // A line is indented when its first word comes.
    let mut has_word = false;
    while !rest.is_empty() {
        let (space, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_whitespace()).unwrap_or(rest.len()));
        let (word, next) = after.split_at(after.find(|c: char| c.is_ascii_whitespace()).unwrap_or(after.len()));
        rest = next;
        let line_ends = space.matches('\n').count();
        let is_joined = line_ends == 1 && has_word && word.starts_with(|c: char| c.is_ascii_alphanumeric());
        let between = if is_joined { " " } else { space };
        let has_room = column + width(between) + width(word) <= wrap.width;
        let new_lines = match line_ends {
            0 => usize::from(has_word && !word.is_empty() && !has_room),
            _ if is_joined => usize::from(!has_room),
            _ => line_ends,
        };
        if new_lines > 0 {
            out.push_str(&"\n".repeat(new_lines));
            (column, has_word) = (wrap.next_indent, false);
        }
        if word.is_empty() {
            continue;
        }
        if has_word {
            out.push_str(between);
            column += width(between);
        } else {
            out.push_str(&indent(column));
        }
        out.push_str(word);
        column += width(word);
        has_word = true;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_does_not_know_stands_as_it_is() {
        let layout = Template::of("%z %(nope) %% %n %x41 %<(x)%(agent) 100%").expect("the agent is ours");
        assert_eq!(layout.git_placeholders(), ["%z", "%(nope)"]);
        let out = layout.expand(&["%z".into(), "%(nope)".into()], "", &[], Time::now(), &Prices::default());
        assert_eq!(String::from_utf8_lossy(&out), "%z %(nope) % \n A %<(x) 100%");
        assert!(Template::of("%h %s").is_none() && Template::of("%h%x00").is_some());
    }

    #[test]
    fn values_are_cut_by_columns_and_keep_their_colours() {
        assert_eq!(width("\u{1b}[31m漢字\u{1b}[m"), 4);
        assert_eq!(without_columns("abcdefgh", 3, 5), "abc..");
        assert_eq!(without_columns("abcdefgh", 0, 5), "..fgh");
        assert_eq!(without_columns("\u{1b}[31mabcdefgh\u{1b}[m", 2, 4), "\u{1b}[31mab..gh\u{1b}[m");
    }
}
