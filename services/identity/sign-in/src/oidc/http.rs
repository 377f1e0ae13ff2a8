//! Sign-in with providers over HTTP, for browsers.

use api::{Json, Path, Problem, ProblemType, Query, audit, openapi::OpenApiRouter};
use auth::HasAuth;
use axum::{
    extract::{FromRef, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use db::Db;
use people::{authority::RecentSignIn, cookie::Cookie, session::Client, throttle::Devices};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::{
    Error, ProviderSignIn, accounts, link,
    model::{SignInProvider, SignInProviders, is_own_path, with_error},
    sign_in,
};
use crate::{
    provider::{self, Provider, SignInAttempt},
    sign_in_method::SignInMethods,
};

pub fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
    ProviderSignIn: FromRef<S>,
    RecentSignIn: FromRef<S>,
    SignInMethods: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_sign_in_providers))
        .routes(routes!(start_sign_in))
        .routes(routes!(redeem_sign_in))
        .merge(accounts::routes())
}

/// Lists the OpenID providers with whose accounts people can sign in.
#[utoipa::path(
    get, path = "/v1/sign-in-providers", operation_id = "list_sign_in_providers", tag = "sessions", security(()),
    responses((status = 200, description = "The providers", body = SignInProviders)),
)]
async fn list_sign_in_providers(State(parts): State<ProviderSignIn>) -> Json<SignInProviders> {
    let provider = |provider: &provider::OidcProvider| SignInProvider {
        id: provider.id.clone(),
        name: provider.name.clone(),
        path: format!("/v1/sign-in/{}", provider.id),
    };
    Json(SignInProviders { items: parts.providers.iter().map(provider).collect() })
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Start {
    /// Path to which the browser goes afterwards (default `/`). After a failure it has the parameter `sign_in_error`, the
    /// last segment of a problem type.
    return_to: Option<String>,
}

/// Begins a sign-in: redirects the browser to the provider.
#[utoipa::path(
    get, path = "/v1/sign-in/{provider}", operation_id = "start_sign_in", tag = "sessions", security(()),
    params(("provider" = String, Path, description = "Provider id"), Start),
    responses((status = 302, description = "To the provider")),
)]
async fn start_sign_in(
    State(parts): State<ProviderSignIn>,
    Path(provider): Path<String>,
    Query(start): Query<Start>,
) -> Result<Response, Problem> {
    let provider = parts.providers.find(&provider).ok_or_else(Problem::not_found)?;
    let return_to = start.return_to.as_deref().unwrap_or("/");
    if !is_own_path(return_to) {
        return Err(Problem::invalid_field("return_to", "must be a path of this platform"));
    }
    let attempt = SignInAttempt::begin(&provider.config.id, return_to, parts.sessions.clock.now())?;
    let url = provider.authorization_url(&attempt).await;
    let url = url.map_err(|error| Problem::unavailable("The sign-in provider", error))?;
    let cookie = attempt.cookie(&parts.sessions.cipher, parts.providers.is_secure())?;
    redirect(StatusCode::FOUND, url.as_str(), [cookie])
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Callback {
    /// `state` of the request.
    state: Option<String>,
    /// The code that the provider issued.
    code: Option<String>,
    /// Error code of the provider, if it issued no code.
    error: Option<String>,
    /// The provider.
    iss: Option<String>,
}

/// Completes a sign-in: the provider redirects the browser here. Sets the cookie of a session and redirects to the path
/// that was given at the start. Only the browser that began the sign-in can complete it, within ten minutes. After
/// `start_account_link`, it links the account instead, and the session does not change.
#[utoipa::path(
    get, path = "/v1/sign-in/{provider}/callback", operation_id = "redeem_sign_in", tag = "sessions", security(()),
    params(("provider" = String, Path, description = "Provider id"), Callback),
    responses((status = 303, description = "To the path that was given at the start")),
    extensions(("x-problems" = json!([ProblemType::SignInFailed]))),
)]
async fn redeem_sign_in(
    State(parts): State<ProviderSignIn>,
    Path(provider): Path<String>,
    Query(response): Query<Callback>,
    client: Client,
    request: audit::Request,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let provider = parts.providers.find(&provider).ok_or_else(Problem::not_found)?;
    let secure = parts.providers.is_secure();
    let given = response.state.as_deref().unwrap_or_default();
    let attempt = SignInAttempt::resume(
        &headers,
        &parts.sessions.cipher,
        secure,
        &provider.config.id,
        given,
        parts.sessions.clock.now(),
    );
    let attempt = attempt.ok_or(Error::SignInFailed)?;
    let forget = provider::forget(secure)?;
    let devices = Devices::read(&headers, &parts.sessions.cipher, secure, parts.sessions.clock.now());
    match finish(&parts, provider, &attempt, &response, &client, &request, devices).await {
        Ok(Some([session, device])) => {
            redirect(StatusCode::SEE_OTHER, &attempt.return_to, [session, device, forget])
        }
        Ok(None) => redirect(StatusCode::SEE_OTHER, &attempt.return_to, [forget]),
        Err(problem) => {
            let path = with_error(&attempt.return_to, problem.kind.slug());
            redirect(StatusCode::SEE_OTHER, &path, [forget])
        }
    }
}

/// Returns the cookies of the session and of the browser; none if an account was linked.
async fn finish(
    parts: &ProviderSignIn,
    provider: &Provider,
    attempt: &SignInAttempt,
    response: &Callback,
    client: &Client,
    request: &audit::Request,
    devices: Devices,
) -> Result<Option<[HeaderValue; 2]>, Problem> {
    let Some(code) = &response.code else {
        tracing::info!(
            provider = provider.config.id,
            error = response.error,
            "the provider refused a sign-in"
        );
        return Err(Error::SignInFailed.into());
    };
    let person = provider.redeem(attempt, code, response.iss.as_deref()).await.map_err(|error| {
        tracing::warn!(provider = provider.config.id, error = format!("{error:#}"), "sign-in failed");
        Error::SignInFailed
    })?;
    let refused = |error: &Problem| tracing::info!(provider = provider.config.id, %error, "sign-in refused");
    if let Some(intent) = attempt.link {
        link::link(&parts.sessions, provider, &person, intent, request).await.inspect_err(refused)?;
        return Ok(None);
    }
    let opened = sign_in::sign_in(parts, provider, &person, client, request).await.inspect_err(refused)?;
    let cookie = Cookie::new(parts.providers.is_secure());
    let device =
        devices.remember(&parts.sessions.cipher, parts.sessions.clock.now(), cookie, opened.email())?;
    let secret = opened.secret.ok_or_else(|| Problem::internal("a session without a cookie"))?;
    Ok(Some([cookie.set(&secret, parts.sessions.config.session_seconds)?, device]))
}

fn redirect<const N: usize>(
    status: StatusCode,
    to: &str,
    cookies: [HeaderValue; N],
) -> Result<Response, Problem> {
    let location = HeaderValue::from_str(to).map_err(Problem::internal)?;
    let mut response = (status, [(header::LOCATION, location)]).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    for cookie in cookies {
        headers.append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}
