//! Progress of attempts: the reports of their workers, and where the newest report is found.

mod config;
mod reports;
mod store;

pub use config::ProgressConfig;
pub use reports::Reports;
