//! Size and modification time of a transcript, which show whether it was written since.

use std::path::Path;
use std::time::{Duration, SystemTime};

/// The coarsest resolution of a file's modification time: two writes within it can have the same time.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// Returns the size of a file and its modification time in nanoseconds since the epoch.
///
/// `None` if the file was written so recently that a further write could have the same time, or if it is a database
/// with a non-empty write-ahead log.
pub(super) fn size_and_mtime(path: &Path) -> Option<(u64, u64)> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if Path::new(&log).metadata().is_ok_and(|log| log.len() > 0) {
        return None;
    }
    let metadata = path.metadata().ok().filter(|metadata| metadata.is_file())?;
    let written = metadata.modified().ok()?;
    let is_past = SystemTime::now().duration_since(written).is_ok_and(|age| age > CLOCK_TICK);
    let written = written.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some((metadata.len(), u64::try_from(written.as_nanos()).ok()?)).filter(|_| is_past)
}
