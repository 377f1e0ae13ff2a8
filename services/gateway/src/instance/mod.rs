//! Traffic of instances: `inst-<hex>.<apps domain>`, and `p<port>-inst-<hex>.<apps domain>` of their public ports.
//!
//! A user opens an instance with a ticket (`POST /v1/instances/{id}/tickets` returns its URL). The browser brings the
//! ticket to the instance's own host name, where it is exchanged, once, for a session cookie of that host. The cookie
//! is a token signed by the gateway for one instance, tenant and user. A request without one, with one for another
//! instance, or for an instance that does not exist gets the same response, before any other service is asked.
//!
//! A public port has a cookie of its own, unless its user has opened it to everyone: for such host names the gpu service is
//! asked first, and the response is the same if there is no such instance or port.
//!
//! **Cookies of siblings.** Pages of another instance belong to its user, and could try to set our cookie for the
//! domain above both (`Domain=<apps domain>`):
//! - with `https`, the name's prefix `__Host-` makes browsers refuse any `Domain`;
//! - under `localhost`, browsers refuse `Domain=localhost`, a name without a dot;
//! - of several cookies with our name any valid one counts, and a cookie for another instance is not valid;
//! - the gateway removes `Domain` from the cookies that instances set, and drops cookies with our name.
//!
//! **Requests of other pages.** Browsers may treat siblings as one site, and then send the cookie with requests of
//! another instance's page. A request that changes something or opens a WebSocket must therefore come from the
//! instance's own pages if it has an `Origin`. What others may read is up to the instance (CORS), as for any page.
//!
//! A cookie is valid for eight hours, or until the rights with which the instance was opened end: then open connections
//! are cut too. That the instance still exists and still belongs to the tenant is checked with each request.

mod activity;
mod cookie;
mod forward;
mod page;
mod routes;
mod session;

use api::{Problem, ProblemType};
use auth::{HasAuth, Refused};
use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use clients::gpu::{self, HostLabel};

pub(crate) use self::activity::Reporter;
use crate::{connection_info::ConnectionInfo, error::Error, state::AppState};
use cookie::Cookies;
use routes::Routes;

/// Paths of the gateway itself on an instance's host.
const RESERVED: &str = "/.atelier/";
/// Where a ticket is exchanged for a cookie.
const SESSION_PATH: &str = "/.atelier/session";

/// Serves the host names of instances.
pub(crate) struct Instances {
    state: AppState,
    gpu: gpu::Client,
    routes: Routes,
    cookies: Cookies,
}

impl Instances {
    /// # Errors
    /// If no cookie key is configured, or one is not valid.
    pub(crate) fn new(state: AppState, http: reqwest::Client) -> anyhow::Result<Self> {
        let config = &state.config;
        let gpu = gpu_client(&state, http);
        let cookies = Cookies::new(&config.cookie_keys, config.public_url.scheme() == "https")?;
        Ok(Self { routes: Routes::new(gpu.clone()), gpu, cookies, state })
    }

    /// Answers a request to the host name with this first label.
    pub(crate) async fn handle(
        &self,
        label: &str,
        connection: &ConnectionInfo,
        request: Request,
    ) -> Response {
        let path = request.uri().path();
        let response = if path == SESSION_PATH {
            let (parts, _) = request.into_parts();
            self.open_session(label, connection, &parts).await
        } else if path.starts_with(RESERVED) {
            Err(Error::NoSuchRoute)
        } else {
            self.authorize_and_forward(label, connection, request).await
        };
        response.unwrap_or_else(IntoResponse::into_response)
    }

    async fn authorize_and_forward(
        &self,
        label: &str,
        connection: &ConnectionInfo,
        request: Request,
    ) -> Result<Response, Error> {
        let Some(host) = HostLabel::parse(label) else { return Ok(self.not_opened(request.headers())) };
        let Some(session) = self.cookies.find(request.headers(), host) else {
            return self.forward_public(host, label, connection, request).await;
        };
        let revocations = self.state.auth().verifier.revocations();
        match revocations.check(&session.grant()) {
            Ok(()) => {}
            Err(Refused::Revoked) => return self.forward_public(host, label, connection, request).await,
            Err(unknown @ Refused::Unknown) => {
                return Err(Error::ServiceUnavailable { service: "identity", source: unknown.into() });
            }
        }
        match self.routes.find(label).await.map_err(gpu_unavailable)? {
            Some(route)
                if route.instance_id == session.host.instance && route.tenant_id == session.tenant =>
            {
                let (not_opened, grant) = (self.not_opened(request.headers()), session.grant());
                tokio::select! {
                    sent = self.forward(label, &route, connection, request, Some(grant)) => sent,
                    () = revocations.ended(grant) => Ok(not_opened),
                }
            }
            _ => Ok(self.not_opened(request.headers())),
        }
    }

    /// Forwards a request without a session, if it is for a port that is open to everyone.
    async fn forward_public(
        &self,
        host: HostLabel,
        label: &str,
        connection: &ConnectionInfo,
        request: Request,
    ) -> Result<Response, Error> {
        if host.port.is_none() {
            return Ok(self.not_opened(request.headers()));
        }
        match self.routes.find(label).await.map_err(gpu_unavailable)? {
            Some(route) if !route.sign_in => self.forward(label, &route, connection, request, None).await,
            _ => Ok(self.not_opened(request.headers())),
        }
    }

    /// The same response without a valid cookie and for an instance that does not exist.
    fn not_opened(&self, headers: &HeaderMap) -> Response {
        let mut response = if page::is_wanted(headers) {
            (StatusCode::UNAUTHORIZED, page::not_opened(&self.state.config.public_url)).into_response()
        } else {
            Problem::new(
                ProblemType::NotOpened,
                "The request has no valid cookie for this host name, or no instance has this name.",
            )
            .into_response()
        };
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

/// The client of the gpu service.
pub(crate) fn gpu_client(state: &AppState, http: reqwest::Client) -> gpu::Client {
    let config = &state.config;
    let endpoint = clients::Endpoint { url: config.services.gpu.clone(), token: config.gpu_token.clone() };
    gpu::Client::new(http, endpoint)
}

fn gpu_unavailable(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::ServiceUnavailable { service: "gpu", source: error.into() }
}
