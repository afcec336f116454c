//! Prices of one's own: each row holds from its day, and a table can come through a pipe.

use super::{total, work};
use crate::support::Scratch;

#[test]
fn a_price_of_ones_own_holds_from_its_day_only() {
    let scratch = Scratch::set_up();
    work(&scratch, "one");
    let listed = scratch.shiftlog("prices", ["claude-opus-4-8"]).ok();
    scratch.write("own.tsv", "claude-opus-4-8\t9000-01-01\t1\t1\t1\t1\t1\nmine\t9000-01-01\t1\t1\n");
    let by_list = total(&scratch, &[])["cost"].clone();
    for words in [&[][..], &["--words"]] {
        assert_eq!(total(&scratch, &[&["--prices=own.tsv"], words].concat())["cost"], by_list, "{words:?}");
    }
    assert_eq!(scratch.shiftlog("prices", ["--prices=own.tsv", "claude-opus-4-8"]).ok(), listed);
    let unknown = scratch.shiftlog("prices", ["--prices=own.tsv", "mine"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("no price known for 'mine'"), "{unknown:?}");
    // The whole table has both: the list price until that day, and one's own from it.
    let all = scratch.shiftlog("prices", ["--prices=own.tsv"]).ok();
    let of_model: Vec<&str> = all.lines().filter(|line| line.starts_with("claude-opus-4-8\t")).collect();
    assert_eq!(of_model.len(), 2, "{of_model:?}");
    assert!(of_model[0].contains("\t5\t25\t") && of_model[1].contains("\t9000-01-01\t"), "{of_model:?}");
}

#[test]
fn a_day_that_no_calendar_has_is_no_price() {
    let scratch = Scratch::new();
    for day in ["2026-13-45", "2026-02-30", "----------", "2026-1-011"] {
        scratch.write("own.tsv", &format!("# mine\nm\t{day}\t1\t1\n"));
        let ran = scratch.shiftlog("prices", ["--prices=own.tsv", "m"]);
        assert_eq!((ran.code, ran.stderr.contains("line 2 is no price")), (129, true), "{day}: {ran:?}");
    }
}

#[test]
fn a_table_comes_through_a_pipe() {
    let scratch = Scratch::set_up();
    work(&scratch, "one");
    for command in ["prices m", "stats --json"] {
        let shell = format!("printf 'm\\t-\\t1\\t1\\n' | git shiftlog {command} --prices=/dev/stdin");
        scratch.run_in(&scratch.top, "sh", ["-c", &shell]).ok();
    }
}
