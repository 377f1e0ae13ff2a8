//! The development cluster only: nodes, pods as processes, limits, faults, restarts and workers.

mod clients;
mod faults;
mod limits;
mod pods;
mod restart;
mod scheduling;
mod summary;
mod workers;
