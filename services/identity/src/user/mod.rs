//! People who sign in.

mod bootstrap;
mod http;
mod me;
mod model;
mod store;

pub(crate) use bootstrap::bootstrap;
pub(crate) use model::User;
pub(crate) use store::{SignIn, find, find_by_email, find_with_password, sign_in};

use crate::app::App;
use utoipa_axum::router::OpenApiRouter;

pub(crate) fn routes() -> OpenApiRouter<App> {
    http::routes().merge(me::routes())
}
