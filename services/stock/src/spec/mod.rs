//! GPU specifications and their prices. A retired one is sold no more: no stock is added, it is offered to
//! nobody as an alternative; instances that have it keep it and can restart.

pub mod http;
pub mod model;
pub(crate) mod store;
