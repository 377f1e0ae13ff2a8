//! What tenants have used, and what they may use: the records that others charge for, quotas and budgets.
//!
//! The rules of quotas and budgets are in `core`. Nothing may enter that claims or starts anything: `orders`
//! checks here first.
//!
//! Slices, each of which imports only those before it:
//! - `used`: what instances have used, and the comparison of the meter with the clusters; `metering`: periodic workers of the meter;
//! - `quota`: what a tenant may use at a time; `budget`: what it may spend in a month;
//! - `app`: what the routes need.

mod app;
pub mod budget;
pub mod metering;
pub mod quota;
pub mod used;

pub use app::{State, routes};
