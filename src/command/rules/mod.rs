//! `git shiftlog rules`: rules and skills for agents, kept in one store.

mod ask;
mod begin;
mod tell;
mod told;

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{self, Json, Outcome, Printing};
use crate::error::{Error, Kind, Result};
use crate::git::date::Time;
use crate::git::private;
use crate::managed::disk;
use crate::rules::{self, NewRule, Place, Report, Targets, Work};

/// Keep rules and skills for agents, and write them to their files
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-rules", override_usage = "git shiftlog rules [<options>] <command> [<argument>...]")]
pub struct Options {
    /// Print what would be done, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Show the changes of texts as a diff
    #[arg(long, conflicts_with = "json")]
    diff: bool,
    /// Name each file
    #[arg(short = 'v', long)]
    verbose: bool,
    #[command(flatten)]
    json: Json,
    #[command(flatten)]
    printing: Printing,
    /// Limit the command to this agent
    #[arg(long, value_name = "agent")]
    only: Option<String>,
    /// Do not ask; take the answer that is proposed
    #[arg(short = 'y', long)]
    yes: bool,
    /// Replace generated files that were changed since (a backup is kept)
    #[arg(long, conflicts_with = "adopt")]
    force: bool,
    /// Take such changes into the rules
    #[arg(long)]
    adopt: bool,
    /// Write to where symbolic links lead
    #[arg(long)]
    follow: bool,
    /// Use this directory instead of $HOME
    #[arg(long, value_name = "directory")]
    home: Option<PathBuf>,
    /// Use the store of the home or of the repository (home or repo)
    #[arg(long, value_name = "scope", default_value = "home", hide_default_value = true)]
    scope: Scope,
    /// With init, write to the places of this profile (current or ai-sync)
    #[arg(long, value_name = "profile")]
    profile: Option<Profile>,
    /// Describe the new rule
    #[arg(long, value_name = "text", default_value = "", hide_default_value = true)]
    description: String,
    /// Let agents read the new rule only where it fits
    #[arg(long)]
    no_always_apply: bool,
    /// Take the text of the new rule from this file, or from standard input with '-'
    #[arg(long, value_name = "file")]
    file: Option<PathBuf>,
    /// Keep the new rule from these agents
    #[arg(long, value_name = "agents", default_value = "", hide_default_value = true)]
    exclude: String,
    /// List archived skills
    #[arg(long)]
    list: bool,
    /// status, sync, check, diff, init, import, add-rule, remove-rule, set, reconfigure, clean, show, archive-skill or
    /// restore-skill
    #[arg(value_name = "command")]
    command: String,
    /// Its arguments
    #[arg(value_name = "argument")]
    arguments: Vec<String>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Profile {
    Current,
    AiSync,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Scope {
    Home,
    Repo,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| match options.told().unwrap_or_else(|| options.run()) {
        Err(error) if options.is_about_commits() => Err(error),
        Err(error) if !matches!(error.kind(), Kind::Usage | Kind::ReaderGone) => {
            cli::error(&error);
            Ok(Outcome::No)
        }
        outcome => outcome,
    })
}

impl Options {
    /// Says whether the command is about what agents were told at commits.
    fn is_about_commits(&self) -> bool {
        self.command == "show" || self.command == "diff" && !self.arguments.is_empty()
    }

    /// Runs the commands about what agents were told at commits; `None` for all others.
    fn told(&self) -> Option<Result<Outcome>> {
        if !self.is_about_commits() {
            return None;
        }
        let words: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let usage = |problem: &str| Err(Error::new(Kind::Usage, problem).hint("git shiftlog rules -h"));
        Some(match (self.command.as_str(), words.as_slice()) {
            ("show", [] | [_]) => {
                let revision = words.first().copied().unwrap_or("HEAD");
                cli::repository().and_then(|repo| told::show(&repo, &self.printing, self.json.is_on, revision))
            }
            ("diff", [old, new]) => {
                cli::repository().and_then(|repo| told::diff(&repo, &self.printing, self.json.is_on, [old, new]))
            }
            ("diff", _) => usage("two revisions are needed"),
            _ => usage("'show' takes one revision"),
        })
    }

    fn run(&self) -> Result<Outcome> {
        let words: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let work = self.work(self.dry_run)?;
        let had_store = work.place.manifest().exists();
        // These look at the home before they take the lock.
        let looks_first = matches!(self.command.as_str(), "clean" | "init" | "import" | "reconfigure");
        let has_finished = !self.dry_run && looks_first && work.recover()?;
        match (self.command.as_str(), words.as_slice()) {
            ("status", []) => tell::status(self, &work),
            ("sync", []) => self.done(&work, &work.sync()?, true),
            ("check", []) => tell::check(self, &work),
            ("diff", []) => tell::diff(self, &self.preview()?),
            // The interrupted command was `init`, and is finished now.
            ("init", []) if has_finished && !had_store && work.place.manifest().exists() => {
                self.done(&work, &work.sync()?, true)
            }
            ("init", []) => begin::init(self, &work),
            ("import", []) => begin::import(self, &work),
            ("add-rule", [id]) => {
                let report = work.add_rule(&self.new_rule(id)?)?;
                self.done(&work, &report, true)
            }
            ("remove-rule", [id]) => self.done(&work, &work.remove_rule(id)?, true),
            ("set", [key, value]) => self.done(&work, &work.set(key, value)?, false),
            ("reconfigure", []) => begin::reconfigure(self, &work),
            ("clean", []) => self.clean(&work),
            ("archive-skill", []) if self.list => tell::archived(self, &work),
            ("archive-skill", [_, ..]) => self.done(&work, &work.archive_skills(&self.arguments)?, true),
            ("restore-skill", [_, ..]) => self.done(&work, &work.restore_skills(&self.arguments)?, true),
            (command, _) => Err(wrong_words(command)),
        }
    }

    /// Returns the profile that a new store is to have, if one was given.
    fn profile(&self) -> Option<&'static str> {
        self.profile.map(|profile| match profile {
            Profile::Current => "current",
            Profile::AiSync => "ai-sync",
        })
    }

    /// Begins work on the store that is meant.
    fn work(&self, is_dry_run: bool) -> Result<Work> {
        Work::new(
            self.place()?,
            rules::Options {
                only: self.only.clone(),
                is_forced: self.force,
                adopts: self.adopt,
                follows: self.follow,
                is_dry_run,
                now: Time::now(),
            },
        )
    }

    fn place(&self) -> Result<Place> {
        let home = match &self.home {
            Some(home) => cli::current_directory()?.join(home),
            None => std::env::var_os("HOME").map(PathBuf::from).ok_or_else(|| Error::other("HOME is not set"))?,
        };
        match self.scope {
            Scope::Home => Place::of_home(&home),
            Scope::Repo => {
                let repo = cli::repository()?;
                let top = repo.worktree().ok_or_else(|| Error::other("a bare repository has no rules of its own"))?;
                let mut place = Place::of_repository(top, repo.git_dir(), &home)?;
                place.shares_home = repo.config_bool("shiftlog.rulesIncludeHome") == Some(true);
                Ok(place)
            }
        }
    }

    /// Returns what a sync that replaces everything would do.
    fn preview(&self) -> Result<Report> {
        let mut options = rules::Options::at(Time::now());
        (options.only, options.is_forced, options.follows) = (self.only.clone(), true, self.follow);
        Work::new(self.place()?, options)?.preview()
    }

    fn new_rule(&self, id: &str) -> Result<NewRule> {
        let read = |path: &PathBuf| {
            let fail = |error| Error::io("read", path, error);
            let bytes = match path == Path::new("-") {
                true => {
                    let (mut bytes, most) = (Vec::new(), disk::MAX_FILE_BYTES);
                    std::io::stdin().lock().take(most + 1).read_to_end(&mut bytes).map_err(fail)?;
                    if bytes.len() as u64 > most {
                        return Err(fail(std::io::ErrorKind::FileTooLarge.into()));
                    }
                    if bytes.is_empty() {
                        return Err(Error::other("standard input is empty").hint("without --file, the rule is a draft"));
                    }
                    bytes
                }
                false => private::read(path, disk::MAX_FILE_BYTES).map_err(fail)?,
            };
            String::from_utf8(bytes).map_err(|_| Error::other(format!("'{}' is not UTF-8", path.display())))
        };
        Ok(NewRule {
            id: id.to_owned(),
            description: self.description.clone(),
            text: self.file.as_ref().map(read).transpose()?,
            is_always_applied: !self.no_always_apply,
            exclude: rules::words(&self.exclude),
        })
    }

    /// Lists what would go and what comes back, asks, and cleans.
    fn clean(&self, work: &Work) -> Result<Outcome> {
        let planned = self.work(true)?.clean()?;
        if planned.changes.is_empty() && planned.drift.is_empty() {
            if !self.dry_run && work.has_registry() {
                // Directories that could not go before may be empty now.
                work.clean()?;
            }
            if self.json.is_on {
                return self.done(work, &planned, false);
            }
            return tell::nothing_to_clean(&planned);
        }
        if self.dry_run || !planned.drift.is_empty() {
            return self.done(work, &planned, false);
        }
        if !self.yes && !self.json.is_on {
            let lines: String = planned.lines(&work.place).iter().map(|line| format!("{line}\n")).collect();
            cli::print(&lines)?;
            if !ask::agrees("Remove what is generated, and restore what was there?")? {
                return Ok(Outcome::No);
            }
        }
        self.done(work, &work.clean()?, false)
    }

    /// Tells what was done.
    fn done(&self, work: &Work, report: &Report, is_sync: bool) -> Result<Outcome> {
        tell::report(self, work, report, is_sync)
    }
}

/// Returns the error for words that are no command, or not its arguments.
fn wrong_words(command: &str) -> Error {
    let arguments = match command {
        "add-rule" | "remove-rule" => "one rule",
        "set" => "a key and a value",
        "archive-skill" | "restore-skill" => "names of skills",
        "status" | "sync" | "check" | "diff" | "init" | "import" | "reconfigure" | "clean" => "no arguments",
        _ => {
            let known = "status, sync, check, diff, init, import, add-rule, remove-rule, set, reconfigure, clean, show, \
                         archive-skill, restore-skill";
            return Error::new(Kind::Usage, format!("unknown command '{command}'")).hint(format!("commands: {known}"));
        }
    };
    Error::new(Kind::Usage, format!("'{command}' takes {arguments}"))
}

/// Returns targets with all three chosen.
fn all_targets([instructions, rules, skills]: [Vec<String>; 3]) -> Targets {
    Targets { instructions: Some(instructions), rules: Some(rules), skills: Some(skills) }
}
