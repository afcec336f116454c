//! Checking and repairing our data, and verifying records.

pub(crate) mod damage;
pub mod fsck;
mod lost;
pub mod repair;
pub mod verify;
