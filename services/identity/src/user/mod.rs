//! Users: who can sign in.

mod bootstrap;
mod changes;
mod email;
mod http;
mod me;
mod model;
mod password_change;
mod put_administrator;
mod store;
mod ways;

pub(crate) use bootstrap::bootstrap;
pub(crate) use email::check_email;
pub(crate) use model::{User, default_display_name};
pub use put_administrator::{Administrator, PutAdministrator, put_administrator};
pub(crate) use store::{find, find_account, insert, lock_shared, lock_ways_to_sign_in, password_hash};
pub(crate) use ways::check_can_sign_in;

use crate::state::AppState;
use api::openapi::OpenApiRouter;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    http::routes().merge(me::routes())
}
