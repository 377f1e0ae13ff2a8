//! Which headers pass through the gateway, in both directions.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::connection_info::ConnectionInfo;

/// Headers of one connection only: RFC 9110 §7.6.1, and two that are common in practice.
const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Removes the headers of one connection: the standard ones, and those that `Connection` names.
pub(crate) fn strip_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in HOP_BY_HOP.iter().chain(&named) {
        headers.remove(name);
    }
}

/// Returns the protocol that the request asks to switch to.
pub(crate) fn upgrade(headers: &HeaderMap) -> Option<HeaderValue> {
    let asked = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|name| name.trim().eq_ignore_ascii_case("upgrade"));
    headers.get(header::UPGRADE).filter(|_| asked).cloned()
}

/// Sets `Host`, `X-Forwarded-…` and `X-Request-Id`, and removes what the client claimed instead. Call it after
/// [`strip_hop_by_hop`]: a client can name any header in `Connection`.
pub(crate) fn set_forwarded(headers: &mut HeaderMap, connection: &ConnectionInfo) {
    let reserved: Vec<HeaderName> = headers
        .keys()
        .filter(|name| {
            let name = name.as_str();
            name.starts_with("x-atelier-") || name.starts_with("x-forwarded-")
        })
        .cloned()
        .collect();
    for name in &reserved {
        headers.remove(name);
    }
    headers.remove(header::FORWARDED);
    headers.remove("x-real-ip");
    // hyper has sent `100 Continue` itself
    headers.remove(header::EXPECT);
    if let Some(id) = api::request_id::current() {
        headers.insert(api::request_id::HEADER, id);
    }
    for (name, value) in [
        // requests over HTTP/2 have none, and the upstreams speak HTTP/1.1
        ("host", connection.authority.as_str()),
        ("x-forwarded-for", &connection.peer.to_canonical().to_string()),
        ("x-forwarded-proto", &connection.scheme),
        ("x-forwarded-host", &connection.authority),
    ] {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

/// The token of `Authorization: Bearer …`.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty()).then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, HeaderValue::from_static(value));
        }
        map
    }

    #[test]
    fn headers_of_one_connection_are_removed() {
        let mut map = headers(&[
            ("connection", "keep-alive, X-Private"),
            ("connection", "close"),
            ("x-private", "1"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "websocket"),
            ("accept", "*/*"),
        ]);
        assert_eq!(upgrade(&map), None, "Connection does not name Upgrade");
        strip_hop_by_hop(&mut map);
        assert_eq!(map.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["accept"]);
        assert!(
            upgrade(&headers(&[("connection", "keep-alive, Upgrade"), ("upgrade", "websocket")])).is_some()
        );
    }

    #[test]
    fn forwarded_headers_of_the_client_are_replaced() {
        let mut map = headers(&[
            ("x-forwarded-for", "1.2.3.4"),
            ("x-forwarded-user", "root"),
            ("x-atelier-tenant", "ten_1"),
            ("forwarded", "for=1.2.3.4"),
            ("x-real-ip", "1.2.3.4"),
        ]);
        let connection = ConnectionInfo {
            peer: "::ffff:10.0.0.9".parse().unwrap(),
            scheme: "https".to_owned(),
            host: "a.test".to_owned(),
            authority: "a.test".to_owned(),
        };
        set_forwarded(&mut map, &connection);
        let mut left: Vec<_> = map.iter().map(|(n, v)| (n.as_str(), v.to_str().unwrap())).collect();
        left.sort_unstable();
        assert_eq!(
            left,
            [
                ("host", "a.test"),
                ("x-forwarded-for", "10.0.0.9"),
                ("x-forwarded-host", "a.test"),
                ("x-forwarded-proto", "https")
            ]
        );
    }
}
