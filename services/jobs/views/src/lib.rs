//! Pools as the scheduler sees them: loaded from their rows into a [`schedule::Pool`], and kept by what changes in them. Readers get
//! them on any replica, to explain and to forecast.
//!
//! Only reads: nothing may enter that writes a row. `dispatch` carries out what a pool decides.
//!
//! Slices, each of which imports only those before it:
//! - `worker_store`, [`store`]: the rows; [`specs`]: what workers a job accepts; [`estimates`]: how long jobs take;
//! - [`rows`]: rows as facts of the scheduler; [`closed`]: workers that get no jobs;
//! - [`loaded`]: a pool with what belongs to it; `changes`: keeps it;
//! - [`view`]: a pool for readers; `occupancy`: what a pool has, and what a tenant uses of it;
//! - `app`: what the routes need.

mod app;
mod changes;
pub mod closed;
pub mod estimates;
pub mod loaded;
pub mod occupancy;
pub mod rows;
pub mod specs;
pub mod store;
pub mod view;
pub mod worker_store;

pub use app::{State, routes};
