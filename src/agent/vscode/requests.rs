//! The requests of a conversation, in order, with what finds one of them at once: a log can have as many changes as
//! requests.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use serde_json::Value;

use super::request::Returned;

/// A request, and which parts of it were returned.
#[derive(Default)]
pub struct Request {
    /// Its place in the list, where that is known.
    index: Option<u64>,
    pub value: Value,
    pub returned: Returned,
    /// The last line that was about it, if it still has something to return.
    pub news: Option<Range<usize>>,
    /// Whether it was taken back.
    pub is_gone: bool,
}

/// The requests, in the order in which they came.
#[derive(Default)]
pub struct Requests {
    /// An empty request stands where one was that came again later.
    list: Vec<Request>,
    /// The positions in `list` by the ids of requests.
    by_id: HashMap<String, usize>,
    /// The places in the agent's list, with positions, of requests that were not taken back.
    places: BTreeSet<(u64, usize)>,
    /// The positions of requests that were not taken back.
    present: BTreeSet<usize>,
    /// The positions of requests that have something to return.
    changed: BTreeSet<usize>,
}

impl Requests {
    /// Says whether there never was one.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Visits the requests that have something to return, in order, and forgets that they have.
    pub fn each_changed(&mut self, mut visit: impl FnMut(&mut Request)) {
        for position in std::mem::take(&mut self.changed) {
            visit(&mut self.list[position]);
        }
    }

    /// Appends a request. Replaces an earlier one with the same id. `first` is the place of the first of all, if it is known.
    pub fn append(&mut self, value: Value, first: Option<u64>, span: &Range<usize>) {
        let last = self.present.last().map(|last| &self.list[*last]);
        let index = last.map_or(first, |last| last.index.map(|index| index + 1));
        let id = value["requestId"].as_str();
        let same = id.and_then(|id| self.by_id.remove(id)).filter(|position| self.list[*position].id() == id);
        let id = id.map(str::to_owned);
        let known = same.map(|position| {
            self.hide(position);
            self.changed.remove(&position);
            std::mem::take(&mut self.list[position])
        });
        let returned = known.map(|known| known.returned).unwrap_or_default();
        self.push(Request { index, value, returned, news: Some(span.clone()), is_gone: false }, id);
    }

    /// Takes requests back, from a place in the list on.
    pub fn take_back(&mut self, length: u64) {
        for (_, position) in self.places.split_off(&(length, 0)) {
            self.present.remove(&position);
            (self.list[position].index, self.list[position].is_gone) = (None, true);
        }
    }

    /// Takes back the request at a place in the list.
    pub fn remove(&mut self, index: u64, span: &Range<usize>) {
        let position = self.at(index);
        self.hide(position);
        self.list[position].is_gone = true;
        self.mark(position, span);
    }

    /// Changes the request at a place in the list.
    pub fn change(&mut self, index: u64, span: &Range<usize>, change: impl FnOnce(&mut Value)) {
        let position = self.at(index);
        change(&mut self.list[position].value);
        self.mark(position, span);
        let known = self.list[position].id().filter(|id| self.by_id.get(*id) != Some(&position));
        if let Some(id) = known.map(str::to_owned) {
            self.by_id.insert(id, position);
        }
    }

    /// Returns the position of the request at a place in the list. Where the beginning of the log is unknown, that is the
    /// last one which was added, or one that nothing was heard of yet.
    fn at(&mut self, index: u64) -> usize {
        if let Some(last) = self.present.last().copied().filter(|last| self.list[*last].index.is_none()) {
            self.list[last].index = Some(index);
            self.places.insert((index, last));
        }
        let known = self.places.range((index, 0)..).next().filter(|(place, _)| *place == index);
        known.map(|(_, position)| *position).unwrap_or_else(|| {
            self.push(Request { index: Some(index), value: serde_json::json!({}), ..Request::default() }, None)
        })
    }

    fn push(&mut self, request: Request, id: Option<String>) -> usize {
        let position = self.list.len();
        self.present.insert(position);
        self.places.extend(request.index.map(|index| (index, position)));
        self.changed.extend(request.news.as_ref().map(|_| position));
        self.by_id.extend(id.map(|id| (id, position)));
        self.list.push(request);
        position
    }

    fn mark(&mut self, position: usize, span: &Range<usize>) {
        self.list[position].news = Some(span.clone());
        self.changed.insert(position);
    }

    /// Forgets that a request is in the agent's list.
    fn hide(&mut self, position: usize) {
        self.present.remove(&position);
        if let Some(index) = self.list[position].index {
            self.places.remove(&(index, position));
        }
    }
}

impl Request {
    fn id(&self) -> Option<&str> {
        self.value["requestId"].as_str()
    }
}
