//! The Salesforce project that a directory is in, and the version of the API that it names.

use std::path::Path;

use serde_json::Value;

use crate::git::private;

/// The file at the top of a project.
const FILE: &str = "sfdx-project.json";
/// The largest such file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Why there is no version.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lack {
    /// No directory from here up has the file.
    Project,
    /// The file is no JSON object, or its version is no version.
    Valid,
    /// The file does not name a version.
    Version,
}

/// Says whether a directory is in a project.
pub fn is_in_project(directory: &Path) -> bool {
    directory.ancestors().any(|above| above.join(FILE).is_file())
}

/// Returns `sourceApiVersion` of the project that a directory is in, such as `64.0`.
///
/// # Errors
///
/// [`Lack`]; a file that cannot be read counts as one that is not valid.
pub fn api_version(directory: &Path) -> Result<String, Lack> {
    let file = directory.ancestors().map(|above| above.join(FILE)).find(|file| file.is_file()).ok_or(Lack::Project)?;
    let project =
        private::read(&file, MAX_FILE_BYTES).ok().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
    let project = project.filter(Value::is_object).ok_or(Lack::Valid)?;
    match project.get("sourceApiVersion") {
        Some(Value::String(version)) if is_version(version) => Ok(version.clone()),
        Some(Value::String(version)) if !version.trim().is_empty() => Err(Lack::Valid),
        _ => Err(Lack::Version),
    }
}

/// Says whether a text is `<digits>.<digits>`.
pub fn is_version(text: &str) -> bool {
    let is_number = |part: &str| (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once('.').is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_nearest_project_above() {
        let top = tempfile::tempdir().expect("a directory");
        let below = top.path().join("force-app/main");
        std::fs::create_dir_all(&below).expect("directories");
        assert_eq!(api_version(&below), Err(Lack::Project));
        for (text, expected) in [
            (r#"{"sourceApiVersion":"64.0"}"#, Ok("64.0".to_owned())),
            ("{", Err(Lack::Valid)),
            ("[]", Err(Lack::Valid)),
            ("{}", Err(Lack::Version)),
            (r#"{"sourceApiVersion":null}"#, Err(Lack::Version)),
            (r#"{"sourceApiVersion":""}"#, Err(Lack::Version)),
            (r#"{"sourceApiVersion":64.0}"#, Err(Lack::Version)),
            (r#"{"sourceApiVersion":"v64"}"#, Err(Lack::Valid)),
            (r#"{"sourceApiVersion":"64.0/../x"}"#, Err(Lack::Valid)),
        ] {
            std::fs::write(top.path().join(FILE), text).expect("a file");
            assert_eq!(api_version(&below), expected, "{text}");
        }
        assert!(is_in_project(&below));
    }
}
