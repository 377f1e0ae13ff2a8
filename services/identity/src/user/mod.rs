//! Users: who can sign in.

mod bootstrap;
mod changes;
mod http;
mod me;
mod model;
mod password_change;
mod store;

pub(crate) use bootstrap::bootstrap;
pub(crate) use model::{User, check_email, default_display_name};
pub(crate) use store::{find, find_account, insert, lock_shared, password_hash};

use utoipa_axum::router::OpenApiRouter;

use crate::state::AppState;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    http::routes().merge(me::routes())
}
