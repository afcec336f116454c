//! Our block in a hook file.

use std::ops::Range;

use bstr::ByteSlice as _;

use super::{HOOK_PROGRAM, shell};

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
    // Git runs a file without an interpreter line with the shell; a binary is something else.
    shell::shell_of(text).is_some() && (text.starts_with(b"#!") || !text.contains(&0))
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
/// `guard` is the condition that our program is there, and its name. A file with a block that somebody has edited stays as it is.
pub fn add_block(text: Option<&[u8]>, event: &str, guard: &(String, String)) -> Vec<u8> {
    let before = text.unwrap_or_default();
    let text = remove_block(before);
    if has_block(&text) {
        return before.to_vec();
    }
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

/// Returns a hook file without our block, also if its marks are gone or stand elsewhere; other lines in it stay. A block that
/// somebody has edited so that its lines cannot be told from theirs stays whole.
pub fn remove_block(text: &[u8]) -> Vec<u8> {
    let lines: Vec<&[u8]> = text.lines_with_terminator().collect();
    let ours = our_lines(&lines);
    let rest = lines.iter().zip(&ours).filter(|(_, is_ours)| !**is_ours).flat_map(|(line, _)| line.iter().copied());
    let rest: Vec<u8> = rest.collect();
    // What a shell does not understand runs nothing, not even their lines.
    let is_needed_there = || go_on_with_a_command(&lines, &ours) || shell::is_broken(text, &rest);
    if rest.len() == text.len() || is_bare(&rest) || !is_needed_there() { rest } else { text.to_vec() }
}

/// The beginning or the end of our block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mark {
    Begin,
    End,
}

/// Returns which mark a line is, however it ends.
fn mark(line: &[u8]) -> Option<Mark> {
    match line.trim() {
        line if line == BEGIN.trim() => Some(Mark::Begin),
        line if line == END.trim() => Some(Mark::End),
        _ => None,
    }
}

/// Says for each line of a hook file whether it is ours.
fn our_lines(lines: &[&[u8]]) -> Vec<bool> {
    let bodies: Vec<(&str, Vec<String>)> = EVENTS
        .iter()
        .map(|event| (*event, body(event, &placeholders()).lines().map(str::to_owned).collect()))
        .collect();
    let marks: Vec<(usize, Mark)> = lines.iter().enumerate().filter_map(|(at, line)| Some((at, mark(line)?))).collect();
    let mut ours = vec![false; lines.len()];
    let mut at = 0;
    while at < lines.len() {
        let is_there = |(event, wanted): &&(&str, Vec<String>)| {
            let there = lines.get(at..at + wanted.len());
            // Without marks, a line for 'post-merge' can be one that somebody has put there by hand.
            let may_be = !marks.is_empty() || *event != "post-merge";
            may_be && there.is_some_and(|there| is_body(there, wanted, event, !marks.is_empty()))
        };
        let length = bodies.iter().find(is_there).map_or(0, |(_, wanted)| wanted.len());
        ours[at..at + length].fill(true);
        at += length.max(1);
    }
    let is_like_ours = |line: &&[u8]| {
        let line = line.trim();
        runs_ours_alone(line) || bodies.iter().flat_map(|(_, body)| body).any(|known| line == known.as_bytes())
    };
    let mut is_edited = false;
    for (number, (at, kind)) in marks.iter().enumerate() {
        let next = marks.get(number + 1).copied();
        match (kind, next) {
            (Mark::Begin, Some((end, Mark::End))) => {
                let inside = at + 1..end;
                let has_body = ours[inside.clone()].iter().any(|is_ours| *is_ours);
                if has_body || lines[inside.clone()].iter().all(is_like_ours) {
                    if !has_body {
                        ours[inside].fill(true);
                    }
                    (ours[*at], ours[end]) = (true, true);
                } else {
                    is_edited = true;
                }
            }
            (Mark::Begin, _) => ours[*at] = ours.get(at + 1) == Some(&true),
            (Mark::End, _) => ours[*at] |= *at > 0 && ours[at - 1],
        }
    }
    is_edited |= lines.iter().zip(&ours).any(|(line, is_ours)| !is_ours && line.contains_str(HOOK_PROGRAM));
    if !is_edited {
        // A mark that nothing of ours stands at.
        marks.iter().for_each(|(at, _)| ours[*at] = true);
    }
    ours
}

/// Says whether our lines go on with a command of somebody's that is not over at the end of its line.
fn go_on_with_a_command(lines: &[&[u8]], ours: &[bool]) -> bool {
    let is_idle = |line: &[u8]| line.is_empty() || line.starts_with(b"#");
    let rest = |at: usize| (!ours[at]).then(|| lines[at].trim()).filter(|line| !is_idle(line));
    let goes_on = |line: &[u8]| [&b"\\"[..], b"&&", b"||", b"|"].iter().any(|end| line.ends_with(end));
    let mut own = (0..lines.len()).filter(|at| ours[*at]);
    own.any(|at| (0..at).rev().find_map(rest).is_some_and(goes_on))
}

/// Words that stand for the condition and the name of our program.
fn placeholders() -> (String, String) {
    (HOOK_PROGRAM.to_owned(), HOOK_PROGRAM.to_owned())
}

/// Says whether lines are those between the marks of our block for an event, wherever our program is. Without marks they must
/// be as they are written, with them somebody may have made a line of ours a comment, or an earlier release have written it.
fn is_body(lines: &[&[u8]], wanted: &[String], event: &str, has_marks: bool) -> bool {
    lines.iter().zip(wanted).all(|(line, wanted)| {
        let line = line.trim();
        let (Some(begin), Some(end)) = (wanted.find(HOOK_PROGRAM), wanted.rfind(HOOK_PROGRAM)) else {
            return line == wanted.trim().as_bytes();
        };
        let end = &wanted[end + HOOK_PROGRAM.len()..];
        let is_as_written = line.starts_with(&wanted.as_bytes()[..begin])
            && line.ends_with(end.trim().as_bytes())
            && line.contains_str(HOOK_PROGRAM);
        is_as_written || has_marks && runs_ours_alone(line) && line.contains_str(event) == wanted.contains(event)
    })
}

/// Says whether a line names our program and does nothing else, be it a comment.
fn runs_ours_alone(line: &[u8]) -> bool {
    let line = line.trim_start_with(|c| c == '#' || c.is_whitespace()).to_str_lossy();
    let is_idle = |part: &str| ["", ":", "}", "true", "false", "exit 0", "exit 1", "then"].contains(&part);
    let is_condition = |part: &str| {
        // With ':' or 'echo' in front, somebody has switched it off.
        let words = ["if ", ": ", "echo ", "! "];
        let part = words.iter().fold(part, |part, word| part.strip_prefix(word).unwrap_or(part));
        ["test ", "command -v "].iter().any(|word| part.starts_with(word))
    };
    let is_ours = |part: &str| {
        let directory = part.split_once(HOOK_PROGRAM).map(|(directory, _)| directory);
        directory.is_some_and(|directory| directory.starts_with('\'') || !directory.contains(char::is_whitespace))
    };
    let group = |part| str::trim_end_matches(str::trim_start_matches(part, "{ "), " }").trim();
    let mut parts = line.split(['&', '|', ';']).map(str::trim).map(group);
    line.contains(HOOK_PROGRAM) && parts.all(|part| is_idle(part) || is_condition(part) || is_ours(part))
}

/// Returns where our block is, if it has both of its marks.
fn marked(text: &[u8]) -> Option<Range<usize>> {
    let (mut begin, mut end) = (None, 0);
    for line in text.lines_with_terminator() {
        let start = end;
        end += line.len();
        match mark(line) {
            Some(Mark::Begin) => begin = Some(start),
            Some(Mark::End) if begin.is_some() => return Some(begin?..end),
            _ => {}
        }
    }
    None
}

/// Says whether a hook file has our block, or what is left of it.
pub fn has_block(text: &[u8]) -> bool {
    let lines: Vec<&[u8]> = text.lines_with_terminator().collect();
    lines.iter().any(|line| mark(line).is_some()) || our_lines(&lines).contains(&true)
}

/// Says whether a hook file has a block of ours that somebody has edited, so that nobody but them can remove it.
pub fn has_edited_block(text: &[u8]) -> bool {
    has_block(&remove_block(text))
}

/// Says whether a hook file has our whole block for this event. A line that somebody has made a comment does nothing, and one
/// that names another program is none of ours.
pub fn has_block_of(text: &[u8], event: &str) -> bool {
    // A path may stand in quotes.
    let runs_ours =
        |block| ["", "'"].iter().any(|end| line_with(block, &format!("{HOOK_PROGRAM}{end} git {event}")).is_some());
    marked(text).is_some_and(|block| runs_ours(&text[block]))
}

/// Says whether the block of a hook file is as it is written, wherever our program is.
pub fn is_as_written(text: &[u8], event: &str) -> bool {
    let wanted: Vec<String> = body(event, &placeholders()).lines().map(str::to_owned).collect();
    let lines: Vec<&[u8]> = marked(text).map(|block| text[block].lines_with_terminator().collect()).unwrap_or_default();
    lines.len() == wanted.len() + 2 && is_body(&lines[1..=wanted.len()], &wanted, event, false)
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
        let guard = ("test -x git-shiftlog--hook".to_owned(), "git-shiftlog--hook".to_owned());
        for text in
            ["#!/bin/bash\nexit 0\n", "#!/bin/sh\necho no line end", "#! /usr/bin/env sh\n\n", "#!/bin/sh\r\nx\r\n"]
        {
            for event in ["post-commit", "post-rewrite", "post-merge", "pre-push"] {
                let with = add_block(Some(text.as_bytes()), event, &guard);
                let ours = with.find(b"hook git").unwrap_or_else(|| panic!("{text:?}: {:?}", with.as_bstr()));
                assert!(with.find(b"exit 0").is_none_or(|end| ours < end), "{text:?}");
                assert_eq!(remove_block(&with).as_bstr(), text.as_bytes().as_bstr());
                assert_eq!(add_block(Some(&with), event, &guard), with, "twice is once");
            }
        }
    }

    #[test]
    fn a_block_goes_whole_without_its_marks_too_and_lines_of_others_stay() {
        let guard = ("test -x '/a/git-shiftlog--hook'".to_owned(), "'/a/git-shiftlog--hook'".to_owned());
        let text = b"#!/bin/sh\necho mine\nif true; then\necho more\nfi\n";
        for event in EVENTS {
            let with = add_block(Some(text), event, &guard);
            assert!(has_block_of(&with, event) && !has_edited_block(&with));
            let damaged = [
                with.replace(BEGIN, ""),
                with.replace(END, ""),
                [with.replace(END, ""), END.to_vec()].concat(),
                with.replace(BEGIN, [END, BEGIN].concat()),
                with.replace(END, [END, END].concat()),
                with.replace(END, [END, BEGIN, END].concat()),
            ];
            for damaged in &damaged {
                assert!(has_block(damaged), "{event}");
                assert_eq!(remove_block(damaged).as_bstr(), text.as_bstr(), "{event}: {}", damaged.as_bstr());
                assert_eq!(add_block(Some(damaged), event, &guard).as_bstr(), with.as_bstr(), "{event}");
            }
            let bare = with.replace(BEGIN, "").replace(END, "");
            assert_eq!(remove_block(&bare).as_bstr(), if *event == "post-merge" { &bare } else { &text[..] }.as_bstr());
            // A line that somebody has put between the marks, before ours or behind them.
            for (mark, place) in [(BEGIN, [BEGIN, b"echo one\n"]), (END, [b"echo one\n", END])] {
                let edited = with.replace(mark, place.concat());
                let left = text.replacen("#!/bin/sh\n", "#!/bin/sh\necho one\n", 1);
                assert_eq!(remove_block(&edited).as_bstr(), left.as_bstr(), "{event}");
            }
            // As Windows ends lines, and without an end of the last line.
            assert_eq!(remove_block(&with.replace("\n", "\r\n")), text.replace("\n", "\r\n"), "{event}");
            let last = [b"#!/bin/sh\n", BEGIN, body(event, &guard).as_bytes(), END.trim()].concat();
            assert!(has_block_of(&last, event));
            assert_eq!(remove_block(&last).as_bstr(), "#!/bin/sh\n", "{event}");
            // As an earlier release left it, which put a second one in front.
            let first = body(event, &guard);
            let double = with.replacen(END, [END, b"echo one\n", BEGIN, first.as_bytes()].concat(), 1);
            assert_eq!(remove_block(&double), text.replacen("#!/bin/sh\n", "#!/bin/sh\necho one\n", 1), "{event}");
        }
        // Somebody's lines among ours: nothing tells which are theirs.
        let with = add_block(Some(text), "pre-push", &guard);
        let edited = with.replace("if test -n", "echo theirs\nif test -n");
        assert!(has_edited_block(&edited));
        assert_eq!(remove_block(&edited).as_bstr(), edited.as_bstr());
        assert_eq!(add_block(Some(&edited), "pre-push", &guard).as_bstr(), edited.as_bstr());
        // A line of ours that somebody has made longer.
        for command in ["sudo git-shiftlog--hook git post-commit; echo x", "echo x; git-shiftlog--hook git post-commit"]
        {
            let edited = [b"#!/bin/sh\n", BEGIN, command.as_bytes(), b"\n", END].concat();
            assert_eq!(remove_block(&edited).as_bstr(), edited.as_bstr());
        }
        // Somebody's condition around ours, or a command that ours is a part of: the rest alone is no script.
        for (before, after) in
            [("if false; then", "fi"), ("if false; then # why", "fi"), ("f() {", "}"), ("echo x &&", ""), ("(", ")")]
        {
            let marked = add_block(None, "post-commit", &guard).replace("#!/bin/sh\n", "");
            let bare = body("post-commit", &guard);
            for ours in [marked.as_slice(), bare.as_bytes()] {
                let edited = [b"#!/bin/sh\n", before.as_bytes(), b"\n", ours, after.as_bytes(), b"\n"].concat();
                assert_eq!(remove_block(&edited).as_bstr(), edited.as_bstr());
                assert!(has_edited_block(&edited));
                assert_eq!(add_block(Some(&edited), "post-commit", &guard).as_bstr(), edited.as_bstr());
            }
        }
        // Without a mark a line is somebody's own.
        let line = line("post-merge", &guard) + "\n";
        assert!(!has_block(line.as_bytes()) && remove_block(line.as_bytes()) == line.as_bytes());
        let remark = b"# a line with git-shiftlog--hook git post-commit\n";
        assert!(!has_block(remark) && remove_block(remark) == remark);
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
