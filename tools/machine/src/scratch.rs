//! The folder of one run: its Postgres, its temporary files. It is removed at the end, or by a later run.

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use nix::{errno::Errno, sys::signal::kill, unistd::Pid};

use crate::{
    postgres::{self, Options, Postgres},
    process,
};
use xtask::packages::{self, Consent};

/// Free space that a run needs, in bytes.
#[cfg(target_os = "linux")]
const SPACE: u64 = 4 << 30;

/// Prefix of the folder's name; the process id follows.
const PREFIX: &str = "atelier-test-";

/// A folder that belongs to this process.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    /// Creates the folder, and removes those of runs that were killed.
    pub fn new() -> anyhow::Result<Self> {
        let parent = parent();
        sweep(&parent)?;
        let folder = parent.join(format!("{PREFIX}{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        // Postgres may run as another user, who must reach its folder
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755))?;
        Ok(Self { folder })
    }

    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// The folder with Postgres' server programs, installed if necessary.
    pub fn postgres_programs(&self, consent: Consent) -> anyhow::Result<PathBuf> {
        packages::postgres(consent, &self.folder.join("download"))
    }

    /// Starts a Postgres whose data does not survive the run.
    pub async fn postgres(&self, programs: &Path) -> anyhow::Result<Postgres> {
        Postgres::start(&Options {
            bin: programs,
            data: self.folder.join("postgres"),
            port: process::free_port()?,
            password: "test",
            fsync: false,
            max_connections: 500,
        })
        .await
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // what remains is removed by the next run
        let _ = remove(&self.folder);
    }
}

/// Memory if the system has enough space for files there, otherwise the disk. Ceph's monitor and many tests
/// wait until each write is on the disk, which may be busy.
fn parent() -> PathBuf {
    #[cfg(target_os = "linux")]
    if let Ok(memory) = nix::sys::statvfs::statvfs("/dev/shm")
        && memory.blocks_available() * memory.fragment_size() >= SPACE
    {
        return PathBuf::from("/dev/shm");
    }
    std::env::temp_dir()
}

fn remove(folder: &Path) -> anyhow::Result<()> {
    postgres::remove(&folder.join("postgres"))?;
    Ok(std::fs::remove_dir_all(folder)?)
}

/// Removes the folders of dead processes. One that cannot be removed stays: it may belong to another user, or
/// another run removes it at the same time.
fn sweep(parent: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(parent)?.flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).and_then(|pid| pid.parse().ok());
        if pid.is_some_and(|pid| kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH)) {
            let _ = remove(&entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_removed_and_one_that_resists_is_skipped() {
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        let name = format!("{PREFIX}{}", ended.id());
        ended.wait().unwrap();
        let parent = tempfile::tempdir().unwrap();
        // like another user's folder, a file cannot be removed with `remove_dir_all`
        std::fs::write(parent.path().join(&name), "").unwrap();
        sweep(parent.path()).unwrap();

        std::fs::remove_file(parent.path().join(&name)).unwrap();
        std::fs::create_dir_all(parent.path().join(&name).join("postgres/data")).unwrap();
        sweep(parent.path()).unwrap();
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
