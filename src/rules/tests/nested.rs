//! The property for a home in a home, each of which names files of the other, and which can share one store: each leaves what the other has written, and
//! after a `clean` of both all files are as they were.

use super::*;

/// Has the settings of a store name these files, if it has settings.
fn name(base: &Path, paths: &[String]) {
    let path = base.join(STORE).join("manifest.json");
    let Ok(text) = fs::read_to_string(&path) else { return };
    let mut manifest: Value = serde_json::from_str(&text).unwrap();
    manifest["agents_md"]["paths"] = json!(paths);
    fs::write(path, manifest.to_string()).unwrap();
}

/// Returns what a store has written down, as it is.
fn written(base: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let registry = registry::Registry::read(&Place::of_home(base).unwrap()).unwrap();
    let content = |path: &PathBuf| {
        fs::read_link(path).map(|to| to.into_os_string().into_encoded_bytes()).or_else(|_| fs::read(path)).ok()
    };
    registry.entries.into_keys().map(|path| (path.clone(), content(&path))).collect()
}

/// Returns all files and links but those of stores.
fn files(home: &Path) -> Tree {
    let is_file = |path: &Path| home.join(path).symlink_metadata().is_ok_and(|metadata| !metadata.is_dir());
    let is_stored = |path: &Path| path.iter().any(|part| part == STORE);
    tree(home, true).into_iter().filter(|(path, _)| is_file(path) && !is_stored(path)).collect()
}

#[test]
fn a_home_in_a_home_and_the_home_around_leave_what_the_other_has_written() {
    let first = number("SHIFTLOG_RULES_FIRST").unwrap_or(1);
    let count = number("SHIFTLOG_RULES_SEQUENCES").unwrap_or(SEQUENCES);
    for seed in first..first + count {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().canonicalize().unwrap();
        let sub = home.join("sub");
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for base in [&home, &sub] {
            fill(base, &mut random);
        }
        make_old(&home);
        let expected = files(&home);
        let named = [
            ["~/ws/AGENTS.md", "~/sub/AGENTS.md", "~/sub/.claude/CLAUDE.md", "~/sub/ws/AGENTS.md"].map(str::to_owned),
            ["~/AGENTS.md".to_owned(), "~/ws/AGENTS.md".to_owned()]
                .into_iter()
                .chain(["ws/AGENTS.md", ".gemini/GEMINI.md"].map(|file| home.join(file).display().to_string()))
                .collect::<Vec<_>>()
                .try_into()
                .unwrap(),
        ];
        make_store(&home, &mut random);
        match random.one_in(3) {
            true => symlink(home.join(STORE), sub.join(STORE)).unwrap(),
            false => make_store(&sub, &mut random),
        }
        let mut told = Vec::new();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for at in 0..3 + random.below(9) {
                let which = random.below(2);
                let (base, other) = if which == 0 { (&home, &sub) } else { (&sub, &home) };
                if random.one_in(2) {
                    name(base, &random.some(&named[which].each_ref().map(String::as_str)));
                }
                let others = written(other);
                let now = Time { seconds: 1_767_323_047 + i64::try_from(at).unwrap(), offset: 0 };
                // The earlier tool leaves nothing to anybody.
                told.push(format!("{}: {}", base.display(), step(base, &mut random, now, true)));
                assert!(others == written(other), "{}", told.last().unwrap());
            }
            let order = if random.one_in(2) { [&home, &sub] } else { [&sub, &home] };
            for base in order {
                let others = written(if *base == home { &sub } else { &home });
                let now = Options::at(Time { seconds: 1_767_400_000, offset: 0 });
                let report = Work::new(Place::of_home(base).unwrap(), now).unwrap().clean().unwrap();
                assert_eq!(report.drift, []);
                assert!(others == written(if *base == home { &sub } else { &home }));
            }
            assert_same(&expected, &files(&home));
        }));
        assert!(outcome.is_ok(), "sequence {seed}:\n{}", told.join("\n"));
    }
}
