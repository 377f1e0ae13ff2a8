//! The operator against a cluster: the one of `TEST_KUBECONFIG`, or a development cluster in this process. The cases are
//! the same for both.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

mod api;
mod conflicts;
mod devices;
mod dra;
mod faults;
mod handoff;
mod isolation;
mod kills;
mod lab;
mod leading;
mod life;
mod mirrors;
mod outage;
mod outages;
mod policies;
mod pulls;
mod repair;
mod rights;
mod supervision;
mod takes;
mod thieves;
mod watches;
