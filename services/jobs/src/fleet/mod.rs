//! Workers that the platform runs itself: as many instances of a pool's tenant as the queue asks for.
//!
//! A row of a worker is written before its instance is ordered, and deleted after it: so each instance has a row, however a
//! process ends. Each replica runs the rounds of [`reconcile`]; locks of rows let one of them at a time decide about a pool.

mod follow;
mod model;
mod rank;
mod reconcile;
mod store;

pub(crate) use follow::start as follow;
pub(crate) use model::{Size, WorkerStage};
pub(crate) use reconcile::Fleets;
pub(crate) use store::{drain, set_ranks, set_wanted};
