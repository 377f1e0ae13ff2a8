//! The development cluster only: nodes, pods as processes, limits, restarts and workers.

mod clients;
mod limits;
mod pods;
mod restart;
mod scheduling;
mod workers;
