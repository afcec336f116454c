//! Evidence: what was observed while a commit was made, such as logs of a server or the output of tests.
//!
//! Read [`apex::sync`] and [`apex::Pull`], which fetch logs of a Salesforce org, then [`observe`] and [`attach`], which
//! put what a file tells into the note of a commit. This room talks to servers when it is asked to; no hook uses it.

pub mod apex;
mod attach;
pub mod counts;
mod exclude;
mod http;
mod masked;
mod process;
mod text;
mod triage;

pub use self::attach::{Observed, attach, observe, remove};
pub use self::text::{stored_text, text_of};
