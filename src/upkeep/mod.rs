//! Checking and repairing our data, and verifying records.

pub(crate) mod damage;
pub mod fsck;
mod lost;
mod nowhere;
mod origin;
mod rebuild;
mod recount;
pub mod repair;
pub mod verify;

pub use self::recount::recount;
