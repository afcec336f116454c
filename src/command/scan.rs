//! `git shiftlog scan`: the secrets in what is recorded already, or in a file.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use super::chosen::Problems;
use super::removal::{self, Refusal, RemovalRequest};
use crate::archive::{self, Archive};
use crate::cli::{self, Json, Outcome, Printing, Screen, Silent};
use crate::error::{Error, Kind, Result};
use crate::git::{Range, Repository, date};
use crate::record::{Query, Words, redaction};
use crate::redact::{Finding, RULES, Redactor, expand};
use crate::share::purge::Target;
use crate::told::{self, Told};
use crate::{evidence, outside};

/// Look for secrets in conversations
#[derive(Debug, Parser)]
#[command(
    name = "git-shiftlog-scan",
    override_usage = "git shiftlog scan [<options>] [<revision-range>] [[--] <file>...]"
)]
pub struct Options {
    /// Look at every segment of the archive, recorded on a commit or not
    #[arg(long)]
    archive: bool,
    /// Start from all local branches
    #[arg(long)]
    branches: bool,
    /// List the known kinds of secrets, and who issues them
    #[arg(long)]
    list_rules: bool,
    /// Remove what is found in conversations with 'git shiftlog purge --secrets'
    #[arg(long)]
    fix: bool,
    /// With --fix, do not ask
    #[arg(short = 'y', long)]
    yes: bool,
    /// With --fix, print what would be removed, and remove nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    json: Json,
    #[command(flatten)]
    quiet: Silent,
    #[command(flatten)]
    printing: Printing,
    /// Revisions and files
    #[arg(value_name = "revision-range")]
    words: Vec<OsString>,
}

/// Prints findings, never what was found.
struct Scanner<'a> {
    redactor: Redactor,
    options: &'a Options,
    screen: Screen,
    count: usize,
    /// How often each segment of an instruction file or of evidence may still be read: the notes of many commits name the
    /// same. With a wrong digest it cannot be read, and another note may have the right one.
    texts: HashMap<String, u8>,
    /// The records whose words could not be scanned.
    problems: Problems,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        if options.list_rules {
            return list_rules();
        }
        let repo = match cli::repository() {
            Err(error) if error.kind() == Kind::Missing && options.names_files_alone() => {
                let is_missing = |word: &OsString| !Path::new(word).exists();
                let may_be_revision = cli::split_at_dashes(&options.words).0.iter().any(is_missing);
                return options.scan_files().map_err(|error| match may_be_revision {
                    true => error.hint("outside a repository, only files are looked at"),
                    false => error,
                });
            }
            repo => repo?,
        };
        let screen = options.printing.screen(&repo, options.printing.dates(&repo, date::Format::default())?);
        let mut scanner = Scanner::new(redaction::scanner(&repo)?, &options, screen);
        let words = cli::split_words(&repo, &options.words)?;
        if options.archive && !words.revisions.is_empty() {
            return Err(Error::new(Kind::Usage, "'--archive' looks at every segment: it takes no revisions"));
        }
        for path in &words.paths {
            scanner.file(Path::new(path))?;
        }
        if options.archive {
            scanner.archive(&Archive::new(&repo))?;
        }
        let is_default = words.paths.is_empty() && !options.archive && !options.branches;
        if is_default || options.branches || !words.revisions.is_empty() {
            scanner.commits(&repo, &words.revisions)?;
        }
        let count = scanner.count;
        scanner.screen.out.finish()?;
        scanner.problems.tell(&repo);
        if options.fix && count > 0 {
            let finished = removal::finish_first(&repo, options.dry_run)?;
            let outcome = removal::remove(
                &repo,
                &RemovalRequest {
                    notes_ref: cli::full_notes_ref(&repo, None),
                    target: Target::Matches(redaction::scanner(&repo)?),
                    refusal: Refusal::OfEverything,
                    finished,
                    is_dry_run: options.dry_run,
                    is_confirmed: options.yes,
                    is_json: false,
                },
            )?;
            return Ok(if options.dry_run { Outcome::No } else { outcome });
        }
        Ok(if count > 0 { Outcome::No } else { Outcome::Done })
    })
}

impl Options {
    /// Says whether nothing but files can be meant outside a repository.
    fn names_files_alone(&self) -> bool {
        !(self.archive || self.branches || self.fix || self.words.is_empty())
    }

    /// Looks at files outside a repository.
    fn scan_files(&self) -> Result<Outcome> {
        let redactor = redaction::scanner_outside()?;
        let mut scanner = Scanner::new(redactor, self, Screen::plain());
        self.words.iter().try_for_each(|word| scanner.file(Path::new(word)))?;
        scanner.screen.out.finish()?;
        Ok(if scanner.count > 0 { Outcome::No } else { Outcome::Done })
    }
}

impl<'a> Scanner<'a> {
    fn new(redactor: Redactor, options: &'a Options, screen: Screen) -> Self {
        Scanner { redactor, options, screen, count: 0, texts: HashMap::new(), problems: Problems::default() }
    }

    fn commits(&mut self, repo: &Repository, revisions: &[String]) -> Result<()> {
        let mut range = Range::default();
        for revision in revisions {
            repo.add_to_range(&mut range, revision)?;
        }
        if self.options.branches {
            range.tips.extend(repo.branches(true, false)?.into_iter().map(|branch| branch.commit_id));
        } else if revisions.is_empty() {
            range.tips.push(repo.head()?.commit_id.ok_or_else(|| repo.no_commits())?);
        }
        let reader = self.options.printing.reader(repo);
        let mut names = repo.names();
        reader.each(&Query { range, has_evidence: true, ..Query::default() }, |listed| {
            let commit_id = listed.commit.commit_id;
            listed.problems.iter().for_each(|problem| cli::warning(problem));
            let Some(note) = reader.note(commit_id)? else { return Ok(ControlFlow::Continue(())) };
            let short = names.shorten(commit_id);
            for (_, finding) in self.redactor.scan(&note.without_packed()) {
                self.print(&[("commit", commit_id.to_string())], &format!("{short} note"), 1, &finding)?;
            }
            for file in note.records_of_all_versions().filter_map(|record| record.rules.as_ref()).flat_map(Told::files)
            {
                let Some(text) = self.unread(file.text.as_ref(), || told::text(&reader.archive(), &file)) else {
                    continue;
                };
                for (line, finding) in self.redactor.scan(&text) {
                    let fields = [("commit", commit_id.to_string()), ("rules", file.name())];
                    self.print(&fields, &format!("{short} {}", file.name()), line, &finding)?;
                }
            }
            for evidence in note.evidence() {
                let read = || evidence::stored_text(&reader.archive(), &evidence);
                let Some(text) = self.unread(evidence.blob.as_ref(), read) else { continue };
                for (line, finding) in self.redactor.scan(&text) {
                    let fields = [("commit", commit_id.to_string()), ("evidence", evidence.name.clone())];
                    self.print(&fields, &format!("{short} {}", evidence.name), line, &finding)?;
                }
            }
            reader.each_conversation(&note, None, false, Words::All, |conversation| {
                let key = conversation.summary.key.to_string();
                if !conversation.is_whole {
                    let kind = if conversation.lack.is_some() { Kind::Missing } else { Kind::Corrupt };
                    let why = conversation.problems.first().map(String::as_str).unwrap_or_default();
                    self.problems
                        .add(Some(Error::new(kind, format!("not all words of {key} on {short} are here: {why}"))));
                }
                for (line, finding) in self.redactor.scan(&conversation.bytes) {
                    let fields = [("commit", commit_id.to_string()), ("session", key.clone())];
                    self.print(&fields, &format!("{short} {key}"), line, &finding)?;
                }
                Ok(ControlFlow::Continue(()))
            })?;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Reads the text of a segment, unless it was looked at before or cannot be read.
    fn unread(&mut self, segment: Option<&String>, read: impl FnOnce() -> Result<Vec<u8>>) -> Option<Vec<u8>> {
        let tries = self.texts.entry(segment?.clone()).or_insert(4);
        *tries = tries.checked_sub(1)?;
        let text = read().ok()?;
        *tries = 0;
        Some(text)
    }

    fn archive(&mut self, archive: &Archive<'_>) -> Result<()> {
        for (_, segment_id) in archive.listing(archive::REF)? {
            let (header, body) = match archive.read(segment_id) {
                Ok(read) => read,
                Err(error) => {
                    cli::warning(&format!("segment {segment_id} is skipped: {error}"));
                    continue;
                }
            };
            let session = format!("{}/{}", header.agent, header.session);
            for (line, finding) in self.redactor.scan(&body) {
                let fields = [("segment", segment_id.to_string()), ("session", session.clone())];
                self.print(&fields, &format!("{} {session}", segment_id.to_hex_with_len(12)), line, &finding)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path) -> Result<()> {
        let text = std::fs::read(path).map_err(|error| Error::io("read", path, error))?;
        let name = path.display().to_string();
        for (line, finding) in self.redactor.scan(&text) {
            self.print(&[("file", name.clone())], &name, line, &finding)?;
        }
        Ok(())
    }

    fn print(&mut self, fields: &[(&str, String)], place: &str, line: usize, finding: &Finding) -> Result<()> {
        self.count += 1;
        if self.options.quiet.is_on {
            return Ok(());
        }
        let end = self.options.printing.end();
        if self.options.json.is_on {
            let mut object = serde_json::Map::new();
            object.insert("version".into(), 1.into());
            object.extend(fields.iter().map(|(name, value)| ((*name).to_owned(), value.as_str().into())));
            object.insert("line".into(), line.into());
            object.insert("rule".into(), (*finding.rule).into());
            let object = serde_json::Value::Object(object);
            return self.screen.write(|out, _| write!(out, "{}{end}", outside::json(&object)));
        }
        let place = outside::line(place);
        self.screen.write(|out, _| write!(out, "{place}:{line}: {}{end}", finding.rule))
    }
}

fn list_rules() -> Result<Outcome> {
    let mut text = String::new();
    let mut listed = HashSet::new();
    for rule in RULES.iter().filter(|rule| listed.insert((rule.name, rule.source))) {
        let example: String = expand(rule.example).split('\n').next().unwrap_or_default().chars().take(60).collect();
        text += &format!("{:24} {:22} {example}\n", rule.name, rule.source);
    }
    cli::print(&text)?;
    Ok(Outcome::Done)
}
