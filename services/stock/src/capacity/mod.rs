//! How many units there were over time: the stock is looked at every minute, and added up by hour and by day.

pub(crate) mod http;
pub(crate) mod measure;
mod model;
pub(crate) mod store;

pub use model::{CapacityPoint, CapacityStep, CapacityUnits, StockCapacity};
