//! Evidence: what was observed while a commit was made, such as logs of a server.
//!
//! Read [`apex::sync`], which fetches logs of a Salesforce org. This room talks to servers when it is asked to; no hook
//! uses it.

pub mod apex;
mod exclude;
mod http;
mod process;
