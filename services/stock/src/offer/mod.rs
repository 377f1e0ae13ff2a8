//! Offers: what is for sale, at which price and where there is room. For everybody, so without numbers of units.

pub(crate) mod http;
mod model;

pub use model::{Offer, OfferedIn, Room};
