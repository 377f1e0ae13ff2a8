//! The stock: how many units of each specification each datacenter has, and its additions and removals.

mod change;
pub(crate) mod http;
mod model;
pub(crate) mod store;

pub use model::{StockChange, StockRow};
