//! What goes to others and comes from them, and what is removed for good here and there.
//!
//! Read [`sync`] first; [`check`] is what stands between what was fetched and our refs, [`purge`] removes.

pub mod check;
pub mod purge;
pub mod sync;
