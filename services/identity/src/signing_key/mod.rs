//! The keys that sign access tokens: created, published before use, used in turn, deleted when their last token has
//! expired.

mod generate;
mod http;
mod model;
mod operators;
mod reconcile;
mod renew;
mod store;

use std::{sync::Arc, time::Duration};

use db::Db;
use encryption::Cipher;
use people::{clock::Clock, keyring::Keyring};

use crate::config::Config;

pub(crate) use http::routes;
pub use operators::{SigningKeyStart, request_signing_key, signing_keys};
pub(crate) use reconcile::run;
pub(crate) use renew::reencrypt;

/// What creating, publishing and loading keys needs.
#[derive(Clone)]
pub(crate) struct SigningKeys {
    db: Db,
    clock: Clock,
    cipher: Arc<Cipher>,
    keyring: Keyring,
    rules: model::Rules,
    /// How often the worker reads the keys.
    poll: Duration,
    /// The issuer of tokens.
    issuer: String,
}

impl SigningKeys {
    pub(crate) fn new(config: &Config, db: Db, clock: Clock, cipher: Arc<Cipher>, keyring: Keyring) -> Self {
        let (rules, poll) = (model::Rules::new(config), config.signing.poll());
        Self { db, clock, cipher, keyring, rules, poll, issuer: config.auth.issuer.clone() }
    }
}
