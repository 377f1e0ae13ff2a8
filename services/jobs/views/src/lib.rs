//! Pools as the scheduler sees them: loaded from their rows into a [`schedule::Pool`], and updated by
//! changes. Any replica loads them for readers, for explanations and forecasts.
//!
//! Only reads: nothing may enter that writes a row. `dispatch` carries out the decisions of a pool.
//!
//! Slices, each of which imports only those before it:
//! - `worker_store`, [`store`]: the rows; [`specs`]: the workers that a job accepts; [`estimates`]: how long
//!   jobs take;
//! - [`rows`]: rows as facts of the scheduler; [`closed`]: workers that get no jobs;
//! - [`loaded`]: a pool with its sessions and accounts; `changes`: updates it;
//! - [`view`]: a pool for readers; `occupancy`: the capacity of a pool, and a tenant's use of it;
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
