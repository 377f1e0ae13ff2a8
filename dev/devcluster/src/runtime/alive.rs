//! When processes of pods last ran for certain: containers that a stop or a kill of the cluster ended get this as the time
//! of their end.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;

/// Time between two marks of the running cluster.
const PERIOD: Duration = Duration::from_secs(1);

/// The marks of the cluster.
pub(crate) struct Alive {
    file: PathBuf,
    /// The last mark of the predecessor.
    before: Option<Timestamp>,
}

impl Alive {
    pub(crate) fn new(data: &Path) -> Self {
        let file = data.join("alive");
        Self { before: written_at(&file), file }
    }

    /// Marks the cluster as alive until it is dropped.
    pub(crate) async fn run(&self) {
        loop {
            mark(&self.file);
            tokio::time::sleep(PERIOD).await;
        }
    }

    /// Marks the end of a pod's process.
    pub(crate) fn ended(home: &Path) {
        mark(&home.join("ended"));
    }

    /// When the container that has been running since `started` last ran for certain.
    pub(crate) fn last(&self, home: &Path, started: Timestamp) -> Timestamp {
        let ended = written_at(&home.join("ended")).filter(|ended| *ended >= started);
        let now = Timestamp::now();
        ended.or(self.before).unwrap_or(started).clamp(started.min(now), now)
    }
}

fn mark(file: &Path) {
    if let Err(error) = std::fs::write(file, "") {
        tracing::debug!(%error, file = %file.display(), "cannot write a mark");
    }
}

fn written_at(file: &Path) -> Option<Timestamp> {
    let modified: SystemTime = std::fs::metadata(file).ok()?.modified().ok()?;
    modified.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_ended_when_it_was_last_seen() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("pod");
        std::fs::create_dir(&home).unwrap();
        let long_ago = Timestamp::now() - jiff::SignedDuration::from_hours(1);
        assert_eq!(Alive::new(folder.path()).last(&home, long_ago), long_ago, "nothing is known");
        mark(&folder.path().join("alive"));
        let alive = Alive::new(folder.path());
        let marked = alive.before.unwrap();
        assert_eq!(alive.last(&home, long_ago), marked);
        Alive::ended(&home);
        assert_eq!(alive.last(&home, long_ago), written_at(&home.join("ended")).unwrap());
        // the mark of an earlier container does not count
        let started = Timestamp::now();
        assert!(alive.last(&home, started) >= started);
    }
}
