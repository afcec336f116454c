//! A finding of `doctor`: what was checked, and the result.

/// One thing that was looked at.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// What it is about.
    pub subject: String,
    /// How it is.
    pub verdict: Verdict,
}

/// How a thing is that was looked at.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// It is unknown, or is worth knowing.
    Note,
    /// Something is wrong with it.
    Problem {
        /// What is wrong.
        what: String,
        /// The command that mends it, or what to do.
        fix: String,
    },
}

impl Finding {
    /// Returns a finding with a problem, or that something is as it should be.
    pub fn new(subject: impl Into<String>, problem: Option<(&str, &str)>) -> Self {
        match problem {
            None => Finding::ok(subject),
            Some((what, fix)) => Finding::problem(subject, what, fix),
        }
    }

    /// Returns a finding about something that is as it should be.
    pub fn ok(subject: impl Into<String>) -> Self {
        Finding { subject: subject.into(), verdict: Verdict::Ok }
    }

    /// Says whether it is as it should be.
    pub fn is_ok(&self) -> bool {
        matches!(self.verdict, Verdict::Ok)
    }

    /// Says whether it is unknown.
    pub fn is_note(&self) -> bool {
        matches!(self.verdict, Verdict::Note)
    }

    /// Says whether something is wrong with it.
    pub fn is_problem(&self) -> bool {
        matches!(self.verdict, Verdict::Problem { .. })
    }

    /// Returns a finding about something that is unknown, or is worth knowing.
    pub fn note(subject: impl Into<String>) -> Self {
        Finding { subject: subject.into(), verdict: Verdict::Note }
    }

    /// Returns a finding about something that is wrong, with the command that mends it.
    pub fn problem(subject: impl Into<String>, what: &str, fix: &str) -> Self {
        Finding { subject: subject.into(), verdict: Verdict::Problem { what: what.into(), fix: fix.into() } }
    }
}
