//! Checking and repairing our data, and verifying records.
//!
//! Read [`fsck::check`], then [`repair::repair`], which repairs what a check has found. [`verify::verify`] stands
//! alone: it says who wrote and signed a record.

mod damage;
pub mod fsck;
mod lost;
mod nowhere;
mod origin;
mod problem;
mod rebuild;
mod recount;
pub mod repair;
pub mod verify;

pub use self::damage::find as damaged_refs;
pub use self::recount::recount;
