//! Purged words in packs, and in files that killed programs have left.

use std::time::{Duration, SystemTime};

use super::*;

/// Returns the loose objects and temporary files of the object database.
fn loose_files(scratch: &Scratch) -> Vec<PathBuf> {
    let objects = scratch.top.join(".git/objects");
    let directories = fs::read_dir(objects).unwrap().flatten().map(|entry| entry.path());
    let loose = directories.filter(|path| !path.ends_with("pack") && !path.ends_with("info") && path.is_dir());
    let mut files: Vec<PathBuf> =
        loose.flat_map(|path| fs::read_dir(path).unwrap().flatten().map(|entry| entry.path())).collect();
    files.sort();
    files
}

/// A repository whose objects are all in one pack: a session with the secret, and a blob of the user's that nothing reaches.
fn packed() -> (Scratch, String) {
    let scratch = Scratch::new();
    says(&scratch, &scratch.top, "s", &[SECRET]);
    scratch.commit("x", "1\n", "next");
    says(&scratch, &scratch.top, "s", &[SECRET, "harmless"]);
    let blob = feed(scratch.command("git", &scratch.top).args(["hash-object", "-w", "--stdin"]), b"mine").ok();
    scratch.git(["tag", "mine", blob.trim()]).ok();
    scratch.git(["repack", "-a", "-d", "-q", "--write-midx"]).ok();
    scratch.git(["tag", "-d", "mine"]).ok();
    assert_eq!(loose_files(&scratch), Vec::<PathBuf>::new());
    (scratch, blob.trim().to_owned())
}

#[test]
fn words_in_a_pack_go_without_being_written_once_more() {
    for is_killed in [false, true] {
        let (mut scratch, blob) = packed();
        if is_killed {
            // Everything is packed again, and nothing is removed yet.
            scratch.env.insert("SHIFTLOG_FAULT".into(), "objects-packed".into());
            let before = loose_files(&scratch);
            assert_ne!(purge(&scratch, &[&format!("--match={SECRET}")]).code, 0);
            scratch.env.remove("SHIFTLOG_FAULT");
            let written: Vec<_> = loose_files(&scratch).into_iter().filter(|file| !before.contains(file)).collect();
            let pack_objects = |path: &PathBuf| path.to_string_lossy().contains("tmp_");
            assert!(!written.iter().any(pack_objects), "{written:?}");
            let loose_ids: Vec<String> = written.iter().map(|path| object_id(path)).collect();
            let secret_ids = places(&scratch, &scratch.top, SECRET);
            let is_loose = |place: &String| loose_ids.iter().any(|id| place.starts_with(id.as_str()));
            assert!(!secret_ids.is_empty() && !secret_ids.iter().any(is_loose), "{secret_ids:?} in {written:?}");
            scratch.shiftlog("fsck", [""; 0]).ok();
        } else {
            purge(&scratch, &[&format!("--match={SECRET}")]).ok();
        }
        assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new());
        assert_eq!(scratch.git(["cat-file", "-p", &blob]).ok(), "mine", "what the user may want back stays");
        assert_eq!(scratch.raw("HEAD", &[]), text(&["harmless"]));
        scratch.git(["multi-pack-index", "verify"]).ok();
        scratch.shiftlog("fsck", ["-q"]).ok();
        scratch.assert_sound();
    }
}

fn object_id(path: &Path) -> String {
    let directory = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
    format!("{directory}{}", path.file_name().unwrap().to_str().unwrap())
}

#[test]
fn files_that_killed_programs_left_are_removed_or_named() {
    let (scratch, _) = packed();
    let objects = scratch.top.join(".git/objects");
    let left =
        [objects.join("ab/tmp_obj_old"), objects.join("pack/tmp_pack_old"), objects.join("pack/.tmp-1-pack-old")];
    let recent = objects.join("ab/tmp_obj_recent");
    fs::create_dir_all(objects.join("ab")).unwrap();
    for path in left.iter().chain([&recent]) {
        fs::write(path, SECRET).unwrap();
    }
    let days_ago = SystemTime::now() - Duration::from_secs(2 * 24 * 60 * 60);
    for path in &left {
        fs::File::options().write(true).open(path).unwrap().set_modified(days_ago).unwrap();
    }
    let ran = purge(&scratch, &[&format!("--match={SECRET}")]);
    assert_eq!(ran.code, 0);
    let told = format!("warning: 1 temporary file of Git may have removed words, such as '{}'\n", recent.display());
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);
    assert!(left.iter().all(|path| !path.exists()) && recent.exists());
}

/// A killed 'git repack' leaves packs that Git reads and that 'git maintenance' then relies on.
#[test]
fn a_pack_of_a_killed_repack_that_git_reads_stays() {
    let (scratch, _) = packed();
    let packs = scratch.top.join(".git/objects/pack");
    let days_ago = SystemTime::now() - Duration::from_secs(2 * 24 * 60 * 60);
    scratch.commit("mine", "my own words\n", "mine");
    let ids = scratch.git(["rev-list", "--objects", "HEAD", "^HEAD~"]).ok();
    let ids: String = ids.lines().map(|line| line.split(' ').next().unwrap().to_owned() + "\n").collect();
    let prefix = packs.join(".tmp-1-pack");
    feed(scratch.command("git", &scratch.top).args(["pack-objects", "-q", prefix.to_str().unwrap()]), ids.as_bytes())
        .ok();
    for entry in
        fs::read_dir(&packs).unwrap().flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(".tmp"))
    {
        let file = entry.path();
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        fs::File::options().write(true).open(file).unwrap().set_modified(days_ago).unwrap();
    }
    scratch.git(["prune-packed", "-q"]).ok();
    purge(&scratch, &[&format!("--match={SECRET}")]).ok();
    assert_eq!(scratch.git(["show", "HEAD:mine"]).ok(), "my own words\n");
    scratch.assert_sound();
}

#[test]
fn a_purge_that_is_killed_while_packs_go_leaves_none_of_the_words() {
    let (mut scratch, _) = packed();
    scratch.env.insert("SHIFTLOG_FAULT".into(), "pack-removed".into());
    assert_ne!(purge(&scratch, &[&format!("--match={SECRET}")]).code, 0);
    scratch.env.remove("SHIFTLOG_FAULT");
    scratch.shiftlog("fsck", [""; 0]).ok();
    let packs = fs::read_dir(scratch.top.join(".git/objects/pack")).unwrap().flatten().map(|entry| entry.path());
    let orphans = packs.filter(|path| path.extension().is_some_and(|name| name == "pack"));
    assert_eq!(orphans.filter(|path| !path.with_extension("idx").exists()).count(), 0);
    assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new());
    scratch.assert_sound();
}

#[test]
fn a_purge_finds_the_packs_from_everywhere() {
    let (scratch, _) = packed();
    let top = scratch.top.file_name().unwrap().to_str().unwrap().to_owned();
    let args = [
        format!("--git-dir={top}/.git"),
        "shiftlog".into(),
        "purge".into(),
        "--yes".into(),
        format!("--match={SECRET}"),
    ];
    scratch.git_in(scratch.top.parent().unwrap(), &args).ok();
    assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new());
    assert_eq!(scratch.raw("HEAD", &[]), text(&["harmless"]));
}

#[test]
fn nothing_is_removed_from_a_repository_whose_objects_are_precious() {
    let (scratch, _) = packed();
    scratch.git(["config", "core.repositoryFormatVersion", "1"]).ok();
    scratch.git(["config", "extensions.preciousObjects", "true"]).ok();
    let ran = purge(&scratch, &[&format!("--match={SECRET}")]);
    assert_eq!(ran.code, 128);
    assert!(ran.stderr.contains("extensions.preciousObjects is set"), "{}", ran.stderr);
    assert!(!places(&scratch, &scratch.top, SECRET).is_empty());
    assert_eq!(scratch.raw("HEAD", &[]), text(&["harmless"]), "nothing is half done");
}
