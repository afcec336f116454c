//! The project's index: four JSON files in `.memo/index` that tell agents how a project is built. Made here, checked here,
//! and kept up to date by an agent.
//!
//! Read [`Project`] first, then [`schema`] for what the files hold. The servers and commands read values of it by path.

mod files;
mod locations;
pub mod schema;

pub use self::files::{DIRECTORY, Project, ROOTS, SKELETONS, below, find, read};
pub use self::locations::{Issue, Location, Place, issues};
