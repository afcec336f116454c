//! The answer of a tool, as a value.

use serde_json::Value;

/// What a tool found.
pub struct Answer {
    /// The value that the tool promises, for clients that show text.
    pub text: Value,
    /// The same with an object at its root, and all that matters beside it.
    pub structured: Value,
}
