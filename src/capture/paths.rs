//! Paths in our own JSON files: a string, or a list of bytes where a path is not UTF-8.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum Stored {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&Path> for Stored {
    fn from(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Stored::Text(text.to_owned()),
            None => Stored::Bytes(path.as_os_str().as_bytes().to_owned()),
        }
    }
}

impl From<Stored> for PathBuf {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Text(text) => text.into(),
            Stored::Bytes(bytes) => OsString::from_vec(bytes).into(),
        }
    }
}

pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    Stored::from(path).serialize(serializer)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Stored::deserialize(deserializer).map(PathBuf::from)
}

/// For `Option<PathBuf>`.
pub mod option {
    use super::{Deserialize, Deserializer, PathBuf, Serialize, Serializer, Stored};

    pub fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_deref().map(Stored::from).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<Stored>::deserialize(deserializer)?.map(PathBuf::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, PartialEq, Serialize)]
    struct File {
        #[serde(with = "super")]
        path: PathBuf,
        #[serde(default, with = "super::option")]
        top: Option<PathBuf>,
    }

    #[test]
    fn a_path_is_read_back_as_it_was_whatever_its_bytes() {
        for bytes in [&b"/repo"[..], b"/w\xff\xfe", "/données".as_bytes(), b""] {
            let path = PathBuf::from(OsString::from_vec(bytes.to_owned()));
            for top in [None, Some(path.clone())] {
                let file = File { path: path.clone(), top };
                let text = serde_json::to_string(&file).expect("it can be written");
                assert_eq!(serde_json::from_str::<File>(&text).expect("it can be read"), file, "{text}");
            }
        }
        let plain = File { path: "/repo".into(), top: Some("/top".into()) };
        assert_eq!(serde_json::to_string(&plain).expect("text"), r#"{"path":"/repo","top":"/top"}"#);
        let without = serde_json::from_str::<File>(r#"{"path":"/repo"}"#).expect("an older file");
        assert_eq!(without, File { path: "/repo".into(), top: None });
    }
}
