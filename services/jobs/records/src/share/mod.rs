//! Shares: what tenants are entitled to in a pool. Administrators set them.

mod http;
mod model;
mod store;

use db::Db;
use tokio::sync::watch;

pub(crate) use http::routes;
pub use model::Share;
pub use store::{Stored, delete_of_tenant, find, of_pool};

/// What requests need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    /// Wakes the schedulers of this process before they look by themselves.
    pub submitted: watch::Sender<()>,
}
