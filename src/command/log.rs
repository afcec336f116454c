//! `git shiftlog log`: the commits that have a conversation or evidence, newest first.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::process::ExitCode;

use bstr::ByteSlice as _;
use clap::Parser;

use super::change::{self, Change};
use super::chosen::{Chosen, Problems};
use crate::agent;
use crate::cli::{self, Json, Outcome, Printing, Screen};
use crate::error::{Error, Kind, Result};
use crate::find::{
    self, Increments, Limits, LineSearch, Pattern, PatternOptions, PlannedIncrement, Worker, matches_of,
};
use crate::git::{ChangeOptions, GraphNode, GraphOptions, Names, ObjectId, PrintOptions, Repository, date};
use crate::notes;
use crate::outside;
use crate::pretty::{self, Format, Rows};
use crate::record::{self, Listed, Query, Reader, Summary, tombstone};

/// The length of the longest mark in parentheses that the graph does not cut.
const MAX_MARK: usize = 24;

/// List commits that have a conversation
#[derive(Debug, Parser)]
#[command(
    name = "git-shiftlog-log",
    override_usage = "git shiftlog log [<options>] [<revision-range>] [[--] <path>...]"
)]
pub struct Options {
    /// List at most this many commits
    #[arg(short = 'n', long, value_name = "number", value_parser = cli::limit, allow_negative_numbers = true)]
    max_count: Option<usize>,
    /// Leave out this many commits at the beginning
    #[arg(long, value_name = "number", default_value_t = 0, hide_default_value = true)]
    skip: usize,
    #[command(flatten)]
    chosen: Chosen,
    /// List commits whose conversation has this string
    #[arg(short = 'S', value_name = "string")]
    string: Option<String>,
    /// List commits whose conversation has a line that matches a pattern
    #[arg(short = 'G', value_name = "pattern", conflicts_with = "string")]
    pattern: Option<String>,
    /// List commits at which an agent was told something else than before
    #[arg(long)]
    rules_changed: bool,
    /// List the chosen commits in reverse order
    #[arg(long)]
    reverse: bool,
    /// Draw how the commits follow each other
    #[arg(long, conflicts_with_all = ["reverse", "json", "porcelain", "nul"])]
    graph: bool,
    #[command(flatten)]
    change: Change,
    /// Print the abbreviated id and the subject
    #[arg(long, overrides_with = "format", conflicts_with = "json")]
    oneline: bool,
    /// With --oneline and Git's formats, print the names of refs (short, full, auto or no)
    #[arg(long, value_name = "how", require_equals = true, num_args = 0..=1, default_missing_value = "short",
          value_parser = ["short", "full", "auto", "no"], overrides_with = "no_decorate")]
    decorate: Option<String>,
    /// Print no names of refs
    #[arg(long, overrides_with = "decorate")]
    no_decorate: bool,
    /// Abbreviate ids to at least this many digits
    #[arg(long, value_name = "digits", require_equals = true, num_args = 0..=1, overrides_with = "no_abbrev",
          value_parser = clap::value_parser!(u16))]
    abbrev: Option<Option<u16>>,
    /// Show ids in full
    #[arg(long, overrides_with = "abbrev")]
    no_abbrev: bool,
    /// In Git's formats, abbreviate the id of the commit, too
    #[arg(long, overrides_with = "no_abbrev_commit")]
    abbrev_commit: bool,
    /// With --oneline and in Git's formats, show the id of the commit in full
    #[arg(long, overrides_with = "abbrev_commit")]
    no_abbrev_commit: bool,
    /// Print each commit in this format
    #[arg(long, visible_alias = "pretty", value_name = "format", overrides_with = "oneline", conflicts_with = "json")]
    format: Option<String>,
    #[command(flatten)]
    json: Json,
    /// Print a stable format for scripts
    #[arg(long, value_name = "version", require_equals = true, num_args = 0..=1, default_missing_value = "v1",
          value_parser = ["v1"], conflicts_with_all = ["format", "oneline", "stat", "patch", "json"])]
    porcelain: Option<String>,
    #[command(flatten)]
    printing: Printing,
    /// Revisions and paths
    #[arg(value_name = "revision-range")]
    words: Vec<OsString>,
}

/// How a commit is printed.
enum Voice {
    Human,
    Format(Format),
    Porcelain,
    Json,
}

/// How many commits are printed at once at first, so that a short list comes at once, and then: a format of Git costs a
/// process each time.
const BATCHES: [usize; 2] = [64, 1024];

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let repo = crate::command::open::repository(options.printing.source())?;
        if let Some(option) = options.change.name().filter(|_| options.printing.end() == '\0') {
            let message = format!("options '-z' and '{option}' cannot be used together");
            return Err(Error::new(Kind::Usage, message));
        }
        if let Some(option) = options.change.name().filter(|_| options.graph) {
            let error = Error::new(Kind::Usage, format!("options '--graph' and '{option}' cannot be used together"));
            return Err(error.hint(format!("'git shiftlog log {option}' prints the same commits without a graph")));
        }
        let reader = options.printing.reader(&repo);
        let mut query = options.chosen.query(&repo, &options.words)?;
        if options.graph {
            // '-n' takes the commits that stand on top of the graph, as 'git log --graph' does.
            query.walk_options.push("--topo-order");
        }
        let mut has_it = options.searched(&reader, &query)?;
        if options.rules_changed {
            let changed = reader.commits_with_changed_rules(&query)?;
            has_it = Some(has_it.map_or_else(|| changed.clone(), |has_it| &has_it & &changed));
        }
        if has_it.is_none() {
            (query.skip, query.max_count) = (options.skip, options.max_count);
            // The stable format has a line for each session.
            query.has_evidence = options.porcelain.is_none();
        }
        let voice = voice(&repo, &options)?;
        // One line a commit has no room for more than the day.
        let default = if options.format.is_none() { date::Format::SHORT } else { date::Format::default() };
        let dates = options.printing.dates(&repo, default)?;
        let screen = options.printing.priced_screen(&repo, dates);
        let rows = Rows::new(screen.columns);
        let pathspecs = query.paths.iter().flat_map(|paths| paths.specs.iter().cloned()).collect();
        let of_merges = query.walk_options.iter().copied().filter(|option| *option == "--first-parent").collect();
        let change = ChangeOptions { of_merges: Some(of_merges), ..options.change.options(&screen, pathspecs) };
        let names = repo.names_with(options.digits());
        let sources = match &voice {
            Voice::Format(format) if format.has_source() => options.chosen.sources(&repo, &options.words)?,
            _ => HashMap::new(),
        };
        let mut list =
            List { repo: &repo, options: &options, voice, sources, screen, rows, change, names, is_first: true };
        let mut outcome = Outcome::Done;
        let mut newer_notice = None;
        let mut has_listed = false;
        let is_whole = options.reverse || options.graph;
        let mut batch_size = BATCHES[0];
        let mut batch = Vec::new();
        let (mut skipped, mut listed_count) = (0, 0);
        reader.each(&query, |listed| {
            for problem in &listed.problems {
                cli::warning(problem);
                outcome = Outcome::No;
            }
            if listed.summaries.is_empty() && (listed.evidence.is_empty() || !query.takes_observed()) {
                return Ok(ControlFlow::Continue(()));
            }
            if let Some(has_it) = &has_it {
                if !has_it.contains(&listed.commit.commit_id) || skipped < options.skip {
                    skipped += usize::from(has_it.contains(&listed.commit.commit_id));
                    return Ok(ControlFlow::Continue(()));
                }
                if options.max_count.is_some_and(|max| listed_count >= max) {
                    return Ok(ControlFlow::Break(()));
                }
                listed_count += 1;
            }
            has_listed = true;
            newer_notice = newer_notice.take().or_else(|| listed.summaries.iter().find_map(Summary::newer_notice));
            if !is_whole && !matches!(list.voice, Voice::Format(_)) {
                list.print(&[listed])?;
                return Ok(ControlFlow::Continue(()));
            }
            batch.push(listed);
            if !is_whole && batch.len() == batch_size {
                list.print(&std::mem::take(&mut batch))?;
                batch_size = BATCHES[1];
            }
            Ok(ControlFlow::Continue(()))
        })?;
        if options.reverse {
            batch.reverse();
        }
        if options.graph { list.draw(&query, &batch) } else { list.print(&batch) }?;
        list.screen.out.finish()?;
        for problem in reader.problems() {
            cli::warning(problem);
            outcome = Outcome::No;
        }
        if let Some(notice) = newer_notice {
            cli::warning(&format!("some of these were {notice}"));
        }
        // If a ref was named, what it lacks was reported already.
        let is_plain = matches!(list.voice, Voice::Human)
            && options.words.is_empty()
            && !options.chosen.names_refs()
            && options.printing.source().name().is_none();
        if is_plain && !has_listed && reader.noted().is_ok_and(|noted| noted.is_empty()) {
            cli::hint(&repo, &nothing_yet(&repo, &record::notes_ref(&repo)));
        }
        if let Some(name) = options.chosen.agent.as_deref().filter(|name| !has_listed && agent::find(name).is_none()) {
            // A colleague may have described one that is not known here, so what is recorded counts first.
            return agent::named(name).map(|_| outcome);
        }
        Ok(outcome)
    })
}

impl Options {
    /// Returns how many digits of an id are wanted, if an option says that.
    fn digits(&self) -> Option<usize> {
        if self.no_abbrev { Some(usize::MAX) } else { self.abbrev.flatten().map(usize::from) }
    }

    /// Returns the commits of a query whose conversation has what `-S` or `-G` wants; `None` without these options.
    fn searched(&self, reader: &Reader<'_>, query: &Query) -> Result<Option<HashSet<ObjectId>>> {
        let Some(pattern) = self.string.as_ref().or(self.pattern.as_ref()) else { return Ok(None) };
        if pattern.is_empty() {
            let switch = if self.string.is_some() { 'S' } else { 'G' };
            return Err(Error::new(Kind::Usage, format!("switch `{switch}' requires a value")));
        }
        let is_fixed = self.string.is_some();
        let is_across_lines = is_fixed && pattern.contains('\n');
        let pattern_options = PatternOptions { is_fixed, is_across_lines, ..PatternOptions::default() };
        let wanted = LineSearch::new(Pattern::new(std::slice::from_ref(pattern), pattern_options)?);
        let plan = Increments::new(reader, query, true)?;
        let mut has_it = HashSet::new();
        let mut problems = Problems::default();
        let work = |worker: &mut Worker<'_>, _: usize, session: &PlannedIncrement| matches_of(worker, session, &wanted);
        let left_out = find::run(reader, &plan, Limits::default(), work, |number, found| {
            problems.add(found.problem);
            has_it.extend(plan.sessions[number].commit_id.filter(|_| !found.matches.is_empty()));
            Ok(ControlFlow::Continue(()))
        })?;
        problems.add(left_out);
        problems.tell(reader.repo());
        Ok(Some(has_it))
    }
}

/// Returns what to do where nothing is recorded at all.
fn nothing_yet(repo: &Repository, notes_ref: &str) -> String {
    let has_notes = |name: &String| name != notes_ref && notes::list(repo, name).is_ok_and(|notes| !notes.is_empty());
    if let Some(other) = repo.written_notes_refs().into_iter().find(has_notes) {
        return format!("nothing is recorded in '{notes_ref}'; '--ref={other}' reads what is in that ref");
    }
    without_other(repo).to_owned()
}

/// As [`nothing_yet`], if no notes ref of ours has anything.
fn without_other(repo: &Repository) -> &'static str {
    if repo.tip(tombstone::REF).is_ok_and(|tip| tip.is_some()) {
        return "nothing is recorded here; what was, 'git shiftlog purge' has removed";
    }
    match repo.remotes().is_empty() {
        true => "nothing is recorded here yet; 'git shiftlog doctor' says whether sessions will be",
        false => {
            "nothing is recorded here yet; 'git shiftlog sync pull' fetches what others share, 'git shiftlog doctor' says \
             whether your sessions will be recorded"
        }
    }
}

fn voice(repo: &Repository, options: &Options) -> Result<Voice> {
    Ok(match &options.format {
        Some(format) => Voice::Format(Format::named(format, |name| repo.config_string(&format!("pretty.{name}")))?),
        None if options.porcelain.is_some() => Voice::Porcelain,
        None if options.json.is_on => Voice::Json,
        None if options.oneline => Voice::Format(Format::oneline()),
        None => Voice::Human,
    })
}

/// What is printed, and how.
struct List<'a> {
    repo: &'a Repository,
    options: &'a Options,
    voice: Voice,
    /// The names by which commits were reached, if these are printed.
    sources: HashMap<ObjectId, String>,
    screen: Screen,
    rows: Rows,
    change: ChangeOptions,
    names: Names<'a>,
    is_first: bool,
}

impl List<'_> {
    /// Prints commits.
    fn print(&mut self, commits: &[Listed]) -> Result<()> {
        let mut end = [0; 1];
        let end = self.options.printing.end().encode_utf8(&mut end).as_bytes();
        let Voice::Format(format) = &self.voice else {
            return commits.iter().try_for_each(|listed| self.print_one(listed, end));
        };
        let texts = self.formatted(format, commits)?;
        let has_separator = format.has_separator();
        // As Git has it: nothing behind one line, else an empty line or dashes.
        let before = match format.is_oneline() || format.is_empty() {
            true => "",
            false if self.change.has_stat && self.change.has_patch => "---\n",
            false => "\n",
        };
        for (at, listed) in commits.iter().enumerate() {
            let is_first = std::mem::replace(&mut self.is_first, false);
            self.screen.write(|out, _| {
                let Some(text) = texts.get(at) else { return Ok(()) };
                if has_separator && !is_first {
                    out.write_all(end)?;
                }
                out.write_all(text)?;
                if has_separator { Ok(()) } else { out.write_all(end) }
            })?;
            change::print(&mut self.screen, self.repo, listed.commit.commit_id, &self.change, before)?;
        }
        Ok(())
    }

    fn print_one(&mut self, listed: &Listed, end: &[u8]) -> Result<()> {
        let mut abbreviate = || self.names.shorten(listed.commit.commit_id);
        self.screen.write(|out, style| match self.voice {
            Voice::Json => {
                write!(out, "{}", outside::json(&pretty::listed_object(listed))).and_then(|()| out.write_all(end))
            }
            Voice::Porcelain => pretty::write_porcelain(out, listed, end),
            Voice::Human | Voice::Format(_) => self.rows.write(out, listed, &abbreviate(), style, end),
        })?;
        change::print(&mut self.screen, self.repo, listed.commit.commit_id, &self.change, "")
    }

    /// Returns commits in a format: Git puts in what it knows of them, all at once.
    fn formatted(&self, format: &Format, commits: &[Listed]) -> Result<Vec<Vec<u8>>> {
        if commits.is_empty() || format.is_empty() {
            return Ok(Vec::new());
        }
        let style = &self.screen.style;
        let print_options = PrintOptions {
            format: format.git_option(),
            date: self.options.printing.date(),
            decorate: if self.options.no_decorate { Some("no") } else { self.options.decorate.as_deref() },
            digits: self.options.digits(),
            abbreviation: match (self.options.abbrev_commit, self.options.no_abbrev_commit) {
                (true, _) => Some("--abbrev-commit"),
                (_, true) => Some("--no-abbrev-commit"),
                _ => None,
            },
            is_colored: style.is_colored(),
            is_screen: self.screen.is_screen,
        };
        let ids: Vec<ObjectId> = commits.iter().map(|listed| listed.commit.commit_id).collect();
        let fields = format.git_fields();
        let printed = self.repo.printed(&ids, print_options, fields)?;
        let source = |listed: &Listed| self.sources.get(&listed.commit.commit_id).map_or("", String::as_str);
        let pairs = printed.chunks(fields).zip(commits);
        Ok(pairs.map(|(fields, listed)| format.expand(fields, listed, source(listed), style)).collect())
    }

    /// Prints a graph of commits.
    fn draw(&mut self, query: &Query, commits: &[Listed]) -> Result<()> {
        let (texts, has_separator) = match &self.voice {
            Voice::Format(format) => (self.formatted(format, commits)?, format.has_separator()),
            _ => {
                // Git's drawing takes two columns at least.
                let columns = self.screen.columns.map(|columns| columns.saturating_sub(2));
                let (mut rows, mut texts) = (Rows::new(columns), Vec::new());
                for listed in commits {
                    let abbreviated = self.names.shorten(listed.commit.commit_id);
                    let mut line = Vec::new();
                    rows.write(&mut line, listed, &abbreviated, &self.screen.style, b"\n").map_err(Error::output)?;
                    line.truncate(line.trim_ascii_end().len());
                    // The header above the first line is no part of the drawing.
                    if let Some((header, rest)) = line.split_once_str("\n") {
                        self.screen.write(|out, _| writeln!(out, "  {}", header.as_bstr()))?;
                        line = rest.to_vec();
                    }
                    texts.push(line);
                }
                (texts, false)
            }
        };
        let node = |(listed, text): (&Listed, Vec<u8>)| GraphNode {
            commit_id: listed.commit.commit_id,
            time: listed.commit.committer.time.seconds,
            text,
        };
        let nodes: Vec<GraphNode> = commits.iter().zip(texts).map(node).collect();
        let drawing = GraphOptions {
            walk_options: &query.walk_options,
            paths: query.paths.as_ref(),
            has_separator,
            is_colored: self.screen.style.is_colored(),
        };
        let graph = self.repo.graph(&query.range, &nodes, drawing)?;
        let columns = self.screen.columns.filter(|_| matches!(self.voice, Voice::Human));
        self.screen.write(|out, _| match columns {
            Some(columns) => graph.lines().try_for_each(|line| {
                let line = line.to_str_lossy();
                let line = line.trim_end();
                // Where a record came from stands at the end in parentheses.
                let mark = line.rfind(" (").filter(|at| line.ends_with(')') && line.len() - at <= MAX_MARK);
                writeln!(out, "{}", pretty::cut_before(line, mark.map_or("", |at| &line[at..]), columns))
            }),
            None => out.write_all(&graph),
        })
    }
}
