//! Additions and removals of stock as long actions: what was asked, how far it is, how it ended. The work
//! itself is the units' ([`crate::unit::maker`]); here it is only followed.

pub mod http;
pub mod model;
pub(crate) mod settle;
pub(crate) mod store;
