//! The choice between the platform's routes and an instance, by host name alone.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Router,
    extract::Request,
    http::{HeaderValue, Method, header},
    response::{IntoResponse, Response},
};
use service::RouteName;
use tower::ServiceExt;

use crate::{
    connection_info::ConnectionInfo, error::Error, instance::Instances, rest::Api, route_names,
    security_headers, state::AppState,
};

/// What the public listener serves, by host name. The platform's routes are chosen after the host, so that `/readyz` of an
/// instance's host is the instance's own.
pub(crate) struct Hosts {
    state: AppState,
    platform: Platform,
    instances: Instances,
    /// `Strict-Transport-Security`, with `https`.
    hsts: Option<HeaderValue>,
}

/// The platform's own routes.
struct Platform {
    api: Arc<Api>,
    /// All but the API.
    pages: Router,
    /// Everything, with the headers for pages of other origins, if any may call the API.
    with_cors: Option<Router>,
}

impl Hosts {
    /// `pages` are the platform's routes besides the API.
    ///
    /// # Errors
    /// If an allowed origin is not valid.
    pub(crate) fn new(
        state: AppState,
        api: Api,
        pages: Router,
        instances: Instances,
    ) -> anyhow::Result<Self> {
        let api = Arc::new(api);
        let with_cors = {
            let (api, pages) = (Arc::clone(&api), pages.clone());
            let all = Router::new().fallback(move |request: Request| {
                let platform = Platform { api: Arc::clone(&api), pages: pages.clone(), with_cors: None };
                async move { platform.route(request).await }
            });
            state.config.cors.add(all)?
        };
        let hsts = security_headers::hsts(&state.config)?;
        Ok(Self { platform: Platform { api, pages, with_cors }, state, instances, hsts })
    }

    /// Answers a request: `<label>.<apps domain>` is an instance, all else the platform.
    pub(crate) async fn answer(&self, mut request: Request) -> Response {
        let config = &self.state.config;
        let Some(connection) = ConnectionInfo::of(&request, config.public_url.scheme()) else {
            return Error::NoHost.into_response();
        };
        if *request.method() == Method::CONNECT || *request.method() == Method::TRACE {
            return Error::MethodNotServed.into_response();
        }
        let own = config.public_url.host_str().is_some_and(|own| own.eq_ignore_ascii_case(&connection.host));
        let mut response = match instance_label(&connection.host, &config.apps.domain).filter(|_| !own) {
            Some(label) => {
                let mut response = Box::pin(self.instances.handle(label, &connection, request)).await;
                response.extensions_mut().insert(RouteName("instance"));
                response
            }
            None => {
                request.extensions_mut().insert(connection);
                self.platform.answer(request).await
            }
        };
        if let Some(hsts) = &self.hsts {
            response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, hsts.clone());
        }
        response
    }
}

impl Platform {
    async fn answer(&self, mut request: Request) -> Response {
        let name = route_names::of(request.uri().path());
        let method = request.method().clone();
        if let Some(name) = name {
            route_names::record(name);
            request.extensions_mut().insert(RouteName(name));
        }
        let mut response = match &self.with_cors {
            Some(all) => oneshot(all.clone(), request).await,
            // futures are moved into those that await them; a box is moved faster
            None => Box::pin(self.route(request)).await,
        };
        security_headers::add(response.headers_mut());
        if let Some(name) = name {
            self.api.answers.count(&method, name, response.status());
            response.extensions_mut().insert(RouteName(name));
        }
        response
    }

    async fn route(&self, request: Request) -> Response {
        if Api::serves(request.uri().path()) {
            return self.api.forward(request).await.unwrap_or_else(IntoResponse::into_response);
        }
        oneshot(self.pages.clone(), request).await
    }
}

/// Answers a request by a router.
pub(crate) async fn oneshot(routes: Router, request: Request) -> Response {
    let response: Result<Response, Infallible> = Box::pin(routes.oneshot(request)).await;
    response.unwrap_or_else(|never| match never {})
}

/// What precedes `.<apps domain>` in a host name. It may name no instance.
fn instance_label<'h>(host: &'h str, apps_domain: &str) -> Option<&'h str> {
    host.strip_suffix(apps_domain)?.strip_suffix('.')
}

#[cfg(test)]
mod tests {
    use super::instance_label;

    #[test]
    fn only_names_below_the_apps_domain_are_instances() {
        for (host, label) in [
            ("inst-1.apps.test", Some("inst-1")),
            ("a.b.apps.test", Some("a.b")),
            ("apps.test", None),
            ("inst-1apps.test", None),
            ("inst-1.apps.test.evil", None),
            ("other.test", None),
        ] {
            assert_eq!(instance_label(host, "apps.test"), label, "{host}");
        }
    }
}
