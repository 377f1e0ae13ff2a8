//! Authentication: access tokens of users and service tokens of other services.
//!
//! Every service verifies access tokens, not only the gateway: requests from inside the platform are not trusted.
//!
//! No operation of a service may enter: which scopes and callers a path has is in `platform.toml`.

mod api_key;
mod caller;
mod credentials;
mod extract;
mod internal;
mod jwks;
mod keys;
mod maker;
mod principal;
mod revocation;
mod rights_end;
mod rsa;
mod scope;
mod session_secret;
mod table;
mod verified;

pub use api_key::{API_KEY_PREFIX, ApiKey, session_of};
pub use caller::{Caller, OnBehalf, SubjectToken};
pub use credentials::Callers;
pub use extract::{Admin, AdminPerson, AuthState, HasAuth, Member, Person, User};
pub use internal::{InternalRule, Subject, internal_rule};
pub use jwks::{AuthConfig, ClaimNames, LEEWAY, Verifier};
pub use keys::ALGORITHMS;
pub use maker::{EndedMaker, MAX_MAKERS, Made, MadeBy, Maker, MakerCheck, MakerStandings, Whom};
pub use principal::{Claims, Principal, Role};
pub use revocation::{Grant, RETENTION, Refused, Revocation, RevocationSource, Revocations, WAIT};
pub use rights_end::{RightsEnd, rights_end};
pub use scope::{Scope, Scopes, UnknownScope, required_scope};
pub use session_secret::{SessionSecret, device_cookie_name, session_cookie_name, sign_in_cookie_name};
