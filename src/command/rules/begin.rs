//! The commands that ask: `init`, `import`, `reconfigure`.

use std::io::IsTerminal as _;

use super::{Options, all_targets, ask, tell};
use crate::cli::{self, Outcome};
use crate::error::Result;
use crate::rules::{Choice, FoundRule, INSTRUCTION_TARGETS, RULE_TARGETS, Report, SKILL_TARGETS, Targets, Work};

/// Makes a store of what agents have.
pub fn init(options: &Options, work: &Work) -> Result<Outcome> {
    let there = work.agents_there();
    let Some(targets) = targets(options, &there)? else { return Ok(Outcome::No) };
    let mut choices = Choices::new(options);
    if !options.dry_run {
        // What it would do is shown first: folders of skills are moved.
        let (planned, _) =
            options.work(true)?.init(&targets, options.profile(), &mut |found, there| choices.ask(found, there))?;
        if choices.is_ended || !may_move(options, work, &planned)? {
            return Ok(Outcome::No);
        }
    }
    let mut choices = choices.again();
    let (report, told) = work.init(&targets, options.profile(), &mut |found, there| choices.ask(found, there))?;
    took_in(options, work, &report, &told)
}

/// Takes what agents have into the store.
pub fn import(options: &Options, work: &Work) -> Result<Outcome> {
    let mut choices = Choices::new(options);
    if !options.dry_run {
        let (planned, _) = options.work(true)?.import(&mut |found, there| choices.ask(found, there))?;
        if choices.is_ended || !may_move(options, work, &planned)? {
            return Ok(Outcome::No);
        }
    }
    let mut choices = choices.again();
    let (report, told) = work.import(&mut |found, there| choices.ask(found, there))?;
    took_in(options, work, &report, &told)
}

/// Chooses which agents get what.
pub fn reconfigure(options: &Options, work: &Work) -> Result<Outcome> {
    let value = work.overview()?.value;
    let names = |key: &str| -> Vec<String> {
        let entries = value["active_targets"][key].as_array().into_iter().flatten();
        entries.filter_map(|entry| entry.as_str().or_else(|| entry["name"].as_str()).map(str::to_owned)).collect()
    };
    let there = ["instructions", "rules", "skills"].map(names);
    let there = [&there[0], &there[1], &there[2]].map(|names| names.iter().map(String::as_str).collect());
    let Some(targets) = targets(options, &there)? else { return Ok(Outcome::No) };
    options.done(work, &work.reconfigure(&targets)?, true)
}

/// Says whether questions are asked: a plan needs no answers where nobody can give them.
fn is_asked(options: &Options) -> bool {
    !options.yes && (!options.dry_run || std::io::stdin().is_terminal())
}

/// Asks which agents get what; those that are there are proposed.
fn targets(options: &Options, there: &[Vec<&str>; 3]) -> Result<Option<Targets>> {
    let questions = [
        ("Which agents get instructions?", INSTRUCTION_TARGETS),
        ("Which agents get rules?", RULE_TARGETS),
        ("Which agents get skills?", SKILL_TARGETS),
    ];
    let mut chosen: [Vec<String>; 3] = Default::default();
    for (at, (question, items)) in questions.into_iter().enumerate() {
        let answer = match is_asked(options) {
            false => Some(there[at].iter().map(|name| (*name).to_owned()).collect()),
            true => ask::which(question, items, &there[at])?,
        };
        let Some(answer) = answer else { return Ok(None) };
        chosen[at] = answer;
    }
    Ok(Some(all_targets(chosen)))
}

/// Says which folders of skills are moved, and asks.
fn may_move(options: &Options, work: &Work, planned: &Report) -> Result<bool> {
    let moved: Vec<String> = planned
        .changes
        .iter()
        .filter(|change| change.action == "move")
        .map(|change| format!("  {}\n", work.place.shown(&change.path)))
        .collect();
    if moved.is_empty() || !planned.drift.is_empty() {
        return Ok(true);
    }
    if !options.json.is_on {
        cli::print(&format!(
            "These folders of skills become archived skills, and a backup is kept:\n{}",
            moved.concat()
        ))?;
    }
    if options.yes { Ok(true) } else { ask::agrees("Put the store's skills in their place?") }
}

fn took_in(options: &Options, work: &Work, report: &Report, told: &[String]) -> Result<Outcome> {
    if !options.json.is_on && report.drift.is_empty() {
        cli::print(&told.iter().map(|line| format!("{line}\n")).collect::<String>())?;
    }
    tell::report(options, work, report, true)
}

/// The answers about rules of one name, each of which is asked for once.
struct Choices {
    is_asked: bool,
    /// Whether the input has ended at a question.
    is_ended: bool,
    made: Vec<Answer>,
    given: Vec<Answer>,
}

/// An answer, with the two rules that it is about.
struct Answer {
    found: FoundRule,
    there: String,
    choice: Choice,
}

impl Choices {
    fn new(options: &Options) -> Self {
        let is_asked = is_asked(options);
        Choices { is_asked, is_ended: false, made: Vec::new(), given: Vec::new() }
    }

    /// Returns the same answers once more. What has appeared or was changed since is asked about.
    fn again(self) -> Self {
        Choices { made: Vec::new(), given: self.made, ..self }
    }

    fn ask(&mut self, found: &FoundRule, there: &str) -> Choice {
        let given = self.given.iter().find(|given| given.found == *found && given.there == there);
        let choice = match given {
            Some(given) => given.choice,
            None if self.is_asked && !self.is_ended => asked(found, there).unwrap_or_else(|| {
                self.is_ended = true;
                Choice::First
            }),
            None => Choice::First,
        };
        self.made.push(Answer { found: found.clone(), there: there.to_owned(), choice });
        choice
    }
}

/// Asks which of two rules stays; `None` at the end of input.
fn asked(found: &FoundRule, there: &str) -> Option<Choice> {
    let first = |text: &str| text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned();
    let question = format!(
        "There are two rules '{}', and they differ. Which stays?\n   the first: {}\n   of {}: {}",
        found.id,
        first(there),
        found.agent,
        first(&found.text)
    );
    let items = ["the first", "the second", "both"];
    let answer = ask::which(&question, &items, &["the first"]).ok().flatten()?;
    Some(match answer.first().map(String::as_str) {
        Some("the second") if answer.len() == 1 => Choice::Second,
        Some("both") => Choice::Both,
        Some(_) if answer.len() > 1 => Choice::Both,
        _ => Choice::First,
    })
}
