//! Inputs that users upload for their jobs: their contents go into the tenant's bucket, below
//! `jobs/uploads/<upload>/`, by signed URLs. Deleted a day after their creation or last use.

mod http;
mod model;
mod store;
mod sweep;

pub(crate) use http::routes;
pub use http::{confirm, is_unchanged};
pub use store::{find_all, record_uses, take};
pub use sweep::round as sweep;
