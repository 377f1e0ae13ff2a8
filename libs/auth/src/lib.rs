//! Authentication: access tokens of users and service tokens of other services.
//!
//! Every service verifies access tokens, not only the gateway: requests from inside the platform are not trusted.

mod extract;
mod jwks;
mod principal;
mod revocation;
mod verified;

pub use extract::{Admin, AuthState, Caller, Callers, HasAuth, Member, User};
pub use jwks::{AuthConfig, ClaimNames, Verifier};
pub use principal::{Claims, Principal, Role};
pub use revocation::{Grant, RETENTION, Refused, Revocation, RevocationSource, Revocations, WAIT};
