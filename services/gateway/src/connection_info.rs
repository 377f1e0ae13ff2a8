//! How a request reached the gateway.

use std::net::{IpAddr, SocketAddr};

use axum::{
    extract::{ConnectInfo, Request},
    http::{header, uri::Authority},
};

/// Peer, scheme and host of a request, as the gateway saw them.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionInfo {
    /// The TCP peer.
    pub(crate) peer: IpAddr,
    /// Scheme of the public URL: TLS may end in front of the gateway.
    pub(crate) scheme: String,
    /// Host name in lower case, without port and trailing dot.
    pub(crate) host: String,
    /// `host` or `host:port`, as the client sent it.
    pub(crate) authority: String,
}

impl ConnectionInfo {
    /// Reads the request line and the `Host` header. Returns none if they name no valid host, or several.
    pub(crate) fn of(request: &Request, scheme: &str) -> Option<Self> {
        // RFC 9112, section 3.2: it is unknown which one an upstream uses
        if request.headers().get_all(header::HOST).iter().count() > 1 {
            return None;
        }
        let authority = match request.uri().authority() {
            Some(authority) => authority.as_str(),
            None => request.headers().get(header::HOST)?.to_str().ok()?,
        };
        let parsed: Authority = authority.parse().ok()?;
        if parsed.host().is_empty() || authority.contains('@') {
            return None;
        }
        let ConnectInfo(peer) = request.extensions().get::<ConnectInfo<SocketAddr>>()?;
        Some(Self {
            peer: peer.ip(),
            scheme: scheme.to_owned(),
            host: parsed.host().trim_end_matches('.').to_ascii_lowercase(),
            authority: authority.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn info(uri: &str, host: Option<&str>) -> Option<ConnectionInfo> {
        let mut request = Request::builder().uri(uri);
        if let Some(host) = host {
            request = request.header(header::HOST, host);
        }
        let mut request = request.body(Body::empty()).unwrap();
        request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([10, 0, 0, 9], 4242))));
        ConnectionInfo::of(&request, "https")
    }

    #[test]
    fn the_host_is_normalized_and_the_authority_is_kept() {
        let found = info("/v1/stock", Some("Atelier.Example.:8443")).unwrap();
        assert_eq!(found.host, "atelier.example");
        assert_eq!(found.authority, "Atelier.Example.:8443");
        assert_eq!((found.peer.to_string().as_str(), found.scheme.as_str()), ("10.0.0.9", "https"));
    }

    #[test]
    fn the_request_line_wins_over_the_header() {
        assert_eq!(info("http://one.test/", Some("two.test")).unwrap().host, "one.test");
    }

    #[test]
    fn a_request_with_two_hosts_has_none() {
        let mut request = Request::builder().uri("/").body(Body::empty()).unwrap();
        request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([10, 0, 0, 9], 4242))));
        for host in ["one.test", "one.test"] {
            request.headers_mut().append(header::HOST, host.parse().unwrap());
        }
        assert!(ConnectionInfo::of(&request, "https").is_none());
    }

    #[test]
    fn a_request_without_a_valid_host_has_none() {
        for host in [None, Some(""), Some("a@b"), Some(":80"), Some("a b")] {
            assert!(info("/", host).is_none(), "{host:?}");
        }
    }
}
