//! A commit as a bar between turns, with its diff.

use std::io::{self, Write};
use std::rc::Rc;

use bstr::ByteSlice as _;
use maud::{Markup, html};

use super::change::{lines_html, tally, tally_html};
use super::patch::PatchFile;
use super::turn::time_html;
use crate::git::Commit;
use crate::outside;

/// A commit that a page shows.
#[derive(Debug)]
pub struct Bar {
    /// The id that a link to it has.
    pub id: String,
    /// Its abbreviated id.
    pub name: String,
    /// The commit.
    pub commit: Rc<Commit>,
    /// Its changes, file by file.
    pub files: Vec<PatchFile>,
    /// Whether a part of the changes is left out.
    pub is_cut: bool,
    /// Whether the turns of the last hunks were not looked for, because that takes too long.
    pub is_partly_explained: bool,
    /// The address of its page, if it has one.
    pub address: Option<String>,
    /// Its address at a host, if that is known.
    pub host_address: Option<String>,
    /// Its evidence, a text each: a line with its kind and name, then its findings.
    pub evidence: Vec<String>,
}

impl Bar {
    /// Writes the bar. `session_name` is the id of the heading of the session that it stands in.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn write(&self, out: &mut dyn Write, session_name: Option<&str>) -> io::Result<()> {
        let commit = &self.commit;
        let name = format!("{}-name", self.id);
        let names = session_name.map_or_else(|| name.clone(), |session| format!("{session} {name}"));
        let lines = || self.files.iter().flat_map(|file| &file.hunks).map(|hunk| tally(&hunk.lines));
        let whole = lines().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let head = html! {
            h3 id=(name) {
                a.self href={ "#" (self.id) } { span.who { "Commit" } " " code { (self.name) } " "
                span.subject { (outside::line(&commit.subject().to_str_lossy())) } }
            }
            "\n"
            p.by { bdi { (outside::line(&commit.author.name.to_str_lossy())) } ", " (time_html(commit.author.time.seconds, commit.author.time.offset))
                @if let Some(address) = &self.address { " " a href=(address) { "this commit alone" } }
                @if let Some(address) = &self.host_address { " " a href=(address) rel="noopener noreferrer" { "at " (host(address)) } }
            }
            @for text in &self.evidence { p.notice { span.who { "Evidence" } " " (text) } }
        };
        write!(out, "<section class=\"commit\" id=\"{}\" aria-labelledby=\"{names}\">{}", self.id, head.into_string())?;
        if !self.files.is_empty() {
            let summary = html! {
                (super::super::count(self.files.len() as u64, "file")) " changed" (tally_html(whole))
                @if self.is_cut { " (the first part of a long change)" }
                @if self.is_partly_explained { " (without the turns of the last hunks)" }
            };
            write!(out, "<details class=\"patch\" open><summary>{}</summary>", summary.into_string())?;
            let mut number = 0;
            for file in &self.files {
                out.write_all(file_html(file, &self.id, number).into_string().as_bytes())?;
                number += file.hunks.len();
            }
            write!(out, "</details>")?;
        }
        writeln!(out, "</section>")
    }
}

/// Returns the host of an address.
fn host(address: &str) -> String {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    outside::line(rest.split('/').next().unwrap_or_default())
}

/// Returns the id of a hunk of a bar, by its number from 0 over all files.
pub fn hunk_id(bar_id: &str, number: usize) -> String {
    format!("{bar_id}-h{}", number + 1)
}

/// Returns the change of a file. `first` is the number of its first hunk.
fn file_html(file: &PatchFile, bar_id: &str, first: usize) -> Markup {
    let all = file.hunks.iter().map(|hunk| tally(&hunk.lines)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    // A long file is closed at first.
    let is_open = file.hunks.iter().map(|hunk| hunk.lines.len()).sum::<usize>() <= 200;
    html! {
        details.file open[is_open] {
            summary { code.path { (outside::line(&file.path)) } (tally_html(all)) }
            @if let Some(address) = &file.address { p.blame { a href=(address) { "the turn behind each line" } } }
            @for note in &file.notes { p.notice { (note.trim_end_matches(" mode 100644")) } }
            @for (at, hunk) in file.hunks.iter().enumerate() {
                div.hunk id=(hunk_id(bar_id, first + at)) {
                    p.hunk-head {
                        code { (hunk.head) }
                        @if !hunk.turns.is_empty() {
                            span { @for (at, (address, text)) in hunk.turns.iter().enumerate() {
                                @if at > 0 { ", " } @if let Some(address) = address { a href=(address) { (text) } } @else { (text) }
                            } }
                        } @else if hunk.was_explained { " " span.nowhere { "not in the conversation" } }
                    }
                    (lines_html(&hunk.lines))
                }
            }
        }
    }
}
