//! The process of a worker: polls the jobs service for work, runs it in the engine on the same machine, and
//! uploads the results.
//!
//! ```text
//!  runner::run ──► jobs_service                sessions, polls, progress, transfers, results
//!       ├──► inventory                        the models of the worker
//!       ├──► process ──► child                the process of the engine, if it is not started by others
//!       └──► work ──► engine (WebUI's API)    one job at a time; loras: models of tenants, placed beside it; init: pictures to begin with
//!              ├──► command ──► child          a program by the contract of command engines, one process for a job; gang: several workers
//!              ├──► attempt                   the end of an attempt without results
//!              └──► deliveries ──► results     uploads, in the background if they take long
//! ```
//!
//! Failures are classified in `fault`. Each child has a `supervisor`, a process that ends all its descendants.
//!
//! Stateless, with outbound connections only. A restarted process registers a new session; the attempt of the previous
//! session counts as lost.

mod attempt;
mod child;
mod command;
mod deliveries;
mod engine;
mod engines;
mod fault;
mod gang;
mod init;
mod inventory;
mod jobs_service;
mod limits;
mod loras;
mod output;
mod pace;
mod picture;
mod process;
mod refusal;
mod results;
mod runner;
#[cfg(target_os = "linux")]
mod supervisor;
mod work;

pub use child::adopt_orphans;
pub use command::Command;
pub use limits::Limits;
pub use process::Program;
pub use runner::{Config, run};

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
