//! Shared parts of the commands of `cargo xtask` for this machine and a platform on it: processes, servers
//! for tests and measurements, ports, secrets, the accounts of a running platform and a client of its API.
//!
//! Nothing of one command may enter: all commands are rebuilt with this crate.
#![expect(clippy::print_stdout, reason = "a command-line program talks to its user")]

pub mod access;
pub mod client;
pub mod config;
pub mod control;
pub mod http;
pub mod own;
pub mod postgres;
pub mod process;
pub mod programs;
pub mod rgw;
pub mod scratch;
pub mod secrets;
