//! Starts processes. One long-lived thread starts all of them, because the kernel's parent-death signal belongs to the
//! thread: if this process is killed, the processes of its pods are killed too.

use anyhow::Context;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;

/// A command.
pub(crate) struct Launch {
    pub argv: Vec<String>,
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    pub stdin: bool,
    pub tty: bool,
}

/// A started process, the leader of its process group.
pub(crate) struct Launched {
    pub child: Child,
    pub pid: i32,
    /// The other side of the terminal, if one was requested.
    pub terminal: Option<OwnedFd>,
}

type Job = (Launch, oneshot::Sender<anyhow::Result<Launched>>);

/// Handle of the spawning thread.
pub(crate) struct Spawner(mpsc::Sender<Job>);

impl Spawner {
    /// Starts the thread; must be called inside the runtime.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let (tx, rx) = mpsc::channel::<Job>();
        let runtime = tokio::runtime::Handle::current();
        std::thread::Builder::new().name("pod-spawner".into()).spawn(move || {
            let _entered = runtime.enter();
            for (launch, reply) in rx {
                // without a receiver, the child is killed when dropped
                let _ = reply.send(start(&launch));
            }
        })?;
        Ok(Self(tx))
    }

    pub(crate) async fn launch(&self, launch: Launch) -> anyhow::Result<Launched> {
        let (tx, rx) = oneshot::channel();
        self.0.send((launch, tx)).context("the spawning thread has ended")?;
        rx.await.context("the spawning thread has ended")?
    }
}

fn start(launch: &Launch) -> anyhow::Result<Launched> {
    let (program, args) = launch.argv.split_first().context("no command specified")?;
    let mut command = Command::new(program);
    command
        .args(args)
        .env_clear()
        .envs(launch.env.iter().cloned())
        .current_dir(&launch.cwd)
        .kill_on_drop(true);
    let mut terminal = None;
    if launch.tty {
        let pair = nix::pty::openpty(None, None)?;
        command.stdin(pair.slave.try_clone()?).stdout(pair.slave.try_clone()?).stderr(pair.slave);
        terminal = Some(pair.master);
    } else {
        command.stdin(if launch.stdin { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    }
    let tty = launch.tty;
    let prepare = move || {
        if tty {
            nix::unistd::setsid()?;
            take_terminal()?;
        }
        #[cfg(target_os = "linux")]
        nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
        Ok(())
    };
    #[expect(unsafe_code, reason = "between fork and exec only async-signal-safe system calls are made")]
    unsafe {
        command.pre_exec(prepare);
    }
    let child = command.spawn().with_context(|| format!("exec {program:?}"))?;
    let pid = child.id().and_then(|p| i32::try_from(p).ok()).context("the process has no id")?;
    Ok(Launched { child, pid, terminal })
}

fn take_terminal() -> std::io::Result<()> {
    #[expect(
        unsafe_code,
        reason = "the ioctl that makes standard input the controlling terminal has no safe wrapper"
    )]
    let code = unsafe { libc::ioctl(0, libc::TIOCSCTTY as _, 0) };
    if code == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Sets the size of a terminal.
pub(crate) fn resize(terminal: &OwnedFd, columns: u16, rows: u16) {
    use std::os::fd::AsRawFd;
    let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    #[expect(unsafe_code, reason = "the ioctl that sets a terminal's size has no safe wrapper")]
    let code = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSWINSZ as _, &raw const size) };
    if code != 0 {
        tracing::debug!("cannot resize terminal");
    }
}

/// Signals a process group; does nothing if it does not exist.
pub(crate) fn signal_group(pid: i32, signal: nix::sys::signal::Signal) {
    let _ = nix::sys::signal::killpg(nix::unistd::Pid::from_raw(pid), signal);
}
