//! The console's cookie. Scripts of pages cannot read it, and other sites' requests that change something do not carry it.
//!
//! The gateway sets `X-Forwarded-Proto` to the scheme of the public URL. Without the header the cookie is `Secure`.

use api::Problem;
use auth::{SessionSecret, device_cookie_name, session_cookie_name};
use axum::{
    extract::FromRequestParts,
    http::{HeaderValue, request::Parts},
};

/// Sets and clears the cookie.
#[derive(Debug, Clone, Copy)]
pub struct Cookie {
    secure: bool,
}

impl<S: Send + Sync> FromRequestParts<S> for Cookie {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Self { secure: parts.headers.get("x-forwarded-proto").is_none_or(|scheme| scheme != "http") })
    }
}

impl Cookie {
    /// The cookie of browsers that use `https`, or not.
    pub fn new(secure: bool) -> Self {
        Self { secure }
    }

    /// `Set-Cookie` that begins the session.
    ///
    /// # Errors
    /// If the secret cannot be in a header.
    pub fn set(self, secret: &SessionSecret, seconds: u32) -> Result<HeaderValue, Problem> {
        self.header(secret.expose(), seconds)
    }

    /// `Set-Cookie` that removes it.
    ///
    /// # Errors
    /// Never in practice.
    pub fn clear(self) -> Result<HeaderValue, Problem> {
        self.header("", 0)
    }

    /// Whether the browser uses `https`.
    pub fn is_secure(self) -> bool {
        self.secure
    }

    /// `Set-Cookie` of the browser itself: see `crate::throttle::Devices`.
    ///
    /// # Errors
    /// Never in practice.
    pub fn device(self, value: &str, seconds: i64) -> Result<HeaderValue, Problem> {
        self.named(device_cookie_name(self.secure), value, seconds)
    }

    fn header(self, value: &str, seconds: u32) -> Result<HeaderValue, Problem> {
        self.named(session_cookie_name(self.secure), value, seconds.into())
    }

    fn named(self, name: &str, value: &str, seconds: i64) -> Result<HeaderValue, Problem> {
        let secure = if self.secure { "; Secure" } else { "" };
        let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        let mut header = HeaderValue::from_str(&text).map_err(Problem::internal)?;
        header.set_sensitive(true);
        Ok(header)
    }
}
