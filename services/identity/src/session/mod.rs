//! Sign-in sessions.
//!
//! A session is one sign-in. Its access tokens are JWTs that live for minutes and are not looked up; `crate::revocation`
//! tells all services which end earlier. Its refresh tokens
//! are opaque, stored as hashes, and used once: each use returns the next one. A refresh token that is used again counts
//! as stolen and ends the session, except within a short grace period, in which it returns a further token: the response
//! to its first use may have been lost, or two tabs may have sent it at once.
//!
//! A browser's session has neither: its cookie has a secret, which the gateway exchanges for access tokens.
//!
//! Transactions see the rows of one user or session only (`crate::scope`). The worker role is for cleaning up.

mod attempt;
mod clean_up;
mod client;
mod cookie;
mod device;
mod exchange;
mod http;
mod list;
mod model;
mod open;
mod refresh;
mod rights;
mod sign_in;
mod store;
mod switch;
mod tokens;

pub(crate) use attempt::{Attempt, remember_network};
pub(crate) use clean_up::clean_up;
pub(crate) use client::Client;
pub(crate) use cookie::Cookie;
pub(crate) use device::Devices;
pub(crate) use exchange::exchange;
pub(crate) use http::{not_stored, routes, sign_in_headers};
pub(crate) use model::{EndReason, SessionTokens};
pub(crate) use open::{NewSession, Opened, open};
pub(crate) use rights::{Holder, membership, rights_in};
pub(crate) use store::{end_all, is_open};
pub(crate) use tokens::Subject;
