//! What goes to others and comes from them, and what is removed for good here and there.
//!
//! Read [`sync`] first; [`check`] is what stands between what was fetched and our refs, [`guard`] what stands between the
//! user's own push and a remote; [`purge`] removes.

pub mod check;
pub mod guard;
pub mod purge;
pub mod sync;
