//! The parts of every service's process: a command line, configuration, logs, metrics, traces, health, supervised
//! workers, an HTTP front that answers errors as problems, and an orderly shutdown. Nothing here belongs to one
//! service.

mod access_log;
pub mod cli;
mod clock;
pub mod config;
mod drain;
pub mod front;
pub mod health;
mod http_client;
pub mod metrics;
mod panic;
mod process;
pub mod recent_logs;
pub mod run;
pub mod streams;
mod tasks;
pub mod telemetry;
pub mod workers;

pub use cli::{Cli, Command};
pub use front::{Front, RouteName};
pub use health::Health;
pub use http_client::http_client;
pub use metrics::Metrics;
pub use panic::panic_message;
pub use process::Process;
pub use run::{Shutdown, serve};
pub use streams::{EventSender, Streams, event_stream, wants_stream};
pub use tasks::{Duty, Task};
pub use telemetry::init as start_logging;
pub use traces::{TelemetryConfig, Tracer};
pub use workers::{Round, Workers};
