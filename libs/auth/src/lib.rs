//! Who is calling: access tokens of people, and service tokens of other parts of the platform.
//!
//! A person's token is verified in every service, not only in the gateway: a hop inside the platform is
//! no reason to believe a header.

mod document;
mod extract;
mod jwks;
mod principal;

pub use document::secured;
pub use extract::{Admin, AuthState, Caller, Callers, HasAuth, Member, User};
pub use jwks::{AuthConfig, ClaimNames, Verifier};
pub use principal::{Claims, Principal, Role};
