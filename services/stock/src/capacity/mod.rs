//! The number of units over time: the stock is counted every minute, and the counts are aggregated by hour and day.

pub(crate) mod http;
pub(crate) mod measure;
mod model;
pub(crate) mod store;

pub use model::{CapacityPoint, CapacityStep, CapacityUnits, StockCapacity};
