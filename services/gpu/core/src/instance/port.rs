//! Ports of an instance with host names of their own. Pure.

use std::collections::BTreeSet;

use problem::{Checks, text};
use serde::{Deserialize, Serialize};
use units::Protocol;
use utoipa::ToSchema;

use crate::catalogue::{Template, check_title};

/// The largest number of public ports of an instance.
const MAX_PORTS: usize = 10;

/// A port of the container that gets a host name of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPublicPort {
    /// Port, 1 to 65,535. The container has to listen on it with HTTP.
    #[schema(minimum = 1, maximum = 65_535)]
    port: u16,
    /// What people open there, for example `Jupyter`: 1 to 100 characters. The title that the service gives this port if absent.
    #[serde(default, deserialize_with = "text::optional_nfc", skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Whether only signed-in members of the tenant reach it, with a ticket. Otherwise it is open to everyone who knows
    /// its host name.
    #[serde(default = "yes")]
    #[schema(default = true)]
    sign_in: bool,
}

fn yes() -> bool {
    true
}

/// Checks the public ports of an order or a change.
pub fn check_new(checks: &mut Checks, ports: &[NewPublicPort]) {
    let few = ports.len() <= MAX_PORTS;
    checks.require(few, "/public_ports", format!("must be at most {MAX_PORTS} ports"));
    let mut seen = BTreeSet::new();
    for (i, new) in ports.iter().enumerate() {
        let at = format!("/public_ports/{i}/port");
        checks.require(new.port > 0, &at, "must be 1 to 65535");
        checks.require(seen.insert(new.port), &at, "duplicate port: give each port once");
        check_title(checks, &format!("/public_ports/{i}/title"), new.title.as_deref());
    }
}

/// A public port, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicPort {
    /// Port of the container.
    pub port: u16,
    /// Title of what people open there, if it differs from that of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether only signed-in members of the tenant reach it.
    pub sign_in: bool,
}

impl From<NewPublicPort> for PublicPort {
    fn from(new: NewPublicPort) -> Self {
        Self { port: new.port, title: new.title, sign_in: new.sign_in }
    }
}

/// Returns the public ports of an order that names none: those with a title, besides the one of the instance's URL.
pub fn titled(template: &Template) -> Vec<PublicPort> {
    let titled = template
        .ports
        .iter()
        .filter(|port| port.title.is_some() && !port.is_public && port.protocol == Protocol::Tcp);
    titled.take(MAX_PORTS).map(|port| PublicPort { port: port.port, title: None, sign_in: true }).collect()
}
