//! The addresses of the server's pages: made here, read by the server.

use crate::git::ObjectId;
use crate::outside;
use crate::transcript::SessionKey;

/// Returns the address of a commit with its conversations.
pub fn commit(commit_id: ObjectId) -> String {
    format!("/c/{commit_id}")
}

/// Returns the address of the part of a session that a commit has. Its turns have the ids `t1`, `t2`, ...
pub fn part(commit_id: ObjectId, key: &SessionKey) -> String {
    format!("/c/{commit_id}/{}/{}", outside::component(&key.agent), outside::component(&key.id))
}

/// Returns the address of a whole session.
pub fn session(key: &SessionKey) -> String {
    format!("/s/{}/{}", outside::component(&key.agent), outside::component(&key.id))
}

/// Returns the address of the bytes of a session's transcript.
pub fn raw(key: &SessionKey) -> String {
    format!("/raw/{}/{}", outside::component(&key.agent), outside::component(&key.id))
}

/// Returns the address of a file of a commit, with the turn behind each line.
pub fn file(commit_id: ObjectId, path: &str) -> String {
    let path: Vec<String> = path.split('/').map(outside::component).collect();
    format!("/why/{commit_id}/{}", path.join("/"))
}

/// Returns the address of a page with values of a form; empty values are left out.
pub fn with(page: &str, values: &[(&str, &str)]) -> String {
    let values = values.iter().filter(|(_, value)| !value.is_empty());
    let values: Vec<String> = values.map(|(name, value)| format!("{name}={}", outside::component(value))).collect();
    if values.is_empty() { page.to_owned() } else { format!("{page}?{}", values.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_stay_one_component() {
        assert_eq!(session(&SessionKey::new("a b", "x/../y")), "/s/a%20b/x%2F..%2Fy");
        assert_eq!(with("/commits", &[("agent", "a&b=c"), ("model", "")]), "/commits?agent=a%26b%3Dc");
        assert_eq!(with("/stats", &[("by", "")]), "/stats");
    }
}
