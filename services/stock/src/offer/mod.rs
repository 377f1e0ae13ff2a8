//! Offers: the specifications for sale with prices and availability. They are public, so they contain no numbers of
//! units.

pub(crate) mod http;
mod model;

pub use model::{Offer, OfferedIn, Room};
