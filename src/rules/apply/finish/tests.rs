//! The registry after the steps of a journal, also where a step was left out or failed.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::fs;

use super::super::super::registry::Owned;
use super::*;

fn journal(place: &Place, steps: Vec<Step>, registry: Registry, previous: Registry) -> Journal {
    Journal {
        base: place.base.clone(),
        identity: None,
        real: None,
        boot: None,
        store_steps: 0,
        steps,
        registry,
        previous,
        taken: BTreeSet::new(),
        settled: BTreeSet::new(),
    }
}

#[test]
fn a_folder_that_was_moved_to_a_backup_is_known_though_nothing_could_be_written_in_its_place() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().canonicalize().unwrap();
    let place = Place::of_home(&home).unwrap();
    fs::create_dir_all(home.join("skills/s")).unwrap();
    fs::create_dir_all(&place.state).unwrap();
    fs::write(home.join("skills/s/SKILL.md"), "mine\n").unwrap();
    let (path, kept) = (home.join("skills/s"), place.backups.join("1/files/s"));
    // A file is where the directory should be.
    let steps = vec![
        Step::Move { from: path.clone(), to: kept.clone() },
        Step::write(path.clone(), b"in the way\n", None, &Node::Absent).unwrap(),
        Step::MakeDirectory { path: path.clone() },
        Step::write(path.join("SKILL.md"), b"ours\n", None, &Node::Absent).unwrap(),
    ];
    let original = Original::Directory { kept: kept.clone() };
    let entry = Entry { owned: Owned::Tree, target: "claude".into(), digest: String::new(), original };
    let mut registry = Registry::empty();
    registry.entries.insert(path.clone(), entry.clone());
    let previous = Registry::empty();
    let changed = finish(&place, &journal(&place, steps, registry, previous), false).unwrap();
    assert_eq!(changed.of_agents, std::slice::from_ref(&path));
    assert_eq!(fs::read_to_string(kept.join("SKILL.md")).unwrap(), "mine\n");
    assert_eq!(Registry::read(&place).unwrap().get(&path), Some(&entry), "'clean' finds it");
}

#[test]
fn a_users_folder_that_is_back_stays_as_it_is_when_the_steps_are_taken_again() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().canonicalize().unwrap();
    let place = Place::of_home(&home).unwrap();
    let (path, kept) = (home.join("skills/s"), place.backups.join("1/files/s"));
    for folder in [&path, &kept] {
        fs::create_dir_all(folder).unwrap();
        // The copy is what the user had.
        fs::write(folder.join("SKILL.md"), "the skill\n").unwrap();
    }
    fs::create_dir_all(&place.state).unwrap();
    let copy = disk::observe(&path.join("SKILL.md")).unwrap();
    let steps = vec![
        Step::Remove { path: path.join("SKILL.md"), before: crate::managed::step::stamp(&copy) },
        Step::RemoveDirectory { path: path.clone() },
        Step::Move { from: kept, to: path.clone() },
    ];
    let (registry, previous) = (Registry::empty(), Registry::empty());
    let journal = journal(&place, steps, registry, previous);
    for (run, is_again) in
        [("all of it", false), ("again, as after a loss of power that has taken what was noted", true)]
    {
        finish(&place, &journal, is_again).unwrap();
        assert_eq!(fs::read_to_string(path.join("SKILL.md")).unwrap(), "the skill\n", "{run}");
    }
}

#[test]
fn what_could_not_be_removed_is_known_so_that_a_later_command_removes_it() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().canonicalize().unwrap();
    let place = Place::of_home(&home).unwrap();
    let (copy, folder) = (home.join(".claude/skills/s"), home.join(".kiro/steering"));
    for path in [&copy, &folder, &place.state] {
        fs::create_dir_all(path).unwrap();
    }
    fs::write(folder.join("mine.md"), "mine\n").unwrap();
    // Nothing can be at a path with such a name, as nothing can be removed from a directory that may not be written.
    let steps = vec![
        Step::Remove { path: copy.join("n".repeat(300)), before: "absent".into() },
        Step::RemoveDirectory { path: folder.clone() },
    ];
    let original = Original::Absent;
    let entry = Entry { owned: Owned::Tree, target: "claude".into(), digest: String::new(), original };
    let mut previous = Registry::empty();
    previous.entries.insert(copy.clone(), entry.clone());
    let journal = journal(&place, steps, Registry::empty(), previous);
    finish(&place, &journal, false).unwrap_err();
    let registry = Registry::read(&place).unwrap();
    assert_eq!((registry.get(&copy), &registry.directories), (Some(&entry), &vec![folder.clone()]));
    fs::remove_file(folder.join("mine.md")).unwrap();
    let _ = finish(&place, &journal, true);
    assert_eq!(Registry::read(&place).unwrap().directories, Vec::<PathBuf>::new());
}

/// Without the file that makes it a copy, nobody would know what the rest is.
#[test]
fn the_rest_of_a_copy_of_which_something_could_not_be_removed_is_still_a_copy() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().canonicalize().unwrap();
    let place = Place::of_home(&home).unwrap();
    let (copy, mark) = (home.join(".claude/skills/s"), home.join(".claude/skills/s/.sync-meta"));
    fs::create_dir_all(&copy).unwrap();
    fs::create_dir_all(&place.state).unwrap();
    fs::write(&mark, "{\"source\":\"s\"}\n").unwrap();
    let before = crate::managed::step::stamp(&disk::observe(&mark).unwrap());
    let steps = vec![
        Step::Remove { path: copy.join("n".repeat(300)), before: "absent".into() },
        Step::Remove { path: mark.clone(), before },
        Step::RemoveDirectory { path: copy.clone() },
    ];
    let entry = Entry { owned: Owned::Tree, target: "claude".into(), digest: "1".into(), original: Original::Absent };
    let mut previous = Registry::empty();
    previous.entries.insert(copy.clone(), entry.clone());
    finish(&place, &journal(&place, steps, Registry::empty(), previous), false).unwrap_err();
    assert!(mark.exists());
    let known = Registry::read(&place).unwrap().get(&copy).cloned();
    assert_eq!(known, Some(Entry { digest: String::new(), ..entry }), "nobody knows what it has");
}

/// A full disk: what was begun is known, and nothing else is written into it.
#[test]
fn a_copy_whose_mark_could_not_be_written_is_the_beginning_of_one() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().canonicalize().unwrap();
    let place = Place::of_home(&home).unwrap();
    fs::create_dir_all(&place.state).unwrap();
    let copy = home.join(".claude/skills/s");
    let unwritable = Step::Write {
        path: copy.join(".sync-meta"),
        content: "no base64".into(),
        mode: None,
        modified: None,
        before: "absent".into(),
    };
    let steps = vec![
        Step::MakeDirectory { path: copy.clone() },
        unwritable,
        Step::write(copy.join("SKILL.md"), b"ours\n", None, &Node::Absent).unwrap(),
    ];
    let entry = Entry { owned: Owned::Tree, target: "claude".into(), digest: "1".into(), original: Original::Absent };
    let mut registry = Registry::empty();
    registry.entries.insert(copy.clone(), entry.clone());
    finish(&place, &journal(&place, steps, registry, Registry::empty()), false).unwrap_err();
    assert_eq!(fs::read_dir(&copy).unwrap().count(), 0);
    let known = Registry::read(&place).unwrap().get(&copy).cloned();
    assert_eq!(known, Some(Entry { digest: String::new(), ..entry }), "nobody takes it for an edit");
}

/// A process was killed after it had copied a folder to another file system, and before it removed it; then the user went on.
#[test]
fn a_folder_that_was_copied_and_not_removed_is_the_users_where_it_is() {
    for is_back in [false, true] {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().canonicalize().unwrap();
        let place = Place::of_home(&home).unwrap();
        let (path, kept) = (home.join(".claude/skills/s"), place.backups.join("1/files/.claude/skills/s"));
        for (folder, text) in [(&path, "an hour of work\n"), (&kept, "as it was\n"), (&place.state, "")] {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join("SKILL.md"), text).unwrap();
        }
        let original = Original::Directory { kept: kept.clone() };
        let mut ours = Registry::empty();
        let entry = Entry { owned: Owned::Tree, target: "claude".into(), digest: "1".into(), original };
        ours.entries.insert(path.clone(), entry);
        let journal = match is_back {
            true => journal(&place, vec![Step::Move { from: kept.clone(), to: path.clone() }], Registry::empty(), ours),
            false => {
                let make = Step::MakeDirectory { path: path.clone() };
                let steps = vec![Step::Move { from: path.clone(), to: kept.clone() }, make];
                journal(&place, steps, ours, Registry::empty())
            }
        };
        finish(&place, &journal, true).unwrap();
        assert_eq!(fs::read_to_string(path.join("SKILL.md")).unwrap(), "an hour of work\n");
        assert_eq!(fs::read_to_string(kept.join("SKILL.md")).unwrap(), "as it was\n", "nothing is lost");
        assert_eq!(Registry::read(&place).unwrap().get(&path), None, "{is_back}");
    }
}

/// A home with an agent's file of ours, the entry of it, and an operation that takes it back and writes the manifest.
fn taking_back(root: &Path) -> (Place, PathBuf, super::super::Operation) {
    let place = Place::of_home(&root.canonicalize().unwrap()).unwrap();
    let file = place.base.join(".claude/CLAUDE.md");
    let kept = place.backups.join("1/files/.claude/CLAUDE.md");
    for (path, text) in [(&file, "ours\n"), (&kept, "the original\n"), (&place.manifest(), "{}\n")] {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let (ours, manifest) = (disk::observe(&file).unwrap(), disk::observe(&place.manifest()).unwrap());
    let original = Original::File { kept, mode: 0o644 };
    let entry = Entry { owned: Owned::Whole, target: "claude".into(), digest: "1".into(), original };
    let mut previous = Registry::empty();
    previous.entries.insert(file.clone(), entry);
    let now = crate::git::date::Time { seconds: 0, offset: 0 };
    let mut backup = backup::Backup::new(&place, "clean", now);
    backup.add(&file, backup::What::File { bytes: b"ours\n".to_vec(), mode: 0o644 }, false);
    let operation = super::super::Operation {
        backup,
        of_store: vec![Step::write(place.manifest(), b"{\"a\":1}\n", None, &manifest).unwrap()],
        of_agents: vec![Step::write(file.clone(), b"the original\n", None, &ours).unwrap()],
        registry: Registry::empty(),
        previous,
        settled: BTreeSet::from([file.clone()]),
    };
    (place, file, operation)
}

#[test]
fn an_original_stays_known_if_its_file_has_changed_since_the_plan_was_made() {
    for edited in ["ours, edited\n", "the user's\n"] {
        let root = tempfile::tempdir().unwrap();
        let (place, file, operation) = taking_back(root.path());
        fs::write(&file, edited).unwrap();
        let previous = operation.previous.clone();
        let error = super::super::carry_out(&place, operation).unwrap_err();
        assert_eq!(error.to_string(), "'~/.claude/CLAUDE.md' has changed meanwhile; try again");
        assert_eq!(fs::read_to_string(&file).unwrap(), edited);
        assert_eq!(Registry::read(&place).unwrap().entries, previous.entries);
        assert_eq!(fs::read_to_string(place.manifest()).unwrap(), "{\"a\":1}\n", "all else is done");
    }
}

#[test]
fn nothing_is_done_if_the_store_has_changed_since_the_plan_was_made() {
    let root = tempfile::tempdir().unwrap();
    let (place, file, operation) = taking_back(root.path());
    fs::write(place.manifest(), "{\"b\":1}\n").unwrap();
    let error = super::super::carry_out(&place, operation).unwrap_err();
    assert_eq!(error.to_string(), "'~/.ai-agent/manifest.json' has changed meanwhile; try again");
    assert_eq!(fs::read_to_string(&file).unwrap(), "ours\n");
    assert_eq!(fs::read_to_string(place.manifest()).unwrap(), "{\"b\":1}\n");
    assert!(!disk::is_there(&place.journal_path()) && !disk::is_there(&Registry::path(&place)));
    assert_eq!(super::super::super::folders(&place.backups), ["1"], "no backup is kept of what did not happen");
}
