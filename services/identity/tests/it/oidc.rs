//! Sign-in with an OpenID provider: a small one of the test, which can misbehave, and a real program.

use std::{
    collections::HashMap,
    process::Stdio,
    sync::{Arc, Mutex},
    time::Duration,
};

use atelier_identity::{ClaimRule, MembershipRule, OidcClaims, OidcProvider, PasskeyConfig};
use auth::Role;
use axum::{
    Form, Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response as Answer},
    routing::{get, post},
};
use base64::{Engine, engine::general_purpose::STANDARD, engine::general_purpose::URL_SAFE_NO_PAD};
use ids::TenantId;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use testkit::{Client, Issuer, Response, eventually};
use url::Url;

use crate::platform::{ADMIN, PASSWORD, Platform};

/// Deviations of a provider from the default one.
#[derive(Default)]
pub(crate) struct Special {
    /// Members of its description that replace others; null removes one. `{url}` stands for its address.
    pub(crate) description: Value,
    /// The path below which the description is.
    pub(crate) path: &'static str,
    /// The keys that it publishes.
    pub(crate) keys: Option<Value>,
    /// Its user info.
    pub(crate) user_info: Option<Value>,
}

/// A provider whose codes are known beforehand.
pub(crate) struct Provider {
    pub(crate) url: String,
    issuer: Issuer,
    /// Claims and PKCE challenge by code; each is redeemed once.
    codes: Mutex<HashMap<String, (Value, String)>>,
}

async fn token(
    State(provider): State<Arc<Provider>>,
    headers: HeaderMap,
    Form(form): Form<HashMap<String, String>>,
) -> Answer {
    let basic = format!("Basic {}", STANDARD.encode("atelier:s%3Acret"));
    let known = provider.codes.lock().unwrap().remove(&form["code"]);
    let verifier = URL_SAFE_NO_PAD.encode(Sha256::digest(form["code_verifier"].as_bytes()));
    match known {
        Some((claims, challenge))
            if headers["authorization"] == basic.as_str()
                && form["grant_type"] == "authorization_code"
                && form["redirect_uri"] == "https://atelier.test/v1/sign-in/corp/callback"
                && challenge == verifier =>
        {
            let id_token = match claims.as_str() {
                Some(raw) => raw.to_owned(),
                None => provider.issuer.sign(&claims),
            };
            Json(json!({ "access_token": "opaque", "token_type": "Bearer", "id_token": id_token }))
                .into_response()
        }
        _ => (StatusCode::BAD_REQUEST, Json(json!({ "error": "invalid_grant" }))).into_response(),
    }
}

impl Provider {
    async fn start(special: Special) -> Arc<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let issuer = Issuer::start().await;
        let mut description = json!({
            "issuer": url, "authorization_endpoint": format!("{url}/authorize?audience=x"),
            "token_endpoint": format!("{url}/token"), "jwks_uri": issuer.config().jwks_url,
        });
        if special.keys.is_some() {
            description["jwks_uri"] = json!(format!("{url}/keys"));
        }
        if special.user_info.is_some() {
            description["userinfo_endpoint"] = json!(format!("{url}/userinfo"));
        }
        for (name, value) in special.description.as_object().into_iter().flatten() {
            description[name] = serde_json::from_str(&value.to_string().replace("{url}", &url)).unwrap();
        }
        let provider = Arc::new(Self { url, issuer, codes: Mutex::default() });
        let user_info = async move |headers: HeaderMap| {
            assert_eq!(headers["authorization"], "Bearer opaque");
            Json(special.user_info)
        };
        let routes = Router::new()
            .route(
                &format!("{}/.well-known/openid-configuration", special.path),
                get(|| async { Json(description) }),
            )
            .route("/keys", get(|| async { Json(special.keys) }))
            .route("/userinfo", get(user_info))
            .route("/token", post(token))
            .with_state(Arc::clone(&provider));
        tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        provider
    }

    fn config(&self) -> OidcProvider {
        OidcProvider {
            id: "corp".to_owned(),
            name: "Corp".to_owned(),
            issuer: self.url.clone(),
            client_id: "atelier".to_owned(),
            client_secret: "s:cret".into(),
            scopes: vec!["openid".to_owned(), "email".to_owned()],
            just_in_time: true,
            link_verified_email: false,
            memberships: Vec::new(),
            claims: OidcClaims::default(),
            required_claims: Vec::new(),
            tenant_ids: Vec::new(),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "tests run on the real clock")]
    pub(crate) fn claims(&self, subject: &str, email: &str) -> Value {
        let now = jiff::Timestamp::now().as_second();
        json!({ "iss": self.url, "aud": "atelier", "sub": subject, "email": email, "email_verified": true,
                "name": "Ada L.", "iat": now, "exp": now + 300 })
    }
}

/// A sign-in that a browser has begun.
pub(crate) struct Begun {
    state: String,
    nonce: String,
    challenge: String,
    cookie: String,
}

pub(crate) struct Fixture {
    pub(crate) platform: Platform,
    pub(crate) provider: Arc<Provider>,
}

pub(crate) fn cookie(response: &Response, name: &str) -> Option<String> {
    let cookies = response.headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap());
    cookies
        .filter_map(|cookie| cookie.split(';').next())
        .find(|pair| pair.starts_with(name))
        .map(str::to_owned)
}

async fn begin(client: &Client, return_to: &str) -> (Begun, Url) {
    let answer = client.get(&format!("/v1/sign-in/corp?return_to={return_to}")).await.expect(302);
    let url = answer.header("location").unwrap();
    (begun(&answer, url), url.parse().unwrap())
}

/// The sign-in that a response began, which redirects the browser to the URL.
pub(crate) fn begun(answer: &Response, url: &str) -> Begun {
    let url: Url = url.parse().unwrap();
    let query: HashMap<_, _> = url.query_pairs().into_owned().collect();
    assert_eq!(query["response_type"], "code");
    assert_eq!(query["code_challenge_method"], "S256");
    Begun {
        state: query["state"].clone(),
        nonce: query["nonce"].clone(),
        challenge: query["code_challenge"].clone(),
        cookie: cookie(answer, "__Host-atelier_sign_in=")
            .or_else(|| cookie(answer, "atelier_sign_in="))
            .unwrap(),
    }
}

impl Fixture {
    pub(crate) async fn with(change: impl FnOnce(&mut OidcProvider)) -> Self {
        Self::of(Special::default(), change).await
    }

    /// A platform with a provider with these deviations.
    pub(crate) async fn of(special: Special, change: impl FnOnce(&mut OidcProvider)) -> Self {
        let provider = Provider::start(special).await;
        let mut corp = provider.config();
        change(&mut corp);
        let platform = Platform::with(|config| {
            config.public_url = Some("https://atelier.test".parse().unwrap());
            config.oidc_providers = vec![corp];
            config.passkeys = Some(PasskeyConfig { rp_id: "atelier.test".to_owned(), origins: Vec::new() });
        })
        .await;
        Self { platform, provider }
    }

    /// Signs in as the subject and returns the response to the provider's redirect.
    pub(crate) async fn sign_in(&self, claims: &Value) -> Response {
        self.sign_in_with(claims, |_, _| {}).await
    }

    /// `change` may change the claims, which have the right nonce, and the parameters of the redirect.
    pub(crate) async fn sign_in_with(
        &self,
        claims: &Value,
        change: impl FnOnce(&mut Value, &mut HashMap<&'static str, String>),
    ) -> Response {
        let (begun, _) = begin(&self.platform.client, "/studio?tab=1").await;
        self.finish(begun, claims, change).await
    }

    /// Ends a sign-in that was begun.
    pub(crate) async fn finish(
        &self,
        begun: Begun,
        claims: &Value,
        change: impl FnOnce(&mut Value, &mut HashMap<&'static str, String>),
    ) -> Response {
        let mut claims = claims.clone();
        claims["nonce"] = json!(begun.nonce);
        let mut parameters =
            HashMap::from([("code", "code-1".to_owned()), ("state", begun.state), ("cookie", begun.cookie)]);
        change(&mut claims, &mut parameters);
        self.provider.codes.lock().unwrap().insert("code-1".to_owned(), (claims, begun.challenge));
        self.callback(&parameters).await
    }

    async fn callback(&self, parameters: &HashMap<&'static str, String>) -> Response {
        let mut url: Url = "http://x/v1/sign-in/corp/callback".parse().unwrap();
        for (name, value) in parameters.iter().filter(|(name, _)| **name != "cookie") {
            url.query_pairs_mut().append_pair(name, value);
        }
        let client = match parameters.get("cookie") {
            Some(cookie) => self.platform.client.header("cookie", cookie),
            None => self.platform.client.clone(),
        };
        client.get(&format!("{}?{}", url.path(), url.query().unwrap_or_default())).await
    }

    /// A client with the session that the response began.
    pub(crate) async fn session(&self, response: &Response) -> Client {
        session(&self.platform, response).await
    }
}

async fn session(platform: &Platform, response: &Response) -> Client {
    let cookie = cookie(response, "__Host-atelier_session=").or_else(|| cookie(response, "atelier_console="));
    let secret = cookie.unwrap().split_once('=').unwrap().1.to_owned();
    let body = json!({ "credential": secret, "client_address": "203.0.113.7" });
    let service = platform.client.service("gateway");
    let granted = service.post("/internal/v1/token-exchanges", body).await.expect(200);
    platform.client.token(granted.str("access_token"))
}

/// Asserts that the sign-in failed and that the browser is told why.
#[track_caller]
pub(crate) fn assert_failed(response: &Response, slug: &str) {
    assert_eq!(response.status, 303, "{}", response.text);
    assert_eq!(response.header("location").unwrap(), format!("/studio?tab=1&sign_in_error={slug}"));
    assert_eq!(cookie(response, "__Host-atelier_session="), None);
}

#[tokio::test]
async fn a_person_signs_in_and_becomes_a_member_by_the_rules() {
    let (everyone, artists) = (TenantId::new(), TenantId::new());
    let fixture = Fixture::with(|corp| {
        let rule = |tenant, role, claim| MembershipRule { tenant, role, email_domain: None, claim };
        let group = ClaimRule { name: "groups".to_owned(), value: "artists".to_owned() };
        corp.memberships = vec![
            rule(everyone, Role::Viewer, None),
            rule(artists, Role::Member, Some(group)),
            rule(TenantId::new(), Role::Owner, None),
        ];
    })
    .await;
    let mut db = fixture.platform.db.admin().await;
    for (tenant, name) in [(everyone, "everyone"), (artists, "artists")] {
        sqlx::query("insert into identity.tenants (id, name) values ($1, $2)")
            .bind(tenant.uuid())
            .bind(name)
            .execute(&mut db)
            .await
            .unwrap();
    }
    let providers = fixture.platform.client.get("/v1/sign-in-providers").await.expect(200);
    assert_eq!(
        providers.body["items"],
        json!([{ "id": "corp", "name": "Corp", "path": "/v1/sign-in/corp" }])
    );

    let mut claims = fixture.provider.claims("ada", "ada@corp.test");
    let answer = fixture.sign_in(&claims).await.expect(303);
    assert_eq!(answer.header("location"), Some("/studio?tab=1"));
    assert_eq!(cookie(&answer, "__Host-atelier_sign_in="), Some("__Host-atelier_sign_in=".to_owned()));
    let me = fixture.session(&answer).await.get("/v1/me").await.expect(200);
    assert_eq!(me.body["user"]["email"], "ada@corp.test");
    assert_eq!(me.body["user"]["display_name"], "Ada L.");
    assert_eq!(me.str("tenant_id"), everyone.to_string());
    let id = me.body["user"]["id"].clone();

    // the same person with another address, and in a group since
    claims["email"] = json!("ada@elsewhere.test");
    claims["groups"] = json!(["artists"]);
    let answer = fixture.sign_in(&claims).await.expect(303);
    let me = fixture.session(&answer).await.get("/v1/me").await.expect(200);
    assert_eq!((&me.body["user"]["id"], &me.body["user"]["email"]), (&id, &json!("ada@corp.test")));
    let roles: Vec<_> =
        me.body["memberships"].as_array().unwrap().iter().map(|m| m["role"].clone()).collect();
    assert_eq!(roles, ["viewer", "member"]);
    // the account has a random password, which is not kept
    let body = json!({ "email": "ada@corp.test", "password": PASSWORD });
    fixture.platform.client.post("/v1/sessions", body).await.expect_problem(401, "wrong-credentials");
    let admin = fixture.platform.admin().await;
    let disabled = format!("/v1/users/{}", id.as_str().unwrap());
    let _ = admin.patch(&disabled, "*", json!({ "disabled": true })).await.expect(200);
    assert_failed(&fixture.sign_in(&claims).await, "user-disabled");
}

#[tokio::test]
async fn an_address_alone_opens_no_account() {
    let fixture = Fixture::with(|_| {}).await;
    // the administrator's e-mail address, verified or not
    let mut claims = fixture.provider.claims("mallory", ADMIN);
    assert_failed(&fixture.sign_in(&claims).await, "email-taken");
    claims["email_verified"] = json!(false);
    assert_failed(&fixture.sign_in(&claims).await, "no-account");
    claims["email"] = json!("new@corp.test");
    assert_failed(&fixture.sign_in(&claims).await, "no-account");

    let linking = Fixture::with(|corp| corp.link_verified_email = true).await;
    assert_failed(
        &linking
            .sign_in(&{
                let mut claims = linking.provider.claims("mallory", ADMIN);
                claims["email_verified"] = json!(false);
                claims
            })
            .await,
        "no-account",
    );
    let answer = linking.sign_in(&linking.provider.claims("boss", "Admin@Atelier.test")).await.expect(303);
    let me = linking.session(&answer).await.get("/v1/me").await.expect(200);
    assert_eq!((&me.body["user"]["email"], &me.body["user"]["admin"]), (&json!(ADMIN), &json!(true)));

    let closed = Fixture::with(|corp| corp.just_in_time = false).await;
    let claims = closed.provider.claims("ada", "ada@corp.test");
    assert_failed(&closed.sign_in(&claims).await, "no-account");
}

#[tokio::test]
async fn a_token_for_another_sign_in_is_refused() {
    let fixture = Fixture::with(|_| {}).await;
    let claims = fixture.provider.claims("ada", "ada@corp.test");
    let stranger = Issuer::with_new_key().await;
    let past = claims["exp"].as_i64().unwrap() - 1000;
    type Change = Box<dyn FnOnce(&mut Value, &mut HashMap<&'static str, String>)>;
    let attacks: Vec<(&str, Change)> = vec![
        ("another nonce", Box::new(|claims, _| claims["nonce"] = json!("x"))),
        ("no nonce", Box::new(|claims, _| claims["nonce"] = Value::Null)),
        ("another audience", Box::new(|claims, _| claims["aud"] = json!("other"))),
        ("another issuer", Box::new(|claims, _| claims["iss"] = json!("https://evil.test"))),
        ("another party", Box::new(|claims, _| claims["azp"] = json!("other"))),
        ("expired", Box::new(move |claims, _| claims["exp"] = json!(past))),
        ("no subject", Box::new(|claims, _| drop(claims.as_object_mut().unwrap().remove("sub")))),
        ("another key", Box::new(move |claims, _| *claims = json!(stranger.sign(claims)))),
        (
            "alg none",
            Box::new(|claims, _| {
                let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
                *claims =
                    json!(format!("{}.{}.", part(&json!({ "alg": "none", "kid": "test" })), part(claims)));
            }),
        ),
        ("another code", Box::new(|_, parameters| drop(parameters.insert("code", "code-2".to_owned())))),
        (
            "another provider",
            Box::new(|_, parameters| drop(parameters.insert("iss", "https://evil.test".to_owned()))),
        ),
        (
            "no code",
            Box::new(|_, parameters| {
                parameters.remove("code");
                parameters.insert("error", "access_denied".to_owned());
            }),
        ),
    ];
    for (what, change) in attacks {
        let answer = fixture.sign_in_with(&claims, change).await;
        assert_eq!(answer.header("location"), Some("/studio?tab=1&sign_in_error=sign-in-failed"), "{what}");
        assert_failed(&answer, "sign-in-failed");
    }
    for (what, name, value) in [
        ("another state", "state", Some("x")),
        ("no state", "state", None),
        ("another browser", "cookie", None),
        ("a cookie of no sign-in", "cookie", Some("__Host-atelier_sign_in=x.y")),
    ] {
        let answer = fixture.sign_in_with(&claims, |_, parameters| match value {
            Some(value) => drop(parameters.insert(name, value.to_owned())),
            None => drop(parameters.remove(name)),
        });
        let answer = answer.await.expect_problem(401, "sign-in-failed");
        assert_eq!(answer.header("set-cookie"), None, "{what}");
    }
    let mut db = fixture.platform.db.admin().await;
    let users: i64 =
        sqlx::query_scalar("select count(*) from identity.users").fetch_one(&mut db).await.unwrap();
    assert_eq!(users, 1, "the administrator alone");
    // a code is redeemed once, also with the right cookie
    let (begun, _) = begin(&fixture.platform.client, "/studio?tab=1").await;
    let mut claims = claims.clone();
    claims["nonce"] = json!(begun.nonce);
    fixture.provider.codes.lock().unwrap().insert("code-3".to_owned(), (claims, begun.challenge));
    let parameters =
        HashMap::from([("code", "code-3".to_owned()), ("state", begun.state), ("cookie", begun.cookie)]);
    let _ = fixture.callback(&parameters).await.expect(303);
    assert_failed(&fixture.callback(&parameters).await, "sign-in-failed");
}

#[tokio::test]
async fn a_browser_is_sent_to_paths_of_the_platform_only() {
    let fixture = Fixture::with(|_| {}).await;
    for bad in ["//evil.test", "https://evil.test", "/%5Cevil.test", "evil"] {
        let path = format!("/v1/sign-in/corp?return_to={bad}");
        fixture.platform.client.get(&path).await.expect_problem(422, "invalid-field");
    }
    fixture.platform.client.get("/v1/sign-in/other").await.expect_problem(404, "not-found");
    fixture.platform.client.get("/v1/sign-in/other/callback?state=x").await.expect_problem(404, "not-found");
    let _ = fixture.platform.client.get("/v1/sign-in/corp").await.expect(302);
}

/// The program `oidc-provider` of npm, in the folder of TEST_OIDC_PROVIDER (`cargo xtask test` installs it).
#[tokio::test]
async fn a_person_signs_in_with_a_real_provider() {
    let Some(folder) = std::env::var_os("TEST_OIDC_PROVIDER") else {
        eprintln!("skipped: no OpenID provider (TEST_OIDC_PROVIDER)");
        return;
    };
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/oidc-provider.mjs");
    let mut program = tokio::process::Command::new("node");
    // the module is found beside the script
    let place = std::path::Path::new(&folder).join(format!("provider-{port}.mjs"));
    std::fs::copy(script, &place).unwrap();
    program.arg(&place).arg(port.to_string()).current_dir(&folder);
    let _program = program.stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).spawn().unwrap();
    let issuer = format!("http://127.0.0.1:{port}");
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    testkit::within(Duration::from_secs(30), "the provider answers", async || {
        let url = format!("{issuer}/.well-known/openid-configuration");
        http.get(url).send().await.ok().filter(|answer| answer.status().is_success()).map(drop)
    })
    .await;
    std::fs::remove_file(&place).unwrap();

    let platform = Platform::with(|config| {
        config.public_url = Some("http://atelier.test".parse().unwrap());
        config.oidc_providers = vec![OidcProvider {
            id: "corp".to_owned(),
            name: "Corp".to_owned(),
            issuer: issuer.clone(),
            client_id: "atelier".to_owned(),
            client_secret: "dev-secret".into(),
            scopes: ["openid", "email", "profile"].map(str::to_owned).to_vec(),
            just_in_time: true,
            link_verified_email: false,
            memberships: Vec::new(),
            claims: OidcClaims::default(),
            required_claims: Vec::new(),
            tenant_ids: Vec::new(),
        }];
    })
    .await;
    let (begun, url) = begin(&platform.client, "/home").await;

    // acts as a browser: follows redirects, keeps cookies, submits the two forms
    let mut cookies: HashMap<String, String> = HashMap::new();
    let (mut next, mut forms) = (url, ["prompt=login&login=ada&password=x", "prompt=consent"].into_iter());
    while !next.as_str().starts_with("http://atelier.test/") {
        let is_form = next.path().starts_with("/interaction/");
        let request = match is_form {
            true => http.post(next.clone()).body(forms.next().expect("no third form")),
            false => http.get(next.clone()),
        };
        let jar: Vec<_> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = request.header("cookie", jar.join("; "));
        let answer =
            request.header("content-type", "application/x-www-form-urlencoded").send().await.unwrap();
        for cookie in answer.headers().get_all("set-cookie") {
            let (name, value) = cookie.to_str().unwrap().split(';').next().unwrap().split_once('=').unwrap();
            // it also removes those of earlier steps, whose paths differ
            if !value.is_empty() {
                cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        let location = answer.headers().get("location").unwrap_or_else(|| panic!("{next} does not redirect"));
        next = next.join(location.to_str().unwrap()).unwrap();
    }
    let path = format!("{}?{}", next.path(), next.query().unwrap());
    let answer = platform.client.header("cookie", &begun.cookie).get(&path).await.expect(303);
    assert_eq!(answer.header("location"), Some("/home"));
    let me = session(&platform, &answer).await.get("/v1/me").await.expect(200);
    assert_eq!(me.body["user"]["email"], "ada@example.test");
    // the provider redeems the code once
    let again = platform.client.header("cookie", &begun.cookie).get(&path).await.expect(303);
    assert_eq!(again.header("location"), Some("/home?sign_in_error=sign-in-failed"));
    eventually("the session is listed", async || {
        let mut db = platform.db.admin().await;
        let open: i64 =
            sqlx::query_scalar("select count(*) from identity.sessions where cookie_hash is not null")
                .fetch_one(&mut db)
                .await
                .unwrap();
        (open == 1).then_some(())
    })
    .await;
}
