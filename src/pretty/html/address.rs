//! The addresses of the server's pages: made here, read by the server.

use crate::git::ObjectId;
use crate::outside;
use crate::transcript::SessionKey;

/// Stands before an id of dots: a browser would read `..` as the directory above.
const NO_STEP: char = '~';

/// Returns an id as one component of an address.
fn id_part(id: &str) -> String {
    let is_step = !id.is_empty() && id.trim_start_matches(NO_STEP).bytes().all(|byte| byte == b'.');
    if is_step { format!("{NO_STEP}{}", outside::component(id)) } else { outside::component(id) }
}

/// Returns the id that such a component means once it is decoded.
pub fn id_of_part(part: &str) -> &str {
    match part.strip_prefix(NO_STEP) {
        Some(id) if id.trim_start_matches(NO_STEP).bytes().all(|byte| byte == b'.') => id,
        _ => part,
    }
}

/// Returns the address of a commit with its conversations.
pub fn commit(commit_id: ObjectId) -> String {
    format!("/c/{commit_id}")
}

/// Returns the address of the part of a session that a commit has. Its turns have the ids `t1`, `t2`, ...
pub fn part(commit_id: ObjectId, key: &SessionKey) -> String {
    format!("/c/{commit_id}/{}/{}", outside::component(&key.agent), id_part(&key.id))
}

/// Returns the address of a whole session.
pub fn session(key: &SessionKey) -> String {
    format!("/s/{}/{}", outside::component(&key.agent), id_part(&key.id))
}

/// Returns the address of the bytes of a session's transcript.
pub fn raw(key: &SessionKey) -> String {
    format!("/raw/{}/{}", outside::component(&key.agent), id_part(&key.id))
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
        for id in ["..", ".", "~..", "~", "..."] {
            let address = session(&SessionKey::new("a", id));
            let part = outside::decoded(address.rsplit('/').next().expect("a part")).expect("text");
            assert!(id_of_part(&part) == id && part != ".." && part != ".", "{address}");
        }
        assert_eq!(with("/commits", &[("agent", "a&b=c"), ("model", "")]), "/commits?agent=a%26b%3Dc");
        assert_eq!(with("/stats", &[("by", "")]), "/stats");
    }
}
