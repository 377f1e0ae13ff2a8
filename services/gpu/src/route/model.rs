//! Addresses of instances, and the secrets of tickets. Pure, but for randomness.

use std::net::{IpAddr, SocketAddr};

use aws_lc_rs::{digest, rand};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::SignedDuration;

use crate::{catalogue::Template, error::Error, instance::State};

/// How long a ticket can be redeemed.
pub(crate) const TICKET_LIFETIME: SignedDuration = SignedDuration::from_secs(60);

/// The secret of a ticket or link: 256 random bits.
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn generate() -> Result<Self, Error> {
        let mut bytes = [0u8; 32];
        rand::fill(&mut bytes).map_err(|_| Error::NoRandomness)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the hash under which a secret is stored.
pub(crate) fn hash(secret: &str) -> Vec<u8> {
    digest::digest(&digest::SHA256, secret.as_bytes()).as_ref().to_vec()
}

/// Returns the address of a running instance's port; that of its service if none is given.
pub(super) fn address(state: &State, template: &Template, port: Option<u16>) -> Option<String> {
    let State::Running { pod, .. } = state else { return None };
    let ip: IpAddr = pod.ip.parse().ok()?;
    let port = match port {
        Some(port) => port,
        None => template.public_port()?.port,
    };
    Some(SocketAddr::new(ip, port).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_random_and_stored_as_a_hash() {
        let (first, second) = (Secret::generate().unwrap(), Secret::generate().unwrap());
        assert_ne!(first.as_str(), second.as_str());
        assert_eq!(first.as_str().len(), 43, "256 bits");
        assert_eq!(hash(first.as_str()), hash(first.as_str()));
        assert_ne!(hash(first.as_str()), first.as_str().as_bytes());
    }
}
