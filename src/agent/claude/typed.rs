//! Slash commands, and commands of the shell after `!`, which the user types instead of a prompt. Claude Code writes them,
//! and their output, between tags.

use crate::transcript::Part;

/// The commands of Claude Code that ask the model nothing, from <https://code.claude.com/docs/en/commands>. Without
/// arguments they are no prompts. Commands such as `/init` and `/review` are not among them: they are prompts that come
/// with it.
const BUILT_IN: &[&str] = &[
    "/add-dir",
    "/agents",
    "/bashes",
    "/bug",
    "/clear",
    "/compact",
    "/config",
    "/context",
    "/copy",
    "/cost",
    "/doctor",
    "/effort",
    "/exit",
    "/export",
    "/fast",
    "/feedback",
    "/help",
    "/hooks",
    "/ide",
    "/keybindings",
    "/login",
    "/logout",
    "/mcp",
    "/memory",
    "/model",
    "/output-style",
    "/permissions",
    "/plan",
    "/plugin",
    "/quit",
    "/release-notes",
    "/rename",
    "/resume",
    "/rewind",
    "/skills",
    "/stats",
    "/status",
    "/tasks",
    "/terminal-setup",
    "/theme",
    "/todos",
    "/upgrade",
    "/usage",
    "/vim",
];

/// The tags, and whether a passage goes up to the last end of its tag: what a command prints may have the tag in it.
const TAGS: &[(&str, bool)] = &[
    ("command-name", false),
    ("command-message", false),
    ("command-args", true),
    ("skill-format", false),
    ("bash-input", true),
    ("bash-stdout", true),
    ("bash-stderr", true),
    ("local-command-stdout", true),
    ("local-command-stderr", true),
];

/// The text that Claude Code writes as the output of a command that prints nothing.
const NO_OUTPUT: &str = "(no content)";

/// Reads a text that begins with one of the [`TAGS`]; `None` for other texts. A command that asks the model is a text,
/// if it may be a prompt; everything else is a notice. The lines that come later do not count, since they may not be
/// there yet.
pub fn parts(text: &str, may_be_prompt: bool) -> Option<Vec<Part>> {
    let text = text.trim_start();
    let (mut name, mut title, mut args, mut notices, mut rest) = ("", "", "", Vec::new(), text);
    while let Some((tag, inside, after)) = passage(rest) {
        match tag {
            "command-name" => name = inside.trim(),
            "command-message" => title = inside.trim(),
            "command-args" => args = inside.trim(),
            "skill-format" => {}
            "bash-input" => notices.push(format!("! {}", inside.trim())),
            _ => notices.push(inside.trim_matches('\n').trim_end().to_owned()),
        }
        rest = after.trim_start();
    }
    if rest.len() == text.len() {
        return None;
    }
    let command = if name.is_empty() { title.to_owned() } else { format!("{name} {args}").trim_end().to_owned() };
    // The name of a skill that the model has called itself comes without the slash.
    let asks = !args.is_empty() || (name.starts_with('/') && !BUILT_IN.contains(&name));
    let mut parts = vec![if asks && may_be_prompt { Part::Text(command) } else { Part::Notice(command) }];
    parts.extend(notices.into_iter().map(Part::Notice));
    parts.push(if may_be_prompt { Part::Text(rest.to_owned()) } else { Part::Notice(rest.to_owned()) });
    parts.retain(|part| !matches!(part, Part::Text(text) | Part::Notice(text) if text.is_empty() || text == NO_OUTPUT));
    Some(parts)
}

/// Returns the passage that a text begins with: its tag, the text inside, and the text behind it.
fn passage(text: &str) -> Option<(&'static str, &str, &str)> {
    let text = text.strip_prefix('<')?;
    TAGS.iter().find_map(|(tag, is_greedy)| {
        let inside = text.strip_prefix(tag)?.strip_prefix('>')?;
        let end = format!("</{tag}>");
        let (inside, after) = if *is_greedy { inside.rsplit_once(&end) } else { inside.split_once(&end) }?;
        Some((*tag, inside, after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Vec<(bool, String)>> {
        let words = |part| match part {
            Part::Text(text) => (true, text),
            Part::Notice(text) => (false, text),
            other => panic!("{other:?}"),
        };
        parts(text, true).map(|parts| parts.into_iter().map(words).collect())
    }

    fn of_command(name: &str, args: &str) -> Vec<(bool, String)> {
        let tags = [
            format!("<command-name>{name}</command-name>\n   <command-message>x</command-message>"),
            format!("<command-message>x is running…</command-message>\n<command-name>{name}</command-name>"),
        ];
        let args = format!("\n   <command-args>{args}</command-args>");
        let [one, other] = tags.map(|tags| read(&(tags + &args)).expect("a command"));
        assert_eq!(one, other, "in both orders");
        one
    }

    #[test]
    fn a_command_that_asks_the_model_is_a_prompt() {
        assert_eq!(of_command("/fix-issue", "42 and mind the cap"), [(true, "/fix-issue 42 and mind the cap".into())]);
        assert_eq!(of_command("/web:deploy", ""), [(true, "/web:deploy".into())]);
        assert_eq!(of_command("/compact", "keep the jitter table"), [(true, "/compact keep the jitter table".into())]);
        assert_eq!(of_command("/review", "1\n<b>2</b>"), [(true, "/review 1\n<b>2</b>".into())]);
        assert_eq!(of_command("/clear", ""), [(false, "/clear".into())]);
        assert_eq!(of_command("pdf", ""), [(false, "pdf".into())], "the model has called it");
        let text = "<command-name>/fix</command-name><command-args>it</command-args>";
        assert_eq!(parts(text, false), Some(vec![Part::Notice("/fix it".into())]));
    }

    #[test]
    fn a_command_of_the_shell_and_what_is_printed_are_notices() {
        assert_eq!(read("<bash-input>make check</bash-input>"), Some(vec![(false, "! make check".into())]));
        let printed = "<bash-stdout>\n  one\n</bash-stdout>\ntwo\n</bash-stdout><bash-stderr>three</bash-stderr>";
        let expected = vec![(false, "  one\n</bash-stdout>\ntwo".into()), (false, "three".into())];
        assert_eq!(read(printed), Some(expected));
        assert_eq!(read("<local-command-stdout>(no content)</local-command-stdout>"), Some(vec![]));
        assert_eq!(read("<bash-stdout></bash-stdout><bash-stderr></bash-stderr>"), Some(vec![]));
    }

    #[test]
    fn what_is_typed_behind_a_command_stays_and_a_quoted_tag_is_no_command() {
        let expected = vec![(true, "/fix it".into()), (true, "and this".into())];
        let text = "<command-name>/fix</command-name><command-args>it</command-args>\n\nand this";
        assert_eq!(read(text), Some(expected));
        for text in ["what is <command-name>/x</command-name>?", "<command-name>/x", "<command-names>", ""] {
            assert_eq!(read(text), None, "{text}");
        }
        let endless = "<bash-input>".repeat(100_000) + &"<command-name>".repeat(100_000);
        assert_eq!(read(&endless), None);
    }
}
