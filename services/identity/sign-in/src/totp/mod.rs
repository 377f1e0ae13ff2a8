//! The second factor of users who sign in with a password: codes of an authenticator app (TOTP, RFC 6238), and recovery
//! codes. Sign-in with a provider (`crate::oidc`) leaves further factors to the provider.

mod changes;
mod check;
mod generate;
mod http;
mod model;
mod renew;
mod store;

pub use check::{SecondFactor, SecondFactors};
pub use http::routes;
pub use renew::{forget, reencrypt};
