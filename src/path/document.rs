//! A JSON document, of which only the values that a path leads to are read.

use indexmap::IndexMap;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Segment;
use super::tokens::depth;

/// How deep nesting is followed.
const MAX_DEPTH: usize = 512;

/// The keys of a value.
#[derive(Debug, Eq, PartialEq)]
pub enum Keys {
    /// The names of an object's members, in the order of the text.
    Dict(Vec<String>),
    /// The length of an array.
    List(usize),
}

/// A value in the text of a JSON document. Only what a path leads through is taken apart; the rest is skipped over.
#[derive(Clone, Copy, Debug)]
pub struct Document<'t> {
    raw: &'t RawValue,
}

/// The names and values of an object's members as they are spelt, in their order.
pub struct Members<'t>(pub Vec<(&'t RawValue, &'t RawValue)>);

impl<'t> Document<'t> {
    /// Reads a document.
    ///
    /// # Errors
    ///
    /// If the text is not one JSON value.
    pub fn new(text: &'t str) -> Result<Self, String> {
        let raw = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if depth(text.as_bytes()) > MAX_DEPTH {
            return Err(format!("it is nested deeper than {MAX_DEPTH} levels"));
        }
        Ok(Document { raw })
    }

    /// Returns the text of the value as it is spelt.
    pub fn text(self) -> &'t str {
        self.raw.get()
    }

    fn read<T: Deserialize<'t>>(self) -> Result<T, String> {
        serde_json::from_str(self.text()).map_err(|error| error.to_string())
    }

    /// Returns the name of the value's type.
    pub fn kind(self) -> &'static str {
        match self.text().as_bytes().first() {
            Some(b'{') => "object",
            Some(b'[') => "array",
            Some(b'"') => "string",
            Some(b't' | b'f') => "boolean",
            Some(b'n') => "null",
            _ => "number",
        }
    }

    /// Returns the members of an object; of those with one name the last counts.
    ///
    /// # Errors
    ///
    /// If the value is no object, or a name cannot be read.
    pub fn members(self) -> Result<IndexMap<String, Document<'t>>, String> {
        let members = self.read::<Members<'t>>()?.0.into_iter();
        members.map(|(name, raw)| Ok((Document { raw: name }.string()?, Document { raw }))).collect()
    }

    /// Returns the items of an array.
    ///
    /// # Errors
    ///
    /// If the value is none.
    pub fn items(self) -> Result<Vec<Document<'t>>, String> {
        Ok(self.read::<Vec<&'t RawValue>>()?.into_iter().map(|raw| Document { raw }).collect())
    }

    /// Returns the text that a string stands for.
    ///
    /// # Errors
    ///
    /// If the value is no string, or has an escape that stands for no character.
    pub fn string(self) -> Result<String, String> {
        self.read()
    }

    /// Follows a path whose segments are counted from `first` on.
    ///
    /// # Errors
    ///
    /// Which segment leads nowhere, and why.
    pub fn walk(self, segments: &[Segment], first: usize) -> Result<Self, String> {
        let mut here = self;
        for (number, segment) in (first..).zip(segments) {
            here = match (here.kind(), segment.index()) {
                ("object", _) => {
                    let found = here.members()?.get(&segment.text).copied();
                    found.ok_or_else(|| format!("segment {number}: key '{}' not found", segment.text))?
                }
                ("array", Some(index)) => {
                    let items = here.items()?;
                    let found = usize::try_from(index).ok().and_then(|index| items.get(index).copied());
                    found.ok_or_else(|| {
                        format!("segment {number}: index {index} out of bounds (length {})", items.len())
                    })?
                }
                (kind, Some(_)) => return Err(format!("segment {number}: expected array, got {kind}")),
                (kind, None) => return Err(format!("segment {number}: expected object, got {kind}")),
            };
        }
        Ok(here)
    }

    /// Returns the keys of an object or the length of an array.
    ///
    /// # Errors
    ///
    /// If the value is neither.
    pub fn keys(self) -> Result<Keys, String> {
        match self.kind() {
            "object" => Ok(Keys::Dict(self.members()?.into_keys().collect())),
            "array" => Ok(Keys::List(self.items()?.len())),
            kind => Err(format!("value is not a dict or list, it is a {kind}")),
        }
    }

    /// Returns the value as compact JSON: numbers as they are written, keys in their order, of double ones the last.
    ///
    /// # Errors
    ///
    /// If a text in it has an escape that stands for no character.
    pub fn compact(self) -> Result<String, String> {
        let mut text = String::new();
        self.write(&mut text)?;
        Ok(text)
    }

    fn write(self, text: &mut String) -> Result<(), String> {
        match self.kind() {
            "object" => {
                text.push('{');
                for (number, (key, member)) in self.members()?.into_iter().enumerate() {
                    if number > 0 {
                        text.push(',');
                    }
                    text.push_str(&serde_json::Value::from(key).to_string());
                    text.push(':');
                    member.write(text)?;
                }
                text.push('}');
            }
            "array" => {
                text.push('[');
                for (number, item) in self.items()?.into_iter().enumerate() {
                    if number > 0 {
                        text.push(',');
                    }
                    item.write(text)?;
                }
                text.push(']');
            }
            "string" => {
                text.push_str(&serde_json::Value::from(self.string()?).to_string());
            }
            _ => text.push_str(self.text()),
        }
        Ok(())
    }
}

impl<'de: 't, 't> Deserialize<'de> for Members<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}
