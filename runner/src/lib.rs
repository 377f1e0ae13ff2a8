//! The process of a worker: polls the jobs service for work, runs it in the engine beside it, and uploads the results.
//!
//! ```text
//!  runner::run ──► door (jobs service)        poll, progress, uploads, complete
//!       ├──► child                            the process of the engine, if it is not started by others
//!       └──► work ──► engine (WebUI's API)    one job at a time; loras: models of tenants, laid beside it; init: pictures to begin with
//!              ├──► command ──► program        by the contract of command engines, one process for a job; gang: several workers
//!              └──► object store              GET of each input and PUT of each result, by signed URLs; deliveries: in the
//!                                             background, if it takes long
//! ```
//!
//! Stateless, with outbound connections only. A restarted process registers a new session; the attempt of the previous
//! session counts as lost.

mod child;
mod command;
mod deliveries;
mod door;
mod engine;
mod gang;
mod init;
mod loras;
mod output;
mod pace;
mod refusal;
mod runner;
mod work;

pub use child::Program;
pub use command::Command;
pub use runner::{Config, Limits, run};
