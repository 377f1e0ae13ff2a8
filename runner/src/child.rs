//! Programs as child processes. Nothing of a program outlives it, and no program outlives the runner.

use std::{
    collections::BTreeSet,
    process::ExitStatus,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{
    process::{Child, Command},
    task::spawn_blocking,
    time::timeout,
};

use crate::supervisor::{self, Processes};

/// Longer than a supervisor takes.
const KILLED: Duration = Duration::from_secs(40);

/// The supervisors that this process has started.
static SUPERVISORS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());
/// Whether this process gets the orphans of its descendants, and has no other children than supervisors.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// From now on this process adopts descendants that have lost their supervisor, and ends them. It must not
/// have other children than programs of this library.
///
/// # Errors
/// If the kernel refuses.
pub fn adopt_orphans() -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_child_subreaper(true)?;
    ADOPTS.store(true, Ordering::Relaxed);
    Ok(())
}

fn supervisors() -> MutexGuard<'static, BTreeSet<i32>> {
    SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program below a supervisor, which ends with all that it has started.
pub(crate) struct Program {
    child: Child,
    id: Option<i32>,
}

impl Program {
    /// Starts a program.
    pub(crate) fn spawn(command: &mut Command) -> std::io::Result<Self> {
        command.process_group(0);
        let mut processes = Processes::new();
        let begin = move || supervisor::begin(&mut processes);
        #[expect(unsafe_code, reason = "makes system calls only, and takes no memory")]
        unsafe {
            command.pre_exec(begin);
        }
        // none is started that is not known
        let mut supervisors = supervisors();
        let child = command.spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        supervisors.extend(id);
        Ok(Self { child, id })
    }

    /// Waits until the program has ended, and nothing of it is left.
    pub(crate) async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        let status = self.child.wait().await;
        if let Some(id) = self.id.take() {
            supervisors().remove(&id);
            end_orphans().await;
        }
        status
    }

    /// Sends SIGTERM to the program ([`supervisor::TERMINATE`]) or its group. Returns whether it may be there.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        self.id.is_some_and(|id| kill(Pid::from_raw(id), signal).is_ok())
    }

    /// Kills the program and all that it has started.
    pub(crate) async fn kill(&mut self) -> std::io::Result<ExitStatus> {
        self.signal(supervisor::END);
        match timeout(KILLED, self.wait()).await {
            Ok(status) => status,
            Err(_) => {
                tracing::warn!("a program does not end although it is killed");
                let _ = self.child.start_kill();
                self.wait().await
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.signal(supervisor::END);
        if let Some(id) = self.id {
            supervisors().remove(&id);
        }
    }
}

/// Ends processes without a supervisor, which a program may have killed.
async fn end_orphans() {
    if !ADOPTS.load(Ordering::Relaxed) {
        return;
    }
    let ended = spawn_blocking(|| {
        let supervisors = supervisors();
        let known: Vec<i32> = supervisors.iter().copied().collect();
        Processes::new().end(&known, |id, _| {
            tracing::warn!(process.id = id, "a process without a supervisor has been ended");
        });
    });
    let _ = ended.await;
}

#[cfg(test)]
mod tests {
    use std::{path::Path, process::Stdio};

    use tokio::time::{Instant, sleep};

    use super::*;

    fn script(script: &str, folder: &Path) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(folder).stdin(Stdio::null());
        command
    }

    /// Waits for the process whose id a program writes into a file.
    async fn written(path: &Path) -> i32 {
        let begun = Instant::now();
        loop {
            if let Ok(Ok(id)) = std::fs::read_to_string(path).map(|text| text.trim().parse()) {
                return id;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "{} is not written", path.display());
            sleep(Duration::from_millis(10)).await;
        }
    }

    fn runs(id: i32) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        status
            .rsplit(')')
            .next()
            .and_then(|rest| rest.trim().chars().next())
            .is_some_and(|state| state != 'Z')
    }

    const DAEMON: &str =
        "(setsid sh -c 'trap \"\" TERM HUP INT; echo $$ >next; mv next daemon; while :; do sleep 1; done' &)";

    #[tokio::test]
    async fn a_program_ends_with_its_daemons_and_leaves_those_of_others() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut engine = Program::spawn(&mut script(&format!("{DAEMON}; sleep 1000"), other.path())).unwrap();
        let others = written(&other.path().join("daemon")).await;
        let wait = "until [ -e daemon ]; do sleep 0.01; done";
        for (end, expected) in [
            ("exit 0", "exit status: 0"),
            ("exit 7", "exit status: 7"),
            ("kill -9 $$", "signal: 9"),
            ("kill -ABRT $$", "signal: 6"),
        ] {
            let text = format!("{DAEMON}; {wait}; {end}");
            let mut program = Program::spawn(&mut script(&text, one.path())).unwrap();
            let status = program.wait().await.unwrap().to_string();
            assert!(status.starts_with(expected), "{end}: {status}");
            let daemon = written(&one.path().join("daemon")).await;
            assert!(!runs(daemon), "{end}");
            std::fs::remove_file(one.path().join("daemon")).unwrap();
        }
        // killed, and dropped
        let text = format!("{DAEMON}; trap '' TERM; while :; do sleep 1; done");
        for dropped in [false, true] {
            let mut program = Program::spawn(&mut script(&text, one.path())).unwrap();
            let daemon = written(&one.path().join("daemon")).await;
            if dropped {
                drop(program);
                while runs(daemon) {
                    sleep(Duration::from_millis(10)).await;
                }
            } else {
                program.kill().await.unwrap();
                assert!(!runs(daemon));
            }
            std::fs::remove_file(one.path().join("daemon")).unwrap();
        }
        assert!(runs(others));
        engine.kill().await.unwrap();
        assert!(!runs(others));
        // one that does not start is an error
        assert_eq!(
            Program::spawn(&mut Command::new("/no/such")).err().unwrap().kind(),
            std::io::ErrorKind::NotFound
        );
    }

    #[tokio::test]
    async fn what_forks_without_end_ends() {
        let folder = tempfile::tempdir().unwrap();
        // each process starts its successor and ends, in a session of its own; four at a time
        std::fs::write(folder.path().join("chain"), "echo >>links; setsid sh chain & exit").unwrap();
        let text = "for n in 1 2 3 4; do setsid sh chain & done; \
                    until [ -s links ]; do sleep 0.01; done; sleep 0.2";
        let begun = Instant::now();
        let mut program = Program::spawn(&mut script(text, folder.path())).unwrap();
        assert_eq!(program.wait().await.unwrap().code(), Some(0));
        let links = || std::fs::metadata(folder.path().join("links")).unwrap().len();
        let ended = links();
        sleep(Duration::from_millis(200)).await;
        assert_eq!(links(), ended, "it goes on, after {:?}", begun.elapsed());
    }

    /// Not a case by itself: the process of the next one.
    #[tokio::test]
    #[ignore = "ends the processes below its own"]
    async fn worker() {
        let Ok(folder) = std::env::var("ATELIER_TEST_FOLDER") else { return };
        let folder = Path::new(&folder);
        adopt_orphans().unwrap();
        let mut engine =
            Program::spawn(&mut script("echo $$ >next; mv next engine; sleep 1000", folder)).unwrap();
        let others = written(&folder.join("engine")).await;
        let text = format!("{DAEMON}; until [ -e daemon ]; do sleep 0.01; done; kill -9 $PPID; sleep 1000");
        let mut program = Program::spawn(&mut script(&text, folder)).unwrap();
        assert_eq!(program.wait().await.unwrap().to_string(), "signal: 9 (SIGKILL)");
        let daemon = written(&folder.join("daemon")).await;
        assert!(!runs(daemon) && runs(others));
        engine.kill().await.unwrap();
    }

    #[tokio::test]
    async fn a_program_that_kills_its_supervisor_leaves_nothing_either() {
        let folder = tempfile::tempdir().unwrap();
        let mut own = Command::new(std::env::current_exe().unwrap());
        own.args(["--exact", "child::tests::worker", "--ignored"]).env("ATELIER_TEST_FOLDER", folder.path());
        let output = own.output().await.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        assert!(folder.path().join("daemon").exists());
    }
}
