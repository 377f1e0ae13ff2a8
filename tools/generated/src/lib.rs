//! Files that are generated from others, or must agree with them: API documents, the console's client, custom
//! resources, checked queries, metrics and alert rules, deployment files, migrations.
//!
//! Nothing that needs a running platform may enter.
#![expect(clippy::print_stdout, reason = "a command-line program talks to its user")]

pub mod console_client;
pub mod deployment;
pub mod generate;
pub mod migrations;
pub mod observe;
pub mod platform_files;
pub mod queries;
