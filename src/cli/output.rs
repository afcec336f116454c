//! Where the answer goes: stdout, or a pager in front of it.

use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::process::{Child, Command, Stdio};

use super::pager_signals::{CaughtSignal, PagerSignals};
use super::{Color, color};
use crate::error::{Error, Result};
use crate::git::{Repository, date};
use crate::outside;
use crate::pretty::Style;

/// What a printing command writes to, with the colours to use.
pub struct Screen {
    /// The writer.
    pub out: Output,
    /// The colours and the date format.
    pub style: Style,
    /// Whether a person sees it: at a terminal, or through a pager.
    pub is_screen: bool,
    /// How many columns the person's terminal has; `None` if nobody sees it.
    pub columns: Option<usize>,
}

/// A buffered writer to stdout or to a pager.
pub struct Output {
    writer: Option<BufWriter<Box<dyn Write>>>,
    pager: Option<Pager>,
}

/// A running pager, and the signal that was caught meanwhile.
struct Pager {
    child: Child,
    signal: Option<CaughtSignal>,
}

/// Prints text on stdout, without what a terminal would act on.
///
/// # Errors
///
/// [`Kind::ReaderGone`](crate::error::Kind::ReaderGone) if nobody reads any more.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout();
    stdout.write_all(outside::text(text).as_bytes()).and_then(|()| stdout.flush()).map_err(Error::output)
}

/// Prints what was done, a line each, or that there was nothing to do; with `is_quiet` nothing.
///
/// # Errors
///
/// As [`print()`].
pub fn print_steps(steps: &[String], is_quiet: bool) -> Result<()> {
    match steps {
        _ if is_quiet => Ok(()),
        [] => print("nothing to do\n"),
        steps => print(&steps.iter().map(|step| format!("{step}\n")).collect::<String>()),
    }
}

impl Screen {
    /// Starts the output of a command that lists or shows: with a pager if a person sees it, and colours if wanted.
    pub fn paged(repo: &Repository, color: Color, date: date::Format) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let wants_pager = is_terminal && repo.config_bool("pager.shiftlog") != Some(false);
        let out = if wants_pager { Output::paged(repo) } else { Output::plain() };
        let is_screen = Self::is_seen();
        let is_colored = color.decide(repo, is_screen);
        let top = repo.worktree().map(|top| top.to_string_lossy().into_owned());
        let columns = is_screen.then(columns);
        Screen { style: Style { top, columns, ..color::style(repo, is_colored, date) }, out, is_screen, columns }
    }

    /// Starts the output of a command that runs outside a repository, without a pager and colours.
    pub fn plain() -> Self {
        Screen { out: Output::plain(), style: Style::default(), is_screen: Self::is_seen(), columns: Self::columns() }
    }

    /// Says whether a person sees what is printed: at a terminal, or through a pager.
    pub fn is_seen() -> bool {
        io::stdout().is_terminal() || std::env::var_os("GIT_PAGER_IN_USE").is_some()
    }

    /// Returns how many columns the terminal has, if there is one.
    pub fn columns() -> Option<usize> {
        let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let asked = || rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| size.ws_col.into());
        told.or_else(asked).filter(|columns| *columns > 0)
    }

    /// Writes with a printer.
    ///
    /// # Errors
    ///
    /// [`Kind::ReaderGone`](crate::error::Kind::ReaderGone) if nobody reads any more.
    pub fn write(&mut self, print: impl FnOnce(&mut dyn Write, &Style) -> io::Result<()>) -> Result<()> {
        print(&mut self.out, &self.style).map_err(Error::output)
    }
}

/// Returns how many columns the terminal has, as Git finds out: `COLUMNS`, then the terminal, then 80.
fn columns() -> usize {
    let from_environment = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    from_environment.or_else(terminal_columns).filter(|columns| *columns > 0).unwrap_or(80)
}

fn terminal_columns() -> Option<usize> {
    rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| size.ws_col.into())
}

impl Output {
    /// Writes to stdout.
    pub fn plain() -> Self {
        Output { writer: Some(BufWriter::with_capacity(64 * 1024, Box::new(io::stdout()))), pager: None }
    }

    /// Writes to the pager that Git would use: `GIT_PAGER`, `core.pager`, `PAGER`, `less`.
    fn paged(repo: &Repository) -> Self {
        let from_environment = |name: &str| std::env::var(name).ok();
        let program = from_environment("GIT_PAGER")
            .or_else(|| repo.config_string("core.pager"))
            .or_else(|| from_environment("PAGER"))
            .unwrap_or_else(|| "less".into());
        if program.is_empty() || program == "cat" || std::env::var_os("GIT_PAGER_IN_USE").is_some() {
            return Output::plain();
        }
        // Git starts a pager through a shell only if it is more than the name of a program.
        let is_name = !program.contains(|c: char| "|&;<>()$`\\\"' \t\n*?[#~=%".contains(c));
        let mut command = if is_name { Command::new(&program) } else { Command::new("sh") };
        if !is_name {
            command.args(["-c", &program]);
        }
        command.stdin(Stdio::piped()).env("GIT_PAGER_IN_USE", "true");
        for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
            if std::env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
        // If they cannot be caught, a signal ends this process before its pager, which still shows all that it has.
        let signals = PagerSignals::catch().ok();
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                super::error(&Error::other(format!("cannot run {program}")).because(error));
                return Output { writer: Some(BufWriter::new(Box::new(NoPager(program)))), pager: None };
            }
        };
        match child.stdin.take() {
            Some(stdin) => {
                let signal = signals.map(|signals| signals.delay_until_exit(&child));
                Output { writer: Some(BufWriter::new(Box::new(stdin))), pager: Some(Pager { child, signal }) }
            }
            None => Output::plain(),
        }
    }

    /// Writes what is buffered and waits for the pager.
    ///
    /// # Errors
    ///
    /// [`Kind::ReaderGone`](crate::error::Kind::ReaderGone) if nobody reads any more.
    pub fn finish(mut self) -> Result<()> {
        let flushed = self.flush().map_err(Error::output);
        drop(self);
        flushed
    }
}

/// Stands for a pager that cannot be started: nothing can be written to it.
struct NoPager(String);

impl Write for NoPager {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other(format!("unable to execute pager '{}'", outside::line(&self.0))))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let signal = self.pager.as_ref().and_then(|pager| pager.signal.as_ref());
        if signal.is_some_and(CaughtSignal::is_caught) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.writer.as_mut().map_or(Ok(bytes.len()), |writer| writer.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // The pager ends when its input does. What is left in the buffer of a failed command is still shown.
        if let Some(mut writer) = self.writer.take() {
            let _ = writer.flush();
        }
        if let Some(mut pager) = self.pager.take() {
            let _ = pager.child.wait();
            if let Some(signal) = pager.signal {
                signal.raise();
            }
        }
    }
}
