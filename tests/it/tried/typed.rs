//! What a user of Git types, and the short answer to what is not there.

use super::*;

#[test]
fn a_list_of_agents_is_refused_with_the_way_to_name_several() {
    let scratch = Scratch::new();
    let several = "error: 'claude,codex' is not a value for '--agent': give --agent=claude --agent=codex\n";
    for command in ["init", "doctor", "import"] {
        told(&scratch.shiftlog(command, ["--agent=claude,codex"]), 129, several);
    }
    for (command, option) in [("log", "--agent"), ("stats", "--agent"), ("grep", "--agent"), ("resume", "--as")] {
        let error = format!("error: 'claude,codex' is not a value for '{option}': it takes one name\n");
        told(&scratch.shiftlog(command, [&format!("{option}=claude,codex"), "x"]), 129, &error);
    }
}

#[test]
fn every_command_answers_a_wrong_option_with_its_synopsis_alone() {
    let scratch = Scratch::new();
    for listed in shiftlog::command::ALL {
        let name = listed.name;
        let usage = scratch.shiftlog(name, ["-h"]).ok();
        let (synopsis, _) = usage.split_once("\n\n").unwrap_or((&usage, ""));
        let told =
            format!("error: unknown option '--nosuch'\n{synopsis}\nhint: 'git shiftlog {name} -h' lists the options\n");
        let ran = scratch.shiftlog(name, ["--nosuch"]);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr), (129, "", told), "{name}");
    }
}
