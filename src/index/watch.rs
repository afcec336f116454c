//! Watching a project: when its files have changed and then rested for a while, the index is brought up to date.
//!
//! Read [`Watcher::run`]. The scan is a process of its own, so that a signal can end it at any time.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use bstr::ByteSlice as _;
use notify::event::ModifyKind;
use notify::{EventKind, RecursiveMode, Watcher as _};
use serde_json::json;
use signal_hook::consts::signal::{SIGINT, SIGTERM};

use super::changed::Snapshot;
use super::files::Project;
use super::lock::{Lock, SCANNING};
use crate::error::{Error, Result};
use crate::git::date::Time;
use crate::git::{Repository, git};

/// How long to wait if nothing is due.
const FOREVER: Duration = Duration::from_secs(3600);
/// How often a running scan is looked at.
const TICK: Duration = Duration::from_millis(50);
/// How often to look whether a scan of another process has ended.
const RETRY: Duration = Duration::from_secs(1);

/// When a scan begins after a change.
#[derive(Clone, Copy, Debug)]
pub struct Debounce {
    /// How long the files must have rested.
    pub quiet: Duration,
    /// How long after the first change a scan begins, whether they rest or not.
    pub limit: Duration,
    /// The first and the last change that no scan has seen.
    seen: Option<(Instant, Instant)>,
}

impl Debounce {
    /// Returns a debounce that has seen no change.
    pub fn new(quiet: Duration, limit: Duration) -> Self {
        Debounce { quiet, limit, seen: None }
    }

    /// Notes a change.
    pub fn saw(&mut self, now: Instant) {
        let first = self.seen.map_or(now, |(first, _)| first);
        self.seen = Some((first, now));
    }

    /// Returns when a scan is to begin, if a change was seen.
    pub fn due(&self) -> Option<Instant> {
        self.seen.map(|(first, last)| (last + self.quiet).min(first + self.limit))
    }

    /// Forgets what was seen: a scan begins.
    pub fn begin(&mut self) {
        self.seen = None;
    }
}

/// An event that the watcher waits for.
enum Happened {
    /// The system tells of files.
    Files(notify::Result<notify::Event>),
    /// A signal says that it is time to end.
    End,
}

/// An event of a watcher, for the caller to print.
pub enum News<'n> {
    /// The files of this many directories are watched.
    Watching(usize),
    /// A directory cannot be watched, the first of perhaps several.
    Unwatched(&'n Path, String),
    /// A scan failed; its process has said why.
    Failed,
}

/// A watcher of a project. While it exists, there is no other.
pub struct Watcher<'p> {
    repo: &'p Repository,
    project: &'p Project,
    debounce: Debounce,
    lock: Lock,
    watched: BTreeSet<PathBuf>,
    /// Whether a directory could not be watched, which was reported.
    has_failed: bool,
    inner: notify::RecommendedWatcher,
    events: Receiver<Happened>,
}

impl<'p> Watcher<'p> {
    /// Takes the lock `.memo/watcher.lock`, and begins to listen to signals and to the system.
    ///
    /// # Errors
    ///
    /// [`Kind::Busy`](crate::error::Kind::Busy) if another watcher runs on the project; another kind if there is no
    /// index or files cannot be watched.
    pub fn new(repo: &'p Repository, project: &'p Project, debounce: Debounce) -> Result<Self> {
        project.require()?;
        let busy = "another watcher is already running on this directory";
        let path = project.memo().join("watcher.lock");
        let mut lock = Lock::take(&path, busy)?;
        lock.name(&format!("{}\n", std::process::id())).map_err(|error| Error::io("write", &path, error))?;
        let (sender, events) = channel();
        end_on_signals(sender.clone())?;
        let tell = move |event| {
            // Nobody listens any more only at the end.
            let _ = sender.send(Happened::Files(event));
        };
        let cannot = |error: notify::Error| Error::other("cannot watch files").because(error.to_string());
        let inner = notify::recommended_watcher(tell).map_err(cannot)?;
        Ok(Watcher { repo, project, debounce, lock, watched: BTreeSet::new(), has_failed: false, inner, events })
    }

    /// Runs until a signal ends it. `scan` starts a scan.
    ///
    /// # Errors
    ///
    /// If the project cannot be read or a scan not be started.
    pub fn run(mut self, scan: impl Fn() -> Result<Child>, tell: impl Fn(News<'_>)) -> Result<()> {
        let outcome = self.serve(&scan, &tell);
        let status = self.write_status(false);
        let _ = self.lock.name("");
        outcome.and(status)
    }

    fn serve(&mut self, scan: &dyn Fn() -> Result<Child>, tell: &dyn Fn(News<'_>)) -> Result<()> {
        self.write_status(false)?;
        self.watch_below(self.project.top().to_owned(), tell);
        tell(News::Watching(self.watched.len()));
        if self.has_changes()? {
            self.debounce.saw(Instant::now());
        }
        loop {
            let now = Instant::now();
            let wait = match self.debounce.due() {
                None => FOREVER,
                Some(due) if due > now => due - now,
                // It may have begun before the last change.
                Some(_) if self.is_another_scanning() => RETRY,
                Some(_) => {
                    self.debounce.begin();
                    // A file that Git ignores has changed, or one was changed back.
                    if self.has_changes()? && !self.scan(scan, tell)? {
                        return Ok(());
                    }
                    continue;
                }
            };
            let goes_on = match self.events.recv_timeout(wait) {
                Ok(happened) => self.note(happened, tell),
                Err(error) => error == RecvTimeoutError::Timeout,
            };
            if !goes_on {
                return Ok(());
            }
        }
    }

    fn has_changes(&self) -> Result<bool> {
        let earlier = Snapshot::of_last_scan(self.project);
        Ok(Snapshot::take(self.repo, self.project)? != earlier)
    }

    /// Says whether a scan runs that somebody else has started.
    fn is_another_scanning(&self) -> bool {
        Lock::holder(&self.project.history().join(SCANNING)).is_some()
    }

    /// Runs a scan to its end; says whether to go on. What changes meanwhile is noted.
    fn scan(&mut self, scan: &dyn Fn() -> Result<Child>, tell: &dyn Fn(News<'_>)) -> Result<bool> {
        self.write_status(true)?;
        let mut child = scan()?;
        let goes_on = loop {
            match child.try_wait() {
                Ok(Some(status)) => {
                    match status.success() {
                        true => {}
                        // It began at the same moment.
                        false if self.is_another_scanning() => self.debounce.saw(Instant::now()),
                        false => tell(News::Failed),
                    }
                    break true;
                }
                Err(error) => return Err(Error::other("cannot wait for a scan").because(error)),
                Ok(None) => {}
            }
            let goes_on = match self.events.recv_timeout(TICK) {
                Ok(happened) => self.note(happened, tell),
                Err(error) => error == RecvTimeoutError::Timeout,
            };
            if !goes_on {
                end(&mut child);
                break false;
            }
        };
        self.write_status(false)?;
        Ok(goes_on)
    }

    /// Notes what has happened, and all that has happened since; says whether to go on.
    fn note(&mut self, first: Happened, tell: &dyn Fn(News<'_>)) -> bool {
        let mut next = Some(first);
        while let Some(happened) = next {
            match happened {
                Happened::End => return false,
                // An error says that events were lost: look at everything.
                Happened::Files(event) => self.note_event(&event.unwrap_or_default(), tell),
            }
            next = self.events.try_recv().ok();
        }
        true
    }

    /// Notes an event, if it is one of a change.
    fn note_event(&mut self, event: &notify::Event, tell: &dyn Fn(News<'_>)) {
        let memo = self.project.memo();
        let is_of_index = !event.paths.is_empty() && event.paths.iter().all(|path| path.starts_with(&memo));
        // That a file is read is no change, and we read them ourselves.
        if matches!(event.kind, EventKind::Access(_)) || is_of_index {
            return;
        }
        self.debounce.saw(Instant::now());
        let is_about_ignoring = |path: &PathBuf| path.file_name().is_some_and(|name| name == ".gitignore");
        if event.paths.is_empty() || event.paths.iter().any(is_about_ignoring) {
            self.watch_below(self.project.top().to_owned(), tell);
        }
        if matches!(event.kind, EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_))) {
            return;
        }
        // A directory that was removed and made again has lost its watch.
        self.watched.retain(|watched| !event.paths.iter().any(|path| watched.starts_with(path)));
        for path in event.paths.iter().filter(|path| is_directory(path)) {
            self.watch_below(path.clone(), tell);
        }
    }

    /// Watches a directory and those below it, but for those that Git ignores: there may be very many.
    fn watch_below(&mut self, top: PathBuf, tell: &dyn Fn(News<'_>)) {
        let mut level = vec![top];
        while !level.is_empty() {
            let ignored = self.ignored(&level);
            level.retain(|directory| !ignored.contains(directory) && self.is_ours(directory));
            let mut next = Vec::new();
            for directory in level {
                // Watch first, then list: a directory made in between is found by one of the two.
                self.watch(directory.clone(), tell);
                let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
                next.extend(entries.map(|entry| entry.path()).filter(|path| is_directory(path)));
            }
            level = next;
        }
    }

    /// Says whether files in a directory can be files of the project: not those of Git, of the index, of another
    /// repository.
    fn is_ours(&self, directory: &Path) -> bool {
        let is_git = directory.file_name().is_some_and(|name| name == ".git");
        directory == self.project.top()
            || !(is_git || directory.starts_with(self.project.memo()) || directory.join(".git").exists())
    }

    /// Returns those of some directories that Git ignores.
    fn ignored(&self, directories: &[PathBuf]) -> BTreeSet<PathBuf> {
        let mut input = Vec::new();
        for directory in directories {
            input.extend_from_slice(directory.as_os_str().as_encoded_bytes());
            input.push(0);
        }
        // It fails if there are none.
        let printed = git(["check-ignore", "-z", "--stdin"]).repository(self.repo).input(input).capture();
        let printed = printed.unwrap_or_default();
        printed.split_str("\0").map(|path| PathBuf::from(OsStr::from_bytes(path))).collect()
    }

    fn watch(&mut self, directory: PathBuf, tell: &dyn Fn(News<'_>)) {
        if self.watched.contains(&directory) {
            return;
        }
        match self.inner.watch(&directory, RecursiveMode::NonRecursive) {
            // It was removed meanwhile.
            Err(_) if !directory.is_dir() => return,
            // Where the system's limit is reached, it is reached for all that follow.
            Err(error) if !std::mem::replace(&mut self.has_failed, true) => {
                tell(News::Unwatched(&directory, error.to_string()));
            }
            Ok(()) | Err(_) => {}
        }
        self.watched.insert(directory);
    }

    /// Writes `.memo/status.json`, in one step. Makes no `.memo` where that is gone, and follows no link.
    fn write_status(&self, is_analyzing: bool) -> Result<()> {
        let is_there = self.project.memo().symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        if !is_there || self.project.linked().is_some() {
            return Err(self.project.gone());
        }
        let status = match is_analyzing {
            true => json!({ "status": "analyzing", "since": Time::now().to_rfc3339() }),
            false => json!({ "status": "idle" }),
        };
        // What is left of a process that dies lies where Git ignores it.
        let (history, path) = (self.project.history(), self.project.memo().join("status.json"));
        let written = std::fs::create_dir_all(&history).and_then(|()| {
            let mut file = tempfile::Builder::new().prefix("status-").tempfile_in(&history)?;
            std::io::Write::write_all(&mut file, format!("{status}\n").as_bytes())?;
            file.persist(&path).map_err(|error| error.error)
        });
        written.map(drop).map_err(|error| Error::io("write", &path, error))
    }
}

fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
}

/// Returns the process id of the watcher that runs on a project, as text; `None` if there is none.
pub fn running(project: &Project) -> Option<String> {
    Lock::holder(&project.memo().join("watcher.lock"))
}

/// Has signals that end a program tell the watcher instead. A second one ends it at once.
fn end_on_signals(sender: Sender<Happened>) -> Result<()> {
    let cannot = |error| Error::other("cannot listen to signals").because(error);
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]).map_err(cannot)?;
    let thread = std::thread::Builder::new().spawn(move || {
        for (number, signal) in signals.forever().enumerate() {
            if number > 0 || sender.send(Happened::End).is_err() {
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        }
    });
    thread.map(drop).map_err(cannot)
}

/// Ends a scan: the agent that it asks ends with it.
fn end(child: &mut Child) {
    if let Some(process) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_begins_when_files_rest_but_not_later_than_the_limit() {
        let seconds = Duration::from_secs;
        let mut debounce = Debounce::new(seconds(30), seconds(300));
        let start = Instant::now();
        assert_eq!(debounce.due(), None);
        debounce.saw(start);
        assert_eq!(debounce.due(), Some(start + seconds(30)));
        debounce.saw(start + seconds(20));
        assert_eq!(debounce.due(), Some(start + seconds(50)));
        for second in (40..=290).step_by(10) {
            debounce.saw(start + seconds(second));
        }
        assert_eq!(debounce.due(), Some(start + seconds(300)));
        debounce.begin();
        assert_eq!(debounce.due(), None);
        debounce.saw(start + seconds(310));
        assert_eq!(debounce.due(), Some(start + seconds(340)), "each scan counts anew");
    }
}
