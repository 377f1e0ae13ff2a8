//! Requests to an OpenID provider: its description, and the exchange of a code.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, bail, ensure};
use auth::{AuthConfig, ClaimNames, Verifier};
use secrecy::ExposeSecret;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::{sync::Mutex, time::Instant};
use url::Url;

use super::config::{EmailTrust, OidcProvider};
use super::{
    attempt::SignInAttempt,
    claims::{self, Claims},
    issuer,
    person::Person,
};

const TIMEOUT: Duration = Duration::from_secs(5);
/// How long a provider's discovery document is cached.
const DESCRIBED_FOR: Duration = Duration::from_secs(3600);

/// All configured providers.
pub struct Providers {
    providers: Vec<Provider>,
    /// URL at which browsers reach the platform. Set if there are providers.
    public_url: Option<Url>,
}

/// One provider.
pub struct Provider {
    pub config: OidcProvider,
    redirect_url: Url,
    http: reqwest::Client,
    verifier: Verifier,
    description: Mutex<Option<(Instant, Arc<Description>)>>,
}

/// The parts of a discovery document that are used.
#[derive(Debug, Deserialize)]
struct Description {
    issuer: String,
    authorization_endpoint: Url,
    token_endpoint: Url,
    #[serde(default)]
    userinfo_endpoint: Option<Url>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
    #[serde(default)]
    response_types_supported: Option<Vec<String>>,
    #[serde(default)]
    id_token_signing_alg_values_supported: Option<Vec<String>>,
}

impl Description {
    /// Checks that people can sign in with the provider, from its discovery document.
    fn check(&self, config: &OidcProvider) -> anyhow::Result<()> {
        let Self { issuer, .. } = self;
        ensure!(
            issuer::may_be_described_as(&config.issuer, issuer),
            "the provider names itself {issuer}, but `issuer` is {}",
            config.issuer
        );
        let only_others = |said: &Option<Vec<String>>, ours: &[&str]| {
            let said = said.as_ref().filter(|said| !said.is_empty())?;
            let is_other = said.iter().all(|one| !ours.contains(&one.as_str()));
            is_other.then(|| said.join(", "))
        };
        if let Some(theirs) = only_others(&self.id_token_signing_alg_values_supported, &auth::ALGORITHMS) {
            bail!(
                "the provider signs ID tokens with {theirs}; let it use one of {}",
                auth::ALGORITHMS.join(", ")
            );
        }
        if let Some(theirs) = only_others(&self.response_types_supported, &["code"]) {
            bail!("the provider offers the response types {theirs}; `code` is needed");
        }
        if let Some(theirs) = only_others(&self.token_endpoint_auth_methods_supported, &SECRET_METHODS) {
            bail!(
                "clients prove who they are to the provider by {theirs}; one of {} is needed",
                SECRET_METHODS.join(", ")
            );
        }
        Ok(())
    }
}

/// Client authentication methods of the platform at a provider.
const SECRET_METHODS: [&str; 2] = ["client_secret_basic", "client_secret_post"];

#[derive(Deserialize)]
struct Tokens {
    id_token: String,
    #[serde(default)]
    access_token: Option<String>,
}

impl Providers {
    /// # Errors
    /// If there are providers and no public URL, two have the same id, or one would let its users sign in as
    /// anyone.
    pub fn new(
        configured: &[OidcProvider],
        public_url: Option<&Url>,
        http: &reqwest::Client,
    ) -> anyhow::Result<Self> {
        let mut providers: Vec<Provider> = Vec::new();
        for provider in configured {
            let public = public_url.context("oidc_providers need public_url")?;
            ensure!(
                api::checks::is_dns_label(&provider.id)
                    && providers.iter().all(|p| p.config.id != provider.id),
                "oidc_providers: {:?} must be a label (a-z, 0-9, -), and unique",
                provider.id
            );
            let at = format!("oidc_providers: {}", provider.id);
            ensure!(provider.scopes.iter().any(|scope| scope == "openid"), "{at}: `scopes` need `openid`");
            ensure!(
                provider.claims.email_trust == EmailTrust::Claim || !issuer::is_for_everyone(provider),
                "{at}: anybody can have a directory, and name any address there. Name the directories in `tenant_ids`, or \
                 use `claims.email_trust = \"claim\"`"
            );
            let redirect_url = public.join(&format!("/v1/sign-in/{}/callback", provider.id))?;
            let verified = AuthConfig {
                issuer: issuer::base_url(&provider.issuer),
                audience: provider.client_id.clone(),
                jwks_url: None,
                keys_seconds: 300,
                claims: ClaimNames::default(),
                revocations: None,
            };
            providers.push(Provider {
                config: provider.clone(),
                redirect_url,
                http: http.clone(),
                verifier: Verifier::of_id_tokens(verified, http.clone()),
                description: Mutex::new(None),
            });
        }
        Ok(Self { providers, public_url: public_url.cloned() })
    }

    /// Returns the provider with this id.
    pub fn find(&self, id: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.config.id == id)
    }

    /// Returns the configurations in their order.
    pub fn iter(&self) -> impl Iterator<Item = &OidcProvider> {
        self.providers.iter().map(|provider| &provider.config)
    }

    /// Whether people with accounts of this issuer can sign in.
    pub fn has_accounts_of(&self, issuer: &str) -> bool {
        self.iter().any(|provider| issuer::has_accounts_of(provider, issuer))
    }

    /// Returns the unusable providers by id, with the reason.
    pub async fn unusable(&self) -> Vec<(&str, anyhow::Error)> {
        let mut found = Vec::new();
        for provider in &self.providers {
            if let Err(error) = provider.description().await {
                found.push((provider.config.id.as_str(), error));
            }
        }
        found
    }

    /// Whether browsers use `https`.
    pub fn is_secure(&self) -> bool {
        self.public_url.as_ref().is_none_or(|url| url.scheme() == "https")
    }
}

impl Provider {
    async fn get<T: DeserializeOwned>(&self, url: Url, token: Option<&str>) -> anyhow::Result<T> {
        let mut request = self.http.get(url).timeout(TIMEOUT);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        Ok(request.send().await?.error_for_status()?.json().await?)
    }

    async fn description(&self) -> anyhow::Result<Arc<Description>> {
        let mut known = self.description.lock().await;
        if let Some((at, description)) = &*known
            && at.elapsed() < DESCRIBED_FOR
        {
            return Ok(Arc::clone(description));
        }
        let base = issuer::base_url(&self.config.issuer);
        let url = format!("{base}/.well-known/openid-configuration").parse()?;
        let description: Arc<Description> = Arc::new(self.get(url, None).await?);
        description.check(&self.config)?;
        *known = Some((Instant::now(), Arc::clone(&description)));
        Ok(description)
    }

    /// Returns the URL that begins the sign-in at the provider.
    pub async fn authorization_url(&self, attempt: &SignInAttempt) -> anyhow::Result<Url> {
        let mut url = self.description().await?.authorization_endpoint.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.config.client_id)
            .append_pair("redirect_uri", self.redirect_url.as_str())
            .append_pair("scope", &self.config.scopes.join(" "))
            .extend_pairs(attempt.parameters());
        Ok(url)
    }

    /// Exchanges the code of the provider's response for the signed-in person. `issuer` is the response's
    /// parameter `iss`.
    ///
    /// # Errors
    /// If the provider does not answer, refuses the code, or its ID token is not valid for this sign-in.
    pub async fn redeem(
        &self,
        attempt: &SignInAttempt,
        code: &str,
        issuer: Option<&str>,
    ) -> anyhow::Result<Person> {
        let description = self.description().await?;
        // RFC 9207: the response of another provider must not be used here
        match issuer {
            Some(issuer) => {
                let is_own = issuer == description.issuer || issuer::has_accounts_of(&self.config, issuer);
                ensure!(is_own, "the response is from {issuer}");
            }
            None => ensure!(
                !description.authorization_response_iss_parameter_supported,
                "the response does not name its issuer"
            ),
        }
        let tokens = self.tokens(&description, attempt, code).await?;
        let claims = self.verifier.claims(&tokens.id_token).await;
        let mut claims = claims.map_err(|problem| anyhow::anyhow!("ID token: {}", problem.detail))?;
        ensure!(claims.get("nonce").and_then(Value::as_str) == Some(attempt.nonce.as_str()), "another nonce");
        let issuer = issuer::of_token(&self.config, &description.issuer, &claims)?;
        let is_for_several = matches!(claims.get("aud"), Some(Value::Array(all)) if all.len() > 1);
        let party = claims.get("azp").and_then(Value::as_str);
        let is_ours = party.map_or(!is_for_several, |party| party == self.config.client_id);
        ensure!(is_ours, "issued to another client");
        if self.needs_user_info(&claims)
            && let (Some(url), Some(token)) = (&description.userinfo_endpoint, &tokens.access_token)
        {
            match self.get::<Claims>(url.clone(), Some(token)).await {
                Ok(more) => {
                    ensure!(more.get("sub") == claims.get("sub"), "the user info is of another subject");
                    claims::add_user_info(&mut claims, more, &self.config.claims);
                }
                Err(error) if claims::find(&claims, &self.config.claims.email).is_none() => {
                    return Err(error.context("user info"));
                }
                Err(error) => {
                    let id = &self.config.id;
                    tracing::warn!(
                        provider = id,
                        error = format!("{error:#}"),
                        "signed in without the user info"
                    );
                }
            }
        }
        Person::of(issuer, claims, &self.config.claims).context("no subject")
    }

    /// Whether the ID token lacks something that the configuration names.
    fn needs_user_info(&self, claims: &Claims) -> bool {
        let OidcProvider { claims: names, memberships, required_claims, .. } = &self.config;
        let lacks = |path: &str| claims::find(claims, path).is_none();
        let mut rules = memberships.iter().filter_map(|rule| rule.claim.as_ref()).chain(required_claims);
        lacks(&names.email)
            || names.email_trust == EmailTrust::Claim && lacks(&names.email_verified)
            || rules.any(|rule| lacks(&rule.name))
    }

    async fn tokens(
        &self,
        description: &Description,
        attempt: &SignInAttempt,
        code: &str,
    ) -> anyhow::Result<Tokens> {
        let (id, secret) = (self.config.client_id.as_str(), self.config.client_secret.expose_secret());
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", self.redirect_url.as_str()),
            ("code_verifier", &attempt.code_verifier),
        ];
        // RFC 6749: every provider supports Basic, unless its metadata excludes it
        let methods = description.token_endpoint_auth_methods_supported.as_ref();
        let basic = methods.is_none_or(|methods| methods.iter().any(|one| one == "client_secret_basic"));
        let request = self.http.post(description.token_endpoint.clone()).timeout(TIMEOUT);
        let request = if basic {
            let encoded =
                |text: &str| -> String { url::form_urlencoded::byte_serialize(text.as_bytes()).collect() };
            request.basic_auth(encoded(id), Some(encoded(secret)))
        } else {
            form.extend([("client_id", id), ("client_secret", secret)]);
            request
        };
        Ok(request.form(&form).send().await?.error_for_status()?.json().await?)
    }
}
