//! The process between the runner and a program. It adopts the orphans of the program
//! (`PR_SET_CHILD_SUBREAPER`), ends them when the program has ended, and then exits with the status of the
//! program: no process of a program outlives it, not even daemons. It also ends everything on request
//! ([`END`]), and when the runner is gone.
//!
//! It is a fork of the runner, which has threads, so it may neither allocate memory nor take locks. Memory is
//! allocated before the fork.

use std::{
    ffi::CStr,
    io,
    time::{Duration, Instant},
};

use nix::{
    libc,
    sys::{
        prctl,
        signal::{SigSet, SigmaskHow, Signal, kill, killpg, pthread_sigmask},
    },
    unistd::{ForkResult, Pid, fork, setpgid},
};

/// Tells a supervisor to end the program and all that it has started.
pub(crate) const END: Signal = Signal::SIGHUP;
/// Tells a supervisor to send SIGTERM to the program.
pub(crate) const TERMINATE: Signal = Signal::SIGTERM;
/// Tells a supervisor to send SIGTERM to the program's process group.
pub(crate) const TERMINATE_GROUP: Signal = Signal::SIGUSR1;

/// Maximum number of processes of the machine that are read. Further ones are found when others have ended.
const MOST: usize = 65_536;
/// How long processes are stopped before they are killed.
const FREEZE: Duration = Duration::from_secs(5);
/// How long processes may take to end. They take longer only if the kernel does not end them, or they belong
/// to another user.
const LIMIT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(2);

/// Processes of the machine.
pub(crate) struct Processes(Vec<Process>);

#[derive(Clone, Copy)]
struct Process {
    id: i32,
    parent: i32,
    state: u8,
    descends: bool,
}

impl Process {
    fn runs(&self) -> bool {
        // stopped, stopped by a debugger, ended
        !b"TtZX".contains(&self.state)
    }
}

/// Becomes the supervisor, and returns in a child of it, which is to become the program. Both end with their parents. To be called
/// between fork and exec only.
pub(crate) fn begin(processes: &mut Processes) -> io::Result<()> {
    prctl::set_child_subreaper(true)?;
    prctl::set_pdeathsig(END)?;
    let mut before = SigSet::empty();
    pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), Some(&mut before))?;
    #[expect(unsafe_code, reason = "the fork does what may be done after a fork")]
    match unsafe { fork() }? {
        ForkResult::Child => {
            setpgid(Pid::this(), Pid::from_raw(0))?;
            prctl::set_pdeathsig(Signal::SIGKILL)?;
            pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&before), None)?;
            Ok(())
        }
        ForkResult::Parent { child } => supervise(child, processes),
    }
}

/// Follows the program to its end.
fn supervise(program: Pid, processes: &mut Processes) -> ! {
    // who has started this waits until the files of the fork are closed
    close_files();
    let _ = prctl::set_name(c"supervisor");
    let mut ended = None;
    let all = SigSet::all();
    loop {
        while let Some((id, status)) = reap(-1) {
            if id == program.as_raw() {
                ended = Some(status);
            }
        }
        if ended.is_some() {
            break;
        }
        match all.wait() {
            Ok(END) => break,
            Ok(TERMINATE) => drop(kill(program, Signal::SIGTERM)),
            Ok(TERMINATE_GROUP) => drop(killpg(program, Signal::SIGTERM)),
            _ => {}
        }
    }
    processes.end(&[], |id, status| {
        if id == program.as_raw() {
            ended = Some(status);
        }
    });
    exit_as(ended.unwrap_or(libc::SIGKILL))
}

#[expect(unsafe_code, reason = "closes the files of a process that uses none")]
fn close_files() {
    unsafe {
        if libc::syscall(libc::SYS_close_range, 0_u32, u32::MAX, 0_u32) != 0 {
            // Linux before 5.9
            for file in 0..65_536 {
                libc::close(file);
            }
        }
    }
}

/// Takes the status of a child that has ended; of any child for -1.
#[expect(unsafe_code, reason = "`nix` knows no status of a process that a real-time signal has ended")]
fn reap(id: i32) -> Option<(i32, i32)> {
    let mut status = 0;
    let ended = unsafe { libc::waitpid(id, &raw mut status, libc::WNOHANG) };
    (ended > 0).then_some((ended, status))
}

#[expect(
    unsafe_code,
    reason = "ends without what a Rust program does at its end, which is for the runner to do"
)]
fn exit_as(status: i32) -> ! {
    unsafe {
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
            libc::signal(signal, libc::SIG_DFL);
            libc::kill(libc::getpid(), signal);
            let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
        }
        libc::_exit(libc::WEXITSTATUS(status))
    }
}

impl Processes {
    /// Takes the memory.
    pub(crate) fn new() -> Self {
        Self(Vec::with_capacity(MOST))
    }

    /// Ends the descendants of this process, except `except` and theirs. Reports the status of each child
    /// that it reaps. Descendants become children when the processes in between have ended, so this process
    /// is the parent or a subreaper of each.
    pub(crate) fn end(&mut self, except: &[i32], mut reaped: impl FnMut(i32, i32)) {
        let begun = Instant::now();
        let own = Pid::this().as_raw();
        while begun.elapsed() < LIMIT {
            let mut runs = false;
            // orphans at once, before they can begin another process and end: a chain of these is faster than
            // a full scan
            self.list(|process| {
                if process.parent == own && process.runs() && !except.contains(&process.id) {
                    runs = true;
                    let _ = kill(Pid::from_raw(process.id), Signal::SIGSTOP);
                }
            });
            self.mark(own, except);
            let mut found = false;
            for process in self.0.iter().filter(|process| process.descends) {
                found = true;
                if process.runs() {
                    runs = true;
                    let _ = kill(Pid::from_raw(process.id), Signal::SIGSTOP);
                }
            }
            if !found {
                return;
            }
            // stopped processes do not fork, so nothing is killed while a new process may begin
            if runs && begun.elapsed() < FREEZE {
                continue;
            }
            for process in self.0.iter().filter(|process| process.descends) {
                let _ = kill(Pid::from_raw(process.id), Signal::SIGKILL);
            }
            std::thread::sleep(PAUSE);
            for process in self.0.iter().filter(|process| process.descends && process.parent == own) {
                if let Some((id, status)) = reap(process.id) {
                    reaped(id, status);
                }
            }
        }
    }

    /// Marks the descendants of `root`.
    fn mark(&mut self, root: i32, except: &[i32]) {
        self.0.sort_unstable_by_key(|process| process.id);
        let mut changed = true;
        while changed {
            changed = false;
            for n in 0..self.0.len() {
                let Some(process) = self.0.get(n).copied() else { continue };
                if process.descends || except.contains(&process.id) {
                    continue;
                }
                let parent = self.0.binary_search_by_key(&process.parent, |process| process.id);
                let descends = process.parent == root
                    || parent.ok().and_then(|n| self.0.get(n)).is_some_and(|parent| parent.descends);
                if let Some(process) = self.0.get_mut(n).filter(|_| descends) {
                    process.descends = true;
                    changed = true;
                }
            }
        }
    }

    /// Lists the processes of the machine. Tells each when it is seen.
    fn list(&mut self, mut seen: impl FnMut(&Process)) {
        self.0.clear();
        let Some(folder) = File::open(c"/proc") else { return };
        let mut entries = [0; 32 * 1024];
        loop {
            let Some(mut rest) = folder.entries(&mut entries).filter(|entries| !entries.is_empty()) else {
                return;
            };
            while let Some((name, following)) = next_entry(rest) {
                rest = following;
                // within the memory
                if let Some(process) = process(name).filter(|_| self.0.len() < self.0.capacity()) {
                    seen(&process);
                    self.0.push(process);
                }
            }
        }
    }
}

/// A file that is closed when it is dropped.
struct File(i32);

impl File {
    #[expect(unsafe_code, reason = "a system call whose arguments live as long as it")]
    fn open(path: &CStr) -> Option<Self> {
        let file = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        (file >= 0).then_some(Self(file))
    }

    #[expect(unsafe_code, reason = "a system call that writes into the buffer, at most its length")]
    fn entries<'a>(&self, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
        let read = unsafe { libc::syscall(libc::SYS_getdents64, self.0, buffer.as_mut_ptr(), buffer.len()) };
        buffer.get(..usize::try_from(read).ok()?)
    }

    #[expect(unsafe_code, reason = "a system call that writes into the buffer, at most its length")]
    fn read<'a>(&self, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
        let read = unsafe { libc::read(self.0, buffer.as_mut_ptr().cast(), buffer.len()) };
        buffer.get(..usize::try_from(read).ok()?)
    }
}

impl Drop for File {
    #[expect(unsafe_code, reason = "the file is this value's")]
    fn drop(&mut self) {
        unsafe { libc::close(self.0) };
    }
}

/// Splits the first name off the entries of a folder (`struct linux_dirent64`).
fn next_entry(entries: &[u8]) -> Option<(&[u8], &[u8])> {
    const LENGTH: usize = 16;
    const NAME: usize = 19;
    let length =
        entries.get(LENGTH..)?.first_chunk().map(|length| usize::from(u16::from_ne_bytes(*length)))?;
    let name = entries.get(NAME..length)?;
    let name = name.split(|byte| *byte == 0).next()?;
    Some((name, entries.get(length..)?))
}

/// Reads the status of a process. None if the name is not that of one, or it is gone.
fn process(name: &[u8]) -> Option<Process> {
    let id: i32 = std::str::from_utf8(name).ok()?.parse().ok()?;
    let mut path = [0; 32];
    let parts = [&b"/proc/"[..], name, b"/stat\0"];
    let mut end = 0;
    for part in parts {
        path.get_mut(end..end + part.len())?.copy_from_slice(part);
        end += part.len();
    }
    let mut buffer = [0; 1024];
    let text = File::open(CStr::from_bytes_with_nul(path.get(..end)?).ok()?)?.read(&mut buffer)?;
    // the name of the program is in parentheses, and may have others in it
    let after = text.rsplit(|byte| *byte == b')').next()?;
    let mut fields = after.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    let state = *fields.next()?.first()?;
    let parent = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    Some(Process { id, parent, state, descends: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_listed_with_its_parent() {
        let mut processes = Processes::new();
        processes.list(|_| {});
        let own = processes.0.iter().find(|process| process.id == Pid::this().as_raw()).unwrap();
        assert_eq!(own.parent, Pid::parent().as_raw());
        assert!(own.runs() && processes.0.capacity() == MOST);
    }

    #[test]
    fn descendants_are_marked_but_for_those_of_others() {
        let process = |id, parent| Process { id, parent, state: b'S', descends: false };
        let mut processes = Processes(vec![
            process(7, 6),
            process(9, 8),
            process(6, 5),
            process(8, 5),
            process(5, 1),
            process(3, 1),
            process(2, 9),
        ]);
        processes.mark(5, &[8]);
        let marked = |processes: &Processes| {
            processes.0.iter().filter(|one| one.descends).map(|one| one.id).collect::<Vec<_>>()
        };
        assert_eq!(marked(&processes), [6, 7]);
        processes.mark(5, &[]);
        assert_eq!(marked(&processes), [2, 6, 7, 8, 9]);
    }
}
