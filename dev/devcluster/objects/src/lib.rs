//! The objects of the cluster: the parts of a Kubernetes API server that are independent of requests.
//!
//! Each part imports only those before it:
//!
//! | part | job |
//! |---|---|
//! | [`error`] | refusals, as `Status` objects |
//! | [`json`], [`time`], [`pod`], [`resource_claim`] | short readers of objects |
//! | [`schema`], [`kinds`] | the schemas of custom resources; the kinds that are served |
//! | [`store`] | all objects, their versions and the feed of changes, with a journal on disk |
//! | [`ownership`] | which manager owns which field: server-side apply |
//! | [`rbac`], [`mod@write`] | who may do what; the parameters of one write |
//! | [`admission`] | defaults, checks and quotas of what is written |
//!
//! No HTTP, controller, scheduler, node or process may enter: they depend on this crate.

pub mod admission;
pub mod error;
pub mod json;
pub mod kinds;
pub mod ownership;
pub mod pod;
pub mod rbac;
pub mod resource_claim;
pub mod schema;
pub mod store;
pub mod time;
pub mod write;
