//! Which headers pass through the door, in both directions.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// Headers of one connection only (RFC 9110 §7.6.1, and what practice adds).
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

/// Removes what belongs to the connection: the fixed ones, and those that `Connection` names.
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

/// The protocol that the request asks to switch to.
pub(crate) fn upgrade(headers: &HeaderMap) -> Option<HeaderValue> {
    let asked = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|name| name.trim().eq_ignore_ascii_case("upgrade"));
    headers.get(header::UPGRADE).filter(|_| asked).cloned()
}

/// How the request came: told to whoever serves it, whatever the caller claimed.
pub(crate) struct Via<'a> {
    pub(crate) peer: IpAddr,
    pub(crate) scheme: &'a str,
    pub(crate) host: &'a str,
}

/// Removes what only the platform may say, and says how the request came. To be done after
/// [`strip_hop_by_hop`]: a caller can name any header in `Connection`.
pub(crate) fn sanitize(headers: &mut HeaderMap, via: &Via<'_>) {
    let ours: Vec<HeaderName> = headers
        .keys()
        .filter(|name| {
            let name = name.as_str();
            name.starts_with("x-atelier-") || name.starts_with("x-forwarded-")
        })
        .cloned()
        .collect();
    for name in &ours {
        headers.remove(name);
    }
    headers.remove(header::FORWARDED);
    headers.remove("x-real-ip");
    // hyper has answered it already
    headers.remove(header::EXPECT);
    if let Some(id) = ::api::request_id::current() {
        headers.insert(::api::request_id::HEADER, id);
    }
    for (name, value) in [
        // HTTP/2 has none; what is behind speaks HTTP/1.1
        ("host", via.host),
        ("x-forwarded-for", via.peer.to_canonical().to_string().as_str()),
        ("x-forwarded-proto", via.scheme),
        ("x-forwarded-host", via.host),
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
    fn what_belongs_to_one_connection_does_not_pass() {
        let mut map = headers(&[
            ("connection", "keep-alive, X-Private"),
            ("connection", "close"),
            ("x-private", "1"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "websocket"),
            ("accept", "*/*"),
        ]);
        assert_eq!(upgrade(&map), None, "Connection does not name it");
        strip_hop_by_hop(&mut map);
        assert_eq!(map.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["accept"]);
        assert!(
            upgrade(&headers(&[("connection", "keep-alive, Upgrade"), ("upgrade", "websocket")])).is_some()
        );
    }

    #[test]
    fn claims_about_the_way_are_replaced() {
        let mut map = headers(&[
            ("x-forwarded-for", "1.2.3.4"),
            ("x-forwarded-user", "root"),
            ("x-atelier-tenant", "ten_1"),
            ("forwarded", "for=1.2.3.4"),
            ("x-real-ip", "1.2.3.4"),
        ]);
        let via = Via { peer: "::ffff:10.0.0.9".parse().unwrap(), scheme: "https", host: "a.test" };
        sanitize(&mut map, &via);
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
