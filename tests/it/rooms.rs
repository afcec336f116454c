//! Each room uses only the rooms above it, and only a few know about gix and exit codes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Names that stand in backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns the rooms of each line in the table of `lib.rs`.
fn table() -> Vec<Vec<String>> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let cells = text.lines().filter_map(|line| line.strip_prefix("//! | ["));
    cells.map(|cells| quoted(&format!("[{}", cells.split('|').next().unwrap()))).collect()
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn rooms_use_only_those_above_them() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    assert!(files.len() > 40, "the sources are where they are expected");
    let rooms = table();
    let level = |room: &str| rooms.iter().position(|line| line.iter().any(|name| name == room));
    for file in files {
        let relative = file.strip_prefix(&src).unwrap();
        let module = module_of(relative);
        let room = &*module[0];
        // The one declares the rooms, the other only starts commands.
        if ["lib", "bin"].contains(&room) {
            continue;
        }
        let own = level(room).unwrap_or_else(|| panic!("the table in lib.rs lacks {room}"));
        let text = fs::read_to_string(&file).unwrap();
        for used in used_by(&module, &text) {
            let Some(used) = used.first().filter(|used| !used.is_empty() && **used != room) else { continue };
            let is_apart = !(room == "mcp" && used == "cli");
            assert!(is_apart, "{}: the server has manners of its own", relative.display());
            let is_above = level(used).is_some_and(|used| used < own);
            assert!(is_above, "{} uses crate::{used}", relative.display());
        }
        if !["git", "notes", "archive"].contains(&room) {
            assert!(!text.contains("gix::"), "{} names gix", relative.display());
        }
        if !["cli", "command"].contains(&room) {
            assert!(!text.contains("ExitCode"), "{} knows exit codes", relative.display());
        }
        // The git room takes the word off what 'git' says.
        if !["cli", "git"].contains(&room) {
            assert!(!text.contains("\"fatal"), "{} says 'fatal:'", relative.display());
        }
    }
}

#[test]
fn lib_rs_and_contributing_have_the_same_rooms() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join(".github/CONTRIBUTING.md")).unwrap();
    let (_, text) = text.split_once("## The rooms").unwrap();
    let (text, _) = text.split_once("\n## ").unwrap();
    let rooms = |line: &str| {
        let (number, rooms) = line.split_once(". ")?;
        number.parse::<u8>().ok().map(|_| quoted(rooms.split(':').next().unwrap()))
    };
    let numbered: Vec<Vec<String>> = text.lines().filter_map(rooms).collect();
    assert_eq!(numbered, table(), "each numbered line begins with the rooms of one line of the table");
    let library = fs::read_to_string(root.join("src/lib.rs")).unwrap();
    let declaration = |line: &str| Some(line.strip_prefix("pub mod ")?.strip_suffix(';')?.to_owned());
    let mut declared: Vec<String> = library.lines().filter_map(declaration).collect();
    let mut listed = table().concat();
    declared.sort();
    listed.sort();
    assert_eq!(declared, listed, "the table has every room once");
}

/// Marks in the sources of something that text of others can become, and the files that may have them: each with what
/// keeps it from harm there. All others go through the function that is named first.
const WAYS: &[(&str, &str, &[&str])] = &[
    // Lines on a terminal: `cli::print`, `cli::Screen` for what is paged, and the messages on stderr.
    (
        "stdout()",
        "cli::print takes out what a terminal would act on",
        &[
            "cli/output.rs", // It is the function; a `Screen` gets text from `pretty`, and `show --raw` says exactly what is stored.
            "lsp/mod.rs",    // Messages of the protocol, which are JSON of what `pretty` has cleaned.
            "mcp/mod.rs",    // Lines of the protocol, which is JSON of what `mcp` has cleaned.
        ],
    ),
    ("println!(", "cli::print", &[]),
    (
        "stderr()",
        "cli::error, cli::warning, cli::hint",
        &[
            "cli/confirm.rs", // A question of ours.
            "cli/message.rs",
            "cli/progress.rs",
            "git/command.rs",   // What Git says of its progress, without the words of a remote.
            "bin/start/mod.rs", // Says why git-shiftlog cannot be run; links nothing of the crate.
        ],
    ),
    ("eprint", "cli::error, cli::warning, cli::hint", &[]),
    // Components of paths and names of sessions: `outside::component` and `outside::is_plain_id`.
    ("percent_encode", "outside::component", &["outside.rs"]),
    ("is_ascii_alphanumeric() || matches!(b, b'-' | b'_')", "outside::is_plain_id", &["outside.rs"]),
    // Addresses: `outside::decoded`.
    (
        "\"file://",
        "agent::place::path_of_uri and path_or_uri, which let stand what is no code",
        &["agent/place.rs", "agent/vscode/mod.rs"],
    ),
    // Arguments: words that are handed to a program one by one, and `outside::shell` for what a shell reads.
    (
        "Command::new(\"sh\")",
        "nothing of others",
        &[
            "cli/output.rs",        // The pager, as Git would run it.
            "agent/ask/process.rs", // The guard of an agent: a script of ours, which gets the directory as an argument.
        ],
    ),
    ("'\\\\''", "outside::shell", &["outside.rs"]),
    // Names of refs: `git::is_ref_name`, and `Repository::tracking_ref` for those of remotes.
    ("FullName::try_from", "git::is_ref_name", &["git/ref_name.rs"]),
    ("REMOTES_PREFIX}{", "Repository::tracking_ref", &["git/remote.rs"]),
    // HTML: `pretty::markdown::inert`.
    ("&lt;", "pretty::markdown::inert", &["pretty/markdown.rs"]),
    (
        "PreEscaped(",
        "pretty::html::words::markdown; maud escapes all else",
        &[
            "pretty/html/words.rs", // What the parser made of Markdown without HTML.
            "pretty/html/head.rs",  // Our own style.
        ],
    ),
];

#[test]
fn text_of_others_goes_through_one_function_for_each_purpose() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut seen: Vec<(&str, String)> = Vec::new();
    for file in files {
        let relative = file.strip_prefix(&src).unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&file).unwrap();
        let (text, _) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
        for (mark, instead, allowed) in WAYS {
            let is_asked = |line: &str| line.contains("is_terminal()");
            if text.lines().any(|line| line.contains(mark) && !is_asked(line)) {
                assert!(allowed.contains(&&*relative), "{relative} has {mark}: {instead}");
                seen.push((mark, relative.clone()));
            }
        }
    }
    for (mark, _, allowed) in WAYS {
        for file in *allowed {
            assert!(seen.contains(&(mark, (*file).to_owned())), "{file} has no {mark} any more");
        }
    }
}

#[test]
fn the_program_of_the_hooks_has_no_pages_no_prices_and_no_server() {
    let read = |name: &str| fs::read(crate::support::bin_dir().join(name)).unwrap();
    let (hook, all) = (read("git-shiftlog--hook"), read("git-shiftlog"));
    // Of each a text that stands in the program as it is: the style, the script, the table, and what the gate says.
    for mark in ["--prompt-line:", "Search, keys, views", "claude-opus-4-8\t-\t", "pages are only read here"] {
        let has = |program: &[u8]| bstr::ByteSlice::contains_str(program, mark);
        assert!(has(&all) && !has(&hook), "{mark}");
    }
}

#[test]
fn every_program_is_one_line() {
    let bin = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin");
    for entry in fs::read_dir(bin).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let body: Vec<&str> = text.lines().filter(|line| line.starts_with("    ")).collect();
        let expected = match path.file_stem().unwrap().to_str().unwrap() {
            "git-shiftlog" => "    shiftlog::command::dispatch::run()".to_owned(),
            "git-shiftlog--hook" => "    shiftlog::command::hook::run()".to_owned(),
            name => format!("    start::start({:?})", name.trim_start_matches("git-shiftlog-")),
        };
        assert_eq!(body, [expected], "{}", path.display());
    }
}

/// Returns the module that a source file is, as its path from the crate's root.
fn module_of(relative: &Path) -> Vec<String> {
    let mut parts: Vec<String> = relative.with_extension("").iter().map(|part| part.to_str().unwrap().into()).collect();
    if parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    parts
}

/// Returns the paths that a tree of imports names, such as `a::{b, c::D}`.
fn leaves(tree: &str) -> Vec<String> {
    let Some((before, rest)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap().trim().to_owned()];
    };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, letter) in inner.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[start..]);
    let named = parts.into_iter().filter(|part| !part.trim().is_empty());
    named.flat_map(|part| leaves(part.trim())).map(|leaf| format!("{}{leaf}", before.trim())).collect()
}

/// Returns the code of a module without comments and tests, in one line.
fn code_of(text: &str) -> String {
    let text = text.split("\nmod tests {").next().unwrap();
    text.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join(" ")
}

/// Returns the paths that a module imports from the crate, or with `is_public` those that it exports again.
fn imports(code: &str, is_public: bool) -> Vec<String> {
    let mut paths = Vec::new();
    for (at, _) in code.match_indices("use ") {
        let before = code[..at].trim_end();
        let exports = ["pub", "pub(crate)", "pub(super)"].iter().any(|word| before.ends_with(word));
        let tree = code[at + 4..].split(';').next().unwrap();
        let is_ours = ["crate::", "super::", "self::"].iter().any(|root| tree.starts_with(root));
        if is_ours && exports == is_public {
            paths.extend(leaves(tree));
        }
    }
    paths
}

/// Returns a path in a module as one from the crate's root.
fn absolute(module: &[String], path: &str) -> Vec<String> {
    let parts: Vec<&str> = path.split("::").collect();
    let up = parts.iter().take_while(|part| **part == "super").count();
    let (base, rest): (&[String], _) = match parts[0] {
        "crate" => (&[], &parts[1..]),
        "self" => (module, &parts[1..]),
        _ => (&module[..module.len().saturating_sub(up)], &parts[up..]),
    };
    base.iter().map(String::as_str).chain(rest.iter().copied()).map(str::to_owned).collect()
}

/// Returns what a module exports again: its path there, and the path that it comes from.
fn exported_by(module: &[String], text: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let paths = imports(&code_of(text), true);
    let exported = paths.iter().map(|path| absolute(module, path));
    exported.map(|from| ([module, &from[from.len() - 1..]].concat(), from)).collect()
}

/// Returns the path at which an item is, where `path` names it through modules that export it again.
fn origin(
    path: &[String],
    exported: &BTreeMap<Vec<String>, Vec<String>>,
    is_module: impl Fn(&[String]) -> bool,
) -> Vec<String> {
    let mut path = path.to_vec();
    // A function can have the name of a module; what is inside of the module does not come from the function.
    let export = |path: &[String]| {
        let mut lengths = (1..=path.len()).rev().filter(|length| *length == path.len() || !is_module(&path[..*length]));
        lengths.find_map(|length| Some((exported.get(&path[..length])?, length)))
    };
    // Each step leads to another module; a circle of exports would not compile.
    while let Some((from, length)) = export(&path) {
        if path.starts_with(from) {
            break;
        }
        path = [from, &path[length..]].concat();
    }
    path
}

/// Returns what a module uses of the crate, but for its tests, as paths from its root.
fn used_by(module: &[String], text: &str) -> Vec<Vec<String>> {
    let code = code_of(text);
    let mut paths = imports(&code, false);
    for root in ["crate::", "super::"] {
        for (at, _) in code.match_indices(root) {
            let is_path = |letter: &char| letter.is_alphanumeric() || matches!(letter, '_' | ':');
            paths.push(code[at..].chars().take_while(is_path).collect());
        }
    }
    paths.iter().map(|path| absolute(module, path)).collect()
}

#[test]
fn files_of_a_room_use_each_other_without_a_circle() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let modules: BTreeMap<Vec<String>, PathBuf> = files
        .into_iter()
        .filter(|file| !file.starts_with(src.join("bin")) && !file.ends_with("lib.rs"))
        .map(|file| (module_of(file.strip_prefix(&src).unwrap()), file))
        .collect();
    let home = |path: &[String]| {
        (1..=path.len()).rev().map(|length| path[..length].to_vec()).find(|path| modules.contains_key(path))
    };
    let texts: BTreeMap<&Vec<String>, String> =
        modules.iter().map(|(module, file)| (module, fs::read_to_string(file).unwrap())).collect();
    let exported: BTreeMap<_, _> = texts.iter().flat_map(|(module, text)| exported_by(module, text)).collect();
    let mut uses: BTreeMap<Vec<String>, BTreeSet<Vec<String>>> = BTreeMap::new();
    for (module, text) in &texts {
        let module = *module;
        let used = used_by(module, text);
        let used = used.iter().filter_map(|path| home(&origin(path, &exported, |path| modules.contains_key(path))));
        // What a folder has in common stands in its `mod.rs`.
        let is_family = |other: &Vec<String>| other.starts_with(module) || module.starts_with(other);
        uses.insert(module.clone(), used.filter(|other| !is_family(other)).collect());
    }
    assert!(uses.values().map(BTreeSet::len).sum::<usize>() > 500, "imports are found: {uses:?}");
    // Whoever uses nothing that is left is in no circle.
    loop {
        let left: BTreeSet<Vec<String>> = uses.keys().cloned().collect();
        let before = uses.len();
        uses.retain(|_, used| used.iter().any(|other| left.contains(other)));
        if uses.len() == before {
            break;
        }
    }
    assert!(uses.is_empty(), "these use each other in a circle, or what does: {uses:#?}");
}

#[test]
fn a_command_uses_no_other_command() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let text = fs::read_to_string(src.join("command/mod.rs")).unwrap();
    let named =
        |line: &str, before: &str, after: char| Some(line.strip_prefix(before)?.split_once(after)?.0.to_owned());
    let modules =
        |before: &str| -> BTreeSet<String> { text.lines().filter_map(|line| named(line, before, ';')).collect() };
    let (commands, shared) = (modules("pub mod "), modules("mod "));
    let listed: BTreeSet<String> = text.lines().filter_map(|line| named(line, "//! - `", '`')).collect();
    assert_eq!(listed, shared, "command/mod.rs says what each file is for that is no command");
    let mut files = Vec::new();
    sources(&src.join("command"), &mut files);
    let mut users: BTreeSet<(String, String)> = BTreeSet::new();
    for file in files {
        let module = module_of(file.strip_prefix(&src).unwrap());
        let Some(own) = module.get(1) else { continue };
        for used in used_by(&module, &fs::read_to_string(&file).unwrap()) {
            let [room, other, ..] = used.as_slice() else { continue };
            if room == "command" && other != own {
                assert!(!commands.contains(other), "{own} uses the command {other}");
                users.insert((other.clone(), own.clone()));
            }
        }
    }
    for file in shared {
        assert!(
            users.iter().filter(|(used, _)| *used == file).count() > 1,
            "{file} belongs to the command that uses it"
        );
    }
}
