//! Finding what is damaged and putting it right; proving that records are intact.

pub(crate) mod damage;
pub mod fsck;
mod lost;
pub mod repair;
pub mod verify;
