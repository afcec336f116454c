//! Tokens as a model's provider counts them, and their sums by model.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Tokens as the model's provider counts them. Keys are written in this order, absent when unknown.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tokens {
    /// Tokens read at full price.
    pub input: u64,
    /// Tokens written by the model.
    pub output: u64,
    /// Tokens read from the provider's cache.
    pub cache_read: u64,
    /// Tokens written to the provider's cache.
    pub cache_write: u64,
    /// The part of `cache_write` that the provider keeps for an hour, which costs more. `None` if the agent does not tell
    /// how long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_long: Option<u64>,
    /// The cost that the agent itself tells, in billionths of a dollar; `None` if it tells none. Records do not have it.
    #[serde(skip)]
    pub told_cost: Option<u64>,
}

impl Tokens {
    /// Returns the sum of both. Where only one tells how long its cache writes are kept, or a cost, the sum tells that part.
    #[must_use]
    pub fn plus(self, other: Tokens) -> Tokens {
        self.each(other, u64::saturating_add)
    }

    /// Returns the larger number of each kind.
    #[must_use]
    pub fn max(self, other: Tokens) -> Tokens {
        self.each(other, u64::max)
    }

    /// Returns how much more of each kind there is than in `other`.
    #[must_use]
    pub fn minus(self, other: Tokens) -> Tokens {
        let long = other.cache_write_long.unwrap_or(0);
        Tokens {
            input: self.input.saturating_sub(other.input),
            output: self.output.saturating_sub(other.output),
            cache_read: self.cache_read.saturating_sub(other.cache_read),
            cache_write: self.cache_write.saturating_sub(other.cache_write),
            cache_write_long: self.cache_write_long.map(|own| own.saturating_sub(long)),
            told_cost: self.told_cost.map(|own| own.saturating_sub(other.told_cost.unwrap_or(0))),
        }
    }

    fn each(self, other: Tokens, join: fn(u64, u64) -> u64) -> Tokens {
        let known = |one: Option<u64>, another: Option<u64>| match (one, another) {
            (Some(one), Some(another)) => Some(join(one, another)),
            (one, another) => one.or(another),
        };
        Tokens {
            input: join(self.input, other.input),
            output: join(self.output, other.output),
            cache_read: join(self.cache_read, other.cache_read),
            cache_write: join(self.cache_write, other.cache_write),
            cache_write_long: known(self.cache_write_long, other.cache_write_long),
            told_cost: known(self.told_cost, other.told_cost),
        }
    }

    /// Returns the number of tokens that a model was given: read at full price, from the cache, and into the cache.
    pub fn given(self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// Returns the number of all tokens.
    pub fn total(self) -> u64 {
        self.given().saturating_add(self.output)
    }
}

/// The tokens of one model in one service tier.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct ModelUsage {
    /// The model, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The provider's service tier, such as `fast`; `None` for the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// The tokens.
    #[serde(default)]
    pub tokens: Tokens,
}

/// The sums of tokens by model and tier.
#[derive(Clone, Debug, Default)]
pub struct UsageSums(BTreeMap<(Option<String>, Option<String>), Tokens>);

impl UsageSums {
    /// Adds tokens to those of the same model and tier.
    pub fn add(&mut self, usage: ModelUsage) {
        let sum = self.0.entry((usage.model, usage.tier)).or_default();
        *sum = sum.plus(usage.tokens);
    }

    /// Returns the sums, sorted by model and tier.
    pub fn list(&self) -> impl Iterator<Item = ModelUsage> {
        let sums = self.0.iter();
        sums.map(|((model, tier), tokens)| ModelUsage { model: model.clone(), tier: tier.clone(), tokens: *tokens })
    }
}

impl FromIterator<ModelUsage> for UsageSums {
    fn from_iter<I: IntoIterator<Item = ModelUsage>>(usage: I) -> Self {
        let mut sums = UsageSums::default();
        usage.into_iter().for_each(|one| sums.add(one));
        sums
    }
}
