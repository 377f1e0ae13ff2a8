//! `x-atelier-subject`: the access token of the user in whose request one service calls another, which sends its own
//! credential in `Authorization`. The gateway removes it from requests of clients.

use axum::http::HeaderName;

/// The header.
pub const HEADER: HeaderName = HeaderName::from_static("x-atelier-subject");
