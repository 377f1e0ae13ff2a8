//! Sign-in sessions.
//!
//! A session is one sign-in. Its access tokens are JWTs that are valid for minutes and are not looked up;
//! `crate::revocation` publishes those that end earlier to all services. Its refresh tokens are opaque,
//! stored as hashes, and used once: each use returns the next one. A refresh token that is used again counts
//! as stolen and ends the session, except within a short grace period, in which it returns a further token:
//! the response to its first use may have been lost, or two tabs may have sent it at once.
//!
//! A browser's session has neither: its cookie has a secret, which the gateway exchanges for access tokens.
//!
//! Transactions see the rows of one user or session only (`crate::scope`). The worker role is for cleaning up.

mod client;
mod config;
mod exchange;
mod http;
mod list;
mod model;
mod open;
mod refresh;
mod store;
mod switch;
mod tokens;

use std::sync::Arc;

use db::Db;
use encryption::Cipher;

use crate::{access::Signer, clock::Clock};

pub use client::Client;
pub use config::SessionConfig;
pub use exchange::exchange;
pub use http::{not_stored, routes, sign_in_headers};
pub use model::{EndReason, SessionTokens};
pub use open::{NewSession, Opened, open};
pub use store::{delete_old, end_all, is_open};

/// What opening, refreshing and exchanging sessions needs.
#[derive(Clone)]
pub struct Sessions {
    pub db: Db,
    pub clock: Clock,
    pub cipher: Arc<Cipher>,
    pub signer: Signer,
    pub config: SessionConfig,
}
