//! Verification of tokens with the issuer's published keys.

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header, errors::ErrorKind, jwk::Jwk};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::{sync::Mutex, time::Instant};

use crate::{
    keys::{Key, Keys},
    maker::{Follower, Made},
    principal::{Principal, Role},
    revocation::{RevocationSource, Revocations},
    rsa,
    scope::Scopes,
    verified::{TokenHash, Verified, VerifiedTokens},
};
use api::Problem;
use ids::UserId;
use jiff::Timestamp;
use service::{Duty, Health, Task};

/// Minimum time between two fetches of the keys, regardless of the key ids that callers send.
const REFRESH_INTERVAL: Duration = Duration::from_secs(5);
/// Seconds for which a token is accepted after its expiry, or before its time: clocks differ.
pub const LEEWAY: u64 = 5;
/// The same for ID tokens. Their issuers have clocks of their own.
const ID_TOKEN_LEEWAY: u64 = 120;
/// Time without a new fetch after a failed one. Requests that waited for the failed fetch fail together.
const FAILURE_BACKOFF: Duration = Duration::from_secs(1);

/// The issuer of accepted tokens: the identity service, or any OpenID Connect issuer that can put the tenant and the
/// role into claims.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthConfig {
    /// The exact value of `iss`.
    pub issuer: String,
    /// The exact value of `aud`.
    #[serde(default = "default_audience")]
    pub audience: String,
    /// URL of the keys; by default the `jwks_uri` in `<issuer>/.well-known/openid-configuration`.
    #[serde(default)]
    pub jwks_url: Option<String>,
    /// Seconds for which fetched keys are used (default 300). A key that the issuer has revoked is accepted for no
    /// longer, unless the issuer does not answer.
    #[serde(default = "default_keys_seconds")]
    pub keys_seconds: u64,
    /// Names of the claims, which differ between issuers.
    #[serde(default)]
    pub claims: ClaimNames,
    /// Where revocations of tokens are read. Without it, a token is accepted until it expires.
    #[serde(default)]
    pub revocations: Option<RevocationSource>,
}

/// The names of the claims that make a [`Principal`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClaimNames {
    /// The user: `usr_…`, or the issuer's own identifier, from which an id is derived.
    pub user: String,
    /// The tenant, `ten_…`.
    pub tenant: String,
    /// `owner`, `member` or `viewer`.
    pub role: String,
    /// `true` for a platform administrator.
    pub admin: String,
    /// The session, `ses_…`; optional.
    pub session: String,
    /// Scopes of this platform, separated by spaces; a token without the claim may be used for all that its role allows.
    /// Name another claim if the issuer's `scope` means something else.
    pub scope: String,
}

impl Default for ClaimNames {
    fn default() -> Self {
        let [user, tenant, role, admin, session, scope] =
            ["sub", "tid", "role", "adm", "sid", "scope"].map(str::to_owned);
        Self { user, tenant, role, admin, session, scope }
    }
}

impl ClaimNames {
    fn principal(&self, issuer: &str, claims: &Map<String, Value>) -> Option<Principal> {
        let text = |name: &String| claims.get(name).and_then(Value::as_str);
        let user = text(&self.user)?;
        let tenant = match text(&self.tenant) {
            Some(tenant) => Some((tenant.parse().ok()?, Role::from_name(text(&self.role)?)?)),
            None => None,
        };
        Some(Principal {
            user: user.parse().unwrap_or_else(|_| UserId::derived(&[issuer, user])),
            tenant,
            admin: claims.get(&self.admin).and_then(Value::as_bool).unwrap_or(false),
            session: text(&self.session).and_then(|session| session.parse().ok()),
            // a claim of another type allows nothing
            scopes: claims.get(&self.scope).map(|scope| Scopes::from(scope.as_str().unwrap_or_default())),
            api_key: claims.get("key").and_then(Value::as_str).and_then(|key| key.parse().ok()),
            limited: claims.get("limited").and_then(Value::as_bool).unwrap_or(false),
            // a token without it counts as issued at the epoch
            issued_at: claims
                .get("iat")
                .and_then(Value::as_f64)
                .map_or(Some(Timestamp::UNIX_EPOCH), from_numeric_date)?,
            expires_at: claims.get("exp").and_then(Value::as_f64).and_then(from_numeric_date)?,
        })
    }
}

/// Reads a `NumericDate` (RFC 7519): seconds, which may have a fraction.
fn from_numeric_date(seconds: f64) -> Option<Timestamp> {
    jiff::SignedDuration::try_from_secs_f64(seconds)
        .ok()
        .and_then(|since| Timestamp::from_duration(since).ok())
}

fn default_audience() -> String {
    "atelier".to_owned()
}

fn default_keys_seconds() -> u64 {
    300
}

/// Verifies access tokens. Cheap to clone; clones share the keys.
#[derive(Clone)]
pub struct Verifier(Arc<Inner>);

struct Inner {
    config: AuthConfig,
    http: reqwest::Client,
    keys: ArcSwap<Keys>,
    /// Time of the last fetch, and whether it succeeded. Locked during a fetch.
    last_fetch: Mutex<Option<(Instant, bool)>>,
    validation: Validation,
    kind: Kind,
    verified: VerifiedTokens,
    revocations: Revocations,
}

/// The kind of tokens that a verifier accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Access tokens of the platform's issuer. Each names its key.
    Access,
    /// ID tokens of an OpenID provider. Some providers name no key.
    Id,
}

impl Kind {
    /// The name of the issuer in errors.
    fn issuer(self) -> &'static str {
        match self {
            Self::Access => "The identity service",
            Self::Id => "The provider",
        }
    }
}

/// Checks in addition to the algorithm.
fn validation(config: &AuthConfig) -> Validation {
    let mut validation = Validation::new(Algorithm::RS256);
    validation.set_issuer(&[&config.issuer]);
    validation.set_audience(&[&config.audience]);
    validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    validation.validate_nbf = true;
    validation.leeway = LEEWAY;
    validation
}

impl Verifier {
    /// A verifier for tokens of the configured issuer. The keys are fetched when a token first needs one.
    #[must_use]
    pub fn new(config: AuthConfig, http: reqwest::Client) -> Self {
        let validation = validation(&config);
        Self::of(config, validation, Kind::Access, http)
    }

    /// A verifier for ID tokens of an OpenID provider, for [`Self::claims`]. It does not check the issuer that a token names:
    /// that of some providers differs from token to token.
    #[must_use]
    pub fn of_id_tokens(config: AuthConfig, http: reqwest::Client) -> Self {
        let validation = Validation { iss: None, leeway: ID_TOKEN_LEEWAY, ..validation(&config) };
        Self::of(config, validation, Kind::Id, http)
    }

    fn of(config: AuthConfig, validation: Validation, kind: Kind, http: reqwest::Client) -> Self {
        rsa::install();
        Self(Arc::new(Inner {
            validation,
            kind,
            revocations: Revocations::new(config.revocations.as_ref().map(RevocationSource::grace)),
            config,
            http,
            keys: ArcSwap::default(),
            last_fetch: Mutex::new(None),
            verified: VerifiedTokens::default(),
        }))
    }

    /// The task that reads revocations, if a source is configured.
    #[must_use]
    pub fn task(&self) -> Option<Task> {
        let source = self.0.config.revocations.clone()?;
        let http = self.0.http.clone();
        Some(self.0.revocations.task(move |after| {
            let (source, http) = (source.clone(), http.clone());
            async move { source.read(&http, &after).await }
        }))
    }

    /// The task that ends the objects of makers whose rights have ended, if a source of revocations is configured.
    pub fn makers_task(&self, made: impl Made) -> Option<Task> {
        let source = self.0.config.revocations.clone()?;
        let follower = Follower { source, http: self.0.http.clone(), made };
        let parts = (follower, self.0.revocations.clone());
        Some(Task::new("makers", Duty::Follow, &parts, |(follower, revocations)| async move {
            follower.run(&revocations).await;
            Ok(())
        }))
    }

    /// Adds the identity service, as the source of revocations, to the dependencies of the process.
    pub fn report_to(&self, health: &Health) {
        if let Some(source) = &self.0.config.revocations {
            health.depends_on_service("identity", &self.0.http, &source.url);
        }
    }

    /// Returns the revocations that [`Self::verify`] checks.
    #[must_use]
    pub fn revocations(&self) -> &Revocations {
        &self.0.revocations
    }

    /// Returns the principal to whom the token was issued.
    ///
    /// # Errors
    /// Returns 401 if the token is not valid or revoked, 503 if its key or revocation is unknown because the issuer does
    /// not answer.
    pub async fn verify(&self, token: &str) -> Result<Principal, Problem> {
        let hash = TokenHash::of(token);
        let principal = match self.remembered(hash) {
            Some(principal) => principal,
            None => {
                let (claims, keys) = Box::pin(self.verified_claims(token)).await?;
                let principal = self.0.config.claims.principal(&self.0.config.issuer, &claims);
                let principal = principal
                    .ok_or_else(|| Problem::unauthenticated("The token lacks the required claims."))?;
                self.0.verified.insert(hash, Verified { principal: principal.clone(), keys });
                principal
            }
        };
        self.0.revocations.check(&principal.grant())?;
        Ok(principal)
    }

    #[expect(clippy::disallowed_methods, reason = "the clock that checks expiry")]
    fn remembered(&self, hash: TokenHash) -> Option<Principal> {
        let keys = self.0.keys.load();
        let life = Duration::from_secs(self.0.config.keys_seconds);
        let fresh = keys.fetched_at.is_some_and(|at| at.elapsed() <= life);
        let verified = fresh.then(|| self.0.verified.get(hash, keys.number, Timestamp::now()))??;
        Some(verified.principal.clone())
    }

    /// Returns the claims of a token with a valid signature, issuer and audience and valid times. Revocations are not checked.
    ///
    /// # Errors
    /// As [`Self::verify`].
    pub async fn claims(&self, token: &str) -> Result<Map<String, Value>, Problem> {
        self.verified_claims(token).await.map(|(claims, _)| claims)
    }

    /// Returns the claims, and the number of the key set that verified them.
    async fn verified_claims(&self, token: &str) -> Result<(Map<String, Value>, u64), Problem> {
        let header = decode_header(token).map_err(|_| Problem::unauthenticated("The token is not a JWT."))?;
        let kid = header.kid.as_deref();
        if kid.is_none() && self.0.kind == Kind::Access {
            return Err(Problem::unauthenticated("The token does not name its key."));
        }
        self.refresh(kid).await?;
        let keys = self.0.keys.load();
        let mut refused = None;
        for key in keys.candidates(kid) {
            // the type of the key decides, never the token alone: a public key must not be used as an HMAC
            // secret
            match decode::<Map<String, Value>>(token, &key.decoding, &key.validation) {
                Ok(token) => return Ok((token.claims, keys.number)),
                // of several keys, the error of the one with the right algorithm is returned
                Err(error) if refused.is_none() || *error.kind() != ErrorKind::InvalidAlgorithm => {
                    refused = Some(error);
                }
                Err(_) => {}
            }
        }
        Err(Problem::unauthenticated(match refused.as_ref().map(|error| error.kind()) {
            None => "The token's key is unknown.",
            Some(ErrorKind::ExpiredSignature) => "The token has expired; refresh it.",
            Some(ErrorKind::InvalidIssuer | ErrorKind::InvalidAudience) => {
                "The token was issued by or for another platform."
            }
            Some(ErrorKind::InvalidAlgorithm) => "The token's key does not verify this algorithm.",
            Some(_) => "The token is not valid.",
        }))
    }

    /// Fetches the issuer's keys if `kid` is unknown or the keys are too old. Known keys stay in use while the issuer
    /// does not answer.
    async fn refresh(&self, kid: Option<&str>) -> Result<(), Problem> {
        let state = || {
            let keys = self.0.keys.load();
            let life = Duration::from_secs(self.0.config.keys_seconds);
            let known = keys.candidates(kid).next().is_some();
            (known, keys.fetched_at.is_some_and(|at| at.elapsed() <= life))
        };
        let (known, fresh) = state();
        if known && fresh {
            return Ok(());
        }
        let mut last_fetch = match self.0.last_fetch.try_lock() {
            Ok(last_fetch) => last_fetch,
            // another request is fetching them
            Err(_) if known => return Ok(()),
            Err(_) => self.0.last_fetch.lock().await,
        };
        if state() == (true, true) {
            return Ok(());
        }
        let who = self.0.kind.issuer();
        let recent = last_fetch.filter(|(at, succeeded)| {
            at.elapsed() <= if *succeeded { REFRESH_INTERVAL } else { FAILURE_BACKOFF }
        });
        let result = match recent {
            Some((_, true)) => Ok(()),
            Some((_, false)) => Err(Problem::unavailable(who, "the last request failed")),
            None => {
                let fetched = self.fetch().await;
                *last_fetch = Some((Instant::now(), fetched.is_ok()));
                fetched
                    .map(|keys| {
                        let number = self.0.keys.load().number + 1;
                        self.0.keys.store(Arc::new(Keys { number, ..keys }));
                    })
                    .map_err(|error| Problem::unavailable(who, error))
            }
        };
        if known { Ok(()) } else { result }
    }

    async fn fetch(&self) -> Result<Keys, reqwest::Error> {
        #[derive(Deserialize)]
        struct Discovery {
            jwks_uri: String,
        }
        #[derive(Deserialize)]
        struct JwkSet {
            keys: Vec<Value>,
        }
        let get = |url: String| {
            let request = self.0.http.get(url).timeout(Duration::from_secs(3));
            async move { request.send().await?.error_for_status() }
        };
        let url = match &self.0.config.jwks_url {
            Some(url) => url.clone(),
            None => {
                let issuer = self.0.config.issuer.trim_end_matches('/');
                get(format!("{issuer}/.well-known/openid-configuration"))
                    .await?
                    .json::<Discovery>()
                    .await?
                    .jwks_uri
            }
        };
        let set: JwkSet = get(url).await?.json().await?;
        // keys of unknown types do not affect the others
        let known = set.keys.into_iter().filter_map(|key| serde_json::from_value::<Jwk>(key).ok());
        let keys = known.filter_map(|jwk| Key::of(&jwk, &self.0.validation)).collect();
        Ok(Keys { keys, fetched_at: Some(Instant::now()), number: 0 })
    }
}
