//! The address of a request's client, for the throttle of sign-ins.
//!
//! The gateway replaces `X-Forwarded-For` by the address of its TCP peer, regardless of what the client sent.
//! The header is trusted because only the gateway and the platform's own services can connect to this service
//! (`Config::listen`). A request without it comes from its TCP peer.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use api::Problem;
use axum::{
    extract::{ConnectInfo, FromRequestParts},
    http::{HeaderMap, request::Parts},
};

/// The address of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress(IpAddr);

impl<S: Send + Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let peer = || parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip());
        forwarded_for(&parts.headers)
            .or_else(peer)
            .map(|address| Self(address.to_canonical()))
            .ok_or_else(|| Problem::internal("the listener does not provide the address of the peer"))
    }
}

/// The last address of the list: the one that the nearest proxy added.
fn forwarded_for(headers: &HeaderMap) -> Option<IpAddr> {
    headers
        .get_all("x-forwarded-for")
        .iter()
        .next_back()?
        .to_str()
        .ok()?
        .rsplit(',')
        .next()?
        .trim()
        .parse()
        .ok()
}

impl From<ClientAddress> for IpAddr {
    fn from(address: ClientAddress) -> Self {
        address.0
    }
}

impl ClientAddress {
    /// Returns the addresses that one client can choose from: the IPv4 address, or the /64 of the IPv6 address.
    pub fn host(self) -> String {
        prefix(self.0, 32, 64)
    }

    /// Returns the network within which a person's address changes from day to day: /24 (IPv4) or /48 (IPv6).
    pub fn network(self) -> String {
        prefix(self.0, 24, 48)
    }
}

/// Returns the first bits of an address (at least one) in CIDR notation.
fn prefix(address: IpAddr, v4: u32, v6: u32) -> String {
    match address {
        IpAddr::V4(a) => format!("{}/{v4}", Ipv4Addr::from_bits(a.to_bits() & (u32::MAX << (32 - v4)))),
        IpAddr::V6(a) => format!("{}/{v6}", Ipv6Addr::from_bits(a.to_bits() & (u128::MAX << (128 - v6)))),
    }
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Request};

    use super::*;

    async fn client(headers: &[&str], peer: Option<&str>) -> Option<ClientAddress> {
        let mut request = Request::builder();
        for header in headers {
            request = request.header("x-forwarded-for", *header);
        }
        let mut request = request.body(Body::empty()).unwrap();
        if let Some(peer) = peer {
            request.extensions_mut().insert(ConnectInfo(SocketAddr::new(peer.parse().unwrap(), 4242)));
        }
        let (mut parts, _) = request.into_parts();
        ClientAddress::from_request_parts(&mut parts, &()).await.ok()
    }

    #[tokio::test]
    async fn the_header_of_the_gateway_names_the_client() {
        let peer = Some("10.0.0.1");
        for (headers, host) in [
            (vec![], "10.0.0.1/32"),
            (vec!["nonsense"], "10.0.0.1/32"),
            (vec!["203.0.113.7"], "203.0.113.7/32"),
            (vec!["::ffff:203.0.113.7"], "203.0.113.7/32"),
            (vec!["198.51.100.1, 203.0.113.7"], "203.0.113.7/32"),
            (vec!["198.51.100.1", "203.0.113.7"], "203.0.113.7/32"),
        ] {
            assert_eq!(client(&headers, peer).await.unwrap().host(), host, "{headers:?}");
        }
        assert_eq!(client(&[], None).await, None);
    }

    #[test]
    fn addresses_are_grouped_by_prefix() {
        for (address, host, network) in [
            ("203.0.113.7", "203.0.113.7/32", "203.0.113.0/24"),
            ("2001:db8:1:2:3::4", "2001:db8:1:2::/64", "2001:db8:1::/48"),
        ] {
            let client = ClientAddress(address.parse().unwrap());
            assert_eq!((client.host().as_str(), client.network().as_str()), (host, network));
        }
    }
}
