//! Words that were to be counted and could not be read.

use crate::record::{READ_LIMIT, Uncountable};

/// How many records, sessions or commits have words that could not be read.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Unread {
    /// Of how many they are not here.
    pub missing: usize,
    /// Of how many they are here, and too many to be read.
    pub too_large: usize,
}

impl Unread {
    /// Counts one more.
    pub fn add(&mut self, why: Uncountable) {
        match why {
            Uncountable::Missing => self.missing += 1,
            Uncountable::TooLarge => self.too_large += 1,
        }
    }

    /// Returns the sum of both.
    #[must_use]
    pub fn plus(self, other: Unread) -> Unread {
        Unread { missing: self.missing + other.missing, too_large: self.too_large + other.too_large }
    }

    /// Returns warnings: `what` is one of them, such as "record", and `then` what is done without the words.
    pub fn warnings(self, what: &str, then: &str) -> Vec<String> {
        let tell = |number: usize, why: &str| {
            let end = if number == 1 { "" } else { "s" };
            (number > 0).then(|| format!("words of {number} {what}{end} are {why}; {then}"))
        };
        let too_large = format!("too large to be read here ({READ_LIMIT})");
        tell(self.missing, "not here").into_iter().chain(tell(self.too_large, &too_large)).collect()
    }
}
