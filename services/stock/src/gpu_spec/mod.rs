//! GPU specifications and their prices. A retired specification takes no new stock and is not offered as an
//! alternative; instances that use it keep it and can restart.

pub(crate) mod http;
mod model;
mod money;
pub(crate) mod store;

pub use model::{Allocation, GpuSpec, GpuSpecPatch, GpuSpecRef, GpuSpecState, NewGpuSpec, Price};
