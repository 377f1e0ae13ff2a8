//! Access tokens of browsers' WebSockets.
//!
//! A page cannot set `Authorization` on a WebSocket. It offers the token as a subprotocol instead:
//! `new WebSocket(url, ["atelier.terminal", "bearer." + token])`. The gateway moves the token to `Authorization` and
//! never forwards or selects it as a subprotocol.

use axum::http::{HeaderMap, HeaderValue, header};

const PREFIX: &str = "bearer.";

/// Moves an offered token to `Authorization`, unless the request has one. Returns the first other subprotocol: a browser
/// that offers subprotocols expects one in the response.
pub(super) fn take_token(headers: &mut HeaderMap) -> Option<HeaderValue> {
    let offered: Vec<String> = headers
        .get_all(header::SEC_WEBSOCKET_PROTOCOL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|protocol| protocol.trim().to_owned())
        .collect();
    let token = offered.iter().find_map(|protocol| protocol.strip_prefix(PREFIX))?;
    if !headers.contains_key(header::AUTHORIZATION)
        && let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {token}"))
    {
        value.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, value);
    }
    headers.remove(header::SEC_WEBSOCKET_PROTOCOL);
    let others: Vec<_> = offered.iter().filter(|p| !p.starts_with(PREFIX)).map(String::as_str).collect();
    if let Ok(value) = HeaderValue::from_str(&others.join(", "))
        && !others.is_empty()
    {
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, value);
    }
    others.first().and_then(|first| HeaderValue::from_str(first).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_moves_to_authorization_and_other_subprotocols_stay() {
        let mut headers = HeaderMap::new();
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("a, bearer.x.y.z, b"));
        assert_eq!(take_token(&mut headers).unwrap(), "a");
        assert_eq!(headers[header::AUTHORIZATION], "Bearer x.y.z");
        assert_eq!(headers[header::SEC_WEBSOCKET_PROTOCOL], "a, b");

        let mut headers = HeaderMap::new();
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("bearer.x"));
        assert_eq!(take_token(&mut headers), None);
        assert!(!headers.contains_key(header::SEC_WEBSOCKET_PROTOCOL));
    }
}
