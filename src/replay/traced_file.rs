//! A file that knows for each line which edit wrote it.

use std::borrow::Cow;
use std::ops::Range;

use bstr::ByteSlice as _;

use super::limit::Limit;
use crate::compare::DiffOp;

/// The origin of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LineOrigin<E> {
    /// The line was in the file at the beginning.
    Base,
    /// This edit.
    Edit(E),
    /// Something that no edit tells of; it was there when a later edit found the file.
    Seen,
    /// Something that no edit tells of: a person, a formatter, a generator.
    Unrecorded,
}

/// A line, with its line end.
#[derive(Clone, Debug)]
struct Line<'t, E> {
    text: Cow<'t, [u8]>,
    origin: LineOrigin<E>,
}

/// A file that knows for each line which edit wrote it.
#[derive(Clone, Debug)]
pub struct TracedFile<'t, E> {
    lines: Vec<Line<'t, E>>,
    /// The file that the edits began with.
    base: Cow<'t, [u8]>,
    limit: Limit,
    /// Whether an edit has found nothing to replace: the file was another one when it was edited. A text that stands in
    /// several places here may have been meant in any of them.
    is_doubtful: bool,
}

impl<'t, E: Copy> TracedFile<'t, E> {
    /// Returns the file that the edits began with. Comparing texts gets coarser beyond `limit`.
    ///
    /// Line ends are `\n` from here on: agents write edits of a file with other line ends so.
    pub fn new(base: &'t [u8], limit: Limit) -> Self {
        let line = |text: Cow<'t, [u8]>| Line { text, origin: LineOrigin::Base };
        let base = with_plain_ends(base);
        let lines = match &base {
            Cow::Borrowed(base) => base.lines_with_terminator().map(|text| line(text.into())).collect(),
            Cow::Owned(base) => base.lines_with_terminator().map(|text| line(text.to_vec().into())).collect(),
        };
        TracedFile { lines, base, limit, is_doubtful: false }
    }

    /// Does an edit that replaces `old` by `new`, at its first place or `everywhere`; says whether there was such a place.
    ///
    /// If `old` is nowhere as it stands, lines are compared without white space: a person, or a formatter, may have
    /// indented them since. Lines that `old` and `new` have in common keep what wrote them. After an edit that was not
    /// possible, one that could be in several places is not possible either.
    ///
    /// If `old` was in the file at the beginning, and edits have changed it since, they were undone there.
    pub fn replace(&mut self, old: &[u8], new: &[u8], everywhere: bool, edit: E) -> bool {
        let is_done = self.try_to_replace(old, new, everywhere, edit);
        self.is_doubtful |= !is_done;
        is_done || (self.undo_around(old) && self.try_to_replace(old, new, everywhere, edit))
    }

    /// Undoes the edits where the file had a text at the beginning; says whether it had it, in one place.
    fn undo_around(&mut self, text: &[u8]) -> bool {
        let text = with_plain_ends(text);
        let base = std::mem::take(&mut self.base);
        let mut places = base.find_iter(&*text).filter(|_| !text.is_empty());
        let is_changed = || self.places_of(&text, false).is_empty();
        let start = places.next().filter(|_| places.next().is_none() && is_changed());
        if let Some(start) = start {
            let lines: Vec<&[u8]> = base.lines_with_terminator().collect();
            let line_of = |at: usize| base[..at].find_iter("\n").count();
            let (first, last) = (line_of(start), line_of(start + text.len() - 1));
            let common = self.common_lines(0..self.lines.len(), &lines, without_end);
            // Up to the nearest lines that are as they were: its own first and last, or those around it.
            let above = common.iter().rev().find(|(_, line)| *line <= first);
            let above = above
                .map_or((0, 0), |(own, line)| (own + usize::from(*line < first), line + usize::from(*line < first)));
            let below = common.iter().find(|(_, line)| *line >= last);
            let end = (self.lines.len(), lines.len());
            let below =
                below.map_or(end, |(own, line)| (own + usize::from(*line == last), line + usize::from(*line == last)));
            let line = |text: &&[u8]| Line { text: Cow::Owned(text.to_vec()), origin: LineOrigin::Base };
            let undone: Vec<Line<'t, E>> = lines[above.1..below.1].iter().map(line).collect();
            self.lines.splice(above.0..below.0, undone);
        }
        drop(places);
        self.base = base;
        start.is_some()
    }

    /// Does an edit of a patch that says where `old` stands: `under` is a line above it, or the numbers of the first
    /// lines in the file before and after, as in a unified diff. If that place is not found, as
    /// [`TracedFile::replace`].
    pub fn replace_under(&mut self, under: &str, old: &[u8], new: &[u8], edit: E) -> bool {
        let plain = with_plain_ends(old);
        let places = if old.is_empty() { Vec::new() } else { self.places_of(&plain, true) };
        match self.place_under(under, &places) {
            Some(place) if places.len() > 1 => {
                self.replace_at(&place, &with_plain_ends(new), edit);
                true
            }
            _ => self.replace(old, new, false, edit),
        }
    }

    /// Chooses among places by what a patch says of them.
    fn place_under(&self, under: &str, places: &[Range<usize>]) -> Option<Range<usize>> {
        let mut end = 0;
        let ends = self.lines.iter().map(|line| {
            end += line.text.len();
            end
        });
        let ends: Vec<usize> = ends.collect();
        let after = under.strip_prefix('-').and_then(|numbers| numbers.split_once(" +"));
        let number = after.and_then(|(_, after)| after.split([',', ' ']).next()?.parse::<usize>().ok());
        if let Some(number) = number {
            let line_of = |place: &&Range<usize>| ends.partition_point(|end| *end <= place.start) + 1;
            return places.iter().min_by_key(|place| line_of(place).abs_diff(number)).cloned();
        }
        let above = self.lines.iter().position(|line| line.text.trim() == under.trim().as_bytes())?;
        places.iter().find(|place| place.start >= ends[above]).cloned()
    }

    fn try_to_replace(&mut self, old: &[u8], new: &[u8], everywhere: bool, edit: E) -> bool {
        if old.is_empty() {
            return false;
        }
        let (old, new) = (&*with_plain_ends(old), &*with_plain_ends(new));
        let mut places = self.places_of(old, everywhere);
        if places.is_empty() {
            return self.replace_lines(old, new, edit);
        }
        if !everywhere {
            if self.is_doubtful && places.len() > 1 {
                return false;
            }
            places.truncate(1);
        }
        // From the last to the first, so that the others stay where they are.
        places.iter().rev().for_each(|place| self.replace_at(place, new, edit));
        true
    }

    /// Puts a text in the place of some bytes.
    fn replace_at(&mut self, place: &Range<usize>, new: &[u8], edit: E) {
        let (lines, start) = self.lines_around(place);
        let text = self.text_of(&lines);
        let (from, to) = (place.start - start, place.end - start);
        let replaced = [&text[..from], new, &text[to..]].concat();
        self.write(lines, &replaced, LineOrigin::Edit(edit));
    }

    /// Does an edit that writes the whole file. Lines that stay keep what wrote them.
    pub fn overwrite(&mut self, text: &[u8], edit: E) {
        self.is_doubtful = false;
        self.write(0..self.lines.len(), text, LineOrigin::Edit(edit));
    }

    /// Does an edit that puts lines after the first `count` lines.
    pub fn insert(&mut self, count: usize, text: &[u8], edit: E) {
        let at = count.min(self.lines.len());
        if let Some(last) = self.lines[..at].last_mut()
            && !last.text.ends_with(b"\n")
        {
            last.text.to_mut().push(b'\n');
        }
        self.write(at..at, text, LineOrigin::Edit(edit));
    }

    /// Does an edit that puts lines at the end.
    pub fn append(&mut self, text: &[u8], edit: E) {
        self.insert(usize::MAX, text, edit);
    }

    /// Says whether an edit was not possible since the whole file was last known.
    pub fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    /// Says whether there is no time or work left for one more edit, of so many bytes.
    pub fn is_over(&self, bytes: usize) -> bool {
        self.limit.is_over(bytes + self.lines.iter().map(|line| line.text.len()).sum::<usize>())
    }

    /// Says whether the file has no lines.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Takes over a content of the file that is known from elsewhere. Lines that differ in more than white space were
    /// written by something unrecorded.
    pub fn observe(&mut self, text: &[u8]) {
        self.is_doubtful = false;
        self.write_by(0..self.lines.len(), text, LineOrigin::Seen, squeezed);
    }

    /// Returns the origin of each line of the final file. Lines are compared without white space, so that a formatter
    /// takes nothing away from the edit that wrote a line.
    pub fn settle(&self, text: &[u8]) -> Vec<LineOrigin<E>> {
        let new: Vec<&[u8]> = text.lines_with_terminator().collect();
        let mut origins = vec![LineOrigin::Unrecorded; new.len()];
        for (old, new) in self.common_lines(0..self.lines.len(), &new, squeezed) {
            origins[new] = self.lines[old].origin;
        }
        origins
    }

    /// Returns where a text stands, in bytes of the document: everywhere, or in the first two places.
    fn places_of(&self, text: &[u8], everywhere: bool) -> Vec<Range<usize>> {
        let whole = self.text_of(&(0..self.lines.len()));
        let places = whole.find_iter(text).map(|start| start..start + text.len());
        places.take(if everywhere { usize::MAX } else { 2 }).collect()
    }

    /// Returns the lines that a range of bytes touches, and where the first of them begins.
    fn lines_around(&self, place: &Range<usize>) -> (Range<usize>, usize) {
        let (mut first, mut start, mut end) = (0, 0, 0);
        for (at, line) in self.lines.iter().enumerate() {
            if end + line.text.len() <= place.start {
                (first, start) = (at + 1, end + line.text.len());
            }
            end += line.text.len();
            if end >= place.end {
                return (first..at + 1, start);
            }
        }
        (first..self.lines.len(), start)
    }

    fn text_of(&self, lines: &Range<usize>) -> Vec<u8> {
        let texts: Vec<&[u8]> = self.lines[lines.clone()].iter().map(|line| &*line.text).collect();
        texts.concat()
    }

    /// Replaces whole lines that are the same as those of `old` but for white space, if they stand in one place.
    fn replace_lines(&mut self, old: &[u8], new: &[u8], edit: E) -> bool {
        let wanted: Vec<Cow<'_, [u8]>> = old.lines().map(squeezed).collect();
        // A blank line, or a brace, is everywhere.
        if wanted.iter().map(|line| line.len()).sum::<usize>() < 4 {
            return false;
        }
        let there: Vec<Cow<'_, [u8]>> = self.lines.iter().map(|line| squeezed(&line.text)).collect();
        let mut places = there.windows(wanted.len()).enumerate().filter(|(_, window)| **window == *wanted);
        let Some((first, _)) = places.next().filter(|_| places.next().is_none()) else { return false };
        let lines = first..first + wanted.len();
        let has_end = self.lines[lines.clone()].last().is_some_and(|line| line.text.ends_with(b"\n"));
        let end: &[u8] = if has_end && !new.is_empty() && !new.ends_with(b"\n") { b"\n" } else { b"" };
        let replaced = [new, end].concat();
        self.write_by(lines, &replaced, LineOrigin::Edit(edit), squeezed);
        true
    }

    /// Writes a text in the place of some lines. Lines that are in both keep their origin.
    fn write(&mut self, lines: Range<usize>, text: &[u8], origin: LineOrigin<E>) {
        self.write_by(lines, text, origin, without_end);
    }

    /// Writes a text as [`TracedFile::write`] does; lines are compared by their `key`.
    fn write_by(&mut self, lines: Range<usize>, text: &[u8], origin: LineOrigin<E>, key: Key) {
        let text = with_plain_ends(text);
        let new: Vec<&[u8]> = text.lines_with_terminator().collect();
        let line = |text: &&[u8]| Line { text: Cow::Owned(text.to_vec()), origin };
        let mut written: Vec<Line<'t, E>> = new.iter().map(line).collect();
        for (old, new) in self.common_lines(lines.clone(), &new, key) {
            written[new].origin = self.lines[old].origin;
        }
        self.lines.splice(lines, written);
    }

    /// Returns the lines that some lines of the document and others have in common, as pairs of their positions.
    fn common_lines(&self, lines: Range<usize>, new: &[&[u8]], key: Key) -> Vec<(usize, usize)> {
        let old = &self.lines[lines.clone()];
        let is_same = |(old, new): (&Line<'t, E>, &&[u8])| *old.text == **new || key(&old.text) == key(new);
        // Most of a file stays as it is, and is not worth a comparison of everything with everything.
        let start = old.iter().zip(new).take_while(|pair| is_same(*pair)).count();
        let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
        let end = ends.take_while(|pair| is_same(*pair)).count();
        let (old_end, new_end) = (old.len() - end, new.len() - end);
        let before: Vec<Cow<'_, [u8]>> = old[start..old_end].iter().map(|line| key(&line.text)).collect();
        let after: Vec<Cow<'_, [u8]>> = new[start..new_end].iter().map(|text| key(text)).collect();
        let ops = self.limit.steps(&before, &after);
        let equal = ops.into_iter().filter_map(|op| match op {
            DiffOp::Equal { old_index, new_index, len } => Some((start + old_index, start + new_index, len)),
            _ => None,
        });
        let runs = [(0, 0, start)].into_iter().chain(equal).chain([(old_end, new_end, end)]);
        runs.flat_map(|(old, new, len)| (0..len).map(move |at| (lines.start + old + at, new + at))).collect()
    }
}

/// The part of a line that is compared.
type Key = fn(&[u8]) -> Cow<'_, [u8]>;

/// Returns a text whose lines end with `\n`.
fn with_plain_ends(text: &[u8]) -> Cow<'_, [u8]> {
    if text.contains_str("\r\n") { text.replace("\r\n", "\n").into() } else { text.into() }
}

fn without_end(line: &[u8]) -> Cow<'_, [u8]> {
    line.strip_suffix(b"\n").unwrap_or(line).into()
}

/// Returns a line without white space.
pub(super) fn squeezed(line: &[u8]) -> Cow<'_, [u8]> {
    let line = line.trim_ascii();
    match line.iter().any(u8::is_ascii_whitespace) {
        true => line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect::<Vec<u8>>().into(),
        false => line.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::limit::{Limit, Pace};
    use super::{LineOrigin, TracedFile};

    fn document(base: &str) -> TracedFile<'_, u32> {
        TracedFile::new(base.as_bytes(), Limit::new(Pace::Work, Duration::ZERO))
    }

    /// Writes what wrote each line: `.` for the base, `!` for what was seen, `?` for what is unrecorded, else the number of
    /// the edit.
    fn told(document: &TracedFile<'_, u32>, text: &str) -> String {
        let letter = |origin: &LineOrigin<u32>| match origin {
            LineOrigin::Base => ".".to_owned(),
            LineOrigin::Seen => "!".to_owned(),
            LineOrigin::Unrecorded => "?".to_owned(),
            LineOrigin::Edit(number) => number.to_string(),
        };
        document.settle(text.as_bytes()).iter().map(letter).collect()
    }

    #[test]
    fn a_patch_says_which_of_several_places_it_means() {
        let text = "class A:\n    def run(self):\n        pass\n\nclass B:\n    def run(self):\n        pass\n";
        let old = b"    def run(self):\n        pass\n";
        for (under, at) in
            [("class B:", 6), ("class A:", 2), ("-6,2 +6,2 @@", 6), ("-2,2 +2,2 @@ class A:", 2), ("x", 2)]
        {
            let mut file = document(text);
            assert!(file.replace_under(under, old, b"    def run(self):\n        work()\n", 1), "{under}");
            assert_eq!(file.lines[at].origin, LineOrigin::Edit(1), "{under}");
        }
        let mut file = document(text);
        assert!(!file.replace_under("class B:", b"nowhere\n", b"", 1));
    }

    #[test]
    fn lines_that_an_edit_repeats_keep_their_origin() {
        let mut file = document("a\nb\nc\nd\n");
        assert!(file.replace(b"b\nc\n", b"b\nnew\nc\n", false, 1));
        assert_eq!(told(&file, "a\nb\nnew\nc\nd\n"), "..1..");
        assert!(file.replace(b"new\nc", b"newer\nc", false, 2));
        assert_eq!(told(&file, "a\nb\nnewer\nc\nd\n"), "..2..");
    }

    #[test]
    fn an_edit_inside_a_line_writes_the_line() {
        let mut file = document("one two three\nfour\n");
        assert!(file.replace(b"two", b"2", false, 1));
        assert_eq!(told(&file, "one 2 three\nfour\n"), "1.");
    }

    #[test]
    fn an_edit_everywhere_is_done_at_each_place() {
        let mut file = document("x = 1\ny\nx = 1\n");
        assert!(file.replace(b"1", b"10", true, 1));
        assert_eq!(told(&file, "x = 10\ny\nx = 10\n"), "1.1");
    }

    #[test]
    fn what_is_not_there_is_not_replaced() {
        let mut file = document("a\n");
        assert!(!file.replace(b"b", b"c", false, 1) && !file.replace(b"", b"c", false, 1));
        assert!(!file.replace(b" } ", b"x", false, 1), "a brace alone says nothing");
        assert_eq!(told(&file, "a\n"), ".");
    }

    #[test]
    fn an_edit_finds_lines_that_were_indented_since() {
        let mut file = document("    if ready:\n        start()\n    end\n");
        assert!(file.replace(b"if ready:\n    start()", b"if ready:\n    begin()", false, 1));
        assert_eq!(told(&file, "    if ready:\n    begin()\n    end\n"), ".1.");
    }

    #[test]
    fn after_an_edit_of_an_unknown_file_no_place_is_guessed() {
        let mut file = document("x = 1\ny\nx = 1\n");
        assert!(file.clone().replace(b"x = 1\n", b"x = 2\n", false, 1), "agents with patches mean the first place");
        assert!(!file.replace(b"typed by somebody\n", b"z\n", false, 1));
        assert!(!file.replace(b"x = 1\n", b"x = 2\n", false, 2), "it can be in two places");
        assert!(file.replace(b"y\n", b"y()\n", false, 3));
        assert_eq!(told(&file, "x = 1\ny()\nx = 1\n"), ".3.");
        file.observe(b"x = 1\ny()\nx = 1\ntyped by somebody\n");
        assert!(file.replace(b"x = 1\n", b"x = 2\n", false, 4));
        assert_eq!(told(&file, "x = 2\ny()\nx = 1\ntyped by somebody\n"), "43.!");
        let mut file = document("  start()\nstop()\n    start()\n");
        assert!(!file.replace(b"start( )\n", b"begin()\n", false, 1), "without white space it is in two places");
    }

    #[test]
    fn an_edit_of_what_other_edits_have_changed_shows_that_they_were_undone() {
        let mut file = document("a\nb\nc\nd\n");
        assert!(file.replace(b"a\n", b"first\n", false, 1) && file.replace(b"c\n", b"x\nc\n", false, 2));
        assert!(file.replace(b"b\nc\n", b"b\nx\nc\n", false, 3), "the first one to write x was undone");
        assert_eq!(told(&file, "first\nb\nx\nc\nd\n"), "1.3..");
        assert!(file.replace(b"a\nb\n", b"a()\nb\n", false, 4));
        assert_eq!(told(&file, "a()\nb\nx\nc\nd\n"), "4.3..");
        assert!(!file.replace(b"never there\n", b"y\n", false, 5));
    }

    #[test]
    fn a_formatter_takes_nothing_away() {
        let mut file = document("a\n");
        file.overwrite(b"a\nfoo( x,y )\n", 1);
        assert_eq!(told(&file, "a\r\n    foo(x, y)\r\n"), ".1");
    }

    #[test]
    fn other_line_ends_are_no_hindrance() {
        let mut file = document("one\r\ntwo\r\nthree\r\n");
        assert!(file.replace(b"two\nthr", b"2\nthr", false, 1));
        assert_eq!(told(&file, "one\r\n2\r\nthree\r\n"), ".1.");
    }

    #[test]
    fn what_nobody_recorded_is_neither_of_the_base_nor_of_an_edit() {
        let mut file = document("a\n");
        file.observe(b"a\ntyped by somebody\n");
        assert!(file.replace(b"a\n", b"a\nb\n", false, 1));
        assert_eq!(told(&file, "a\nb\ntyped by somebody\nand more\n"), ".1!?");
        file.observe(b"a\n  b\ntyped  by somebody\n");
        assert_eq!(told(&file, "a\n  b\ntyped  by somebody\n"), ".1!", "a formatter writes nothing");
    }

    #[test]
    fn a_last_line_without_an_end_is_a_line() {
        let mut file = document("a\nb");
        assert!(file.replace(b"b", b"b\nc", false, 1));
        assert_eq!(told(&file, "a\nb\nc"), "..1");
        file.append(b"d\n", 2);
        assert_eq!(told(&file, "a\nb\nc\nd\n"), "..12");
        file.insert(1, b"first\n", 3);
        assert_eq!(told(&file, "a\nfirst\nb\nc\nd\n"), ".3.12");
        file.overwrite(b"", 2);
        assert_eq!(told(&file, "a\n"), "?");
    }
}
