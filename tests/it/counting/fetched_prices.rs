//! Newer list prices come from a repository, and only when that is typed.

use std::fs;
use std::path::PathBuf;

use super::{total, work};
use crate::support::Scratch;

/// Makes a repository with a table at the place where ours is.
fn source(scratch: &Scratch, name: &str, table: &str) -> PathBuf {
    let place = scratch.root().join(name);
    fs::create_dir_all(place.join("src/stats")).unwrap();
    fs::write(place.join("src/stats/prices.tsv"), table).unwrap();
    for args in [&["init", "-q"][..], &["add", "-A"], &["commit", "-q", "-m", "prices"]] {
        scratch.git_in(&place, args).ok();
    }
    place
}

fn table(day: &str, price: &str) -> String {
    format!(
        "# prices of {day} in US dollars for a million tokens\n# model\tfrom\nclaude-opus-4-8\t-\t{price}\t1\t0\t0\t0\nclaude-test-1\t-\t1\t1\t1\n"
    )
}

#[test]
fn newer_prices_are_fetched_if_that_is_typed_and_hold_everywhere() {
    let scratch = Scratch::set_up();
    work(&scratch, "one");
    let before = total(&scratch, &["HEAD"]);
    let listed = shiftlog::stats::Prices::listed();
    assert_eq!(before["prices"], listed.date());
    let update = |args: &[&str]| scratch.shiftlog("prices", args);

    let unnamed = update(&["--update"]);
    assert_eq!((unnamed.code, unnamed.stdout.as_str()), (129, ""));
    assert!(unnamed.stderr.contains("'git config --global shiftlog.pricesFrom <url>'"), "{unnamed:?}");
    let newer = source(&scratch, "newer", &table("2099-01-02", "1"));
    let named = format!("--update={}", newer.display());
    let dry = update(&[&named, "-n"]);
    assert_eq!(
        dry.stdout,
        format!("Would take the prices of 2099-01-02, of 2 models; those before are of {}.\n", listed.date()),
        "{dry:?}"
    );
    assert_eq!(total(&scratch, &["HEAD"]), before, "nothing was kept");

    scratch.git(["config", "shiftlog.pricesFrom", newer.to_str().unwrap()]).ok();
    assert_eq!(total(&scratch, &["HEAD"]), before, "a setting alone fetches nothing");
    let ran = update(&["--update"]);
    assert_eq!(
        ran.ok(),
        format!("Took the prices of 2099-01-02, of 2 models; those before are of {}.\n", listed.date())
    );
    let after = total(&scratch, &["HEAD"]);
    assert_eq!(after["prices"], "2099-01-02");
    assert!(after["cost"] != before["cost"] && after["unpriced"].as_array().unwrap().is_empty(), "{after}");
    assert!(scratch.shiftlog("prices", ["claude-opus-4-8"]).ok().starts_with("# prices of 2099-01-02"));
    assert_eq!(update(&["--update"]).ok(), "The prices of 2099-01-02 are as new as those there.\n");
    scratch.write("own.tsv", "claude-opus-4-8\t-\t0\t0\t0\t0\t0\nclaude-test-1\t-\t0\t0\t0\n");
    assert_eq!(total(&scratch, &["HEAD", "--prices=own.tsv"])["cost"], "0.00", "the user's own stand before them");
}

#[test]
fn what_is_older_or_no_table_is_not_taken() {
    let mut scratch = Scratch::set_up();
    work(&scratch, "one");
    let before = total(&scratch, &["HEAD"]);
    let older = source(&scratch, "older", &table("2001-01-02", "1"));
    let ran = scratch.shiftlog("prices", [format!("--update={}", older.display())]);
    assert_eq!(
        ran.ok(),
        format!("The prices of {} are as new as those there.\n", shiftlog::stats::Prices::listed().date())
    );
    for (name, text) in [
        ("undated", table("soon", "1")),
        ("empty", "# prices of 2099-01-02 in US dollars\n".to_owned()),
        ("broken", table("2099-01-02", "cheap")),
    ] {
        let place = source(&scratch, name, &text);
        let ran = scratch.shiftlog("prices", [format!("--update={}", place.display())]);
        assert!(ran.code == 128 && ran.stderr.contains("is no table of prices with a date"), "{ran:?}");
    }
    let nowhere = scratch.shiftlog("prices", ["--update=nowhere"]);
    assert!(nowhere.code == 128 && nowhere.stderr.contains("nowhere"), "{nowhere:?}");
    let other = scratch.shiftlog("prices", ["--update=."]);
    assert!(other.code != 0 && other.stderr.contains("has no table of prices at 'src/stats/prices.tsv'"), "{other:?}");
    assert_eq!(total(&scratch, &["HEAD"]), before);

    // Without a home there is no place for it, least of all in the working tree.
    let newer = source(&scratch, "for-nobody", &table("2099-01-02", "1"));
    scratch.env.insert("HOME".into(), String::new());
    assert_ne!(scratch.shiftlog("prices", [format!("--update={}", newer.display())]).code, 0);
    assert!(!scratch.top.join(".local").exists());
    scratch.write(".local/share/git-shiftlog/prices.tsv", &table("2099-01-02", "1"));
    assert_eq!(total(&scratch, &["HEAD"]), before, "a file that a checkout has brought is none");
    scratch.env.insert("HOME".into(), scratch.root().join("home").to_str().unwrap().to_owned());

    // A kept table that was damaged is none.
    let newer = source(&scratch, "newer", &table("2099-01-02", "1"));
    scratch.shiftlog("prices", [format!("--update={}", newer.display())]).ok();
    let kept = scratch.root().join("home/.local/share/git-shiftlog/prices.tsv");
    fs::write(&kept, "# prices of 2099-01-02\nclaude-opus-4-8\t-\tcheap\n").unwrap();
    assert_eq!(total(&scratch, &["HEAD"]), before);
}
