//! The cluster through ordinary clients. The cases of `conformance` need only an API server: with `TEST_KUBECONFIG` they
//! run against a real one. The cases of `standin` need nodes, images or restarts of the development cluster.
#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

mod conformance;
mod standin;
mod support;
