//! The commits between the turns: their diffs, each hunk with the turn that wrote it.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bstr::{BString, ByteSlice as _};

use super::clean_words;
use super::plan::{Made, Selection, Session};
use crate::error::Result;
use crate::git::{Commit, ObjectId};
use crate::outside;
use crate::pretty;
use crate::pretty::html::{Bar, CleanText, Hunk, Outlet, PageOptions, PatchFile, address, hunk_id, patch_files, plain};
use crate::record::Reader;
use crate::record::redaction::{clean, clean_key};
use crate::redact::Redactor;
use crate::replay::{Explainer, lines_of};
use crate::transcript::SessionKey;

/// How many lines of a commit's diff are shown at most, and how many bytes.
const MAX_PATCH_LINES: usize = 3000;
const MAX_PATCH_BYTES: usize = 4 << 20;

/// How long a browser waits for the turns of all hunks of a page.
const EXPLAIN_TIME: Duration = Duration::from_secs(5);
/// How many hunks of a page in a file are looked for, and how many lines of them: a file is to be the same each time.
const MAX_HUNKS: usize = 5000;
const MAX_LINES: usize = 100_000;
/// How large a file may be that is looked through for secrets of several lines.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// How many turns a hunk names.
const MAX_TURNS: usize = 3;

/// Links to the hunks that turns wrote, by the numbers of those.
pub type Wrote = HashMap<usize, Vec<(String, String)>>;

/// Makes the bars of one page.
pub struct Bars<'a, 'r> {
    reader: &'a Reader<'r>,
    redactor: &'a Redactor,
    explainer: Explainer<'a, 'r>,
    plan: &'a Selection,
    /// The sessions on the page.
    sessions: &'a [usize],
    /// Whether commits and files have pages of their own.
    has_pages: bool,
    /// The address of a commit at a host, in which `%H` stands for its id.
    commit_address: Option<&'a str>,
    /// The commits that have a bar.
    shown: HashSet<ObjectId>,
    /// When looking for the turns of hunks ends; `None` if their number decides that.
    deadline: Option<Instant>,
    /// How many hunks and lines were looked for.
    explained: (usize, usize),
    /// What turns wrote, by what stands in front of the ids of their conversation.
    wrote: HashMap<String, Wrote>,
    nothing: Wrote,
}

impl<'a, 'r> Bars<'a, 'r> {
    /// Prepares those of a page with some sessions.
    pub fn new(
        reader: &'a Reader<'r>,
        redactor: &'a Redactor,
        plan: &'a Selection,
        sessions: &'a [usize],
        shape: &'a PageOptions,
    ) -> Self {
        let (has_pages, commit_address) = (shape.outlet == Outlet::Server, shape.commit_address.as_deref());
        // Only the numbers of turns are shown of what it finds, so that its words need not be cleaned.
        let explainer = Explainer::new(reader, None, None).without_prompts();
        let explainer = if has_pages { explainer } else { explainer.by_work() };
        let deadline = has_pages.then(|| Instant::now() + EXPLAIN_TIME);
        let (shown, wrote, nothing) = (HashSet::new(), HashMap::new(), Wrote::new());
        let explained = (0, 0);
        Bars {
            reader,
            redactor,
            explainer,
            plan,
            sessions,
            has_pages,
            commit_address,
            shown,
            deadline,
            explained,
            wrote,
            nothing,
        }
    }

    /// Returns the bar of a commit with its change, to stand beside its conversations; `None` if it changes nothing.
    ///
    /// # Errors
    ///
    /// If Git fails.
    pub fn beside(&mut self, made: &Made) -> Result<Option<Bar>> {
        let bar = self.bar(made, true, true)?;
        if bar.files.is_empty() && bar.evidence.is_empty() {
            self.shown.clear();
            return Ok(None);
        }
        Ok(Some(bar))
    }

    /// Returns what the turns of a conversation wrote of the bars so far, by what stands in front of its ids.
    pub fn wrote(&self, prefix: &str) -> &Wrote {
        self.wrote.get(prefix).unwrap_or(&self.nothing)
    }

    /// Returns the bars of a conversation: that of its commit at the end, and of a whole session those of all its commits,
    /// each after the messages that were recorded with it. `starts` says where each message begins in the stored transcript.
    ///
    /// # Errors
    ///
    /// If Git fails.
    pub fn after(
        &mut self,
        session: &Session,
        made: &Made,
        starts: &[usize],
        has_patch: bool,
    ) -> Result<Vec<(usize, Bar)>> {
        if !session.is_full {
            return Ok(vec![(starts.len(), self.bar(made, has_patch, true)?)]);
        }
        let mut bars = Vec::new();
        for made in &session.made {
            let after = starts.partition_point(|start| (*start as u64) < made.bytes);
            bars.push((after, self.bar(made, has_patch, false)?));
        }
        Ok(bars)
    }

    /// Returns the bar of a commit that has evidence and no conversation.
    ///
    /// # Errors
    ///
    /// If Git fails.
    pub fn observed(&mut self, commit: &Rc<Commit>, has_patch: bool) -> Result<Bar> {
        let commit_id = commit.commit_id;
        let name = commit_id.to_hex_with_len(7).to_string();
        let (mut files, is_cut) = if has_patch { self.patch(commit_id)? } else { (Vec::new(), false) };
        self.add_addresses(commit_id, &mut files)?;
        Ok(Bar {
            id: format!("c-{name}"),
            name,
            commit: Rc::clone(commit),
            files,
            is_cut,
            is_partly_explained: false,
            address: None,
            host_address: self.host_address(commit_id),
            evidence: self.evidence(commit_id)?,
        })
    }

    /// Adds the addresses of files where they have pages.
    fn add_addresses(&self, commit_id: ObjectId, files: &mut [PatchFile]) -> Result<()> {
        for file in files.iter_mut().filter(|file| self.has_pages && file.is_there()) {
            // A path that had a secret is shown without it, and names no file.
            let is_path = self.reader.repo().blob_at(commit_id, file.path.as_str().into())?.is_some();
            file.address = is_path.then(|| address::file(commit_id, &file.path));
        }
        Ok(())
    }

    /// Returns the address of a commit where it is hosted, if a template for that is given.
    fn host_address(&self, commit_id: ObjectId) -> Option<String> {
        self.commit_address.map(|template| template.replace("%H", &commit_id.to_string()))
    }

    fn bar(&mut self, made: &Made, has_patch: bool, is_explained: bool) -> Result<Bar> {
        let commit_id = made.commit.commit_id;
        let name = commit_id.to_hex_with_len(7).to_string();
        let is_first = self.shown.insert(commit_id);
        let again = self.shown.len();
        // A commit of several sessions stands in each; the first has its change.
        let id = if is_first {
            format!("c-{name}")
        } else {
            format!("c-{name}-{again}-{}", clean_key(self.redactor, &made.summary.key).file_name())
        };
        let (mut files, mut is_cut, mut is_partly_explained) = (Vec::new(), false, false);
        if has_patch && is_first {
            (files, is_cut) = self.patch(commit_id)?;
            if is_explained {
                is_partly_explained = !self.explain(made, &mut files, &id)?;
            }
        }
        let evidence = if is_first { self.evidence(commit_id)? } else { Vec::new() };
        let address = (self.has_pages && !is_explained).then(|| address::commit(commit_id));
        self.add_addresses(commit_id, &mut files)?;
        let (host_address, commit) = (self.host_address(commit_id), Rc::clone(&made.commit));
        Ok(Bar { id, name, commit, files, is_cut, is_partly_explained, address, host_address, evidence })
    }

    /// Returns what was observed while a commit was made, without secrets.
    fn evidence(&self, commit_id: ObjectId) -> Result<Vec<String>> {
        let evidence = self.reader.note(commit_id)?.map(|note| note.evidence()).unwrap_or_default();
        let text = |one| {
            let lines = [vec![pretty::evidence_head(one)], pretty::evidence_lines(one)].concat();
            clean_words(self.redactor, &lines.join("\n"))
        };
        Ok(evidence.iter().map(text).collect())
    }

    fn patch(&self, commit_id: ObjectId) -> Result<(Vec<PatchFile>, bool)> {
        let (mut lines, mut size): (Vec<BString>, usize) = (Vec::new(), 0);
        let mut is_too_large = false;
        for line in self.reader.repo().patch(commit_id)? {
            let line = line?;
            size += line.len() + 1;
            // A line is shown whole or not at all.
            is_too_large = size > MAX_PATCH_BYTES;
            if is_too_large || lines.len() > MAX_PATCH_LINES {
                break;
            }
            lines.push(line);
        }
        let text = bstr::join("\n", &lines);
        let text = clean(self.redactor, &text.to_str_lossy());
        let (mut files, is_cut) = patch_files(text.lines().map(|line| line.as_bytes().to_vec()), MAX_PATCH_LINES);
        // Paths can have secrets, too; files are found by their own.
        let (named, _) = patch_files(lines.into_iter().map(Vec::from), MAX_PATCH_LINES);
        let parent_id = self.reader.repo().commit(commit_id)?.parent_ids.first().copied();
        for (at, file) in files.iter_mut().enumerate().filter(|(_, file)| !file.hunks.is_empty()) {
            let named = named.get(at);
            let after = named.and_then(|named| self.clean_text(Some(commit_id), &named.path));
            let before = named.and_then(|named| self.clean_text(parent_id, &before_of(named)));
            file.show_clean(before.as_ref(), after.as_ref());
        }
        Ok((files, is_cut || is_too_large))
    }

    /// Returns which lines of a file of a commit have secrets; `None` if the file cannot be read.
    fn clean_text(&self, commit_id: Option<ObjectId>, path: &str) -> Option<CleanText> {
        let repo = self.reader.repo();
        let blob_id = repo.blob_at(commit_id?, path.into()).ok()??;
        let bytes = repo.read_blob(blob_id, MAX_FILE_BYTES).ok()?;
        let text = bytes.to_str_lossy();
        Some(CleanText::new(&text, &clean(self.redactor, &text)))
    }

    /// Says whether no more hunks are looked for.
    fn is_over(&self) -> bool {
        let (hunks, lines) = self.explained;
        self.deadline.map_or(hunks >= MAX_HUNKS || lines >= MAX_LINES, |deadline| Instant::now() >= deadline)
    }

    /// Finds the turns of each hunk; says whether all of them were looked for.
    fn explain(&mut self, made: &Made, files: &mut [PatchFile], bar_id: &str) -> Result<bool> {
        let commit_id = made.commit.commit_id;
        let parent_id = made.commit.parent_ids.first().copied();
        let mut number = 0;
        for file in files {
            let is_new = file.notes.iter().any(|note| note.starts_with("new file"));
            let previous = parent_id.filter(|_| !is_new).map(|parent_id| (parent_id, BString::from(before_of(file))));
            let path = BString::from(file.path.as_str());
            for hunk in &mut file.hunks {
                if self.is_over() {
                    return Ok(false);
                }
                let turns = self.turns(commit_id, (&path, &previous), hunk)?;
                let line = hunk.added().first().map_or(hunk.start, |(start, _)| *start);
                let link = (format!("#{}", hunk_id(bar_id, number)), format!("{}:{line}", outside::line(&file.path)));
                self.link(made, hunk, turns, &link);
                number += 1;
            }
        }
        Ok(true)
    }

    /// Returns the turns that wrote a hunk, that with the most lines first.
    fn turns(
        &mut self,
        commit_id: ObjectId,
        (path, previous): (&BString, &Option<(ObjectId, BString)>),
        hunk: &mut Hunk,
    ) -> Result<Vec<(SessionKey, usize)>> {
        let mut votes: HashMap<(SessionKey, usize), usize> = HashMap::new();
        let (added, mut is_lacking) = (hunk.added(), false);
        self.explained.0 += 1;
        for (start, count) in &added {
            self.explained.1 += count;
            let lines = lines_of(commit_id, path, previous.clone(), *start, *count);
            for found in self.explainer.explain(&lines)? {
                let source = &found.source;
                is_lacking |= source.lack.is_some() || source.is_too_large || !source.problems.is_empty();
                let is_here = found.work().is_some_and(|work| !work.is_beyond_record);
                if let Some(turn) = found.turn().filter(|_| is_here) {
                    *votes.entry(turn).or_default() += 1;
                }
            }
        }
        hunk.was_explained = !added.is_empty() && !is_lacking;
        let mut turns: Vec<((SessionKey, usize), usize)> = votes.into_iter().collect();
        // Of two with as many lines, the earlier turn: the order of a map is not the same twice.
        turns
            .sort_by(|(one, few), (other, many)| many.cmp(few).then_with(|| (one.1, &one.0).cmp(&(other.1, &other.0))));
        Ok(turns.into_iter().map(|(turn, _)| turn).collect())
    }

    /// Links a hunk and the turns that wrote it to each other. `link` is that of the hunk.
    fn link(&mut self, made: &Made, hunk: &mut Hunk, turns: Vec<(SessionKey, usize)>, link: &(String, String)) {
        for (key, turn) in turns {
            let shown = clean_key(self.redactor, &key);
            let short: String = outside::line(&shown.id).chars().take(8).collect();
            let of_session = |text: String| format!("{text} of {} {short}", outside::line(&shown.agent));
            let at = self.sessions.iter().copied().find(|at| self.plan.sessions[*at].key == key);
            let named = match at {
                Some(at) => {
                    let prefix = self.plan.prefix(self.sessions, at, made, 0);
                    let address = format!("#{prefix}t{turn}");
                    self.wrote.entry(prefix).or_default().entry(turn).or_default().push(link.clone());
                    let text = format!("turn {turn}");
                    (Some(address), if self.sessions.len() > 1 { of_session(text) } else { text })
                }
                None => {
                    let page = self.has_pages.then(|| address::part(made.commit.commit_id, &shown));
                    (page.map(|page| format!("{page}#t{turn}")), of_session(format!("turn {turn}")))
                }
            };
            if hunk.turns.len() < MAX_TURNS {
                hunk.turns.push(named);
            }
        }
    }
}

/// Returns the path that a file had before the commit.
fn before_of(file: &PatchFile) -> String {
    file.notes.iter().find_map(|note| note.strip_prefix("rename from ")).map_or_else(|| file.path.clone(), plain)
}
