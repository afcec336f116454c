//! Finding the notes commit that wrote a line: a line can be made from other lines, and those from others again.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::git::ObjectId;
use crate::git::sign::Signature;
use crate::transcript::SessionKey;

/// How many steps a search may take. A line not settled by then counts as unsigned.
const MAX_STEPS: usize = 100_000;

/// A record as one line, with its session.
pub(super) type Line = (SessionKey, String);

/// The notes commit that wrote a line.
#[derive(Clone)]
pub(super) struct LineWriter {
    pub commit_id: ObjectId,
    pub signature: Signature,
}

/// A notes commit that brought a line.
pub(super) struct Brought {
    pub commit_id: ObjectId,
    /// Lines of the same session that the commit removed: the new line was made from them.
    pub instead_of: Rc<Vec<Line>>,
}

/// A search for the origins of a commit's lines.
#[derive(Default)]
pub(super) struct Search {
    steps: usize,
}

/// A line on the present path of the search.
struct Visit<'h> {
    line: &'h Line,
    /// The commits that brought the line and were not looked at yet.
    rest: std::slice::Iter<'h, Brought>,
    /// The commit that is looked at, and the lines it made the line from that were not looked at yet.
    present: Option<(LineWriter, std::slice::Iter<'h, Line>)>,
    best: Option<LineWriter>,
}

impl<'h> Visit<'h> {
    fn new(brought: &'h HashMap<Line, Vec<Brought>>, line: &'h Line) -> Self {
        Visit { line, rest: brought.get(line).map(Vec::as_slice).unwrap_or_default().iter(), present: None, best: None }
    }

    /// Takes the origin of a line that this one was made from: the worst signature counts.
    fn take_part(&mut self, part: Option<LineWriter>) {
        if let (Some((worst, _)), Some(part)) = (&mut self.present, part)
            && part.signature.state < worst.signature.state
        {
            *worst = part;
        }
    }

    /// Ends the look at the present commit. They are ordered newest first; of equal ones, the oldest is the writer.
    fn settle(&mut self) {
        if let Some((worst, _)) = self.present.take()
            && self.best.as_ref().is_none_or(|best| worst.signature.state >= best.signature.state)
        {
            self.best = Some(worst);
        }
    }
}

impl Search {
    /// Returns the commit that wrote a line: of several, the one with the best signature. If the line was made from other
    /// lines, their worst signature counts.
    ///
    /// The path of the search is a list, not a recursion: whoever can push can write a line again ten thousand times.
    pub(super) fn origin<'h>(
        &mut self,
        brought: &'h HashMap<Line, Vec<Brought>>,
        signatures: &HashMap<ObjectId, Signature>,
        line: &'h Line,
    ) -> Option<LineWriter> {
        let mut on_path = HashSet::from([line]);
        let mut path = vec![Visit::new(brought, line)];
        loop {
            let visit = path.last_mut()?;
            let next = match &mut visit.present {
                Some((worst, parts)) if self.steps > MAX_STEPS && !parts.as_slice().is_empty() => {
                    worst.signature = Signature::none();
                    None
                }
                Some((_, parts)) => parts.next(),
                None => None,
            };
            if let Some(part) = next {
                if on_path.insert(part) {
                    path.push(Visit::new(brought, part));
                }
                continue;
            }
            visit.settle();
            if let Some(brought) = visit.rest.next() {
                self.steps += 1;
                let signature = signatures.get(&brought.commit_id).cloned().unwrap_or_else(Signature::none);
                let origin = LineWriter { commit_id: brought.commit_id, signature };
                visit.present = Some((origin, brought.instead_of.iter()));
                continue;
            }
            let done = path.pop()?;
            on_path.remove(done.line);
            match path.last_mut() {
                Some(before) => before.take_part(done.best),
                None => return done.best,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::sign::SignatureState;

    fn id(number: usize) -> ObjectId {
        ObjectId::from_hex(format!("{number:040x}").as_bytes()).expect("an id")
    }

    fn line(number: usize) -> Line {
        (SessionKey::new("claude", "s"), number.to_string())
    }

    /// A history in which commit `n` made line `n` from line `n - 1`.
    fn rewritten(times: usize) -> HashMap<Line, Vec<Brought>> {
        let parts = |number: usize| (number > 0).then(|| line(number - 1)).into_iter().collect();
        let one = |number| (line(number), vec![Brought { commit_id: id(number), instead_of: Rc::new(parts(number)) }]);
        (0..times).map(one).collect()
    }

    fn signed(state: SignatureState) -> Signature {
        Signature { state, ..Signature::none() }
    }

    #[test]
    fn a_line_that_was_written_again_fifty_thousand_times_has_its_writer() {
        let brought = rewritten(50_000);
        let mut signatures: HashMap<_, _> =
            (0..50_000).map(|number| (id(number), signed(SignatureState::Good))).collect();
        let last = line(49_999);
        let found = Search::default().origin(&brought, &signatures, &last).expect("an origin");
        assert_eq!((found.commit_id, found.signature.state), (id(49_999), SignatureState::Good));
        signatures.remove(&id(0));
        let found = Search::default().origin(&brought, &signatures, &last).expect("an origin");
        assert_eq!((found.commit_id, found.signature.state), (id(0), Signature::none().state), "the worst one counts");
    }

    #[test]
    fn a_search_without_an_end_counts_as_unsigned_and_lines_made_from_each_other_end() {
        let brought = rewritten(MAX_STEPS + 10);
        let signatures: HashMap<_, _> =
            (0..MAX_STEPS + 10).map(|number| (id(number), signed(SignatureState::Good))).collect();
        let last = line(MAX_STEPS + 9);
        let found = Search::default().origin(&brought, &signatures, &last).expect("an origin");
        assert_eq!(found.signature.state, Signature::none().state);
        let mut circle = rewritten(2);
        circle.insert(line(0), vec![Brought { commit_id: id(0), instead_of: Rc::new(vec![line(1)]) }]);
        let start = line(1);
        let found = Search::default().origin(&circle, &signatures, &start).expect("an origin");
        assert_eq!((found.commit_id, found.signature.state), (id(1), SignatureState::Good));
    }

    #[test]
    fn of_several_writers_the_best_signed_counts_and_of_equals_the_oldest() {
        let one = |number| Brought { commit_id: id(number), instead_of: Rc::default() };
        let brought = HashMap::from([(line(1), vec![one(3), one(2), one(1)])]);
        let signatures = HashMap::from([(id(3), signed(SignatureState::Good)), (id(2), signed(SignatureState::Good))]);
        let asked = line(1);
        let found = Search::default().origin(&brought, &signatures, &asked).expect("an origin");
        assert_eq!(found.commit_id, id(2));
    }
}
