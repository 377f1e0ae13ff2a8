//! The process of a worker: polls the jobs service for work, runs it in the engine beside it, and uploads the results.
//!
//! ```text
//!  runner::run ──► door (jobs service)        poll, progress, uploads, complete
//!       └──► work ──► engine (WebUI's API)    one job at a time
//!              └──► object store              PUT of each result, by a signed URL
//! ```
//!
//! It opens outbound connections only and stores no state: after a restart it registers again, and the attempt of the
//! previous process is lost.

mod door;
mod engine;
mod runner;
mod work;

pub use runner::{Config, run};
