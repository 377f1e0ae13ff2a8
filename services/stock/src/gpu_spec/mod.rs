//! GPU specifications and their prices. A retired specification takes no new stock and is not offered as an
//! alternative; instances that use it keep it and can restart.

pub(crate) mod http;
mod model;
pub(crate) mod store;

pub(crate) use model::takes_stock;
pub use model::{GpuSpecPatch, NewGpuSpec, Price};
