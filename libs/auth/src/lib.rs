//! Who is calling: access tokens of people, and service tokens of other parts of the platform.
//!
//! Every service verifies a person's token, not only the gateway: a request from inside the platform is not trusted
//! either.

mod extract;
mod jwks;
mod principal;

pub use extract::{Admin, AuthState, Caller, Callers, HasAuth, Member, User};
pub use jwks::{AuthConfig, ClaimNames, Verifier};
pub use principal::{Claims, Principal, Role};
