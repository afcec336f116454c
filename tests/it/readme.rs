//! What the README shows is what the programs print.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use crate::support::{Scratch, bin_dir};

/// Returns what stands below each command in a text: commands begin with `$ `.
fn printed(text: &str) -> Vec<(&str, &str)> {
    let commands = format!("\n{text}").match_indices("\n$ ").map(|(at, _)| at).collect::<Vec<_>>();
    let end_of = |number: usize| commands.get(number + 1).map_or(text.len(), |at| at.saturating_sub(1));
    let part = |(number, at): (usize, &usize)| text[*at..end_of(number)].split_once('\n').unwrap_or_default();
    commands.iter().enumerate().map(part).map(|(command, output)| (command, output.trim())).collect()
}

#[test]
fn the_readme_shows_what_its_demonstration_prints() {
    let mut scratch = Scratch::new();
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The programs are built already.
    let installed = scratch.root().join("installed");
    fs::create_dir(&installed).unwrap();
    symlink(bin_dir(), installed.join("bin")).unwrap();
    let cargo = scratch.root().join("bin/cargo");
    fs::write(&cargo, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    scratch.env.insert("CARGO_INSTALL_ROOT".into(), installed.display().to_string());
    let path = format!("{}:{}", scratch.root().join("bin").display(), std::env::var("PATH").unwrap());
    scratch.env.insert("PATH".into(), path);
    let shown = scratch.run_in(&scratch.top, "sh", [project.join("tests/demo.sh")]).ok();
    let readme = fs::read_to_string(project.join("README.md")).unwrap();
    let example = readme.split("```console\n").nth(1).unwrap().split("```\n").next().unwrap();
    let (shown, example) = (printed(&shown), printed(example));
    assert!(example.len() >= 3, "{example:#?}");
    for (command, output) in example {
        let found = shown.iter().find(|(other, _)| *other == command).map(|(_, output)| *output);
        assert_eq!(found, Some(output), "{command}");
    }
}
