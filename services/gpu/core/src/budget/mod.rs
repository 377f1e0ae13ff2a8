//! What a tenant may spend in a month: which steps of its budget are reached, when the next one is, and what may be started until then.

mod allowance;
mod model;

pub use allowance::{Allowance, ISSUER, Refused};
pub use model::{AtLimit, Evaluation, Month, Progress, Spending, Terms, Times, cost, evaluate};
