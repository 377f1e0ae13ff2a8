//! The choice between the platform's routes and an instance, by host name alone.

use std::sync::Arc;

use axum::{
    Router,
    extract::Request,
    http::{HeaderValue, Method, header},
    response::{IntoResponse, Response},
};
use service::RouteName;

use crate::{
    connection_info::ConnectionInfo, cors::Cors, host_names::HostNames, instance::Instances,
    oneshot::oneshot, refusal::Refusal, rest::Api, route_names, security_headers,
};

/// Methods that are forwarded.
const SERVED: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// The router of the public listener, by host name. The platform's routes are chosen after the host, so that `/readyz`
/// of an instance's host is the instance's own.
pub(crate) struct Hosts {
    names: HostNames,
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
    /// `pages` are the platform's routes besides the API, `hsts` the `Strict-Transport-Security` of all responses.
    ///
    /// # Errors
    /// If an allowed origin is not valid.
    pub(crate) fn new(
        names: HostNames,
        cors: &Cors,
        hsts: Option<HeaderValue>,
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
            cors.add(all)?
        };
        Ok(Self { names, platform: Platform { api, pages, with_cors }, instances, hsts })
    }

    /// Answers a request: `<label>.<apps domain>` is an instance, all else the platform.
    pub(crate) async fn answer(&self, mut request: Request) -> Response {
        let names = &self.names;
        let Some(connection) = ConnectionInfo::of(&request, names.public_url.scheme()) else {
            return Refusal::no_host().into_response();
        };
        if *request.method() == Method::CONNECT || *request.method() == Method::TRACE {
            return Refusal::method_not_served(SERVED).into_response();
        }
        let own = names.is_own(&connection.host);
        let mut response = match names.instance_label(&connection.host).filter(|_| !own) {
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
            // futures are moved into those that await them; moving a box is cheaper
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
