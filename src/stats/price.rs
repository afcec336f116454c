//! The table of list prices, and what tokens cost by it.
//!
//! Money is counted in whole millionths of a millionth of a dollar, so no sum is ever rounded.

mod update;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::io::Read as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;

pub use self::update::{Fetched, fetch};
use super::row::{Classes, Row};
use crate::error::{Error, Kind, Result};
use crate::git::date::Time;
use crate::git::{Repository, git, private};
use crate::record::Summary;
use crate::transcript::{ModelUsage, Tokens};

/// The table that comes with the program.
const BUILT_IN: &str = include_str!("prices.tsv");
/// The largest file of prices that is read.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// The longest name of a model that is looked for, in bytes. Those of a longer one would be many.
const MAX_NAME_BYTES: usize = 200;
/// Parts of a dollar in which costs are counted.
const DOLLAR: u128 = 1_000_000_000_000;

/// A sum of money.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Cost {
    /// In millionths of a millionth of a dollar.
    parts: u128,
    /// Whether something could not be priced, so that the real cost is at least this.
    pub is_at_least: bool,
}

impl Cost {
    /// Returns a cost that an agent tells, in billionths of a dollar.
    pub fn of_told(billionths: u64) -> Cost {
        Cost { parts: u128::from(billionths) * (DOLLAR / 1_000_000_000), is_at_least: false }
    }

    /// Returns the sum of both.
    #[must_use]
    pub fn plus(self, other: Cost) -> Cost {
        let parts = self.parts.saturating_add(other.parts);
        Cost { parts, is_at_least: self.is_at_least || other.is_at_least || parts == u128::MAX }
    }

    /// Returns the part of it from `start` to `end` if it has `whole` parts. Parts that follow each other add up to it.
    #[must_use]
    pub(super) fn between(self, start: u128, end: u128, whole: u128) -> Cost {
        let below = |bound: u128| self.parts / whole * bound + self.parts % whole * bound / whole;
        let parts = below(end) - below(start);
        // A part of nothing is not unknown because of another part.
        Cost { parts, is_at_least: self.is_at_least && (parts > 0 || self.parts == 0) }
    }

    /// Says whether nothing at all was priced.
    pub fn is_unknown(self) -> bool {
        self.parts == 0 && self.is_at_least
    }

    /// Says whether the dollars, rounded to cents, tell nothing: less than a cent of more is known.
    pub fn is_unknown_in_cents(self) -> bool {
        self.is_at_least && self.cents() == 0
    }

    fn cents(self) -> u128 {
        self.parts.saturating_add(DOLLAR / 200) / (DOLLAR / 100)
    }

    /// Returns the amount in a unit that orders costs, for sorting and charts.
    pub fn amount(self) -> u128 {
        self.parts
    }

    /// Returns the dollars as a decimal number that is not rounded, with two decimal places at least.
    pub fn exact(self) -> String {
        let part = format!("{:012}", self.parts % DOLLAR);
        let part = part.trim_end_matches('0');
        format!("{}.{part:0<2}", self.parts / DOLLAR)
    }

    /// Returns the dollars, rounded to cents: `703.10`, `at least 4.10`, or `unknown`, also for less than a cent of which more
    /// is unknown.
    pub fn rounded(self) -> String {
        if self.is_unknown_in_cents() {
            return "unknown".into();
        }
        let cents = self.cents();
        let bound = if self.is_at_least { "at least " } else { "" };
        format!("{bound}{}.{:02}", cents / 100, cents % 100)
    }
}

/// Tables of prices: the user's own, if there is one, and the list prices: those that come with the program, or newer ones
/// that the user has fetched.
#[derive(Clone, Debug)]
pub struct Prices {
    own: Vec<Row>,
    /// The text of the table of list prices.
    listed: Cow<'static, str>,
    /// The rows of each model, those of the user first. Made when first needed.
    rows: OnceCell<[HashMap<String, Vec<Row>>; 2]>,
}

/// Returns the file that a name with `~/` means.
fn in_home(name: &str) -> Option<PathBuf> {
    Some(Path::new(&std::env::var_os("HOME")?).join(name.strip_prefix("~/")?))
}

/// Reads a pipe up to its end, or up to the largest size of a file of prices.
fn piped(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the day in the first line of a table of list prices.
fn date_of(text: &str) -> Option<&str> {
    let day = text.strip_prefix("# prices of ")?.get(..10)?;
    Time::parse_rfc3339(&format!("{day}T00:00:00Z")).is_some().then_some(day)
}

/// Returns the lines of a table that have prices.
fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
}

/// Says whether a text has prices, and nothing that is no price.
fn is_table(text: &str) -> bool {
    lines_of(text).next().is_some() && lines_of(text).all(|line| Row::parse(line).is_some())
}

impl Default for Prices {
    /// Returns the list prices that come with the program.
    fn default() -> Self {
        Prices { own: Vec::new(), listed: BUILT_IN.into(), rows: OnceCell::new() }
    }
}

impl Prices {
    /// Returns the list prices: the newer table of the one that comes with the program and the one that was fetched last.
    pub fn listed() -> Self {
        let fetched = update::kept().filter(|text| date_of(text) > date_of(BUILT_IN));
        Prices { listed: fetched.map_or(BUILT_IN.into(), Cow::from), ..Prices::default() }
    }

    /// Reads the user's own table, if `file` or `shiftlog.prices` names one.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or a line of it is no row.
    pub fn configured(repo: &Repository, file: Option<&Path>) -> Result<Self> {
        let configured = || {
            let name = repo.config_string("shiftlog.prices").filter(|name| !name.is_empty())?;
            Some(in_home(&name).unwrap_or_else(|| repo.worktree().unwrap_or(repo.git_dir()).join(&name)))
        };
        file.map(Path::to_owned).or_else(configured).map_or_else(|| Ok(Prices::listed()), |path| Self::of_file(&path))
    }

    /// Does the same outside a repository, where a relative path in the user's config names nothing.
    ///
    /// # Errors
    ///
    /// As [`Prices::configured`].
    pub fn of_user(file: Option<&Path>) -> Result<Self> {
        let configured = || {
            let name =
                git(["config", "--get", "shiftlog.prices"]).capture().ok()?.trim_end().to_str_lossy().into_owned();
            in_home(&name).or_else(|| Some(name.into())).filter(|path: &PathBuf| path.is_absolute())
        };
        file.map(Path::to_owned).or_else(configured).map_or_else(|| Ok(Prices::listed()), |path| Self::of_file(&path))
    }

    fn of_file(path: &Path) -> Result<Self> {
        let cannot = |why: String| Error::new(Kind::Usage, format!("cannot use '{}'", path.display())).because(why);
        let is_pipe = path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo());
        // A shell passes the output of a command as a pipe.
        let text = if is_pipe { piped(path) } else { private::read(path, MAX_FILE_BYTES) };
        let text = text.map_err(|error| Error::io("read", path, error))?;
        let text = String::from_utf8(text).map_err(|_| cannot("it is not UTF-8".into()))?;
        Self::listed().with(&text).map_err(|number| cannot(format!("line {number} is no price")))
    }

    /// Puts the prices of a table of the user's over these list prices.
    ///
    /// # Errors
    ///
    /// The number of the first line that is no row.
    pub fn with(self, text: &str) -> std::result::Result<Self, usize> {
        let mut own = Vec::new();
        // Some editors begin a file with a byte order mark, which would become part of the first model's name.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (number, line) in text.lines().enumerate() {
            if !line.trim().is_empty() && !line.starts_with('#') {
                own.push(Row::parse(line).ok_or(number + 1)?);
            }
        }
        Ok(Prices { own, listed: self.listed, rows: OnceCell::new() })
    }

    /// Returns the date of the list prices.
    pub fn date(&self) -> &str {
        date_of(&self.listed).unwrap_or_default()
    }

    /// Says whether the user has rows of their own.
    pub fn has_own(&self) -> bool {
        !self.own.is_empty()
    }

    /// Returns all rows, sorted; of a model that the user has prices for, the program's only as far as they hold before
    /// the user's first day.
    pub fn rows(&self) -> Vec<&Row> {
        let [own, built_in] = self.tables();
        let holds = |row: &&Row| own.get(&row.model).is_none_or(|own| own.iter().all(|own| row.from < own.from));
        let mut rows: Vec<&Row> = built_in.values().flatten().filter(holds).chain(own.values().flatten()).collect();
        rows.sort_by(|a, b| (&a.model, &a.from).cmp(&(&b.model, &b.from)));
        rows
    }

    fn tables(&self) -> &[HashMap<String, Vec<Row>>; 2] {
        let by_model = |rows: &mut dyn Iterator<Item = Row>| {
            let mut table: HashMap<String, Vec<Row>> = HashMap::new();
            rows.for_each(|row| table.entry(row.model.clone()).or_default().push(row));
            table.values_mut().for_each(|rows| rows.sort_by(|a, b| a.from.cmp(&b.from)));
            table
        };
        self.rows.get_or_init(|| {
            let own = by_model(&mut self.own.iter().cloned());
            [own, by_model(&mut lines_of(&self.listed).filter_map(Row::parse))]
        })
    }

    /// Returns the prices of a model, as an agent spells it, at a time (RFC 3339). A row holds from its day; before the day
    /// of the user's first row, the program's prices hold, and before that of the program's first row, that row.
    pub fn find(&self, model: &str, tier: Option<&str>, time: &str) -> Option<&Row> {
        if model.len() > MAX_NAME_BYTES {
            return None;
        }
        let names =
            names(model).into_iter().map(|name| tier.map_or_else(|| name.clone(), |tier| format!("{tier}/{name}")));
        let names: Vec<String> = names.collect();
        let day = time.get(..10).unwrap_or("9999-12-31");
        let [own, built_in] = self.tables();
        let own = names.iter().filter_map(|name| own.get(name));
        own.flat_map(|rows| rows.iter().rfind(|row| row.from.as_str() <= day)).next().or_else(|| {
            let rows = names.iter().find_map(|name| built_in.get(name))?;
            rows.iter().rfind(|row| row.from.as_str() <= day).or(rows.first())
        })
    }

    /// Returns the cost of tokens that were used at a time (RFC 3339). If they are those of one answer, `given` is how many
    /// tokens the model was given for it, so that a price for long input is known to hold or not.
    pub fn cost(&self, usage: &ModelUsage, time: &str, given: Option<u64>) -> Cost {
        RowFinder::new(self).cost(usage, time, given)
    }
}

/// A model, its tier, and a day.
type RowKey = (Option<String>, Option<String>, String);

/// Finds rows of a table, and remembers them: many records have the same model and day.
pub(super) struct RowFinder<'p> {
    prices: &'p Prices,
    known: HashMap<RowKey, Option<&'p Row>>,
}

impl<'p> RowFinder<'p> {
    pub fn new(prices: &'p Prices) -> Self {
        RowFinder { prices, known: HashMap::new() }
    }

    /// Does what [`Prices::find`] does.
    pub fn find(&mut self, usage: &ModelUsage, time: &str) -> Option<&'p Row> {
        let day = time.get(..10).unwrap_or_default().to_owned();
        *self.known.entry((usage.model.clone(), usage.tier.clone(), day)).or_insert_with(|| {
            self.prices.find(usage.model.as_deref().unwrap_or_default(), usage.tier.as_deref(), time)
        })
    }

    /// Does what [`Prices::cost`] does.
    pub fn cost(&mut self, usage: &ModelUsage, time: &str, given: Option<u64>) -> Cost {
        let tokens = usage.tokens;
        if tokens.total() == 0 {
            return Cost::default();
        }
        let Some(row) = self.find(usage, time) else { return Cost { parts: 0, is_at_least: true } };
        match &row.above {
            Some((bound, above)) if given.is_some_and(|given| given > *bound) => cost(tokens, above),
            // One of the answers may have been above the bound.
            Some((bound, _)) if given.is_none() && tokens.given() > *bound => {
                Cost { is_at_least: true, ..cost(tokens, &row.prices) }
            }
            _ => cost(tokens, &row.prices),
        }
    }
}

/// Returns the cost of all models of some records, each with the commit's author date; `None` if no tokens are known.
///
/// A record tells when it was made, which for an import is long after the work. The author date stays the same in a rebase.
pub fn cost_of<'s>(prices: &Prices, records: impl IntoIterator<Item = (Time, &'s Summary)>) -> Option<Cost> {
    let costs = records.into_iter().flat_map(|(authored, summary)| {
        let time = authored.to_rfc3339();
        summary.usage.iter().map(move |usage| prices.cost(usage, &time, None))
    });
    costs.reduce(Cost::plus)
}

fn cost(tokens: Tokens, prices: &Classes) -> Cost {
    let [input, output, read, write, write_long] = *prices;
    let long = tokens.cache_write_long.unwrap_or(0).min(tokens.cache_write);
    let mut is_at_least = false;
    let mut part = |count: u64, price: Option<u64>, instead: Option<u64>| {
        is_at_least |= count > 0 && price.is_none();
        u128::from(count) * u128::from(price.or(instead).unwrap_or(0))
    };
    let parts = [
        part(tokens.input, input, None),
        part(tokens.output, output, None),
        part(tokens.cache_read, read, None),
        part(tokens.cache_write - long, write, None),
        part(long, write_long, write),
    ];
    // If it is unknown how long the cache is kept, the shorter time is assumed.
    is_at_least |= tokens.cache_write_long.is_none() && tokens.cache_write > 0 && write_long > write;
    Cost { parts: parts.into_iter().fold(0, u128::saturating_add), is_at_least }
}

/// Returns the names under which a model may stand in a table, the most exact first. No name is ever shortened by a part
/// of a version: the prices of another version are not those of this one.
fn names(model: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let add = |names: &mut Vec<String>, name: &str| {
        if !name.is_empty() && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    };
    let lower = model.to_lowercase();
    add(&mut names, &lower);
    let name = lower.rsplit('/').next().unwrap_or_default();
    let name = name.rsplit_once("anthropic.").map_or(name, |(_, name)| name);
    add(&mut names, name);
    let mut name = name.split('[').next().unwrap_or_default();
    add(&mut names, name);
    while let Some(shorter) = without_suffix(name) {
        name = shorter;
        add(&mut names, name);
    }
    if let Some(rest) = name.strip_prefix("claude-") {
        let rest = rest.replace('.', "-");
        add(&mut names, &format!("claude-{rest}"));
        // Some agents write the version before the name: claude-4.5-sonnet.
        if let Some((version, family)) = rest.rsplit_once('-')
            && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
        {
            add(&mut names, &format!("claude-{family}-{version}"));
        }
    }
    names
}

/// Returns a name without a date, a release of a cloud, or `-latest` at its end.
fn without_suffix(name: &str) -> Option<&str> {
    let is_digits = |text: &str, count: usize| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(name) = name.strip_suffix("-latest") {
        return Some(name);
    }
    if let Some((name, date)) = name.rsplit_once('@') {
        return Some(name).filter(|_| is_digits(date, 8) || date == "default");
    }
    let (rest, last) = name.rsplit_once('-')?;
    if is_digits(last, 8) && last.starts_with("20") {
        return Some(rest);
    }
    if let Some(release) = last.strip_prefix('v') {
        let (major, minor) = release.split_once(':').unwrap_or((release, "0"));
        return Some(rest).filter(|_| is_digits(major, 1) && is_digits(minor, 1));
    }
    let (rest, month) = rest.rsplit_once('-')?;
    let (rest, year) = rest.rsplit_once('-')?;
    Some(rest).filter(|_| is_digits(last, 2) && is_digits(month, 2) && is_digits(year, 4))
}

#[cfg(test)]
mod tests;
