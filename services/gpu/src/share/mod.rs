//! Share links: whoever has one may use one port of an instance until it ends.
//!
//! The gateway exchanges the secret of a link for a cookie, as that of a ticket; a link can be exchanged any number of times.
//! A link ends when it expires or is deleted, or when its creator loses the rights. The gateway knows the links of a
//! route that are valid, and is told when that changes.

mod ends;
mod http;
mod internal;
mod model;
pub(crate) mod store;

use utoipa_axum::router::OpenApiRouter;

use crate::state::AppState;

pub(crate) use ends::start;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    http::routes().merge(internal::routes())
}
