//! The identity service over HTTP, each test with a database of its own.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

mod api_keys;
mod audit_log;
mod authenticator;
mod bad_input;
mod browser_sessions;
mod invitations;
mod isolation;
mod linked_accounts;
mod makers;
mod members;
mod names;
mod oidc;
mod oidc_providers;
mod passkeys;
mod persons;
mod platform;
mod rights;
mod sessions;
mod signing_keys;
mod tenant_end;
mod throttle;
mod totp;
mod users;
mod workers;
