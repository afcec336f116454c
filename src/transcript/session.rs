//! The name of a session.

use std::collections::HashMap;
use std::fmt;

use crate::outside::{component, decoded};

/// The shortest beginning of an id that is made.
const MIN_CHARS: usize = 8;

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

    /// Returns the session with this [`SessionKey::file_name`]; `None` if the name was cut, or is none of ours.
    pub fn of_file_name(name: &str) -> Option<Self> {
        let (agent, id) = name.split_once('~')?;
        let key = SessionKey { agent: decoded(agent)?, id: decoded(id)? };
        (key.file_name() == name).then_some(key)
    }

    /// Returns the session that the name `<agent>/<id>` stands for, as this type is displayed; `None` if it is no such
    /// name.
    pub fn of_name(name: &str) -> Option<Self> {
        let (agent, id) = name.split_once('/')?;
        let key = SessionKey { agent: decoded(agent)?, id: decoded(id)? };
        (key.to_string() == name).then_some(key)
    }

    /// Returns the session that this one is a sub-agent of, if it is one.
    pub fn parent_id(&self) -> Option<&str> {
        self.id.split_once('.').map(|(parent, _)| parent).filter(|parent| !parent.is_empty())
    }

    /// Returns the key of the session that this one is a sub-agent of, if it is one.
    pub fn parent(&self) -> Option<SessionKey> {
        Some(SessionKey::new(&self.agent, self.parent_id()?))
    }

    /// Says whether a beginning of an id can stand for this session. The id of a sub-agent begins with that of its session,
    /// so the beginning of a session's id stands for no sub-agent; `<beginning>.<beginning>` stands for one.
    pub fn begins_with(&self, beginning: &str) -> bool {
        match (self.id.split_once('.'), beginning.split_once('.')) {
            (Some((session, own)), Some((of_session, of_own))) => {
                session.starts_with(of_session) && own.starts_with(of_own)
            }
            (Some(_), None) => false,
            (None, _) => self.id.starts_with(beginning),
        }
    }

    /// Says whether a beginning of an id stands for this session, or for the one that it is a sub-agent of.
    pub fn is_within(&self, beginning: &str) -> bool {
        self.id.starts_with(beginning) || self.begins_with(beginning)
    }
}

/// Returns for each of some ids of sessions the shortest name by which [`SessionKey::begins_with`] finds that session alone
/// among them: at least eight characters, and for a sub-agent as many of its own id behind that of its session.
pub fn short_ids<'a>(ids: impl Iterator<Item = &'a str>) -> HashMap<&'a str, String> {
    let ids: Vec<&str> = ids.collect();
    let parts = |id: &'a str| id.split_once('.').map_or((id, None), |(session, own)| (session, Some(own)));
    let sessions = beginnings(ids.iter().map(|id| parts(id).0).collect());
    let sub_agents = beginnings(ids.iter().filter_map(|id| parts(id).1).collect());
    let short = |id: &'a str| match parts(id) {
        (session, None) => sessions[session].to_owned(),
        (session, Some(own)) => format!("{}.{}", sessions[session], sub_agents[own]),
    };
    ids.iter().map(|id| (*id, short(id))).collect()
}

/// Returns for each id a beginning that no other of them has.
fn beginnings(mut ids: Vec<&str>) -> HashMap<&str, &str> {
    ids.sort_unstable();
    ids.dedup();
    let common = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let short = |at: usize| {
        let id = ids[at];
        let neighbours = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|at| ids.get(at));
        let shared = neighbours.map(|other| common(id, other)).max().unwrap_or(0);
        let end = id.char_indices().nth(MIN_CHARS.max(shared + 1)).map_or(id.len(), |(end, _)| end);
        (id, &id[..end])
    };
    (0..ids.len()).map(short).collect()
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", component(&self.agent), component(&self.id))
    }
}

#[cfg(test)]
mod tests {
    use super::{SessionKey, short_ids};

    #[test]
    fn a_name_is_read_as_it_is_shown() {
        for id in ["3f6b1c9e.a1", "made up/by ~ hand: é %2F", "", "."] {
            let key = SessionKey::new("some agent/of mine", id);
            assert_eq!(SessionKey::of_name(&key.to_string()), Some(key));
        }
        assert_eq!(SessionKey::of_name("claude/a b"), None);
        assert_eq!(SessionKey::of_name("claude"), None);
    }

    #[test]
    fn a_short_id_names_one_session() {
        let ids = [
            "3f6b1c9e-52d4",
            "3f6b1c9e-52d4.a1",
            "3f6b1c9e-52d4.a2b3c4d5e6",
            "3f6b1c9f-0000",
            "s1",
            "aaaaaaaaaa1",
            "aaaaaaaaaa2",
            "é1é2é3é4é5",
        ];
        let short = short_ids(ids.into_iter());
        let named: Vec<&str> = ids.iter().map(|id| short[id].as_str()).collect();
        let expected = [
            "3f6b1c9e",
            "3f6b1c9e.a1",
            "3f6b1c9e.a2b3c4d5",
            "3f6b1c9f",
            "s1",
            "aaaaaaaaaa1",
            "aaaaaaaaaa2",
            "é1é2é3é4",
        ];
        assert_eq!(named, expected);
        for (id, name) in short {
            let found: Vec<&str> =
                ids.into_iter().filter(|id| SessionKey::new("claude", *id).begins_with(&name)).collect();
            assert_eq!(found, [id], "{name}");
        }
    }

    #[test]
    fn the_beginning_of_a_session_is_none_of_its_sub_agents() {
        let (session, sub_agent) = (SessionKey::new("claude", "3f6b-1"), SessionKey::new("claude", "3f6b-1.a17"));
        for (beginning, of_session, of_sub_agent) in [
            ("3f6b", true, false),
            ("3f6b-1", true, false),
            ("3f6b-1.", false, true),
            ("3f.a1", false, true),
            ("3f.b", false, false),
            ("", true, false),
        ] {
            assert_eq!(session.begins_with(beginning), of_session, "{beginning}");
            assert_eq!(sub_agent.begins_with(beginning), of_sub_agent, "{beginning}");
        }
    }

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
    fn a_sub_agent_has_the_id_of_its_session_before_the_dot() {
        let parent = |id: &str| SessionKey::new("claude", id).parent_id().map(str::to_owned);
        assert_eq!((parent("s1.a1"), parent("s1")), (Some("s1".into()), None));
        assert_eq!(parent(".x"), None, "no session has an empty id");
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
