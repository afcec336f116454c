//! Exchanging notes and segments with remotes, and purging them.
//!
//! Read [`sync`] first. [`check`] checks fetched commits before they are merged; [`guard`] stops a push of the user's that
//! would publish our refs; [`purge`] removes words for good.

pub mod check;
pub mod guard;
pub mod purge;
pub mod sync;
