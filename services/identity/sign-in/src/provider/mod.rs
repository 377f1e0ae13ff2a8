//! OpenID providers: authorization code with PKCE (S256), state and nonce, and the claims of their tokens.
//!
//! The state of a sign-in between its two requests is in an encrypted cookie of the browser that began it: no other
//! browser can complete it.

mod attempt;
mod check;
mod claims;
mod client;
mod config;
mod issuer;
mod person;

pub use attempt::{LinkIntent, SignInAttempt, forget};
pub use check::check;
pub use client::{Provider, Providers};
pub use config::{ClaimRule, EmailTrust, MembershipRule, OidcClaims, OidcProvider};
pub use issuer::has_accounts_of;
pub use person::Person;
