//! Our block in a hook file.

use std::ops::Range;

use bstr::ByteSlice as _;

use super::HOOK_PROGRAM;

const BEGIN: &[u8] = b"# >>> git-shiftlog >>> ('git shiftlog deinit' removes this block)\n";
const END: &[u8] = b"# <<< git-shiftlog <<<\n";

/// The hooks of Git that are installed.
pub const EVENTS: &[&str] = &["post-commit", "post-rewrite", "post-merge", "pre-push"];

/// The status with which our program stops a push. Any other, such as that of a shell that cannot start it, stops nothing.
pub const STOP: u8 = 113;

/// Returns what a shell finds out without starting our program: whether the hook has anything to do. `None` if it always
/// has.
///
/// During a rebase Git runs `post-commit` for each commit that it picks, and `post-rewrite` for each fixup. None of them
/// is new work, and the `post-rewrite` at the end names them all. Hooks run at the top of the working tree, and `GIT_DIR`
/// is set where the Git directory is not `.git` there.
pub fn condition(event: &str) -> Option<&'static str> {
    match event {
        "post-commit" => Some(r#"test ! -d "${GIT_DIR:-.git}/rebase-merge""#),
        "post-rewrite" => Some(r#"{ test "$1" != amend || test ! -d "${GIT_DIR:-.git}/rebase-merge"; }"#),
        _ => None,
    }
}

/// Says whether a hook file is a script for a POSIX shell, to which lines can be added.
pub fn is_shell_script(text: &[u8]) -> bool {
    let first = text.lines().next().unwrap_or_default();
    if text.trim().is_empty() {
        return true;
    }
    let Some(interpreter) = first.strip_prefix(b"#!") else {
        // Git runs a file without an interpreter line with the shell; a binary is something else.
        return !text.contains(&0);
    };
    let words = interpreter.fields_with(|c: char| c == ' ' || c == '/' || c == '\t');
    words.into_iter().any(|word| [&b"sh"[..], b"bash", b"dash", b"ksh", b"zsh", b"ash"].contains(&word))
}

/// Returns a command that Git runs for an event that is declared in its config. `guard` is the condition that our program
/// is there, and its name.
pub fn command(event: &str, guard: &(String, String)) -> String {
    let (is_there, program) = guard;
    if event == "pre-push" {
        // Git adds "$@" to a command that has anything but words in it, so it must end with something that takes them.
        return format!(
            "shiftlog() {{ ! {is_there} || {{ {program} git {event} \"$@\"; test $? -ne {STOP}; }}; }}; shiftlog \"$@\""
        );
    }
    let condition = condition(event).map(|condition| format!("{condition} && ")).unwrap_or_default();
    format!("{condition}{is_there} && {program} git {event} \"$@\" || :")
}

/// Returns a line for a hook file that somebody edits by hand; `guard` as for [`command`]. It stops a push as our own block does.
pub fn line(event: &str, guard: &(String, String)) -> String {
    let (is_there, program) = guard;
    match event {
        "pre-push" => {
            format!("! {is_there} || {{ {program} git {event} \"$@\"; test $? -ne {STOP}; }} || exit 1")
        }
        "post-commit" => format!("{is_there} && {program} git {event} || :"),
        _ => format!("{is_there} && {program} git {event} \"$@\" || :"),
    }
}

/// Returns what stands between the marks of our block; `guard` as for [`command`]. A hook that reads standard input gets all of it,
/// also after our program has read it.
fn body(event: &str, guard: &(String, String)) -> String {
    let (is_there, program) = guard;
    match event {
        "post-rewrite" => {
            // An amend has one line of input, which the shell reads itself: to start 'cat' takes a millisecond.
            let run = format!(
                "if test \"$1\" = amend; then\n\
                 IFS= read -r shiftlog_input || :\n\
                 while IFS= read -r shiftlog_line; do shiftlog_input=\"$shiftlog_input\n$shiftlog_line\"; done\n\
                 else\n\
                 shiftlog_input=$(cat)\n\
                 fi\n\
                 {{ {is_there} && {program} git {event} \"$@\" || :; }} <<shiftlog_end\n$shiftlog_input\nshiftlog_end\n\
                 exec <<shiftlog_end\n$shiftlog_input\nshiftlog_end\n"
            );
            let condition = condition(event).unwrap_or("true");
            format!("if {condition}; then\n{run}fi\n")
        }
        // A push can have nothing to say, and then the hook must find nothing. It is stopped by one status alone.
        "pre-push" => format!(
            "shiftlog_input=$(cat)\n\
             if {is_there}; then\n\
             {program} git {event} \"$@\" <<shiftlog_end || test $? -ne {STOP} || exit 1\n$shiftlog_input\nshiftlog_end\n\
             fi\n\
             if test -n \"$shiftlog_input\"; then\n\
             exec <<shiftlog_end\n$shiftlog_input\nshiftlog_end\n\
             else\n\
             exec </dev/null\n\
             fi\n"
        ),
        event => {
            let condition = condition(event).map(|condition| format!("{condition} && ")).unwrap_or_default();
            format!("{condition}{is_there} && {program} git {event} \"$@\" || :\n")
        }
    }
}

/// Returns a hook file with our block right below its first line, so that an `exit` or `exec` cannot skip it.
///
/// `guard` is the condition that our program is there, and its name.
pub fn add_block(text: Option<&[u8]>, event: &str, guard: &(String, String)) -> Vec<u8> {
    let text = text.map(remove_block).unwrap_or_default();
    let block = [BEGIN, body(event, guard).as_bytes(), END].concat();
    let interpreter_end =
        if text.starts_with(b"#!") { text.find_byte(b'\n').map_or(text.len(), |at| at + 1) } else { 0 };
    let (head, rest) = text.split_at(interpreter_end);
    let mut after = if head.is_empty() { b"#!/bin/sh\n".to_vec() } else { head.to_vec() };
    if !after.ends_with(b"\n") {
        after.push(b'\n');
    }
    after.extend(block);
    after.extend_from_slice(rest);
    after
}

/// Returns a hook file without our block.
pub fn remove_block(text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    while let Some(block) = block(&text) {
        text.drain(block);
    }
    text
}

/// Returns where our block is, also if somebody has removed one of its marks; `None` if there is none, or nothing says where it
/// begins or ends.
fn block(text: &[u8]) -> Option<Range<usize>> {
    if let Some(whole) = marked(text) {
        return Some(whole);
    }
    if let Some(begin) = text.find(BEGIN) {
        let start = begin + BEGIN.len();
        let length = EVENTS.iter().find_map(|event| {
            let length = lines_end(&text[start..], body(event, &placeholders()).lines().count())?;
            is_body(&text[start..start + length], event).then_some(length)
        })?;
        return Some(begin..start + length);
    }
    let end = text.find(END)?;
    let start = EVENTS.iter().find_map(|event| {
        let count = body(event, &placeholders()).lines().count();
        let all = text[..end].lines_with_terminator().count();
        let start = lines_end(text, all.checked_sub(count)?)?;
        is_body(&text[start..end], event).then_some(start)
    })?;
    Some(start..end + END.len())
}

/// Returns where our block is, if it has both of its marks.
fn marked(text: &[u8]) -> Option<Range<usize>> {
    let end = text.find(END)?;
    Some(text[..end].rfind(BEGIN)?..end + END.len())
}

/// Returns where the first `count` lines end; `None` if there are fewer.
fn lines_end(text: &[u8], count: usize) -> Option<usize> {
    let lengths: Vec<usize> = text.lines_with_terminator().take(count).map(<[u8]>::len).collect();
    (lengths.len() == count).then(|| lengths.iter().sum())
}

/// Words that stand for the condition and the name of our program.
fn placeholders() -> (String, String) {
    (HOOK_PROGRAM.to_owned(), HOOK_PROGRAM.to_owned())
}

/// Says whether lines are those between the marks of our block for an event, wherever our program is.
fn is_body(text: &[u8], event: &str) -> bool {
    let wanted = body(event, &placeholders());
    let is_same = |(line, wanted): (&[u8], &str)| match wanted.contains(HOOK_PROGRAM) {
        true => line.contains_str(HOOK_PROGRAM) && line.contains_str(event) == wanted.contains(event),
        false => line == wanted.as_bytes(),
    };
    text.lines().count() == wanted.lines().count() && text.lines().zip(wanted.lines()).all(is_same)
}

/// Says whether a hook file has our block, or what is left of it.
pub fn has_block(text: &[u8]) -> bool {
    text.contains_str(BEGIN) || text.contains_str(END)
}

/// Says whether a hook file has our whole block for this event. A line that somebody has made a comment does nothing, and one
/// that names another program is none of ours.
pub fn has_block_of(text: &[u8], event: &str) -> bool {
    // A path may stand in quotes.
    let runs_ours =
        |block| ["", "'"].iter().any(|end| line_with(block, &format!("{HOOK_PROGRAM}{end} git {event}")).is_some());
    marked(text).is_some_and(|block| runs_ours(&text[block]))
}

/// Returns where the first line begins that has these words and is no comment.
pub fn line_with(text: &[u8], words: &str) -> Option<usize> {
    let mut end = 0;
    text.lines_with_terminator().find_map(|line| {
        let start = end;
        end += line.len();
        (line.contains_str(words) && !line.trim_start().starts_with(b"#")).then_some(start)
    })
}

/// Returns the lines of a hook file above our block; `None` if it has no whole block.
pub fn above_block(text: &[u8]) -> Option<&[u8]> {
    marked(text).map(|block| &text[..block.start])
}

/// Returns a line for a hook file that several hooks lead to, which does something for one of them alone.
pub fn for_one(event: &str, line: &str) -> String {
    format!("case \"${{0##*/}}\" in {event}) {line} ;; esac")
}

/// Says whether nothing is left in a hook file but its interpreter line.
pub fn is_bare(text: &[u8]) -> bool {
    text.lines().all(|line| line.trim().is_empty() || line.starts_with(b"#!"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_goes_first_and_leaves_without_a_trace() {
        let guard = ("test -x run".to_owned(), "run".to_owned());
        for text in
            ["#!/bin/bash\nexit 0\n", "#!/bin/sh\necho no line end", "#! /usr/bin/env sh\n\n", "#!/bin/sh\r\nx\r\n"]
        {
            for event in ["post-commit", "post-rewrite", "post-merge", "pre-push"] {
                let with = add_block(Some(text.as_bytes()), event, &guard);
                let ours = with.find(b"run git").unwrap_or_else(|| panic!("{text:?}: {:?}", with.as_bstr()));
                assert!(with.find(b"exit 0").is_none_or(|end| ours < end), "{text:?}");
                assert_eq!(remove_block(&with).as_bstr(), text.as_bytes().as_bstr());
                assert_eq!(add_block(Some(&with), event, &guard), with, "twice is once");
            }
        }
    }

    #[test]
    fn a_block_that_has_lost_a_mark_goes_whole_and_one_that_was_edited_stays() {
        let guard = ("test -x '/a/git-shiftlog--hook'".to_owned(), "'/a/git-shiftlog--hook'".to_owned());
        let text = b"#!/bin/sh\necho mine\nif true; then\necho more\nfi\n";
        for event in EVENTS {
            let with = add_block(Some(text), event, &guard);
            assert!(has_block_of(&with, event));
            for mark in [BEGIN, END] {
                let damaged = with.replace(mark, "");
                assert!(has_block(&damaged) && !has_block_of(&damaged, event), "{event}");
                assert_eq!(remove_block(&damaged).as_bstr(), text.as_bstr(), "{event}");
                assert_eq!(add_block(Some(&damaged), event, &guard).as_bstr(), with.as_bstr(), "{event}");
                let edited = damaged.replace(event, "other");
                assert_eq!(remove_block(&edited).as_bstr(), edited.as_bstr(), "{event}");
            }
            // As an earlier release left it, which put a second one in front.
            let first = body(event, &guard);
            let double = with.replacen(END, [END, b"echo one\n", BEGIN, first.as_bytes()].concat(), 1);
            assert_eq!(remove_block(&double), text.replacen("#!/bin/sh\n", "#!/bin/sh\necho one\n", 1), "{event}");
        }
        // Without a mark a line is somebody's own.
        let line = line("post-merge", &guard) + "\n";
        assert!(!has_block(line.as_bytes()) && remove_block(line.as_bytes()) == line.as_bytes());
    }

    #[test]
    fn only_shell_scripts_are_edited() {
        for (text, is_shell) in [
            ("#!/bin/sh\n", true),
            ("#!/usr/bin/env bash\n", true),
            ("", true),
            ("echo x\n", true),
            ("#!/usr/bin/env python3\n", false),
            ("#!/usr/bin/node\n", false),
            ("\u{0}ELF", false),
        ] {
            assert_eq!(is_shell_script(text.as_bytes()), is_shell, "{text:?}");
        }
    }
}
