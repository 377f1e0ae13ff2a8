//! What every service's process has: a command line, configuration, logs, metrics, health, a front door
//! that answers in problems, and an orderly end. Nothing of any one service's business.

pub mod cli;
pub mod config;
pub mod front;
pub mod metrics;
pub mod run;
pub mod telemetry;

pub use cli::{Cli, Command};
pub use front::{Front, RouteName};
pub use metrics::Metrics;
pub use run::{Shutdown, serve};
