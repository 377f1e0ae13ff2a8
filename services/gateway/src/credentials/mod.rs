//! API keys and the console's cookie: a caller's long-lived credential is exchanged for an access token, which the request
//! then carries instead. No service ever sees the credential
//! ([ADR 20](../../../../docs/adr/0020-credentials-are-exchanged.md)).
//!
//! A browser sends the cookie with requests of other pages too, which cannot read the response, but can cause
//! changes, hold streams open and use up the rate limits. So a request with the cookie must come from a page
//! of the platform itself; a link on another page may open a tab that only reads.
//!
//! A token is used for a minute before the next exchange, so that uses and changed rights are seen; while the identity
//! service does not answer, until it expires. A token that was revoked is exchanged again at once: its key may have
//! fewer rights now, or none. Credentials are cached by their SHA-256 only.
//!
//! Gateways with a common cache exchange a credential once for all of them ([`shared`]).

mod error;
mod shared;

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use api::{Problem, ProblemType};
use auth::{
    API_KEY_PREFIX, ApiKey, Grant, Refused, SessionSecret, Verifier, device_cookie_name, session_cookie_name,
    sign_in_cookie_name,
};
use axum::http::{HeaderMap, HeaderValue, header, request::Parts};
use cache::Cache as Store;
use moka::{Expiry, future::Cache};
use url::Url;

pub(crate) use self::error::Error;
use self::{error::Unavailable, shared::Shared};
use crate::{
    headers,
    limits::{Exceeded, RateLimits, network},
};

/// Time until a credential is exchanged again, unless half the life of its token is shorter.
const FRESH: Duration = Duration::from_secs(60);
/// How long a refusal is cached; also the pause after an exchange that got no answer, while an older token is used.
const REFUSED: Duration = Duration::from_secs(1);
/// A token is not used in the last seconds of its life, so that no service refuses it.
const MARGIN: Duration = Duration::from_secs(5);
/// Maximum number of cached credentials.
const CAPACITY: u64 = 100_000;

type Hash = [u8; 32];

/// Exchanges credentials for access tokens.
pub(crate) struct Credentials {
    /// None: no API keys are accepted.
    identity: Option<identity_api::Client>,
    /// Concurrent requests with a credential share one exchange.
    exchanged: Cache<Hash, Exchanged>,
    /// The newest token of each credential, until it expires.
    tokens: Cache<Hash, Arc<Token>>,
    /// The tokens of all gateways; none if they have no common cache.
    shared: Option<Shared>,
    /// Addresses with too many refused credentials.
    blocked: Cache<IpAddr, Exceeded>,
    verifier: Verifier,
    rate_limits: Arc<RateLimits>,
    public_url: Url,
}

/// An access token.
#[derive(Debug)]
struct Token {
    authorization: HeaderValue,
    grant: Grant,
    /// The limits of the API key itself and of the keys that created it.
    limits: Vec<identity_api::KeyLimit>,
    usable_until: Instant,
}

#[derive(Debug, Clone)]
enum Exchanged {
    Token(Arc<Token>, Duration),
    Refused(ProblemType, String),
}

/// How long each result is cached.
struct Remembered;

impl Expiry<Hash, Exchanged> for Remembered {
    fn expire_after_create(&self, _: &Hash, result: &Exchanged, _: Instant) -> Option<Duration> {
        Some(match result {
            Exchanged::Token(_, time) => *time,
            Exchanged::Refused(..) => REFUSED,
        })
    }
}

struct UntilItsEnd;

impl Expiry<Hash, Arc<Token>> for UntilItsEnd {
    fn expire_after_create(&self, _: &Hash, token: &Arc<Token>, now: Instant) -> Option<Duration> {
        Some(token.usable_until.saturating_duration_since(now))
    }

    fn expire_after_update(
        &self,
        _: &Hash,
        token: &Arc<Token>,
        now: Instant,
        _: Option<Duration>,
    ) -> Option<Duration> {
        Some(token.usable_until.saturating_duration_since(now))
    }
}

impl Credentials {
    /// Without `identity`, no API key and no cookie is accepted.
    pub(crate) fn new(
        identity: Option<identity_api::Client>,
        verifier: Verifier,
        rate_limits: Arc<RateLimits>,
        public_url: Url,
        store: &Store,
    ) -> Self {
        Self {
            identity,
            exchanged: Cache::builder().max_capacity(CAPACITY).expire_after(Remembered).build(),
            tokens: Cache::builder().max_capacity(CAPACITY).expire_after(UntilItsEnd).build(),
            shared: store.is_shared().then(|| Shared::new(store)),
            blocked: Cache::builder().max_capacity(CAPACITY).time_to_live(REFUSED).build(),
            verifier,
            rate_limits,
            public_url,
        }
    }

    /// Replaces an API key in `Authorization`, or the console's cookie without `Authorization`, by an access
    /// token. Leaves other requests as they are.
    ///
    /// # Errors
    /// If the credential is not valid (401), its user may not act for the tenant, or the request comes from a page of
    /// another origin (403), the key's own rate limit or that of its client for refused credentials is exceeded (429), or
    /// the identity service does not answer (503).
    pub(crate) async fn exchange(&self, client: IpAddr, parts: &mut Parts) -> Result<(), Error> {
        let client = network(client);
        let token = match presented(parts, &self.public_url) {
            Ok(None) => return Ok(()),
            Ok(Some(credential)) => Box::pin(self.token_of(client, &credential)).await,
            Err(error) => Err(error),
        };
        let token = match token {
            Err(Error::Unauthenticated(problem)) if problem.status.is_client_error() => {
                if let Err(exceeded) = self.rate_limits.check_sign_in(client).await {
                    self.blocked.insert(client, exceeded.clone()).await;
                    return Err(exceeded.into());
                }
                return Err(Error::Unauthenticated(problem));
            }
            other => other?,
        };
        self.check_limit(&token).await?;
        parts.headers.insert(header::AUTHORIZATION, token.authorization.clone());
        Ok(())
    }

    async fn token_of(&self, client: IpAddr, credential: &Credential) -> Result<Arc<Token>, Error> {
        let hash = credential.hash();
        for _ in 0..2 {
            let result = match self.exchanged.get(&hash).await {
                Some(result) => result,
                None => {
                    if let Some(exceeded) = self.blocked.get(&client).await {
                        return Err(exceeded.into());
                    }
                    self.exchanged
                        .try_get_with(hash, self.ask(client, credential, hash))
                        .await
                        .map_err(Error::Unavailable)?
                }
            };
            let token = match result {
                Exchanged::Token(token, _) => token,
                Exchanged::Refused(kind, detail) => return Err(refused(kind, &detail)),
            };
            match self.verifier.revocations().check(&token.grant) {
                Err(Refused::Revoked) => {
                    self.exchanged.invalidate(&hash).await;
                    self.tokens.invalidate(&hash).await;
                    if let Some(shared) = &self.shared {
                        shared.remove(&hash).await;
                    }
                }
                // `Unknown` is left to the verification of the token
                Ok(()) | Err(Refused::Unknown) => return Ok(token),
            }
        }
        Err(refused(credential.refusal(), "The rights have just changed."))
    }

    /// Looks up the token of another gateway, then calls the identity service. While that does not answer,
    /// the last token is used until it expires.
    async fn ask(
        &self,
        client: IpAddr,
        credential: &Credential,
        hash: Hash,
    ) -> Result<Exchanged, Unavailable> {
        let identity = self.identity.as_ref().ok_or(Unavailable::NotConfigured)?;
        let known = match &self.shared {
            Some(shared) => shared.find(&self.verifier, &hash).await,
            None => None,
        };
        if let Some((token, fresh)) = &known
            && !fresh.is_zero()
        {
            self.tokens.insert(hash, Arc::clone(token)).await;
            return Ok(Exchanged::Token(Arc::clone(token), *fresh));
        }
        let request =
            identity_api::TokenExchange { credential: credential.expose().into(), client_address: client };
        match identity.exchange(&request).await {
            Ok(grant) => {
                let token = Arc::new(verified(&self.verifier, &grant).await?);
                self.tokens.insert(hash, Arc::clone(&token)).await;
                if let Some(shared) = &self.shared {
                    shared.put(&hash, &grant.access_token, &token).await;
                }
                let usable = token.usable_until.saturating_duration_since(Instant::now());
                Ok(Exchanged::Token(token, (usable / 2).min(FRESH)))
            }
            Err(peer::Error::Problem(problem)) if problem.is(credential.refusal()) => {
                Ok(Exchanged::Refused(credential.refusal(), problem.detail))
            }
            Err(peer::Error::Problem(problem)) if problem.is(ProblemType::TenantSuspended) => {
                Ok(Exchanged::Refused(ProblemType::TenantSuspended, problem.detail))
            }
            Err(error) => match self.tokens.get(&hash).await.or(known.map(|(token, _)| token)) {
                Some(token) => {
                    tracing::warn!(error = %api::ErrorChain(&error), "cannot exchange a credential; the last token is used");
                    Ok(Exchanged::Token(token, REFUSED))
                }
                None => Err(error.into()),
            },
        }
    }

    /// Counts a request against the limits of the key itself and of the keys that created it.
    async fn check_limit(&self, token: &Token) -> Result<(), Error> {
        if token.limits.is_empty() {
            return Ok(());
        }
        let limits = token.limits.iter().map(|limit| (limit.api_key_id, limit.requests_per_second));
        self.rate_limits.check_api_keys(limits).await?;
        Ok(())
    }
}

/// The credential to exchange.
enum Credential {
    ApiKey(ApiKey),
    Session(SessionSecret),
}

impl Credential {
    fn hash(&self) -> Hash {
        match self {
            Self::ApiKey(key) => key.hash(),
            Self::Session(secret) => secret.hash(),
        }
    }

    fn expose(&self) -> &str {
        match self {
            Self::ApiKey(key) => key.expose(),
            Self::Session(secret) => secret.expose(),
        }
    }

    /// The problem of a credential that is not valid.
    fn refusal(&self) -> ProblemType {
        match self {
            Self::ApiKey(_) => ProblemType::ApiKeyInvalid,
            Self::Session(_) => ProblemType::SessionEnded,
        }
    }
}

/// Returns the credential of a request to exchange. A cookie that is not a session secret is ignored.
///
/// # Errors
/// If a text only looks like an API key, or a page of another origin sent a request with the cookie that may
/// change something.
fn presented(parts: &Parts, public_url: &Url) -> Result<Option<Credential>, Error> {
    if let Some(text) = api_key(&parts.headers) {
        let key = ApiKey::parse(text);
        let key = key.ok_or_else(|| refused(ProblemType::ApiKeyInvalid, "This is not an API key."))?;
        return Ok(Some(Credential::ApiKey(key)));
    }
    if parts.headers.contains_key(header::AUTHORIZATION) {
        return Ok(None);
    }
    let name = session_cookie_name(public_url.scheme() == "https");
    let Some(secret) = cookie(&parts.headers, name).and_then(SessionSecret::parse) else { return Ok(None) };
    if may_use_cookie(parts, public_url) {
        Ok(Some(Credential::Session(secret)))
    } else {
        Err(Error::CrossOrigin)
    }
}

/// Whether, according to the browser, a page of the platform itself sent the request, or a person opened a
/// tab with it. `Sec-Fetch-Site` alone decides if it is present: `Origin` is `null` for requests of own pages
/// without a referrer.
fn may_use_cookie(parts: &Parts, public_url: &Url) -> bool {
    let headers = &parts.headers;
    let is = |name: &str, expected: &str| headers.get(name).is_some_and(|value| value == expected);
    let only_reads = parts.method.is_safe() && headers::upgrade(headers).is_none();
    if let Some(site) = headers.get("sec-fetch-site") {
        let opens_tab = is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document");
        // `none`: a typed address, or a bookmark
        return site == "same-origin" || only_reads && (site == "none" || opens_tab);
    }
    let own = public_url.origin();
    match (headers.get(header::ORIGIN), headers.get(header::REFERER)) {
        (Some(origin), _) => *origin == own.ascii_serialization().as_str(),
        // browsers from before 2023 send no `Origin` with reads of their own pages
        (None, Some(referrer)) => {
            let referrer = referrer.to_str().ok().and_then(|url| Url::parse(url).ok());
            only_reads && referrer.is_some_and(|url| url.origin() == own)
        }
        (None, None) => only_reads,
    }
}

/// The first cookie with this name.
fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

/// Removes all cookies, except those that a sign-in needs: the one with which a browser completes a sign-in
/// with a provider, and the one that records earlier sign-ins.
pub(crate) fn strip_cookies(parts: &mut Parts, public_url: &Url) {
    let secure = public_url.scheme() == "https";
    let names: &[&str] = match parts.uri.path() {
        "/v1/sessions" | "/v1/sessions/passkey" => &[device_cookie_name(secure)],
        path if path.starts_with("/v1/sign-in/") => {
            &[sign_in_cookie_name(secure), device_cookie_name(secure)]
        }
        _ => &[],
    };
    let found = names.iter().filter_map(|name| Some(format!("{name}={}", cookie(&parts.headers, name)?)));
    let kept = found.collect::<Vec<_>>().join("; ");
    parts.headers.remove(header::COOKIE);
    if !kept.is_empty()
        && let Ok(kept) = kept.parse()
    {
        parts.headers.insert(header::COOKIE, kept);
    }
}

/// The API key that a request presents as its bearer token.
fn api_key(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && token.starts_with(API_KEY_PREFIX)).then_some(token)
}

/// Verifies a token of the identity service once, for what it grants.
async fn verified(verifier: &Verifier, grant: &identity_api::TokenGrant) -> Result<Token, Unavailable> {
    let principal = verifier.verify(&grant.access_token).await.map_err(Unavailable::Token)?;
    let mut authorization = HeaderValue::from_str(&format!("Bearer {}", grant.access_token))
        .map_err(|error| Unavailable::Token(Problem::internal(error)))?;
    authorization.set_sensitive(true);
    let life = Duration::from_secs(grant.expires_in.into());
    let own = principal.api_key.zip(grant.requests_per_second);
    let own = own
        .map(|(api_key_id, requests_per_second)| identity_api::KeyLimit { api_key_id, requests_per_second });
    Ok(Token {
        authorization,
        grant: principal.grant(),
        limits: own.into_iter().chain(grant.creators.iter().copied()).collect(),
        usable_until: Instant::now() + life.saturating_sub(MARGIN),
    })
}

fn refused(kind: ProblemType, detail: &str) -> Error {
    Error::Unauthenticated(Problem::new(kind, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bearer_tokens_with_the_prefix_are_api_keys() {
        let found = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, HeaderValue::from_static(value));
            api_key(&headers).map(str::to_owned)
        };
        assert_eq!(found("Bearer atl_x").as_deref(), Some("atl_x"));
        assert_eq!(found("bearer  atl_x ").as_deref(), Some("atl_x"));
        for other in ["atl_x", "Basic atl_x", "Bearer x.y.z", "Bearer", ""] {
            assert_eq!(found(other), None, "{other}");
        }
    }

    fn request(method: &str, headers: &[(&'static str, &str)]) -> Parts {
        let mut request = axum::http::Request::builder().method(method).uri("/v1/me");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn the_cookie_counts_on_requests_of_own_pages_and_in_tabs_that_a_person_opens() {
        let public: Url = "https://atelier.test".parse().unwrap();
        let made = SessionSecret::generate::<std::convert::Infallible>(ids::SessionId::new(), |_| Ok(()));
        let secret = made.unwrap_or_else(|never| match never {});
        let cookie = format!("a=b; __Host-atelier_session={}; c", secret.expose());
        let outcome = |method: &str, more: &[(&'static str, &str)]| {
            let mut headers = vec![("cookie", cookie.as_str())];
            headers.extend(more);
            match presented(&request(method, &headers), &public) {
                Ok(Some(Credential::Session(_))) => "session",
                Ok(None) => "none",
                Err(Error::CrossOrigin) => "cross-origin",
                _ => "other",
            }
        };
        let upgrade = [("connection", "Upgrade"), ("upgrade", "websocket")];
        assert_eq!(outcome("GET", &[]), "session");
        let own = "https://atelier.test";
        for method in ["GET", "HEAD"] {
            for (headers, expected) in [
                (&[("sec-fetch-site", "same-origin")][..], "session"),
                (&[("sec-fetch-site", "same-origin"), ("origin", "null")], "session"),
                (&[("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate")], "session"),
                (&[("sec-fetch-site", "cross-site")], "cross-origin"),
                (&[("sec-fetch-site", "same-site")], "cross-origin"),
                (&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")], "cross-origin"),
                // a redirect by another site, although the page that began it is an own one
                (&[("sec-fetch-site", "cross-site"), ("origin", own), ("referer", own)], "cross-origin"),
                (
                    &[
                        ("sec-fetch-site", "cross-site"),
                        ("sec-fetch-mode", "navigate"),
                        ("sec-fetch-dest", "document"),
                    ],
                    "session",
                ),
                (
                    &[
                        ("sec-fetch-site", "cross-site"),
                        ("sec-fetch-mode", "navigate"),
                        ("sec-fetch-dest", "iframe"),
                    ],
                    "cross-origin",
                ),
                (
                    &[
                        ("sec-fetch-site", "same-site"),
                        ("sec-fetch-mode", "no-cors"),
                        ("sec-fetch-dest", "document"),
                    ],
                    "cross-origin",
                ),
                // browsers without it
                (&[("origin", own)], "session"),
                (&[("origin", "https://evil.test")], "cross-origin"),
                (&[("origin", "null")], "cross-origin"),
                (&[("referer", "https://atelier.test/instances?x=1")], "session"),
                (&[("referer", "https://atelier.test.evil.test/")], "cross-origin"),
                (&[("referer", "https://inst-1.atelier.test/")], "cross-origin"),
                (&[("referer", "rubbish")], "cross-origin"),
            ] {
                assert_eq!(outcome(method, headers), expected, "{method} {headers:?}");
            }
        }
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            assert_eq!(outcome(method, &[]), "cross-origin", "{method}");
            assert_eq!(outcome(method, &[("origin", "https://atelier.test")]), "session", "{method}");
            assert_eq!(outcome(method, &[("sec-fetch-site", "same-origin")]), "session", "{method}");
            let without_referrer = [("sec-fetch-site", "same-origin"), ("origin", "null")];
            assert_eq!(outcome(method, &without_referrer), "session", "{method}");
            let tab = [
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "navigate"),
                ("sec-fetch-dest", "document"),
            ];
            assert_eq!(outcome(method, &tab), "cross-origin", "a form of another page");
            let both = [("sec-fetch-site", "same-site"), ("origin", own)];
            assert_eq!(outcome(method, &both), "cross-origin", "{method}");
            for other in ["null", "https://evil.test", "http://atelier.test", "https://atelier.test:444"] {
                assert_eq!(outcome(method, &[("origin", other)]), "cross-origin", "{other}");
            }
            for other in ["same-site", "cross-site", "none"] {
                assert_eq!(outcome(method, &[("sec-fetch-site", other)]), "cross-origin", "{other}");
            }
        }
        assert_eq!(outcome("GET", &upgrade), "cross-origin");
        assert_eq!(outcome("GET", &[upgrade[0], upgrade[1], ("origin", "https://atelier.test")]), "session");
        assert_eq!(outcome("POST", &[("authorization", "Bearer x.y.z")]), "none");
        let plain = format!("atelier_console={}", secret.expose());
        assert!(presented(&request("GET", &[("cookie", &plain)]), &public).unwrap().is_none());
        let broken = request("POST", &[("cookie", "__Host-atelier_session=x")]);
        assert!(presented(&broken, &public).unwrap().is_none());
    }
}
