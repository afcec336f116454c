//! Waiting for the locks of refs, as long as Git would wait, and in a hook only briefly.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::Repository;
use crate::error::{Error, Kind, Result};

/// How long Git waits for the lock of one ref unless `core.filesRefLockTimeout` says otherwise.
const REF_TIMEOUT_MILLIS: i64 = 100;
/// How long Git waits for `packed-refs.lock` unless `core.packedRefsTimeout` says otherwise.
const PACKED_REFS_TIMEOUT_MILLIS: i64 = 1000;

/// Says, without opening a repository, whether a notes ref is locked. In that case Git's own copying of notes to an amended
/// commit fails, and `git commit` ends before it runs `post-rewrite`.
pub fn has_locked_notes(common_dir: &Path) -> bool {
    let entries = std::fs::read_dir(common_dir.join("refs/notes")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| path.extension().is_some_and(|extension| extension == "lock"))
}

/// An existing lock file. Path and creation time tell it from a later lock on the same ref.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Held {
    path: PathBuf,
    made: Option<SystemTime>,
    /// How long to wait for it; `None` for until the caller's deadline.
    timeout: Option<Duration>,
}

/// Waiting for locks, one after the other.
#[derive(Default)]
pub(super) struct Waiting {
    held: Option<(Held, Instant)>,
}

impl Waiting {
    /// Looks for locks of `ref_names` after a failed attempt. Returns an error if one has existed for too long.
    pub fn look(&mut self, repo: &Repository, ref_names: &[String], is_over: bool) -> Option<Error> {
        let held = repo.held_lock(ref_names)?;
        let since = match self.held.take() {
            Some((known, since)) if known == held => since,
            _ => Instant::now(),
        };
        let has_waited = held.timeout.is_some_and(|timeout| since.elapsed() >= timeout);
        let is_spent = repo.lock_wait.get().is_some_and(|left| left.is_zero());
        let error = (is_over || has_waited || is_spent).then(|| held.error());
        self.held = Some((held, since));
        error
    }

    /// Sleeps before the next attempt.
    pub fn pause(&self, repo: &Repository, attempt: u32) {
        match self.held {
            // A lock is held for about a millisecond.
            Some(_) => repo.within_lock_wait(Instant::now() + backoff(attempt.min(3)), |until| {
                std::thread::sleep(until.saturating_duration_since(Instant::now()));
            }),
            None => std::thread::sleep(backoff(attempt)),
        }
    }
}

/// Returns how long to wait before an attempt. Grows with each attempt and differs between processes.
pub fn backoff(attempt: u32) -> Duration {
    let nanos = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().subsec_nanos();
    let jitter = u64::from(nanos ^ std::process::id().wrapping_mul(0x9e37_79b9)) % 1000;
    let ceiling_micros = 2_000u64 << attempt.min(6);
    Duration::from_micros(ceiling_micros / 2 + ceiling_micros * jitter / 2000)
}

/// Returns the error for a ref that cannot be updated because of a lock that stays.
pub(super) fn held_up(ref_name: &str, held: &Error) -> Error {
    let cannot = Error::new(Kind::Busy, format!("cannot update '{ref_name}'")).because(held.to_string());
    held.hints().iter().cloned().fold(cannot, Error::hint)
}

impl Held {
    fn error(&self) -> Error {
        let path = self.path.display();
        Error::new(Kind::Busy, format!("the lock '{path}' is there"))
            .hint(format!("if no git process is running, remove it: rm '{path}'"))
    }
}

impl Repository {
    /// Limits how long all waits for locks together may take, in this process.
    pub fn limit_lock_waits(&self, total: Duration) {
        self.lock_wait.set(Some(total));
    }

    /// Limits the waits of this process as [`Repository::limit_lock_waits`] does, to the time that Git would wait for the lock of
    /// a ref and for that of the packed refs. Commands that read call it, since they store pending captures only by the way.
    /// Returns how long Git would wait for the lock of a ref; `None` for as long as the lock is there.
    pub fn limit_lock_waits_as_git(&self) -> Option<Duration> {
        let of_ref = self.lock_timeout("core.filesRefLockTimeout", REF_TIMEOUT_MILLIS);
        let of_packed = self.lock_timeout("core.packedRefsTimeout", PACKED_REFS_TIMEOUT_MILLIS);
        if let Some((of_ref, of_packed)) = of_ref.zip(of_packed) {
            self.limit_lock_waits(of_ref.saturating_add(of_packed));
        }
        of_ref
    }

    /// Returns how long Git waits for a lock; `None` for as long as it is there, as a negative value says.
    fn lock_timeout(&self, key: &str, default: i64) -> Option<Duration> {
        u64::try_from(self.config_integer(key).unwrap_or(default)).ok().map(Duration::from_millis)
    }

    /// Runs `wait` with the time until which it may wait for a lock: `deadline`, or less if [`limit_lock_waits`] was called.
    ///
    /// [`limit_lock_waits`]: Repository::limit_lock_waits
    pub fn within_lock_wait<T>(&self, deadline: Instant, wait: impl FnOnce(Instant) -> T) -> T {
        let Some(left) = self.lock_wait.get() else { return wait(deadline) };
        let started = Instant::now();
        let outcome = wait(deadline.min(started + left));
        self.lock_wait.set(Some(left.saturating_sub(started.elapsed())));
        outcome
    }

    /// Waits while the lock of a ref is there, as long as an update of the ref would wait.
    ///
    /// # Errors
    ///
    /// [`Kind::Busy`] if the lock stays; the message names it.
    pub fn wait_while_locked(&self, ref_name: &str, deadline: Instant) -> Result<()> {
        let ref_names = [ref_name.to_owned()];
        let path = self.common_dir().join(format!("{ref_name}.lock"));
        let mut waiting = Waiting::default();
        let mut attempt = 0;
        while path.exists() {
            if let Some(held) = waiting.look(self, &ref_names, Instant::now() >= deadline) {
                return Err(held_up(ref_name, &held));
            }
            waiting.pause(self, attempt);
            attempt += 1;
        }
        Ok(())
    }

    /// Returns the error of an update of a ref that Git has tried once: it names the lock that is there, if one is.
    pub(super) fn error_of_update(&self, ref_name: &str, error: Error) -> Error {
        let held = self.held_lock(&[ref_name.to_owned()]);
        held.map_or(error, |held| held_up(ref_name, &held.error()))
    }

    /// Returns a lock that prevents a change of these refs, if there is one.
    fn held_lock(&self, ref_names: &[String]) -> Option<Held> {
        let held = |name: &str, key: &str, default: i64| {
            let path = self.common_dir().join(format!("{name}.lock"));
            let metadata = path.symlink_metadata().ok()?;
            Some(Held { path, made: metadata.modified().ok(), timeout: self.lock_timeout(key, default) })
        };
        let of_refs = ref_names.iter().find_map(|name| held(name, "core.filesRefLockTimeout", REF_TIMEOUT_MILLIS));
        of_refs.or_else(|| held("packed-refs", "core.packedRefsTimeout", PACKED_REFS_TIMEOUT_MILLIS))
    }
}
