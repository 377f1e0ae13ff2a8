//! Credentials of tenants for private registries, with which their own images are pulled.
//!
//! - `model`: what is requested, and the file that a kubelet reads.
//! - `store`: the passwords in Postgres, encrypted with the configured key.
//!
//! `instance/secret` writes the file of a start into the cluster, and deletes it.

mod http;
mod model;
mod renew;
mod store;

use std::sync::Arc;

use api::Problem;
use db::Db;
use encryption::Cipher;
use gpu_core::instance::Pull;
use ids::TenantId;
use sqlx::PgConnection;

pub(crate) use http::routes;
pub use renew::reencrypt;
pub use store::{end_credentials, stored};

/// What requests need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    pub cipher: Arc<Cipher>,
}

/// Checks that a chosen credential exists and is for the registry.
pub(crate) async fn check(
    conn: &mut PgConnection,
    tenant: TenantId,
    pointer: &str,
    pull: &Pull,
) -> Result<(), Problem> {
    let Some(id) = pull.credential else { return Ok(()) };
    match store::registry(conn, tenant, id).await? {
        None => Err(Problem::invalid_field(pointer, "registry credential not found")),
        Some(registry) if registry != pull.registry => Err(Problem::invalid_field(
            pointer,
            format!("is for the registry {registry}, and the image is in {}", pull.registry),
        )),
        Some(_) => Ok(()),
    }
}
