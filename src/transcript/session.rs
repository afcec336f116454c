//! The name of a session.

use std::fmt;

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
        let name = format!("{}~{}", encode(&self.agent), encode(&self.id));
        if name.len() <= 200 {
            return name;
        }
        let digest = twox_hash::XxHash3_128::oneshot(name.as_bytes());
        // Encoded names are ASCII, so any cut is a character boundary.
        format!("{}~{digest:032x}", &name[..160])
    }

    /// Returns the session that this one is a sub-agent of, if it is one.
    pub fn parent_id(&self) -> Option<&str> {
        self.id.split_once('.').map(|(parent, _)| parent)
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", encode(&self.agent), encode(&self.id))
    }
}

fn encode(text: &str) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::with_capacity(text.len());
    for (index, byte) in text.bytes().enumerate() {
        let is_plain = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || (byte == b'.' && index > 0);
        if is_plain {
            encoded.push(byte as char);
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::SessionKey;

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
