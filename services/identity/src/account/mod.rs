//! Accounts of users: changes by administrators, by the users themselves and by the operators' program, and the
//! sessions and tokens that they end.

mod bootstrap;
mod changes;
mod http;
mod me;
mod model;
mod password_change;
mod put_administrator;

use std::sync::Arc;

use api::openapi::OpenApiRouter;
use auth::HasAuth;
use axum::extract::FromRef;
use db::Db;
use encryption::Cipher;
use people::throttle::Throttle;
use sign_in::password::Hasher;

pub(crate) use bootstrap::Bootstrap;
pub use put_administrator::{Administrator, PutAdministrator, put_administrator};

/// The parts that changes of accounts need.
#[derive(Clone)]
pub(crate) struct Accounts {
    pub(crate) db: Db,
    pub(crate) cipher: Arc<Cipher>,
    pub(crate) hasher: Hasher,
    pub(crate) throttle: Throttle,
}

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Accounts: FromRef<S>,
    Db: FromRef<S>,
{
    http::routes().merge(me::routes())
}
