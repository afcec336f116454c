//! The schema of the four files: keys that must be there and their types. Other keys are allowed.
//!
//! Read [`check`]. The path into the value is written as everywhere, `[modules][0][name]`.

use super::files;
use crate::path::{Document, Segment, render};

/// The most errors that are reported of one file.
const MAX_ERRORS: usize = 50;

/// The type of a value.
enum Schema {
    Text,
    /// A whole number from 0 on.
    Number,
    List(&'static Schema),
    /// Keys that must be there, and keys that may be there.
    Object(&'static [(&'static str, Schema)], &'static [(&'static str, Schema)]),
}

use Schema::{List, Number, Object, Text};

const SUBMODULE: Schema = Object(&[("name", Text), ("description", Text), ("interfaces", Text)], &[]);
const INTERNAL: Schema = Object(&[("submodules", List(&SUBMODULE)), ("relationships", Text)], &[]);
const MODULE: Schema =
    Object(&[("name", Text), ("description", Text), ("interfaces", Text)], &[("internal", INTERNAL)]);
const INTERFACE: Schema = Object(&[("type", Text), ("name", Text), ("params", Text), ("description", Text)], &[]);
const STORY: Schema = Object(&[("title", Text), ("tags", List(&Text)), ("content", Text)], &[]);
const LOCATION: Schema = Object(&[("file", Text), ("keyword", Text), ("line", Number)], &[]);
const ISSUE: Schema =
    Object(&[("tags", List(&Text)), ("title", Text), ("description", Text), ("locations", List(&LOCATION))], &[]);

/// The files in the order of [`files::ROOTS`].
const SHAPES: [Schema; 4] = [
    Object(&[("modules", List(&MODULE)), ("relationships", Text)], &[]),
    Object(&[("external", List(&INTERFACE)), ("internal", List(&INTERFACE))], &[]),
    Object(&[("stories", List(&STORY))], &[]),
    Object(&[("issues", List(&ISSUE))], &[]),
];

/// Checks the text of a file of the index, and returns what is wrong with it: `<file>.json: <reason>`, where the reason
/// begins with the path into the value. `text` may also be the reason why there is none.
///
/// The text is parsed by the code that also reads values by path, so that a valid file can be read.
pub fn check(root: &str, text: Result<&str, &str>) -> Vec<String> {
    let tell = |reason: String| vec![format!("{root}.json: {reason}")];
    let text = match text {
        Ok(text) => text,
        Err(reason) => return tell(format!("the file {reason}")),
    };
    let Some(at) = files::ROOTS.iter().position(|known| *known == root) else {
        return tell("is no file of the index".into());
    };
    let mut found = Vec::new();
    let read = Document::new(text).and_then(|document| {
        document.compact()?;
        fits(document, &SHAPES[at], &mut Vec::new(), &mut found)
    });
    if let Err(error) = read {
        return tell(format!("cannot be read as JSON: {error}"));
    }
    let more = found.len().saturating_sub(MAX_ERRORS);
    found.truncate(MAX_ERRORS);
    if more > 0 {
        found.push(format!("and {more} more"));
    }
    found.into_iter().map(|reason| format!("{root}.json: {reason}")).collect()
}

fn fits(value: Document<'_>, shape: &Schema, path: &mut Vec<Segment>, found: &mut Vec<String>) -> Result<(), String> {
    let mut tell = |path: &[Segment], reason: String| {
        found.push(if path.is_empty() { reason } else { format!("{}: {reason}", render(path)) });
    };
    match (shape, value.kind()) {
        (Text, "string") => {}
        (Number, "number") if value.text().parse::<u64>().is_ok() => {}
        (List(of), "array") => {
            for (number, item) in value.items()?.into_iter().enumerate() {
                path.push(Segment { text: number.to_string() });
                fits(item, of, path, found)?;
                path.pop();
            }
        }
        (Object(required, optional), "object") => {
            let members = value.members()?;
            for (key, _) in required.iter().filter(|(key, _)| !members.contains_key(*key)) {
                tell(path, format!("key '{key}' is missing"));
            }
            for (key, shape) in required.iter().chain(*optional) {
                if let Some(member) = members.get(*key).copied() {
                    path.push(Segment { text: (*key).to_owned() });
                    fits(member, shape, path, found)?;
                    path.pop();
                }
            }
        }
        (_, kind) => tell(path, format!("expected {}, got {kind}", expected(shape))),
    }
    Ok(())
}

fn expected(shape: &Schema) -> &'static str {
    match shape {
        Text => "string",
        Number => "whole number from 0 on",
        List(_) => "array",
        Object(..) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(root: &str, text: &str) -> Vec<String> {
        check(root, Ok(text))
    }

    #[test]
    fn the_skeletons_and_whole_files_fit_and_unknown_keys_are_allowed() {
        for (root, text) in files::ROOTS.iter().zip(files::SKELETONS) {
            assert_eq!(wrong(root, text), [""; 0], "{root}");
        }
        let module = r#"{"name":"a","description":"b","interfaces":"c","since":1,
            "internal":{"submodules":[{"name":"a","description":"b","interfaces":"c"}],"relationships":"r"}}"#;
        assert_eq!(wrong("arch", &format!(r#"{{"modules":[{module}],"relationships":"r","x":null}}"#)), [""; 0]);
        let issue = r#"{"tags":["t"],"title":"a","description":"b","locations":[{"file":"f","keyword":"k","line":0}]}"#;
        assert_eq!(wrong("issues", &format!(r#"{{"issues":[{issue}]}}"#)), [""; 0]);
    }

    #[test]
    fn each_error_names_the_file_and_the_place() {
        for (root, text, expected) in [
            ("arch", "[]", &["arch.json: expected object, got array"][..]),
            ("arch", "{}", &["arch.json: key 'modules' is missing", "arch.json: key 'relationships' is missing"]),
            (
                "arch",
                r#"{"modules":[{"name":1,"description":"","interfaces":""}],"relationships":[]}"#,
                &[
                    "arch.json: [modules][0][name]: expected string, got number",
                    "arch.json: [relationships]: expected string, got array",
                ],
            ),
            (
                "arch",
                r#"{"modules":[{"name":"","description":"","interfaces":"","internal":{"submodules":[{}]}}],"relationships":""}"#,
                &[
                    "arch.json: [modules][0][internal]: key 'relationships' is missing",
                    "arch.json: [modules][0][internal][submodules][0]: key 'name' is missing",
                    "arch.json: [modules][0][internal][submodules][0]: key 'description' is missing",
                    "arch.json: [modules][0][internal][submodules][0]: key 'interfaces' is missing",
                ],
            ),
            (
                "interface",
                r#"{"external":null,"internal":[true]}"#,
                &[
                    "interface.json: [external]: expected array, got null",
                    "interface.json: [internal][0]: expected object, got boolean",
                ],
            ),
            (
                "stories",
                r#"{"stories":[{"title":"t","tags":["a",2],"content":"c"}]}"#,
                &["stories.json: [stories][0][tags][1]: expected string, got number"],
            ),
            (
                "issues",
                r#"{"issues":[{"tags":[],"title":"","description":"","locations":[{"file":"f","keyword":"k","line":-1}]}]}"#,
                &["issues.json: [issues][0][locations][0][line]: expected whole number from 0 on, got number"],
            ),
        ] {
            assert_eq!(wrong(root, text), expected, "{text}");
        }
        let broken = wrong("stories", "{ not json");
        assert!(broken.len() == 1 && broken[0].starts_with("stories.json: cannot be read as JSON: "), "{broken:?}");
        assert!(wrong("stories", "\u{feff}{\"stories\":[]}").len() == 1, "a byte order mark is an error");
        assert!(wrong("stories", "{\"stories\":[]} x").len() == 1, "trailing text is an error");
        let nested = |levels: usize| format!("{{\"stories\":[],\"x\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        for (text, is_valid) in [
            (nested(511), true),
            (nested(512), false),
            (r#"{"stories":[],"x":1e999}"#.into(), true),
            (r#"{"stories":1,"stories":[]}"#.into(), true),
            (r#"{"stories":[],"x":"\ud800"}"#.into(), false),
        ] {
            let is_readable = Document::new(&text).and_then(Document::compact).is_ok();
            assert_eq!((wrong("stories", &text).is_empty(), is_readable), (is_valid, is_valid), "{text}");
        }
        assert_eq!(check("issues", Err("is missing")), ["issues.json: the file is missing"]);
        let many = format!(r#"{{"stories":[{}]}}"#, vec!["1"; 60].join(","));
        assert_eq!(wrong("stories", &many).len(), MAX_ERRORS + 1, "an endless list helps nobody");
        assert_eq!(wrong("stories", &many)[MAX_ERRORS], "stories.json: and 10 more");
    }
}
