//! Signing in, staying signed in, signing out.
//!
//! A session is one sign-in. Its access tokens are JWTs of a few minutes that nobody looks up; its refresh
//! tokens are opaque, stored as hashes, and each is used once: using it gives the next. One that comes
//! again counts as stolen and ends the session, except within a short grace, in which it gives a further
//! one: the answer to its first use may have been lost, or two tabs may have sent it at once.
//!
//! Transactions here see the rows of the one user or session concerned (`crate::scope`), by row-level
//! security as everywhere; the worker's role is only for cleaning up.

mod clean_up;
mod http;
mod model;
mod refresh;
mod sign_in;
mod store;
mod throttle;

pub(crate) use clean_up::clean_up;
pub(crate) use http::{current, routes};
pub(crate) use model::EndReason;
pub(crate) use store::end_all;
pub(crate) use throttle::Guess;
