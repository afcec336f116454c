//! The directory that a session ran in, as its transcript has it.

use bstr::ByteSlice as _;

/// The members of records that hold the directory, in the order in which they are looked for.
const KEYS: &[&str] = &["\"cwd\":", "\"workspaceDirectory\":", "\"cwdOnTaskInitialization\":", "\"directory\":"];

/// Returns the directory that a session ran in, from its transcript or a part of it: the first absolute path that a
/// record gives as such. `None` if the agent does not write it down.
pub fn directory(transcript: &[u8]) -> Option<String> {
    KEYS.iter().find_map(|key| {
        transcript.find_iter(key).find_map(|at| {
            let value = transcript[at + key.len()..].trim_ascii_start();
            let directory = serde_json::Deserializer::from_slice(value).into_iter::<String>().next()?.ok()?;
            is_absolute(&directory).then_some(directory)
        })
    })
}

/// Says whether a path is absolute, on whichever system.
fn is_absolute(path: &str) -> bool {
    let has_drive = || path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    path.len() > 1 && (path.starts_with('/') || path.starts_with("\\\\") || has_drive())
}

#[cfg(test)]
mod tests {
    use super::directory;

    #[test]
    fn the_directory_is_the_first_absolute_one() {
        let said = |text: &str| directory(text.as_bytes());
        assert_eq!(
            said("{\"cwd\":\".\"}\n{\"payload\":{\"cwd\": \"/home/dev/a\"},\"cwd\":\"/b\"}"),
            Some("/home/dev/a".into())
        );
        assert_eq!(said(r#"{"cwd":"C:\\src\\a"}"#), Some("C:\\src\\a".into()));
        assert_eq!(said(r#"{"text":"{\"cwd\":\"/quoted\"}"}"#), None);
        assert_eq!(said("{\"cwd\":\"/torn"), None);
        assert_eq!(said("{\"directory\":\"/home/dev/b\"}"), Some("/home/dev/b".into()));
    }
}
