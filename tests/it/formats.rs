//! `--format=` and `--date=` mean what they mean in Git: the oracle is `git log` over commits that all have a record.

use serde_json::json;

use crate::support::Scratch;

/// A repository with a merge, tags, a remote, a `.mailmap` and subjects of every width. The prompt of each commit's record
/// is the commit's subject.
pub fn repository() -> Scratch {
    let mut scratch = Scratch::new();
    scratch.write(".mailmap", "Proper Name <proper@example.com> <author@example.com>\n");
    let commit = |scratch: &mut Scratch, number: u32, message: &str| {
        scratch.write("file.txt", &format!("{number}\n"));
        let date = format!("2025-0{}-02T03:04:05+0{}00", number % 9 + 1, number % 7);
        for role in ["AUTHOR", "COMMITTER"] {
            scratch.env.insert(format!("GIT_{role}_DATE"), date.clone());
        }
        scratch.git(["add", "-A"]).ok();
        scratch.git(["commit", "-q", "-m", message]).ok();
    };
    commit(&mut scratch, 1, "short");
    commit(
        &mut scratch,
        2,
        "a subject that is much longer than any of the columns that the formats below give it\n\nAnd a body\nof two lines\n\n  indented\n\nReviewed-by: R E Viewer <r@example.com>\n",
    );
    commit(&mut scratch, 3, "漢字の件名はここでも二桁の幅を持つ、とても長いので切られる");
    scratch.git(["tag", "-m", "one", "v1.0"]).ok();
    scratch.git(["switch", "-q", "-c", "side"]).ok();
    commit(&mut scratch, 4, "emoji 🎉 and déjà vu");
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.write("other.txt", "x\n");
    scratch.git(["add", "-A"]).ok();
    scratch.git(["commit", "-q", "-m", "on main"]).ok();
    scratch.git(["merge", "-q", "-m", "Merge branch 'side'", "side"]).ok();
    scratch.git(["tag", "light"]).ok();
    scratch.git(["update-ref", "refs/remotes/origin/main", "HEAD~1"]).ok();
    for id in scratch.git(["rev-list", "--all"]).ok().lines() {
        note(&scratch, id, &scratch.git(["log", "-1", "--format=%s", id]).ok());
    }
    scratch
}

pub fn note(scratch: &Scratch, id: &str, prompt: &str) {
    let record = json!({"shiftlog":1,"agent":"claude","session":"s","time":"2026-01-01T00:00:00Z","prompt":prompt.trim(),
        "turns":1,"messages":2,"since":null,"through":"00".repeat(20),"bytes":1,"sha256":""});
    scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-m", &record.to_string(), id]).ok();
}

/// Compares our log with Git's, which must be the same where every commit has a record.
#[track_caller]
pub fn assert_as_git(scratch: &Scratch, args: &[&str]) {
    let git = scratch.git([&["log"], args].concat());
    let ours = scratch.shiftlog("log", args);
    assert_eq!((ours.stdout, ours.stderr, ours.code), (git.stdout, git.stderr, git.code), "{args:?}");
}

#[test]
fn placeholders_of_git_are_those_of_git() {
    let scratch = repository();
    let formats = [
        "%C(auto)%h%d %s %C(dim)(%ar)%C(reset)",
        "%Cred%h%Creset -%C(yellow)%d%Creset %s %Cgreen(%cr) %C(bold blue)<%an>%Creset",
        "%C(always,red)%h%C(reset) %C(#00ff00 ul)%s",
        "%h %p %t %T %P%d|%D|%(decorate:prefix=<,suffix=>)",
        "%aN %aE %an %ae %al %aL %cN %cE %cn %ce",
        "%ad|%aD|%ah|%ai|%aI|%as|%at|%cd|%ch|%cs|%cr",
        "%<(20)%s|%>(20)%an|%><(30)%s|%<(12,trunc)%s|%<(12,ltrunc)%s|%<(12,mtrunc)%s|",
        "%<|(40)%h %s%>|(60)%an|%>>(10)%s",
        "%w(40,2,6)%s%w()%n%w(30)%b%w(0,0,0)%%|%x41%x09%n",
        "%s%+b|%-b|% b|%f|%e|%m|%G?",
        "%(trailers:key=Reviewed-by,valueonly,separator=%x2C)|%(describe)|%(nope)|%zz|100%",
        "format:%H%n%s",
        "tformat:%h %s",
        "%s%x00%b",
        "%x1b[1m%h%x1b[m %s",
        "",
        "oneline",
        "reference",
        "raw",
        "short",
        "medium",
        "full",
        "fuller",
        "fulle",
        "email",
        "mboxrd",
    ];
    for format in formats {
        let format = format!("--format={format}");
        for color in ["--color=always", "--color=never"] {
            assert_as_git(&scratch, &[&format, color]);
            assert_as_git(&scratch, &[&format, color, "--date=format:%Y/%m", "-z"]);
        }
    }
    assert_as_git(&scratch, &["--oneline", "--color=always"]);
    assert_as_git(&scratch, &["--pretty=%s", "-2"]);
}

#[test]
fn the_name_by_which_a_commit_was_reached_is_that_of_git() {
    let scratch = repository();
    for range in [
        &[][..],
        &["main"],
        &["HEAD~1", "main"],
        &["main~1..main"],
        &["--branches"],
        &["--tags"],
        &["--branches", "--tags"],
        &["--first-parent", "main"],
        &["main", "--", "file.txt"],
    ] {
        for format in ["--format=%h %S", "--format=%C(auto)%h %<(12,trunc)%S|%>(30)%S %s", "--format=format:%S"] {
            assert_as_git(&scratch, &[&[format], range].concat());
        }
    }
    assert_as_git(&scratch, &["--graph", "--format=%S %s", "--branches"]);
    let ours = scratch.shiftlog("log", ["--format=%S %(agent)", "-1", "main"]).ok();
    assert!(ours.starts_with("main "), "{ours}");
}

#[test]
fn our_placeholders_are_padded_and_wrapped_as_those_of_git() {
    let scratch = repository();
    let formats = [
        "%<(20)VALUE|%>(20)VALUE|%><(30)VALUE|%><(31)%an|",
        "%<(12,trunc)VALUE|%<(12,ltrunc)VALUE|%<(12,mtrunc)VALUE|%<(13,mtrunc)VALUE|%>(11,trunc)VALUE|",
        "%<(30)%C(red)VALUE%Creset|%h",
        "%C(auto)%h%d%C(reset) %>(24,ltrunc)VALUE %C(bold)%<(9,trunc)%an%C(reset)|",
        "%h%<|(40)VALUE|%>|(80)VALUE|%<|(120,trunc)%s|",
        "%>(50)%h%>>(20)VALUE|",
        "%w(40,2,6)VALUE%w()|%n%h",
        "%w(30,1,3)%h said: VALUE and %an wrote it%n%n%w(0,4,4)VALUE%n%an%w()|",
        "%h%+(VALUE)|%h% (VALUE)|%b%-(VALUE)|",
        "VALUE%x00%h%x09%n%%%x41|%(nope)",
        "format:VALUE%n%h",
    ];
    for format in formats {
        let format = format.replace("(VALUE)", "VALUE");
        let of_git = format!(
            "--format={}",
            format.replace("VALUE", "%s").replace("%+%s", "%+s").replace("% %s", "% s").replace("%-%s", "%-s")
        );
        let ours = format!(
            "--format={}",
            format
                .replace("%+VALUE", "%+(prompt)")
                .replace("% VALUE", "% (prompt)")
                .replace("%-VALUE", "%-(prompt)")
                .replace("VALUE", "%(prompt)")
        );
        for color in ["--color=always", "--color=never"] {
            let git = scratch.git(["log", &of_git, color]).ok();
            assert_eq!(scratch.shiftlog("log", [&ours, color]).ok(), git, "{ours}");
        }
    }
}

#[test]
fn formats_have_the_names_that_the_config_gives_them() {
    let scratch = repository();
    scratch.git(["config", "pretty.mine", "%h %an"]).ok();
    scratch.git(["config", "pretty.other", "mine"]).ok();
    scratch.git(["config", "pretty.parted", "format:%h"]).ok();
    scratch.git(["config", "pretty.ours", "%h %(prompt)"]).ok();
    scratch.git(["config", "pretty.gits", "%h %s"]).ok();
    for name in ["mine", "other", "parted"] {
        assert_as_git(&scratch, &[&format!("--format={name}")]);
    }
    let git = scratch.git(["log", "--format=gits"]).ok();
    assert_eq!(scratch.shiftlog("log", ["--format=ours"]).ok(), git);
    let ran = scratch.shiftlog("log", ["--format=nosuch"]);
    let gits = scratch.git(["log", "--format=nosuch"]);
    assert_eq!((ran.code, ran.stderr.lines().next()), (gits.code, gits.stderr.lines().next()), "{ran:?}");
}

#[test]
fn dates_for_people_are_those_of_git() {
    let mut scratch = Scratch::new();
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let day = 24 * 60 * 60;
    // In the middle of what each is rounded to.
    let ages =
        [40 * 60 + 10, 2 * 60 * 60 + 600, day + 7200, 3 * day + 600, 5 * day + 600, 40 * day, 300 * day, 900 * day];
    for (number, age) in ages.iter().enumerate() {
        for zone in ["+0000", "+0530"] {
            for role in ["AUTHOR", "COMMITTER"] {
                scratch.env.insert(format!("GIT_{role}_DATE"), format!("{} {zone}", now - age));
            }
            scratch.git(["commit", "-q", "--allow-empty", "-m", &format!("{number}{zone}")]).ok();
            note(&scratch, "HEAD", &format!("{number}{zone}"));
        }
    }
    for zone in ["UTC", "Asia/Tokyo", "America/Los_Angeles"] {
        scratch.env.insert("TZ".into(), zone.into());
        for date in ["human", "human-local", "relative", "local", "iso-local", "auto:human", "raw", "unix", "rfc"] {
            let option = format!("--date={date}");
            assert_as_git(&scratch, &["--format=%s %ad %cd", &option, "HEAD~16.."]);
            // Where Git does not print, the dates are our own.
            let listed = scratch.shiftlog("log", [&option]).ok();
            for (line, date) in listed.lines().zip(scratch.git(["log", "--format=%cd", &option]).ok().lines()) {
                assert!(line.contains(&format!(" {date} ")), "{zone} {option}: {line:?} has no {date:?}");
            }
        }
    }
    let ran = scratch.shiftlog("log", ["--date=nonsense"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (128, "fatal: unknown date format nonsense\n"));
}

#[test]
fn a_format_prints_nothing_of_a_commit_that_a_terminal_would_act_on() {
    let scratch = Scratch::new();
    scratch
        .git(["commit", "-q", "--allow-empty", "-m", "\u{1b}]0;title\u{7}\u{1b}[2Jsubject \u{1b}[31mred\u{202e}"])
        .ok();
    note(&scratch, "HEAD", "x");
    let log = |args: &[&str]| scratch.shiftlog("log", args).ok();
    assert_eq!(log(&["--format=%s"]), "]0;titlesubject red\n");
    assert_eq!(log(&["--format=%s|%(agent)"]), "]0;titlesubject red|claude\n");
    let colored = log(&["--format=%C(red)%s%C(reset)", "--color=always"]);
    assert_eq!(colored, "\u{1b}[31m]0;titlesubject \u{1b}[31mred\u{1b}[m\n", "colours alone come through");
    let medium = log(&["--format=medium", "--color=always"]);
    assert!(
        !medium.contains("\u{1b}]") && !medium.contains('\u{7}') && medium.contains("\u{1b}[33mcommit "),
        "{medium:?}"
    );
}

#[test]
fn many_commits_are_printed_in_the_order_of_git() {
    let scratch = Scratch::new();
    let mut import = String::new();
    for number in 0..2500 {
        let at = 1_700_000_000 + number;
        import += &format!(
            "commit refs/heads/many\nmark :{}\ncommitter A <a@example.com> {at} +0000\ndata 5\nn{number:04}\n",
            number + 1
        );
    }
    import += "commit refs/notes/shiftlog\ncommitter A <a@example.com> 1700000000 +0000\ndata 1\nx\n";
    for number in 0..2500 {
        let record = json!({"shiftlog":1,"agent":"claude","session":"s","time":"2026-01-01T00:00:00Z","prompt":format!("n{number:04}"),
            "turns":1,"messages":2,"since":null,"through":"00".repeat(20),"bytes":1,"sha256":""})
        .to_string();
        import += &format!("N inline :{}\ndata {}\n{record}\n", number + 1, record.len());
    }
    let mut command = scratch.command("git", &scratch.top);
    assert_eq!(crate::support::feed(command.args(["fast-import", "--quiet"]), import.as_bytes()).code, 0);
    for format in ["--format=%h %s", "--format=format:%B", "--format=short"] {
        let git = scratch.git(["log", format, "many"]).ok();
        assert!(scratch.shiftlog("log", [format, "many"]).ok() == git, "{format}");
    }
    let git = scratch.git(["log", "--format=%h %s", "many"]).ok();
    assert!(scratch.shiftlog("log", ["--format=%h %(prompt)", "many"]).ok() == git);
}
