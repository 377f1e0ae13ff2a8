//! Verification of access tokens with the issuer's published keys (RS256, ES256, EdDSA).

use std::{collections::HashMap, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use jsonwebtoken::{
    Algorithm, DecodingKey, Validation, decode, decode_header,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse},
};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::{sync::Mutex, time::Instant};

use crate::{
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
use service::{Health, Workers};

/// Minimum time between two fetches of the keys, whatever key ids callers send.
const REFRESH_INTERVAL: Duration = Duration::from_secs(5);
/// Seconds for which a token is accepted after its expiry, or before its time: clocks differ.
pub const LEEWAY: u64 = 5;
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
            // a token without it is as old as can be
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

/// The keys that the issuer last returned.
#[derive(Default)]
struct Keys {
    by_id: HashMap<String, Key>,
    fetched_at: Option<Instant>,
    /// Number of the fetch.
    number: u64,
}

/// A key, and what is checked of tokens that it signed: its own algorithm alone is accepted.
struct Key {
    decoding: DecodingKey,
    validation: Validation,
}

impl Key {
    /// The id and the key of a JWK, if it is a signature key of an accepted algorithm.
    fn of(jwk: &Jwk, validation: &Validation) -> Option<(String, Self)> {
        let algorithm = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => Algorithm::RS256,
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => Algorithm::ES256,
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => Algorithm::EdDSA,
            _ => return None,
        };
        let declared = jwk.common.key_algorithm.is_none_or(|declared| declared == algorithm.into());
        let signs = jwk.common.public_key_use.as_ref().is_none_or(|usage| *usage == PublicKeyUse::Signature);
        let decoding = DecodingKey::from_jwk(jwk).ok().filter(|_| declared && signs)?;
        let validation = Validation { algorithms: vec![algorithm], ..validation.clone() };
        Some((jwk.common.key_id.clone()?, Self { decoding, validation }))
    }
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
    verified: VerifiedTokens,
    revocations: Revocations,
}

/// What is checked besides the algorithm.
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
        rsa::install();
        Self(Arc::new(Inner {
            validation: validation(&config),
            revocations: Revocations::new(config.revocations.as_ref().map(RevocationSource::grace)),
            config,
            http,
            keys: ArcSwap::default(),
            last_fetch: Mutex::new(None),
            verified: VerifiedTokens::default(),
        }))
    }

    /// Starts the worker `<service>.revocations`, which reads them, if a source is configured.
    pub fn start(&self, workers: &Workers, service: &str) {
        let Some(source) = self.0.config.revocations.clone() else { return };
        let http = self.0.http.clone();
        self.0.revocations.start(workers, service, move |after| {
            let (source, http) = (source.clone(), http.clone());
            async move { source.read(&http, &after).await }
        });
    }

    /// Starts the worker `<service>.makers`, which ends what those made whose rights have ended, if a source of revocations is
    /// configured.
    pub fn follow_makers(&self, workers: &Workers, service: &str, made: impl Made) {
        let Some(source) = self.0.config.revocations.clone() else { return };
        let verifier = self.clone();
        workers.spawn(format!("{service}.makers"), move |stop| {
            let follower =
                Follower { source: source.clone(), http: verifier.0.http.clone(), made: made.clone() };
            let revocations = verifier.0.revocations.clone();
            async move {
                stop.run_until_cancelled(follower.run(&revocations)).await;
                Ok(())
            }
        });
    }

    /// Adds the identity service, whose revocations are read, to the dependencies of the process.
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

    /// Returns the claims of a token whose signature, issuer, audience and times are valid. Revocations are not checked.
    ///
    /// # Errors
    /// As [`Self::verify`].
    pub async fn claims(&self, token: &str) -> Result<Map<String, Value>, Problem> {
        self.verified_claims(token).await.map(|(claims, _)| claims)
    }

    /// Returns the claims, and the number of the key set that verified them.
    async fn verified_claims(&self, token: &str) -> Result<(Map<String, Value>, u64), Problem> {
        let header = decode_header(token).map_err(|_| Problem::unauthenticated("The token is not a JWT."))?;
        let kid = header.kid.ok_or_else(|| Problem::unauthenticated("The token names no key."))?;
        self.refresh(&kid).await?;
        let keys = self.0.keys.load();
        let key =
            keys.by_id.get(&kid).ok_or_else(|| Problem::unauthenticated("The token's key is unknown."))?;
        // the type of the key decides, never the token alone: a public key must not verify as an HMAC secret
        let token = decode::<Map<String, Value>>(token, &key.decoding, &key.validation).map_err(|error| {
            use jsonwebtoken::errors::ErrorKind;
            Problem::unauthenticated(match error.kind() {
                ErrorKind::ExpiredSignature => "The token has expired; refresh it.",
                ErrorKind::InvalidIssuer | ErrorKind::InvalidAudience => {
                    "The token was issued by or for another platform."
                }
                ErrorKind::InvalidAlgorithm => "The token's key does not verify this algorithm.",
                _ => "The token is not valid.",
            })
        })?;
        Ok((token.claims, keys.number))
    }

    /// Fetches the issuer's keys if `kid` is unknown or the keys are too old. Known keys stay in use while the issuer
    /// does not answer.
    async fn refresh(&self, kid: &str) -> Result<(), Problem> {
        let state = || {
            let keys = self.0.keys.load();
            let life = Duration::from_secs(self.0.config.keys_seconds);
            (keys.by_id.contains_key(kid), keys.fetched_at.is_some_and(|at| at.elapsed() <= life))
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
        let who = "The identity service";
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
        // keys of types that are not known do not concern the others
        let known = set.keys.into_iter().filter_map(|key| serde_json::from_value::<Jwk>(key).ok());
        let by_id = known.filter_map(|jwk| Key::of(&jwk, &self.0.validation)).collect();
        Ok(Keys { by_id, fetched_at: Some(Instant::now()), number: 0 })
    }
}
