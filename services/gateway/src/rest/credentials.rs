//! API keys: a caller's long-lived credential is exchanged for an access token, which the request then carries instead.
//! No service ever sees the credential ([ADR 20](../../../../docs/adr/0020-credentials-are-exchanged.md)).
//!
//! A token is used for a minute before the next exchange, so that uses and changed rights are seen; while the identity
//! service does not answer, until it expires. A token that was revoked is exchanged anew at once: its key may have lesser
//! rights now, or none. Credentials are remembered by their SHA-256 only.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use api::{Problem, ProblemType};
use auth::{API_KEY_PREFIX, ApiKey, Grant, HasAuth, Refused};
use axum::http::{HeaderMap, HeaderValue, header};
use clients::{Endpoint, identity};
use ids::ApiKeyId;
use moka::{Expiry, future::Cache};
use url::Url;

use crate::{
    config::Config,
    error::Error,
    limits::{Exceeded, RateLimit},
    state::AppState,
};

/// Time until a credential is exchanged again, unless half the life of its token is shorter.
const FRESH: Duration = Duration::from_secs(60);
/// How long a refusal is remembered; also the pause after an exchange that got no answer, while an older token is used.
const REFUSED: Duration = Duration::from_secs(1);
/// A token is not used in the last seconds of its life, so that no service refuses it.
const MARGIN: Duration = Duration::from_secs(5);
/// Credentials that are remembered, at most.
const CAPACITY: u64 = 100_000;

type Hash = [u8; 32];

/// Exchanges credentials for access tokens.
pub(crate) struct Credentials {
    /// None: no API keys are accepted.
    identity: Option<identity::Client>,
    /// Concurrent requests with a credential share one exchange.
    exchanged: Cache<Hash, Exchanged>,
    /// The newest token of each credential, until it expires.
    tokens: Cache<Hash, Arc<Token>>,
    /// Addresses with too many refused credentials.
    blocked: Cache<IpAddr, Exceeded>,
    limits: Cache<ApiKeyId, Arc<RateLimit<()>>>,
}

/// An access token.
#[derive(Debug)]
struct Token {
    authorization: HeaderValue,
    grant: Grant,
    api_key: Option<ApiKeyId>,
    requests_per_second: Option<u32>,
    usable_until: Instant,
}

#[derive(Debug, Clone)]
enum Exchanged {
    Token(Arc<Token>, Duration),
    Refused(ProblemType, String),
}

/// How long each result is remembered.
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
    /// The identity service is asked with the token with which its revocations are read: without these, no API key is
    /// accepted, as its end would not be seen.
    pub(crate) fn new(config: &Config, http: reqwest::Client) -> Self {
        let endpoint = |url: &Url| {
            let token = config.auth.revocations.as_ref()?.token.clone();
            Some(Endpoint { url: url.clone(), token })
        };
        Self {
            identity: endpoint(&config.services.identity).map(|at| identity::Client::new(http, at)),
            exchanged: Cache::builder().max_capacity(CAPACITY).expire_after(Remembered).build(),
            tokens: Cache::builder().max_capacity(CAPACITY).expire_after(UntilItsEnd).build(),
            blocked: Cache::builder().max_capacity(CAPACITY).time_to_live(REFUSED).build(),
            limits: Cache::builder().max_capacity(CAPACITY).time_to_idle(FRESH).build(),
        }
    }

    /// Replaces an API key in `Authorization` by an access token. Leaves other requests as they are.
    ///
    /// # Errors
    /// If the key is not valid (401), its user may not act for the tenant (403), the key's own rate limit or that of its
    /// client for refused credentials is exceeded (429), or the identity service does not answer (503).
    pub(super) async fn exchange(
        &self,
        state: &AppState,
        client: IpAddr,
        headers: &mut HeaderMap,
    ) -> Result<(), Error> {
        let Some(text) = api_key(headers) else { return Ok(()) };
        let client = crate::limits::network(client);
        let token = match ApiKey::parse(text) {
            Some(key) => self.token_of(state, client, &key).await,
            None => Err(refused(ProblemType::ApiKeyInvalid, "This is not an API key, or a part of one.")),
        };
        let token = match token {
            Err(Error::Unauthenticated(problem)) if problem.status.is_client_error() => {
                if let Err(exceeded) = state.rate_limits.check_sign_in(client) {
                    self.blocked.insert(client, exceeded.clone()).await;
                    return Err(exceeded.into());
                }
                return Err(Error::Unauthenticated(problem));
            }
            other => other?,
        };
        self.check_limit(&token).await?;
        headers.insert(header::AUTHORIZATION, token.authorization.clone());
        Ok(())
    }

    async fn token_of(&self, state: &AppState, client: IpAddr, key: &ApiKey) -> Result<Arc<Token>, Error> {
        let hash = key.hash();
        for _ in 0..2 {
            let result = match self.exchanged.get(&hash).await {
                Some(result) => result,
                None => {
                    if let Some(exceeded) = self.blocked.get(&client).await {
                        return Err(exceeded.into());
                    }
                    self.exchanged.try_get_with(hash, self.ask(state, client, key, hash)).await.map_err(
                        |error| Error::ServiceUnavailable { service: "identity", source: error.into() },
                    )?
                }
            };
            let token = match result {
                Exchanged::Token(token, _) => token,
                Exchanged::Refused(kind, detail) => return Err(refused(kind, &detail)),
            };
            match state.auth().verifier.revocations().check(&token.grant) {
                Err(Refused::Revoked) => {
                    self.exchanged.invalidate(&hash).await;
                    self.tokens.invalidate(&hash).await;
                }
                // what is unknown, the verification of the token finds out
                Ok(()) | Err(Refused::Unknown) => return Ok(token),
            }
        }
        Err(refused(ProblemType::ApiKeyInvalid, "The rights of this API key have just changed."))
    }

    /// Asks the identity service. While it does not answer, the last token is used until it expires.
    async fn ask(
        &self,
        state: &AppState,
        client: IpAddr,
        key: &ApiKey,
        hash: Hash,
    ) -> Result<Exchanged, Unavailable> {
        let identity = self.identity.as_ref().ok_or(Unavailable::NotConfigured)?;
        let request = identity::TokenExchange {
            credential: key.expose().to_owned(),
            client_address: client.to_string(),
        };
        match identity.exchange(&request).await {
            Ok(grant) => {
                let token = Arc::new(verified(state, &grant).await?);
                self.tokens.insert(hash, Arc::clone(&token)).await;
                let usable = token.usable_until.saturating_duration_since(Instant::now());
                Ok(Exchanged::Token(token, (usable / 2).min(FRESH)))
            }
            Err(clients::Error::Problem(problem)) if problem.is(ProblemType::ApiKeyInvalid) => {
                Ok(Exchanged::Refused(ProblemType::ApiKeyInvalid, problem.detail))
            }
            Err(clients::Error::Problem(problem)) if problem.is(ProblemType::TenantSuspended) => {
                Ok(Exchanged::Refused(ProblemType::TenantSuspended, problem.detail))
            }
            Err(error) => match self.tokens.get(&hash).await {
                Some(token) => {
                    tracing::warn!(error = %api::ErrorChain(&error), "cannot exchange a credential; the last token is used");
                    Ok(Exchanged::Token(token, REFUSED))
                }
                None => Err(error.into()),
            },
        }
    }

    /// Counts a request against the limit of the key itself.
    async fn check_limit(&self, token: &Token) -> Result<(), Error> {
        let (Some(key), Some(rate)) = (token.api_key, token.requests_per_second) else { return Ok(()) };
        let limit = self.limits.try_get_with(key, async {
            RateLimit::new("api-key", rate, rate, Duration::from_secs(1)).map(Arc::new)
        });
        let limit = limit.await.map_err(|error| Error::Internal(format!("{error:#}").into()))?;
        limit.check(&())?;
        Ok(())
    }
}

/// The API key that a request presents as its bearer token.
fn api_key(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && token.starts_with(API_KEY_PREFIX)).then_some(token)
}

/// Verifies a token of the identity service once, for what it grants.
async fn verified(state: &AppState, grant: &identity::TokenGrant) -> Result<Token, Unavailable> {
    let principal = state.auth().verifier.verify(&grant.access_token).await.map_err(Unavailable::Token)?;
    let mut authorization = HeaderValue::from_str(&format!("Bearer {}", grant.access_token))
        .map_err(|error| Unavailable::Token(Problem::internal(error)))?;
    authorization.set_sensitive(true);
    let life = Duration::from_secs(grant.expires_in.into());
    Ok(Token {
        authorization,
        grant: principal.grant(),
        api_key: principal.api_key,
        requests_per_second: grant.requests_per_second,
        usable_until: Instant::now() + life.saturating_sub(MARGIN),
    })
}

fn refused(kind: ProblemType, detail: &str) -> Error {
    Error::Unauthenticated(Problem::new(kind, detail))
}

/// An exchange without a result.
#[derive(Debug, thiserror::Error)]
enum Unavailable {
    #[error("no service token for the identity service (auth.revocations)")]
    NotConfigured,
    #[error("no answer")]
    NoAnswer(#[from] clients::Error),
    #[error("the token is not accepted: {0}")]
    Token(Problem),
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
}
