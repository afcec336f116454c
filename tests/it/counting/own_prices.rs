//! Prices of one's own: each row holds from its day, and a table can come through a pipe.

use std::fs;
use std::path::Path;

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

#[test]
fn a_list_with_a_price_that_is_likely_a_slip_makes_no_table() {
    let scratch = Scratch::new();
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    for path in [".ci/prices.py", "src/stats/prices.tsv"] {
        scratch.write(path, &fs::read_to_string(top.join(path)).unwrap());
    }
    let table = || fs::read_to_string(scratch.top.join("src/stats/prices.tsv")).unwrap();
    let before = table();
    let make = |dollars: f64| {
        let price = dollars / 1e6;
        let entry = serde_json::json!({ "litellm_provider": "anthropic", "mode": "chat", "input_cost_per_token": price,
            "output_cost_per_token": 25e-6 });
        scratch.write("list.json", &serde_json::json!({ "claude-opus-4-8": entry }).to_string());
        scratch.run_in(&scratch.top, "python3", [".ci/prices.py", "list.json", "2099-01-02"])
    };
    let refused = make(30.0);
    assert!(refused.code != 0 && refused.stderr.contains("claude-opus-4-8: input goes from 5 to 30"), "{refused:?}");
    assert_eq!(table(), before);
    make(20.0).ok();
    assert!(table().contains("\nclaude-opus-4-8\t2099-01-02\t20\t25\t"), "{}", table());
    assert!(table().contains("\nclaude-opus-4-8\t-\t5\t25\t"), "the old price holds before that day");
}
