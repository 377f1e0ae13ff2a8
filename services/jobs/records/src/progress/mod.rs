//! How far attempts are: what their workers report, and where the newest report is found.

mod config;
mod reports;
mod store;

pub use config::ProgressConfig;
pub use reports::Reports;
