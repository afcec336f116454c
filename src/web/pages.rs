//! The pages: each function reads the data of one page through the rooms, and has `pretty::html` write it.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bstr::ByteSlice as _;

use super::Server;
use super::asked::Values;
use crate::error::{Error, Kind, Result};
use crate::export::{PageContents, Pages, Selection, Wanted, clean_commit, clean_summary, read_commit};
use crate::find::{self, Case, Limits, SearchOptions, Terms};
use crate::git::date::Time;
use crate::git::{self, BlameRequest, Branch, Commit, ObjectId, Paths, Range, Repository};
use crate::pretty::html::{
    self, About, Entry, Filters, Listing, PageOptions, Searched, branches_page, commits_page, file_page, overview_page,
    search_page, stats_page,
};
use crate::pretty::{Statistics, count};
use crate::record::redaction::{self, clean, clean_key, is_hidden};
use crate::record::{Query, Reader, Words};
use crate::redact::Redactor;
use crate::replay::Explainer;
use crate::stats::{self, Key, Prices, cost_of};
use crate::transcript::SessionKey;
use crate::{agent, notes};

/// How many commits the overview has, and a page of the list.
const NEWEST: usize = 50;
const PAGE: usize = 200;
/// How many turns a search returns, and how long it looks for them.
const HITS: usize = 30;
const SEARCH_TIME: Duration = Duration::from_secs(5);
/// The largest file that is shown.
const MAX_FILE_BYTES: u64 = 2 << 20;

/// The values that a page is made with.
pub struct Visit<'v> {
    server: &'v Server,
    repo: &'v Repository,
    reader: Reader<'v>,
    redactor: Redactor,
    shape: PageOptions,
}

impl<'v> Visit<'v> {
    /// Prepares a page.
    ///
    /// # Errors
    ///
    /// If the configuration of redaction is wrong.
    pub fn new(server: &'v Server, repo: &'v Repository, shape: PageOptions) -> Result<Self> {
        let reader = Reader::new(repo, server.notes_ref.as_deref());
        Ok(Visit { server, repo, reader, redactor: redaction::redactor(repo)?, shape })
    }

    /// Returns the commits that are served: those that were named, or HEAD and all local branches.
    fn query(&self) -> Result<Query> {
        let mut range = Range::default();
        for revision in &self.server.revisions {
            self.repo.add_to_range(&mut range, revision)?;
        }
        if self.server.revisions.is_empty() {
            range.tips.extend(self.repo.head()?.commit_id);
            range.tips.extend(self.repo.branches(true, false)?.into_iter().map(|branch| branch.commit_id));
        }
        if self.server.has_all_worktrees {
            // A worktree may have no branch checked out.
            for worktree in self.repo.worktrees() {
                let head = Repository::open(&worktree.git_dir).and_then(|own| own.head());
                range.tips.extend(head.ok().and_then(|head| head.commit_id));
            }
        }
        let (specs, directory) = (self.server.paths.clone(), self.server.directory.clone());
        let paths = (!specs.is_empty()).then_some(Paths { specs, directory });
        Ok(Query { range, paths, ..Query::default() })
    }

    /// Returns the names of the local branches, without secrets.
    fn branch_names(&self) -> Result<Vec<String>> {
        Ok(self.repo.branches(true, false)?.iter().map(|branch| self.clean(&branch.name)).collect())
    }

    /// Lists commits; also returns the problems.
    fn entries(&self, query: &Query) -> Result<(Vec<Entry>, Vec<String>)> {
        let (prices, unread) = self.prices();
        let (mut entries, mut names) = (Vec::new(), self.repo.names());
        self.reader.each(query, |mut listed| {
            clean_commit(&self.redactor, &mut listed.commit);
            for summary in &mut listed.summaries {
                clean_summary(&self.redactor, summary);
                summary.key = clean_key(&self.redactor, &summary.key);
            }
            listed.problems = self.told(&listed.problems);
            let authored = listed.commit.author.time;
            let cost = cost_of(&prices, listed.summaries.iter().map(|summary| (authored, summary)));
            entries.push(Entry { name: names.shorten(listed.commit.commit_id), listed, cost });
            Ok(ControlFlow::Continue(()))
        })?;
        Ok((entries, self.told(unread.iter().chain(self.reader.problems()))))
    }

    /// Returns the session that an address names: a digest stands for a name with a secret.
    fn key(&self, agent: &str, id: &str) -> Result<SessionKey> {
        let named = SessionKey::new(agent, html::address::id_of_part(id));
        if !is_hidden(&named) {
            return Ok(named);
        }
        let notes = self.reader.noted()?;
        let notes = notes.values().filter_map(|blob_ids| self.reader.note_of_blobs(blob_ids).ok());
        let keys = notes.flat_map(|note| note.summaries()).map(|summary| summary.key);
        let mut meant = keys.filter(|key| clean_key(&self.redactor, key) == named);
        Ok(meant.next().unwrap_or(named))
    }

    /// Returns the prices, and what is wrong with the table that is configured.
    fn prices(&self) -> (Prices, Option<String>) {
        match Prices::configured(self.repo, None) {
            Ok(prices) => (prices, None),
            Err(error) => (Prices::listed(), Some(error.to_string())),
        }
    }

    /// Finds the commit that an address names: by an id or the beginning of one, as HEAD, or by a branch or tag.
    fn commit_id(&self, revision: &str) -> Result<ObjectId> {
        if let Some(commit_id) = self.named(revision) {
            return Ok(commit_id);
        }
        let is_id = (4..=64).contains(&revision.len()) && revision.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id && revision != "HEAD" {
            return Err(Error::new(Kind::Missing, "this is neither the id of a commit nor a branch or tag"));
        }
        match revision == "HEAD" && self.repo.head()?.commit_id.is_none() {
            true => Err(Error::new(Kind::Missing, "there are no commits yet")),
            false => self.repo.resolve(revision),
        }
    }

    /// Finds the commit of a branch or tag. What else is a revision in Git is none here: some of it takes a long time.
    pub fn named(&self, name: &str) -> Option<ObjectId> {
        let kinds = ["refs/heads/", "refs/tags/", "refs/remotes/"];
        kinds.iter().find_map(|kind| Some(self.repo.tip(&format!("{kind}{name}")).ok()??.commit_id))
    }

    /// Reads a commit, without secrets.
    fn commit(&self, commit_id: ObjectId) -> Result<Commit> {
        read_commit(&self.reader, commit_id, &self.redactor)
    }

    /// Returns text without secrets.
    fn clean(&self, text: &str) -> String {
        clean(&self.redactor, text)
    }

    /// Returns problems without secrets, as a page shows them: some have names of people, models or branches in them.
    fn told<'p>(&self, problems: impl IntoIterator<Item = &'p String>) -> Vec<String> {
        problems.into_iter().map(|problem| self.clean(problem)).collect()
    }

    /// Writes the page of the wanted conversations; `nothing` is the message if there are none of a session. A commit without
    /// one has a page, too: other pages lead to it.
    fn write(&self, out: &mut dyn Write, wanted: Wanted, nothing: &str) -> Result<()> {
        let only = wanted.session.is_none().then_some(wanted.commit_id);
        let mut plan = Selection::of(&self.reader, vec![wanted], None, false, &self.redactor)?;
        if let Some(commit_id) = only.filter(|_| plan.is_empty()) {
            plan.observed.push(Rc::new(self.commit(commit_id)?));
        }
        if plan.is_empty() {
            return Err(Error::new(Kind::Missing, nothing));
        }
        let all: Vec<usize> = (0..plan.sessions.len()).collect();
        let mut pages = Pages::new(&self.reader, &self.redactor, &plan, self.shape.clone(), true);
        let title = plan.title(&all, &plan.observed);
        let contents = PageContents { sessions: &all, observed: &plan.observed, title: &title, up: None };
        pages.write(out, contents).map(drop)
    }
}

/// Returns the page of the newest commits with a conversation.
pub fn overview(visit: &Visit<'_>, name: &str) -> Result<Vec<u8>> {
    let query = Query { max_count: Some(NEWEST + 1), ..visit.query()? };
    let (mut entries, problems) = visit.entries(&query)?;
    let has_more = entries.len() > NEWEST;
    entries.truncate(NEWEST);
    let (filters, branches) = (Filters::default(), visit.branch_names()?);
    let around = [None, has_more.then(|| "/commits".to_owned())];
    let list = Listing { entries: &entries, filters: &filters, branches: &branches, problems: &problems, around };
    Ok(overview_page(&visit.clean(name), &list, &visit.shape).into_bytes())
}

/// Returns the page of the commits that a form chooses.
pub fn commits(visit: &Visit<'_>, values: &Values) -> Result<Vec<u8>> {
    let own = |name: &str| values.get(name).to_owned();
    let filters = Filters {
        agent: own("agent"),
        model: own("model"),
        author: own("author"),
        grep: own("grep"),
        path: own("path"),
        branch: own("branch"),
        since: own("since"),
        until: own("until"),
    };
    let skip = values.number("skip");
    let (mut entries, mut problems) = match chosen(visit, &filters) {
        Ok(query) => visit.entries(&Query { skip, max_count: Some(PAGE + 1), ..query })?,
        // What was typed can be mended on the page.
        Err(error) if matches!(error.kind(), Kind::Usage | Kind::Other) => (Vec::new(), vec![error.to_string()]),
        Err(error) => return Err(error),
    };
    let address = |skip: usize| {
        let number = skip.to_string();
        let number = if skip == 0 { "" } else { &number };
        html::address::with("/commits", &[&filters.values()[..], &[("skip", number)]].concat())
    };
    let newer = (skip > 0).then(|| address(skip.saturating_sub(PAGE)));
    let older = (entries.len() > PAGE).then(|| address(skip.saturating_add(PAGE)));
    entries.truncate(PAGE);
    problems.dedup();
    let branches = visit.branch_names()?;
    let list = Listing {
        entries: &entries,
        filters: &filters,
        branches: &branches,
        problems: &problems,
        around: [newer, older],
    };
    Ok(commits_page(&list, &visit.shape).into_bytes())
}

/// Returns the commits that a form chooses, as `git shiftlog log` chooses them by its options.
fn chosen(visit: &Visit<'_>, filters: &Filters) -> Result<Query> {
    let given = |value: &String| Some(value.clone()).filter(|value| !value.is_empty());
    let date = |value: &String| given(value).map(|date| visit.repo.parse_date(&date)).transpose();
    let pattern = |value: &String| match given(value) {
        Some(text) => regex::bytes::RegexBuilder::new(&text)
            .unicode(false)
            .build()
            .map(Some)
            .map_err(|_| Error::new(Kind::Usage, format!("'{text}' is not a regular expression"))),
        None => Ok(None),
    };
    let mut query = visit.query()?;
    if let Some(name) = given(&filters.branch) {
        // The form has the names as they are shown.
        let is_named = |branch: &Branch| branch.name == name || visit.clean(&branch.name) == name;
        let branch = visit.repo.branches(true, false)?.into_iter().find(is_named);
        let missing = || Error::new(Kind::Usage, format!("there is no local branch '{name}'"));
        query.range.tips = vec![branch.ok_or_else(missing)?.commit_id];
    }
    if let Some(path) = given(&filters.path) {
        if path.contains('\0') {
            return Err(Error::new(Kind::Usage, "a path has no NUL"));
        }
        // As it stands, without the magic of pathspecs, from the top.
        let specs = vec![format!(":(top,literal){path}").into()];
        query.paths = Some(Paths { specs, directory: visit.server.directory.clone() });
    }
    Ok(Query {
        since: date(&filters.since)?,
        until: date(&filters.until)?,
        author: pattern(&filters.author)?,
        grep: pattern(&filters.grep)?,
        agent: given(&filters.agent),
        model: given(&filters.model),
        ..query
    })
}

/// Writes the page of a commit with its conversations, or with that of one session.
pub fn commit(visit: &Visit<'_>, revision: &str, of: Option<(&str, &str)>, out: &mut dyn Write) -> Result<()> {
    let commit_id = visit.commit_id(revision)?;
    let session = of.map(|(agent, id)| visit.key(agent, id)).transpose()?;
    visit.write(out, Wanted { commit_id, session, is_whole: false }, "no conversation recorded for this commit")
}

/// Writes the page of a whole session, up to its last commit.
pub fn session(visit: &Visit<'_>, agent: &str, id: &str, out: &mut dyn Write) -> Result<()> {
    let nothing = "no commit has this session";
    let key = visit.key(agent, id)?;
    let found = visit.reader.find_session(&key.to_string())?.filter(|(found, _)| *found == key);
    let (key, commit_id) = found.ok_or_else(|| Error::new(Kind::Missing, nothing))?;
    visit.write(out, Wanted { commit_id, session: Some(key), is_whole: true }, nothing)
}

/// Returns the transcript of a session up to its last commit, as `git shiftlog show --raw --full` prints it, without
/// secrets.
pub fn raw(visit: &Visit<'_>, agent: &str, id: &str) -> Result<Vec<u8>> {
    let nothing = || Error::new(Kind::Missing, "the words of this session are not here");
    let key = visit.key(agent, id)?;
    let found = visit.reader.find_session(&key.to_string())?.filter(|(found, _)| *found == key);
    let (_, commit_id) = found.ok_or_else(nothing)?;
    let note = visit.reader.note(commit_id)?.ok_or_else(nothing)?;
    let mut bytes = Vec::new();
    visit.reader.each_conversation(&note, Some(&key.id), true, Words::All, |conversation| {
        if conversation.summary.key == key && bytes.is_empty() {
            let own = agent::find(&key.agent)
                .map_or(conversation.bytes.as_slice().into(), |own| own.native(&conversation.bytes));
            bytes = visit.redactor.redact(&own).0.into_owned();
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if bytes.is_empty() { Err(nothing()) } else { Ok(bytes) }
}

/// Returns the page about the repository: the refs that are read, and the sessions whose words are missing.
pub fn about(visit: &Visit<'_>) -> Result<Vec<u8>> {
    let (repo, reader) = (visit.repo, &visit.reader);
    let setting = |name: &str, default: &str| repo.config_string(name).unwrap_or_else(|| default.to_owned());
    let (major, minor) = git::version();
    let facts = vec![
        ("git-shiftlog", env!("CARGO_PKG_VERSION").to_owned()),
        ("Git", format!("{major}.{minor}")),
        ("Repository", visit.clean(&repo.worktree().unwrap_or(repo.git_dir()).to_string_lossy())),
        ("Shared with git push", setting("shiftlog.push", "none")),
        ("Prices of", visit.prices().0.date().to_owned()),
    ];
    let mut refs = Vec::new();
    for name in reader.refs() {
        refs.push((visit.clean(name), notes::list(repo, name)?.len()));
    }
    let (mut here, mut absent) = (HashSet::new(), HashSet::new());
    for blob_ids in reader.noted()?.into_values() {
        let Ok(note) = reader.note_of_blobs(&blob_ids) else { continue };
        for summary in note.summaries().into_iter().filter(|summary| !summary.is_removed) {
            let through = summary.through.as_deref().and_then(|id| repo.parse_id(id));
            let has_words = through.is_none_or(|id| repo.has_object(id));
            if has_words {
                here.insert(summary.key)
            } else {
                absent.insert(summary.key)
            };
        }
    }
    let sessions = (here.len(), absent.difference(&here).count());
    let about = About { facts, refs, sessions, problems: visit.told(reader.problems()) };
    Ok(html::about_page(&about, &visit.shape).into_bytes())
}

/// Returns the page of a file of a commit, with the turn behind each line.
pub fn file(visit: &Visit<'_>, revision: &str, path: &str) -> Result<Vec<u8>> {
    let commit_id = visit.commit_id(revision)?;
    let repo = visit.repo;
    let blob_id = repo.blob_at(commit_id, path.into())?;
    let blob_id = blob_id.ok_or_else(|| Error::new(Kind::Missing, "the commit has no such file"))?;
    let bytes = repo.read_blob(blob_id, MAX_FILE_BYTES)?;
    if bytes.contains(&0) {
        return Err(Error::new(Kind::Missing, "the file has no lines: it is binary"));
    }
    let redactor = redaction::redactor(repo)?;
    let mut explainer = Explainer::new(&visit.reader, None, Some(redactor));
    let request = BlameRequest {
        options: vec!["-w".into()],
        revision: Some(commit_id),
        path: path.into(),
        ..BlameRequest::default()
    };
    // Redaction leaves lines where they are.
    let text = clean(&visit.redactor, &bytes.to_str_lossy());
    let texts: Vec<&str> = text.lines().collect();
    let (mut explained, mut commits) = (Vec::new(), HashMap::new());
    for mut lines in repo.blame_through_ignored(request)? {
        if lines.is_first {
            commits.insert(lines.commit.commit_id, visit.commit(lines.commit.commit_id)?);
        }
        let found = explainer.explain(&lines)?;
        lines.texts = texts.iter().skip(lines.final_line - 1).take(lines.count).map(|text| (*text).into()).collect();
        explained.push((lines, found));
    }
    let commit = visit.commit(commit_id)?;
    let problems = visit.told(explainer.problems());
    let shown = |key: &SessionKey| clean_key(&visit.redactor, key);
    let page = file_page(&visit.clean(path), &commit, (&explained, &shown), &commits, &problems, &visit.shape);
    Ok(page.into_bytes())
}

/// Returns the page of a search: the turns that have some words.
pub fn search(visit: &Visit<'_>, query: &str) -> Result<Vec<u8>> {
    let mut problems = Vec::new();
    let (mut plan, mut hits) = (find::Increments::default(), Vec::new());
    if !query.is_empty() {
        match Terms::new(&find::words_of(query), &[], Case::Smart, 1.0) {
            Ok(terms) => {
                plan = find::Increments::new(&visit.reader, &visit.query()?, false)?;
                let limits = Limits { deadline: Some(Instant::now() + SEARCH_TIME), ..Limits::default() };
                let wanted = SearchOptions { max_count: HITS, limits, now: Time::now().seconds };
                let found = find::search(&visit.reader, &plan, &terms, wanted, &|| Ok(()))?;
                let left = plan.sessions.len() - found.searched;
                if left > 0 {
                    problems.push(format!("the search took too long; {left} older sessions were not searched"));
                }
                let (missing, others): (Vec<Error>, Vec<Error>) =
                    found.problems.into_iter().partition(|problem| problem.kind() == Kind::Missing);
                if !missing.is_empty() {
                    problems.push(format!("words of {} are not here", count(missing.len() as u64, "record")));
                }
                let mut others: Vec<String> = others.iter().map(ToString::to_string).collect();
                others.sort();
                others.dedup();
                problems.extend(others);
                hits = found.hits;
            }
            Err(error) => problems.push(error.to_string()),
        }
        plan.commits.iter_mut().for_each(|commit| clean_commit(&visit.redactor, commit));
        plan.sessions.iter_mut().for_each(|session| session.key = clean_key(&visit.redactor, &session.key));
        problems.extend_from_slice(&plan.problems);
    }
    let problems = visit.told(&problems);
    let searched = Searched { query, plan: &plan, hits: &hits, problems: &problems };
    Ok(search_page(&searched, &visit.shape).into_bytes())
}

/// Returns the page of the local branches with the number of their conversations.
pub fn branches(visit: &Visit<'_>) -> Result<Vec<u8>> {
    let summaries = visit.reader.branches(visit.repo.branches(true, false)?, None)?;
    let mut names = visit.repo.names();
    let named = summaries.into_iter().map(|mut summary| {
        summary.branch.name = visit.clean(&summary.branch.name);
        let name = names.shorten(summary.branch.commit_id);
        (summary, name)
    });
    let branches: Vec<_> = named.collect();
    Ok(branches_page(&branches, &visit.told(visit.reader.problems()), &visit.shape).into_bytes())
}

/// Returns the page of the tokens and costs of recorded work.
pub fn stats(visit: &Visit<'_>, values: &Values) -> Result<Vec<u8>> {
    let by = Some(values.get("by")).filter(|by| !by.is_empty()).unwrap_or("agent,model");
    let keys = by.split(',').map(|name| name.trim().parse::<Key>());
    let keys: Vec<Key> = keys
        .collect::<Result<_, _>>()
        .map_err(|known| Error::new(Kind::Usage, format!("'{by}' has a key that is none of {known}")))?;
    let query = visit.query()?;
    let (prices, unread) = visit.prices();
    let found = stats::collect(&visit.reader, &query)?;
    let mut counted = stats::counted(&visit.reader, &query, &found, &keys, &prices)?;
    counted.clean(&keys, &visit.redactor);
    let of = Statistics { counted: &counted, keys: &keys, prices: Some(&prices) };
    let mut short = visit.repo.names();
    let mut name = |(key, value): (&Key, &String)| match visit.repo.parse_id(value).filter(|_| *key == Key::Commit) {
        Some(id) => short.shorten(id),
        None => value.clone(),
    };
    let named = counted.groups.iter().map(|group| keys.iter().zip(&group.values).map(&mut name).collect());
    let names: Vec<Vec<String>> = named.collect();
    let problems = [unread.as_slice(), &found.problems, visit.reader.problems(), &found.uncounted.warnings()].concat();
    Ok(stats_page(of, &names, by, &visit.told(&problems), &visit.shape).into_bytes())
}
