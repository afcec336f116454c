//! The name of a session.

use std::fmt;

use crate::outside::{component, decoded};

/// Names a session: the agent, and the id that the agent gave it.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SessionKey {
    /// The agent's name, such as `claude`.
    pub agent: String,
    /// The session's id; for a sub-agent, `<session id>.<sub-agent id>`.
    pub id: String,
}

impl SessionKey {
    /// Names a session; nothing is checked, since [`SessionKey::file_name`] is safe for any text.
    pub fn new(agent: impl Into<String>, id: impl Into<String>) -> Self {
        SessionKey { agent: agent.into(), id: id.into() }
    }

    /// Returns the name as one path component: `<agent>~<id>`, with everything outside `[A-Za-z0-9_.-]`
    /// percent-encoded, never hidden, and at most 200 bytes long (what is cut is replaced by a digest).
    pub fn file_name(&self) -> String {
        let name = format!("{}~{}", component(&self.agent), component(&self.id));
        if name.len() <= 200 {
            return name;
        }
        let digest = twox_hash::XxHash3_128::oneshot(name.as_bytes());
        // Encoded names are ASCII, so any cut is a character boundary.
        format!("{}~{digest:032x}", &name[..160])
    }

    /// Returns the session that [`SessionKey::file_name`] names so; `None` if the name was cut, or is none of ours.
    pub fn of_file_name(name: &str) -> Option<Self> {
        let (agent, id) = name.split_once('~')?;
        let key = SessionKey { agent: decoded(agent)?, id: decoded(id)? };
        (key.file_name() == name).then_some(key)
    }

    /// Returns the session that this one is a sub-agent of, if it is one.
    pub fn parent_id(&self) -> Option<&str> {
        self.id.split_once('.').map(|(parent, _)| parent)
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", component(&self.agent), component(&self.id))
    }
}

#[cfg(test)]
mod tests {
    use super::SessionKey;

    #[test]
    fn a_file_name_is_read_back_unless_it_was_cut() {
        for id in ["3f6b1c9e-52d4", "../../x", "a\0b\n", "sitz~ung ü.7"] {
            let key = SessionKey::new("claude", id);
            assert_eq!(SessionKey::of_file_name(&key.file_name()), Some(key));
        }
        assert_eq!(SessionKey::of_file_name(&SessionKey::new("claude", "x".repeat(5000)).file_name()), None);
        assert_eq!(SessionKey::of_file_name("claude~%2"), None);
    }

    #[test]
    fn a_hostile_session_id_stays_one_harmless_component() {
        let name = |id: &str| SessionKey::new("claude", id).file_name();
        assert_eq!(name("3f6b1c9e-52d4"), "claude~3f6b1c9e-52d4");
        assert_eq!(name("../../x"), "claude~%2E.%2F..%2Fx");
        assert_eq!(name("a\0b\n"), "claude~a%00b%0A");
        assert!(name(&"x".repeat(5000)).len() <= 200);
        assert_ne!(name(&"x".repeat(5000)), name(&"x".repeat(5001)), "cutting must not make two sessions one");
    }
}
