//! The headers that pass through the gateway, in both directions.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

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

/// Sets `Host`, `X-Forwarded-…` and `X-Request-Id`, and removes the client's values. Call it after
/// [`strip_hop_by_hop`]: a client can name any header in `Connection`.
pub(crate) fn set_forwarded(headers: &mut HeaderMap, connection: &ConnectionInfo) {
    let reserved: Vec<HeaderName> =
        headers.keys().filter(|name| is_reserved(name.as_str().as_bytes())).cloned().collect();
    for name in &reserved {
        headers.remove(name);
    }
    // hyper has sent `100 Continue` itself
    headers.remove(header::EXPECT);
    if let Some(id) = api::request_id::current() {
        headers.insert(api::request_id::HEADER, id);
    }
    for (name, value) in [
        // requests over HTTP/2 have none, and the upstreams use HTTP/1.1
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

/// Whether the gateway alone sets this header.
fn is_reserved(name: &[u8]) -> bool {
    let begins = |reserved: &str| {
        // common servers read `X_Forwarded_For` as the same name
        let same = |(a, b): (&u8, u8)| *a == b || (*a == b'_' && b == b'-');
        name.len() >= reserved.len() && name.iter().zip(reserved.bytes()).all(same)
    };
    let is = |reserved: &str| name.len() == reserved.len() && begins(reserved);
    begins("x-atelier-") || begins("x-forwarded-") || is("forwarded") || is("x-real-ip") || is("host")
}

/// Keeps the part of each value of a header that `keep` returns.
fn retain(headers: &mut HeaderMap, name: HeaderName, keep: impl Fn(&HeaderValue) -> Option<HeaderValue>) {
    let header::Entry::Occupied(entry) = headers.entry(name) else { return };
    let (name, values) = entry.remove_entry_mult();
    let kept: Vec<HeaderValue> = values.filter_map(|value| keep(&value)).collect();
    for value in kept {
        headers.append(name.clone(), value);
    }
}

/// Removes API keys, and access tokens of `issuer`, wherever a request can carry them: in `Authorization`,
/// however often it was sent, and among the subprotocols of a WebSocket. Tokens are recognized by their
/// claims and not verified: forged ones are removed too.
pub(crate) fn strip_tokens_of(headers: &mut HeaderMap, issuer: &str) {
    let is_of_issuer = |token: &str| {
        let token = token.trim();
        token.starts_with(auth::API_KEY_PREFIX) || claims_issuer(token).is_some_and(|found| found == issuer)
    };
    retain(headers, header::AUTHORIZATION, |value| {
        let text = String::from_utf8_lossy(value.as_bytes());
        let has_token = text.split([' ', '\t', ',']).any(is_of_issuer);
        (!has_token).then(|| value.clone())
    });
    retain(headers, header::SEC_WEBSOCKET_PROTOCOL, |value| {
        let text = String::from_utf8_lossy(value.as_bytes());
        let is_token = |protocol: &&str| is_of_issuer(protocol.trim().trim_start_matches("bearer."));
        if !text.split(',').any(|protocol| is_token(&protocol)) {
            return Some(value.clone());
        }
        let others: Vec<_> = text.split(',').map(str::trim).filter(|protocol| !is_token(protocol)).collect();
        HeaderValue::from_str(&others.join(", ")).ok().filter(|_| !others.is_empty())
    });
}

/// The claim `iss` of a JWT.
fn claims_issuer(token: &str) -> Option<String> {
    let payload = token.split('.').nth(1)?.trim_end_matches('=');
    let claims: serde_json::Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()?;
    Some(claims["iss"].as_str()?.to_owned())
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
            ("x_forwarded_for", "1.2.3.4"),
            ("x-forwarded_host", "evil.test"),
            ("x_real_ip", "1.2.3.4"),
            ("X_Atelier_Tenant", "ten_1"),
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

    #[test]
    fn tokens_of_the_platform_stay_behind() {
        let token = |claims: &str| format!("e30.{}.signature", URL_SAFE_NO_PAD.encode(claims));
        let ours = token(r#"{"iss":"https://atelier.test"}"#);
        let padded =
            format!("e30.{}==.signature", URL_SAFE_NO_PAD.encode(r#"{"iss":"https://atelier.test"}"#));
        let other = token(r#"{"iss":"https://other.test"}"#);
        let left = |name: HeaderName, values: &[String]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(name.clone(), value.parse().unwrap());
            }
            strip_tokens_of(&mut headers, "https://atelier.test");
            headers.get_all(&name).iter().map(|v| v.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        for value in [
            format!("Bearer {ours}"),
            format!("bearer   {ours}"),
            format!("Bearer {padded}"),
            format!("Token {ours}"),
            format!("Bearer x, Bearer {ours}"),
            ours.clone(),
            "Bearer atl_whatever".to_owned(),
        ] {
            assert_eq!(
                left(header::AUTHORIZATION, std::slice::from_ref(&value)),
                Vec::<String>::new(),
                "{value}"
            );
            let both = ["Basic eDp5".to_owned(), value];
            assert_eq!(left(header::AUTHORIZATION, &both), ["Basic eDp5"], "the second of two");
        }
        for value in [format!("Bearer {other}"), "Bearer the-instances-own".into(), "Basic eDp5".into()] {
            assert_eq!(left(header::AUTHORIZATION, std::slice::from_ref(&value)), [value]);
        }
        let protocols = |text: String| left(header::SEC_WEBSOCKET_PROTOCOL, &[text]);
        assert_eq!(protocols(format!("chat, bearer.{ours}, b")), ["chat, b"]);
        assert_eq!(protocols(format!("bearer.{ours}")), Vec::<String>::new());
        assert_eq!(protocols(format!("{ours},chat")), ["chat"]);
        assert_eq!(protocols(format!("bearer.{other}")), [format!("bearer.{other}")]);
    }
}
