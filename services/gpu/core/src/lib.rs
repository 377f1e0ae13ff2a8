//! The rules of the gpu service: values in, values out. States and transitions of instances, their cost, what
//! a tenant may use and spend, which entries of the catalogue and which orders are valid.
//!
//! No I/O may enter: no database (`sqlx`), no HTTP (`axum`), no cluster (`kube`), not even as a dependency of
//! a library that this crate uses; no clock, and no randomness except for ids. `tests/structure` checks it.
//! The stores turn rows into these values, and the HTTP layer maps errors to problems.
//!
//! Slices, each of which imports only those before it:
//! - `word`: enumerations that are stored as text; `reason`, `ends`, `unit`, `claim`: why an instance is as it is, how runs and holds end,
//!   what a cluster reports of a unit, what was claimed; `operation`: actions on instances;
//! - `catalogue`: the services that users choose from; `meter`: intervals of running and of holds, and what they cost;
//! - `event`: what happened to instances and budgets;
//! - `instance`: states and their only transitions, orders, mounts, ports, secrets, and what a cluster should do next;
//! - `idle`: whether an instance is idle, and what follows; `compare`: the meter and the histories of clusters;
//! - `quota`, `budget`: what a tenant may use at a time, and spend in a month.

#[macro_use]
mod word;

pub mod budget;
pub mod catalogue;
pub mod claim;
pub mod compare;
pub mod ends;
pub mod event;
pub mod idle;
pub mod instance;
pub mod meter;
pub mod operation;
pub mod quota;
pub mod reason;
pub mod unit;

pub use word::UnknownWord;
