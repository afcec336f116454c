//! The formats of `git blame` for programs, with our header lines.

use super::asked::Asked;
use super::blamed::{Blaming, How};
use crate::cli::{Outcome, Printing};
use crate::error::Result;
use crate::git::date;
use crate::pretty::{MachineFormat, write_machine};
use crate::record::{Reader, redaction};
use crate::replay::Certainty;

/// The options that choose such a format.
#[derive(Clone, Debug, clap::Args)]
pub struct Machine {
    /// Print Git's format for programs, with lines of ours
    #[arg(short = 'p', long, overrides_with_all = ["line_porcelain", "incremental"], conflicts_with_all = ["nul", "json"])]
    porcelain: bool,
    /// Print this format with all headers for each line
    #[arg(long, overrides_with_all = ["porcelain", "incremental"], conflicts_with_all = ["nul", "json"])]
    line_porcelain: bool,
    /// Print groups of lines as Git finds them
    #[arg(long, overrides_with_all = ["porcelain", "line_porcelain"], conflicts_with_all = ["nul", "json"])]
    incremental: bool,
}

impl Machine {
    /// Returns the format that is wanted.
    pub fn format(&self) -> Option<MachineFormat> {
        match (self.porcelain, self.line_porcelain, self.incremental) {
            (_, _, true) => Some(MachineFormat::Incremental),
            (_, true, _) => Some(MachineFormat::LinePorcelain),
            (true, _, _) => Some(MachineFormat::Porcelain),
            _ => None,
        }
    }
}

/// Prints lines in such a format.
///
/// # Errors
///
/// In Git's words if Git fails.
pub fn print(
    format: MachineFormat,
    reader: &Reader<'_>,
    blaming: &Blaming,
    asked: &Asked,
    printing: &Printing,
    how: How,
) -> Result<Outcome> {
    let mut screen = printing.screen(reader.repo(), date::Format::default());
    let is_screen = screen.is_screen;
    let redactor = redaction::redactor(reader.repo())?;
    let how = if format == MachineFormat::Incremental { How::AsFound } else { how };
    let mut is_found = false;
    blaming.each(reader, asked, how, |lines, found| {
        is_found |= found.iter().any(|found| found.certainty != Certainty::None);
        screen.write(|out, _| {
            write_machine(out, &lines, &found, format, &redactor, is_screen)?;
            // A program that asks for groups as they are found waits for each.
            if how == How::AsFound { out.flush() } else { Ok(()) }
        })
    })?;
    screen.out.finish()?;
    Ok(if is_found { Outcome::Done } else { Outcome::No })
}
