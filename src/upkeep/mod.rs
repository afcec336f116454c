//! Checking and repairing our data, and verifying records.

pub(crate) mod damage;
pub mod fsck;
mod lost;
mod origin;
mod recount;
pub mod repair;
pub mod verify;

pub use self::recount::recount;
