//! What jobs cost: amounts on the wire, and the charge for an attempt.

mod amount;
mod charge;

pub use amount::{Amount, Money};
pub use charge::{Charge, Outcome, Rate, Uncharged, Work, charge, may_be_dearer};
