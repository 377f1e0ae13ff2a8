//! Sign-in with an OpenID provider: authorization code with PKCE (S256), state and nonce.
//!
//! What a sign-in needs between its two requests is in an encrypted cookie of the browser that began it: no other browser
//! can end it. A person is identified by issuer and subject, never by an e-mail address alone. The session is that of a
//! browser (`crate::session`), with a cookie. A user who is signed in links further accounts in the same way.

mod accounts;
mod attempt;
mod check;
mod claims;
mod http;
mod issuer;
mod link;
mod model;
mod provider;
mod sign_in;
mod store;

pub(crate) use check::check;
pub(crate) use http::routes;
pub(crate) use provider::Providers;
