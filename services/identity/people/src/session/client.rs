//! The client of a session, for its user to recognize it: address and program.

use std::net::IpAddr;

use api::Problem;
use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
};

use crate::client_address::ClientAddress;

const MAX_USER_AGENT: usize = 255;

/// The client of a request.
#[derive(Debug, Clone)]
pub struct Client {
    pub address: ClientAddress,
    pub user_agent: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for Client {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let address = ClientAddress::from_request_parts(parts, state).await?;
        let user_agent = parts.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
        // visible ASCII: see `to_str`
        let user_agent = user_agent.map(|text| text.chars().take(MAX_USER_AGENT).collect());
        Ok(Self { address, user_agent })
    }
}

impl Client {
    /// Returns the address as text.
    pub(super) fn ip(&self) -> String {
        IpAddr::from(self.address).to_string()
    }
}
