//! Completions, driven in the three real shells: what is typed at a terminal, and what Tab makes of it.

use std::fs;

use serde_json::json;

use crate::support::{Scratch, feed};

/// Start-up files: completion as a user has it, and a key that writes the line to a file.
const BASHRC: &str = r#"
. /usr/share/bash-completion/bash_completion
PROMPT_COMMAND='[ -e "$LINES_FILE" ] || echo ready >"$LINES_FILE"'
write_line () { printf '%s\n' "$READLINE_LINE" >>"$LINES_FILE"; READLINE_LINE=; READLINE_POINT=0; }
bind -x '"\C-xd": write_line'
"#;
const ZSHRC: &str = r#"
autoload -Uz compinit; compinit -u -D
zle-line-init () { [[ -e $LINES_FILE ]] || print ready >$LINES_FILE }
zle -N zle-line-init
write-line () { print -r -- "$BUFFER" >>$LINES_FILE; BUFFER= }
zle -N write-line
bindkey '^Xd' write-line
"#;
const FISH_CONFIG: &str = r#"
function fish_prompt; test -e $LINES_FILE; or echo ready >$LINES_FILE; echo '> '; end
function write_line; commandline >>$LINES_FILE; commandline ''; end
bind \cxd write_line
"#;

/// What is typed before Tab, and the line after it. A line that stays as it is has nothing to complete.
const CASES: &[(&str, &str)] = &[
    ("git shiftlog statu", "git shiftlog status "),
    ("git shiftlog install", "git shiftlog install-docs "),
    ("git-shiftlog statu", "git-shiftlog status "),
    ("git shiftlog list --rev", "git shiftlog list --reverse "),
    ("git shiftlog show --show", "git shiftlog show --show-signature "),
    ("git-shiftlog-show --show", "git-shiftlog-show --show-signature "),
    ("git shiftlog show --tool-output=sh", "git shiftlog show --tool-output=short "),
    ("git shiftlog show feat", "git shiftlog show feature-one "),
    ("git shiftlog log v1", "git shiftlog log v1.0 "),
    ("git shiftlog show --session=0b", "git shiftlog show --session=0b5e55-1 "),
    // A few digits of it are enough.
    ("git shiftlog show 0b5e", "git shiftlog show 0b5e55-1 "),
    ("git shiftlog resume 0b5e", "git shiftlog resume 0b5e55-1 "),
    ("git-shiftlog-show 0b5e", "git-shiftlog-show 0b5e55-1 "),
    ("git shiftlog log --model=claude-te", "git shiftlog log --model=claude-test-1 "),
    ("git shiftlog stats --model claude-te", "git shiftlog stats --model claude-test-1 "),
    ("git shiftlog log --agent=dro", "git shiftlog log --agent=droid "),
    ("git shiftlog log --ref=refs/n", "git shiftlog log --ref=refs/notes/shiftlog "),
    ("git shiftlog sync ups", "git shiftlog sync upstream "),
    ("git shiftlog help statu", "git shiftlog help status "),
    ("git shiftlog --vers", "git shiftlog --version "),
    ("git shiftlog log --format=ref", "git shiftlog log --format=reference "),
    ("git shiftlog show --date=hum", "git shiftlog show --date=human "),
    ("git shiftlog show --thinking=fu", "git shiftlog show --thinking=full "),
    ("git shiftlog branches --sort=conv", "git shiftlog branches --sort=conversations "),
    ("git shiftlog grep --in=pro", "git shiftlog grep --in=prompts "),
    ("git shiftlog fsck --dry", "git shiftlog fsck --dry-run "),
    ("git shiftlog init --mcp=vs", "git shiftlog init --mcp=vscode "),
    ("git shiftlog show v1.0 --show", "git shiftlog show v1.0 --show-signature "),
    ("git shiftlog stats --by=ses", "git shiftlog stats --by=session "),
    ("git shiftlog stats v1", "git shiftlog stats v1.0 "),
    ("git shiftlog export --html feat", "git shiftlog export --html feature-one "),
    ("git shiftlog log v1.0..feat", "git shiftlog log v1.0..feature-one "),
    ("git shiftlog log --since=READ", "git shiftlog log --since=READ"),
    ("git shiftlog purge --before READ", "git shiftlog purge --before READ"),
    ("git shiftlog sync push pu", "git shiftlog sync push pu"),
    ("git shiftlog sync push ups", "git shiftlog sync push upstream "),
    ("git shiftlog sync pus", "git shiftlog sync push "),
    ("git shiftlog summarize --sav", "git shiftlog summarize --save "),
    ("git shiftlog web --browser=chromi", "git shiftlog web --browser=chromium "),
    ("git shiftlog web feat", "git shiftlog web feature-one "),
    ("git shiftlog prices gpt-5.1-codex-ma", "git shiftlog prices gpt-5.1-codex-max "),
    ("git shiftlog rules add", "git shiftlog rules add-rule "),
    ("git shiftlog index val", "git shiftlog index validate "),
    ("git shiftlog evidence att", "git shiftlog evidence attach "),
    ("git shiftlog logs sy", "git shiftlog logs sync "),
    // What a name has that the shell would run is quoted.
    ("git shiftlog show zz", "git shiftlog show zz\\;touch\\$IFS "),
    // A brace with a comma would be several words for bash.
    ("git shiftlog show vb", "git shiftlog show vb\\{x\\} "),
    ("git shiftlog show ee11", "git shiftlog show ee11\\;touch\\$IFS "),
    ("git shiftlog show --session=ee", "git shiftlog show --session=ee11\\;touch\\$IFS "),
    ("git shiftlog log --model=ev", "git shiftlog log --model=evil\\;touch\\$IFS "),
    ("git shiftlog log --branches=zz", "git shiftlog log --branches=zz\\;touch\\$IFS "),
    ("git shiftlog evidence show feat", "git shiftlog evidence show feature-one "),
    ("git shiftlog branches --contains=v1", "git shiftlog branches --contains=v1.0 "),
    ("git shiftlog branches --contains feat", "git shiftlog branches --contains feature-one "),
    ("git shiftlog blame --ignore-rev=feat", "git shiftlog blame --ignore-rev=feature-one "),
    // A value that may be left out stands in the same word as its option.
    ("git shiftlog init --share no", "git shiftlog init --share no"),
    ("git shiftlog show --color alw", "git shiftlog show --color alw"),
    ("git shiftlog show --color=alw", "git shiftlog show --color=always "),
    ("git shiftlog stats --chart=da", "git shiftlog stats --chart=days "),
    ("git shiftlog log --format=mbox", "git shiftlog log --format=mboxrd "),
    ("git shiftlog evidence pull --attach=v1", "git shiftlog evidence pull --attach=v1.0 "),
    ("git shiftlog summarise --agent=op", "git shiftlog summarise --agent=opencode "),
    ("git shiftlog summarise --agent=wind", "git shiftlog summarise --agent=wind"),
    ("git shiftlog grep --in=prompts,ans", "git shiftlog grep --in=prompts,answers "),
    ("git shiftlog init --mcp=vscode,ze", "git shiftlog init --mcp=vscode,zed "),
    // Only the options of the action, and what it takes.
    ("git shiftlog evidence attach --wor", "git shiftlog evidence attach --words "),
    ("git shiftlog evidence attach --fail", "git shiftlog evidence attach --fail"),
    ("git shiftlog evidence attach --kind=te", "git shiftlog evidence attach --kind=test "),
    ("git shiftlog evidence attach --kind=not", "git shiftlog evidence attach --kind=not"),
    ("git shiftlog rules sync --only=cod", "git shiftlog rules sync --only=codex "),
    ("git shiftlog rules sync --only=codex,cla", "git shiftlog rules sync --only=codex,claude "),
    ("git shiftlog rules set claude", "git shiftlog rules set claude_md.paths "),
    ("git shiftlog evidence pull --fail", "git shiftlog evidence pull --failed "),
    ("git shiftlog evidence list --wor", "git shiftlog evidence list --wor"),
    ("git shiftlog index scan --loc", "git shiftlog index scan --loc"),
    ("git shiftlog index validate --loc", "git shiftlog index validate --locations "),
    ("git shiftlog evidence pull ap", "git shiftlog evidence pull apex "),
    ("git shiftlog evidence attach feat", "git shiftlog evidence attach feature-one "),
    // No file is taken there.
    ("git shiftlog get lone", "git shiftlog get lone"),
    ("git-shiftlog-keys lone", "git-shiftlog-keys lone"),
    ("git shiftlog rules remove-rule lone", "git shiftlog rules remove-rule lone"),
    ("git shiftlog show --turn=lone", "git shiftlog show --turn=lone"),
    ("git shiftlog show --turn lone", "git shiftlog show --turn lone"),
    ("git shiftlog log -n lone", "git shiftlog log -n lone"),
    ("git shiftlog grep --author=lone", "git shiftlog grep --author=lone"),
    ("git-shiftlog-log --grep lone", "git-shiftlog-log --grep lone"),
    ("git shiftlog deinit lonely", "git shiftlog deinit lonely"),
    ("git shiftlog deinit --purge-refs lonely", "git shiftlog deinit --purge-refs lonely"),
    ("git shiftlog sync push upstream lonely", "git shiftlog sync push upstream lonely"),
    ("git shiftlog logs sync lonely", "git shiftlog logs sync lonely"),
    ("git-shiftlog-doctor lonely", "git-shiftlog-doctor lonely"),
    // One is enough.
    ("git shiftlog logs sync sy", "git shiftlog logs sync sy"),
    ("git shiftlog index get val", "git shiftlog index get val"),
    ("git shiftlog rules show add", "git shiftlog rules show add"),
    ("git shiftlog mcp --toolset=con", "git shiftlog mcp --toolset=conversations "),
    ("git shiftlog mcp --toolset=index,con", "git shiftlog mcp --toolset=index,conversations "),
    ("git shiftlog stats --by=branch,ses", "git shiftlog stats --by=branch,session "),
    ("git shiftlog evidence pu", "git shiftlog evidence pull "),
    ("git shiftlog rules show feat", "git shiftlog rules show feature-one "),
    ("git shiftlog rules diff v1", "git shiftlog rules diff v1.0 "),
    ("git shiftlog log --abbrev-c", "git shiftlog log --abbrev-commit "),
    ("git shiftlog log --branches=feat", "git shiftlog log --branches=feature-one "),
    ("git shiftlog grep --tags=v", "git shiftlog grep --tags=v1.0 "),
    // The value of an option can be the next word.
    ("git shiftlog stats --by ses", "git shiftlog stats --by session "),
    ("git shiftlog log --agent cl", "git shiftlog log --agent cl"),
    ("git shiftlog log --agent dro", "git shiftlog log --agent droid "),
    // Only where it is an option.
    ("git shiftlog show --agent=cl", "git shiftlog show --agent=cl"),
    ("git shiftlog doctor --session=0b", "git shiftlog doctor --session=0b"),
    ("git shiftlog sync push upstream ", "git shiftlog sync push upstream "),
    ("git shiftlog sync upstream ups", "git shiftlog sync upstream ups"),
    // Aliases of Git, also those with more than our name.
    ("git sl statu", "git sl status "),
    ("git sl log --agent=dro", "git sl log --agent=droid "),
    ("git sl show feat", "git sl show feature-one "),
    ("git slog --rev", "git slog --reverse "),
    ("git slog v1", "git slog v1.0 "),
    ("git bang show --show", "git bang show --show-signature "),
    // Programs by their own names complete as the commands do.
    ("git-shiftlog-show --session=0b", "git-shiftlog-show --session=0b5e55-1 "),
    ("git-shiftlog-log --agent=dro", "git-shiftlog-log --agent=droid "),
    ("git-shiftlog-log --agent dro", "git-shiftlog-log --agent droid "),
    ("git-shiftlog-stats --by=branch,ses", "git-shiftlog-stats --by=branch,session "),
    ("git-shiftlog-log v1.0..feat", "git-shiftlog-log v1.0..feature-one "),
    ("git-shiftlog-why feat", "git-shiftlog-why feature-one "),
    ("git-shiftlog-sync push ups", "git-shiftlog-sync push upstream "),
    ("git-shiftlog-rules add", "git-shiftlog-rules add-rule "),
    ("git-shiftlog-install-docs --uni", "git-shiftlog-install-docs --uninstall "),
    ("git-shiftlog-doctor --session=0b", "git-shiftlog-doctor --session=0b"),
    // A revision that is called like a command.
    ("git shiftlog show v1.0 --full --show", "git shiftlog show v1.0 --full --show-signature "),
    ("git shiftlog resume --as=dro", "git shiftlog resume --as=droid "),
    ("git shiftlog resume --as=amp", "git shiftlog resume --as=amp"),
    // Behind '--' are paths alone.
    ("git shiftlog log -- feat", "git shiftlog log -- feat"),
    ("git shiftlog show -- v1", "git shiftlog show -- v1"),
    ("git shiftlog log -- --rev", "git shiftlog log -- --rev"),
    ("git shiftlog rules diff -- feat", "git shiftlog rules diff -- feat"),
    ("git-shiftlog-grep x -- v1", "git-shiftlog-grep x -- v1"),
    ("git-shiftlog-log -- --rev", "git-shiftlog-log -- --rev"),
    // Revisions of ours are none for the user.
    ("git shiftlog show refs/sh", "git shiftlog show refs/sh"),
    ("git shiftlog show refs/no", "git shiftlog show refs/no"),
    ("git shiftlog log shiftl", "git shiftlog log shiftl"),
];

/// The same where a file is completed. Shells differ in whether a space follows.
const FILES: &[(&str, &str)] = &[
    ("git shiftlog log -- lonely", "git shiftlog log -- lonely.txt"),
    ("git shiftlog show v1.0 -- lonely", "git shiftlog show v1.0 -- lonely.txt"),
    ("git shiftlog grep x -- lonely", "git shiftlog grep x -- lonely.txt"),
    ("git-shiftlog-show -- lonely", "git-shiftlog-show -- lonely.txt"),
    ("git shiftlog why lonely", "git shiftlog why lonely.txt"),
    ("git shiftlog blame lonely", "git shiftlog blame lonely.txt"),
    ("git-shiftlog-why lonely", "git-shiftlog-why lonely.txt"),
    ("git-shiftlog-blame v1.0 lonely", "git-shiftlog-blame v1.0 lonely.txt"),
    // There is 'same.txt' and 'same-branch'.
    ("git shiftlog why same.", "git shiftlog why same.txt"),
    ("git shiftlog why same-", "git shiftlog why same-branch"),
    ("git shiftlog why sam", "git shiftlog why same"),
    ("git-shiftlog-blame sam", "git-shiftlog-blame same"),
    ("git shiftlog export -o lonely", "git shiftlog export -o lonely.txt"),
    ("git shiftlog export --output=lonely", "git shiftlog export --output=lonely.txt"),
    ("git shiftlog export --output lonely", "git shiftlog export --output lonely.txt"),
    ("git shiftlog mcp --index=lonely", "git shiftlog mcp --index=lonely.txt"),
    ("git shiftlog install-docs --prefix lonely", "git shiftlog install-docs --prefix lonely.txt"),
    ("git shiftlog add --transcript=lonely", "git shiftlog add --transcript=lonely.txt"),
    ("git shiftlog add --transcript lonely", "git shiftlog add --transcript lonely.txt"),
    ("git-shiftlog-export -o lonely", "git-shiftlog-export -o lonely.txt"),
    ("git-shiftlog-add --transcript=lonely", "git-shiftlog-add --transcript=lonely.txt"),
    ("git shiftlog why --contents lonely", "git shiftlog why --contents lonely.txt"),
    ("git shiftlog prices --prices=lonely", "git shiftlog prices --prices=lonely.txt"),
    ("git shiftlog export -o same-", "git shiftlog export -o same-"),
    ("git shiftlog export --output=same-", "git shiftlog export --output=same-"),
];

fn complete(shell: &str, line_for_zsh: bool) {
    let mut scratch = Scratch::set_up();
    let has = |program: &str| scratch.run_in(&scratch.top, "sh", ["-c", &format!("command -v {program}")]).code == 0;
    if !has(shell) || !has("python3") {
        crate::support::skip(&format!("there is no {shell} or no python3"));
        return;
    }
    if shell == "bash" && !fs::exists("/usr/share/bash-completion/bash_completion").unwrap() {
        crate::support::skip("there is no bash-completion");
        return;
    }
    let session = scratch.session("0b5e55-1");
    session.prompt("make it");
    session.edits("a.txt", "a\n");
    session.commits("one");
    // Somebody else's record can have any names.
    let said = json!({ "type": "assistant", "sessionId": "x", "message": { "role": "assistant",
        "model": "evil;touch$IFS", "content": "It is made." } });
    scratch.write("said", &format!("{said}\n"));
    scratch.shiftlog("add", ["-q", "--session=ee11;touch$IFS", "--transcript=said"]).ok();
    fs::remove_file(scratch.top.join("said")).unwrap();
    for name in ["lonely.txt", "same.txt"] {
        scratch.write(name, "1\n");
    }
    for name in ["feature-one", "same-branch", "zz;touch$IFS", "vb{x}"] {
        scratch.git(["branch", name]).ok();
    }
    scratch.git(["tag", "v1.0"]).ok();
    scratch.git(["remote", "add", "upstream", "/nowhere"]).ok();
    for (alias, value) in [("sl", "shiftlog"), ("slog", "shiftlog log"), ("bang", "!git shiftlog")] {
        scratch.git(["config", &format!("alias.{alias}"), value]).ok();
    }
    assert_eq!(scratch.git(["rev-parse", "--verify", "-q", "refs/shiftlog/sessions"]).code, 0);
    let home = scratch.home();
    for variable in ["XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_CONFIG_HOME", "ZDOTDIR"] {
        scratch.env.remove(variable);
    }
    scratch.env.insert("TERM".into(), "xterm".into());
    scratch.env.insert("LC_ALL".into(), "C.UTF-8".into());
    let written = scratch.shiftlog("install-docs", [""; 0]).ok();
    let own_line =
        |start: &str| written.lines().find_map(|line| line.strip_prefix(start)).unwrap_or_default().to_owned();
    let zsh_line = own_line("zsh needs this line in ~/.zshrc, before compinit: ");
    assert_eq!(!zsh_line.is_empty(), line_for_zsh, "{written}");
    assert_eq!(own_line("bash needs") + &own_line("fish needs"), "", "they look there");
    fs::write(home.join(".bashrc"), BASHRC).unwrap();
    fs::write(home.join(".zshrc"), format!("{zsh_line}\n{ZSHRC}")).unwrap();
    fs::create_dir_all(home.join(".config/fish")).unwrap();
    fs::write(home.join(".config/fish/config.fish"), FISH_CONFIG).unwrap();
    let lines_file = home.join("lines");
    scratch.env.insert("LINES_FILE".into(), lines_file.to_str().unwrap().into());
    let typed: Vec<String> = CASES.iter().chain(FILES).map(|(typed, _)| format!("{typed}\t")).collect();
    let driver = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/complete.py");
    let mut command = scratch.command("python3", &scratch.top);
    let ran = feed(command.arg(driver).arg(shell).arg(&lines_file), serde_json::to_string(&typed).unwrap().as_bytes());
    let lines: Vec<String> = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    for ((typed, expected), line) in CASES.iter().zip(&lines) {
        assert_eq!(line, expected, "{shell}: {typed}<TAB>");
    }
    for ((typed, expected), line) in FILES.iter().zip(lines.iter().skip(CASES.len())) {
        assert_eq!(line.trim_end(), *expected, "{shell}: {typed}<TAB>");
    }
    assert_eq!(lines.len(), CASES.len() + FILES.len());
}

#[test]
fn bash_completes_what_is_typed() {
    complete("bash", true);
}

#[test]
fn zsh_completes_what_is_typed() {
    complete("zsh", true);
}

#[test]
fn fish_completes_what_is_typed() {
    complete("fish", true);
}

#[test]
fn fish_tells_of_options_what_the_usage_says() {
    let mut scratch = Scratch::new();
    if scratch.run_in(&scratch.top, "sh", ["-c", "command -v fish"]).code != 0 {
        crate::support::skip("there is no fish");
        return;
    }
    let home = scratch.home();
    for variable in ["XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"] {
        scratch.env.remove(variable);
    }
    scratch.shiftlog("install-docs", [""; 0]).ok();
    // fish makes completions of manual pages, with their macros in them.
    for folder in [".local/share/fish/generated_completions", ".cache/fish/generated_completions"] {
        fs::create_dir_all(home.join(folder)).unwrap();
        let made = "complete -c git-shiftlog-log -l reverse -d 'as git-shiftlog-log Fl -reverse'\n";
        fs::write(home.join(folder).join("git-shiftlog-log.fish"), made).unwrap();
    }
    for typed in ["git-shiftlog-log --rever", "git-shiftlog log --rever", "git shiftlog log --rever"] {
        let offered = scratch.run_in(&scratch.top, "fish", ["-c", &format!("complete -C '{typed}'")]).ok();
        assert_eq!(offered, "--reverse\tList the chosen commits in reverse order\n", "{typed}");
    }
}
