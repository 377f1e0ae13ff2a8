//! Jobs: their states and transitions, their needs and parameters, the end and cost of attempts, and the
//! number of workers of a pool.
//!
//! Values in, values out. Nothing may enter that knows sqlx, axum or kube, a clock or randomness; the feature
//! `sqlx` only lets columns have these types. Nor may anything that only one slice needs: all other crates of
//! the service except `schedule` depend on this one.
//!
//! Slices, each of which imports only those before it:
//! - [`kind`], [`status`], [`needs`]: what a job is, its state, and what a worker has to have for it;
//! - [`application`]: the methods of jobs, and their parameters; [`cost`]: amounts, and the charge for an attempt;
//! - [`progress`], [`event`], [`refusal`]: words: how far attempts are, what happened to jobs, why messages are refused;
//! - [`worker`], [`fleet`]: states of workers, and how many of them a pool should have;
//! - [`job`], [`scheduler`], [`attempt`]: a job, the times of its scheduler, and how its attempts end.

pub mod application;
pub mod attempt;
pub mod cost;
pub mod event;
pub mod fleet;
pub mod job;
pub mod kind;
pub mod needs;
pub mod progress;
pub mod refusal;
pub mod scheduler;
pub mod status;
pub mod worker;
