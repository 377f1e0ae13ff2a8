//! `Priority` of requests (RFC 9218).

use std::convert::Infallible;

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, request::Parts},
};

/// The urgency of a request, as its client states it: `u=0` to `u=7` in the header `Priority`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// `u=0` to `u=2`.
    Urgent,
    /// `u=3` to `u=5`.
    Ordinary,
    /// `u=6` and `u=7`.
    Background,
}

impl Urgency {
    /// Reads the header. None without the header, or for undefined values, which are ignored (RFC 9218, 4).
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let value = headers.get("priority")?.to_str().ok()?;
        let urgency = value.split(',').find_map(|part| part.trim().strip_prefix("u="))?;
        match urgency {
            "0" | "1" | "2" => Some(Self::Urgent),
            "3" | "4" | "5" => Some(Self::Ordinary),
            "6" | "7" => Some(Self::Background),
            _ => None,
        }
    }
}

/// The urgency that the client has stated, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedUrgency(pub Option<Urgency>);

impl<S: Sync> FromRequestParts<S> for NamedUrgency {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(Urgency::of(&parts.headers)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urgency_is_read_from_the_header() {
        for (value, urgency) in [
            ("u=0", Some(Urgency::Urgent)),
            ("u=2, i", Some(Urgency::Urgent)),
            ("i, u=3", Some(Urgency::Ordinary)),
            ("u=5", Some(Urgency::Ordinary)),
            ("u=6,i", Some(Urgency::Background)),
            ("u=7", Some(Urgency::Background)),
            ("u=8", None),
            ("u=-1", None),
            ("u=", None),
            ("i", None),
            ("", None),
        ] {
            let headers = HeaderMap::from_iter([(http_name(), value.parse().unwrap())]);
            assert_eq!(Urgency::of(&headers), urgency, "{value}");
        }
        assert_eq!(Urgency::of(&HeaderMap::new()), None);
    }

    fn http_name() -> axum::http::HeaderName {
        axum::http::HeaderName::from_static("priority")
    }
}
