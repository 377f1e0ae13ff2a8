//! The process of a worker: polls the jobs service for work, runs it in the engine beside it, and uploads the results.
//!
//! ```text
//!  runner::run ──► door (jobs service)        poll, progress, uploads, complete
//!       ├──► inventory                        which models there are
//!       ├──► process ──► child                the process of the engine, if it is not started by others
//!       └──► work ──► engine (WebUI's API)    one job at a time; loras: models of tenants, laid beside it; init: pictures to begin with
//!              ├──► command ──► child          a program by the contract of command engines, one process for a job; gang: several workers
//!              └──► object store              GET of each input and PUT of each result, by signed URLs; deliveries: in the
//!                                             background, if it takes long
//! ```
//!
//! What a failure means is in `fault`. Each child has a `supervisor`, a process that leaves nothing of it.
//!
//! Stateless, with outbound connections only. A restarted process registers a new session; the attempt of the previous
//! session counts as lost.

mod child;
mod command;
mod deliveries;
mod door;
mod engine;
mod fault;
mod gang;
mod init;
mod inventory;
mod loras;
mod output;
mod pace;
mod picture;
mod process;
mod refusal;
mod runner;
#[cfg(target_os = "linux")]
mod supervisor;
mod work;

pub use child::adopt_orphans;
pub use command::Command;
pub use process::Program;
pub use runner::{Config, Limits, run};

/// Without supervisors a program ends alone.
#[cfg(not(target_os = "linux"))]
mod supervisor {
    use nix::sys::signal::Signal;

    pub(crate) const END: Signal = Signal::SIGKILL;
    pub(crate) const TERMINATE: Signal = Signal::SIGTERM;
    pub(crate) const TERMINATE_GROUP: Signal = Signal::SIGTERM;

    pub(crate) struct Processes;

    pub(crate) fn begin(_: &mut Processes) -> std::io::Result<()> {
        Ok(())
    }

    impl Processes {
        pub(crate) fn new() -> Self {
            Self
        }

        pub(crate) fn end(&mut self, _: &[i32], _: impl FnMut(i32, i32)) {}
    }
}
