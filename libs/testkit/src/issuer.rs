//! An issuer of access tokens. Services fetch its keys and follow its revocations like those of the identity
//! service.

use std::{sync::Arc, time::Duration};

use auth::{
    AuthConfig, AuthState, Claims, Maker, MakerCheck, MakerStandings, Revocation, RevocationSource, Role,
    Verifier, session_of,
};
use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der},
    rsa::{KeyPair, KeySize, PublicKeyComponents},
    signature::KeyPair as _,
};
use axum::{
    Json, Router,
    extract::Query,
    routing::{get, post},
};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use feed::{Change, Changes};
use ids::{TenantId, UserId};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde::Deserialize;
use serde_json::json;
use tokio::{sync::watch, time::timeout};

/// The key of each issuer: to generate one takes a tenth of a second. It signs nothing outside tests.
const KEY: &str = include_str!("issuer.pem");

/// Signs tokens, and serves its public key and revocations over HTTP.
pub struct Issuer {
    url: String,
    key: EncodingKey,
    public_key_pem: String,
    revocations: Arc<watch::Sender<Vec<Change<Revocation>>>>,
}

#[derive(Deserialize)]
struct After {
    /// Number of revocations that were read; empty for none.
    after: String,
    wait_seconds: u64,
}

/// Serves the revocations as the identity service does. A cursor is a number of revocations.
async fn changes(
    mut revocations: watch::Receiver<Vec<Change<Revocation>>>,
    query: After,
) -> Json<Changes<Revocation>> {
    let read = query.after.parse().unwrap_or(0);
    let wait = Duration::from_secs(query.wait_seconds);
    // when the time is over, the answer is empty
    // a reader at the beginning does not wait
    if !query.after.is_empty() {
        let _ = timeout(wait, revocations.wait_for(|all| all.len() > read)).await;
    }
    let all = revocations.borrow();
    let items = all.get(read..).unwrap_or_default().to_vec();
    Json(Changes { items, next_cursor: all.len().to_string(), complete: true })
}

/// Since when a maker has had its rights: since the last revocation of the member, and not at all after all
/// tokens of the user or those of the API key were revoked.
fn able_since(revoked: &[Change<Revocation>], maker: &Maker) -> Option<jiff::Timestamp> {
    let (user_id, tenant_id, session_id) =
        (Some(maker.user_id), maker.tenant_id, maker.api_key_id.map(session_of));
    let has_ended = revoked.iter().any(|Change { change, .. }| {
        change.user_id == user_id && change.tenant_id.is_none()
            || session_id.is_some() && change.session_id == session_id
    });
    if has_ended {
        return None;
    }
    let of_member = |change: &Revocation| {
        change.user_id == user_id && tenant_id.is_some() && change.tenant_id == tenant_id
    };
    let last = revoked.iter().filter(|revoked| of_member(&revoked.change)).map(|revoked| revoked.at).max();
    Some(last.unwrap_or(jiff::Timestamp::UNIX_EPOCH))
}

impl Issuer {
    /// A new issuer.
    pub async fn start() -> Self {
        Self::with_key(KEY).await
    }

    /// A new issuer with a key of its own.
    pub async fn with_new_key() -> Self {
        let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let pkcs8: Pkcs8V1Der<'_> = pair.as_der().unwrap();
        Self::with_key(&pem("PRIVATE KEY", pkcs8.as_ref())).await
    }

    /// A new issuer with this key, which is PKCS#8 in PEM.
    async fn with_key(key: &str) -> Self {
        let base64: String = key.lines().filter(|line| !line.starts_with('-')).collect();
        let pair = KeyPair::from_pkcs8(&STANDARD.decode(base64).unwrap()).unwrap();
        let public = PublicKeyComponents::<Vec<u8>>::from(pair.public_key());
        let jwks = json!({ "keys": [{
            "kty": "RSA", "use": "sig", "alg": "RS256", "kid": "test",
            "n": URL_SAFE_NO_PAD.encode(&public.n), "e": URL_SAFE_NO_PAD.encode(&public.e),
        }]});
        let revocations = Arc::new(watch::Sender::new(Vec::new()));
        let followed = Arc::clone(&revocations);
        let follow = move |Query(query): Query<After>| changes(followed.subscribe(), query);
        let known = Arc::clone(&revocations);
        let check = async move |Json(check): Json<MakerCheck>| {
            let revoked = known.borrow();
            let able_since = check.makers.iter().map(|maker| able_since(&revoked, maker)).collect();
            Json(MakerStandings { able_since })
        };
        let router = Router::new()
            .route("/jwks.json", get(|| async { Json(jwks) }))
            .route("/internal/v1/revocations", get(follow))
            .route("/internal/v1/maker-checks", post(check));
        let url = crate::serve(router).await;
        let public_key: PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
        let public_key_pem = pem("PUBLIC KEY", public_key.as_ref());
        let key = EncodingKey::from_rsa_pem(key.as_bytes()).unwrap();
        Self { url, key, public_key_pem, revocations }
    }

    /// The public key in PEM, for programs that read keys from files.
    #[must_use]
    pub fn public_key_pem(&self) -> &str {
        &self.public_key_pem
    }

    /// The configuration with which a service accepts its tokens.
    #[must_use]
    pub fn config(&self) -> AuthConfig {
        Self::config_of(&self.url)
    }

    /// The same for the issuer at this address, which may be that of another process.
    #[must_use]
    pub fn config_of(url: &str) -> AuthConfig {
        AuthConfig {
            issuer: url.to_owned(),
            audience: "atelier".to_owned(),
            jwks_url: Some(format!("{url}/jwks.json")),
            keys_seconds: 300,
            claims: auth::ClaimNames::default(),
            revocations: Some(RevocationSource {
                url: url.to_owned(),
                token: crate::SERVICE_TOKEN.into(),
                grace_seconds: 60,
            }),
        }
    }

    /// The state of a service that accepts its tokens and the service token of tests.
    #[must_use]
    pub fn auth(&self) -> AuthState {
        AuthState {
            verifier: Verifier::new(self.config(), reqwest::Client::new()),
            callers: crate::callers().into(),
        }
    }

    /// Revokes tokens that were issued until now. The rights of a user end when all tokens are revoked, those
    /// of an API key when its session is; a member gets new ones.
    #[expect(clippy::disallowed_methods, reason = "tests run on the real clock")]
    pub fn revoke(&self, change: Revocation) {
        self.revocations.send_modify(|all| all.push(Change { at: jiff::Timestamp::now(), change }));
    }

    /// The claims of a token that is valid for ten minutes from now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "tests run on the real clock")]
    pub fn claims(&self, tenant: Option<(TenantId, Role)>, admin: bool) -> Claims {
        let now = jiff::Timestamp::now();
        Claims {
            iss: self.url.clone(),
            aud: "atelier".to_owned(),
            sub: UserId::new(),
            tid: tenant.map(|(tenant, _)| tenant),
            role: tenant.map(|(_, role)| role),
            adm: admin,
            sid: None,
            scope: None,
            key: None,
            limited: false,
            iat: now.as_duration().as_secs_f64(),
            exp: now.as_second() + 600,
            jti: uuid::Uuid::now_v7().to_string(),
        }
    }

    /// Signs any claims.
    #[must_use]
    pub fn sign(&self, claims: &impl serde::Serialize) -> String {
        let header = Header { kid: Some("test".to_owned()), ..Header::new(Algorithm::RS256) };
        encode(&header, claims, &self.key).unwrap()
    }

    /// A token of an administrator who acts for no tenant.
    #[must_use]
    pub fn admin(&self) -> String {
        self.sign(&self.claims(None, true))
    }

    /// A token of a user with `role` in `tenant`.
    #[must_use]
    pub fn user(&self, tenant: TenantId, role: Role) -> String {
        self.sign(&self.claims(Some((tenant, role)), false))
    }
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}
