//! The path to a recorded value that `get` and `keys` take, and what is said if nothing is there.

use crate::error::{Error, Kind, Result};
use crate::record::MissingWords;
use crate::{outside, path};

/// Returns the error for a path at which nothing was found; if it is no path, the error says how paths are written.
pub(super) fn about(path: &str, error: Error) -> Error {
    if error.kind() != Kind::Missing {
        return error;
    }
    let is_path = path::parse(path, &["conversation", "commit"]).is_ok_and(|path| path[0].index().is_none());
    if is_path {
        // What a client of the server calls, somebody at a shell types.
        let text = error.to_string();
        if text.ends_with(MissingWords::NotFetched.sentence()) {
            return error.hint("'git shiftlog sync pull --all' fetches transcripts that others share");
        }
        return match text.split_once("; call shiftlog_") {
            Some((what, _)) => {
                Error::new(error.kind(), what).hint("'git shiftlog log' lists the commits that have a conversation")
            }
            None => error,
        };
    }
    with_examples(Error::new(Kind::Usage, format!("'{}' is not a path", outside::line(path))).because(error))
}

/// Returns the path that was typed.
pub(super) fn required(path: Option<&str>) -> Result<&str> {
    path.ok_or_else(|| with_examples(Error::new(Kind::Usage, "no path is named")))
}

fn with_examples(error: Error) -> Error {
    error
        .hint("git shiftlog get '[conversation][HEAD][messages][0][text]'")
        .hint("'git shiftlog get --help' lists what a path can begin with")
}
