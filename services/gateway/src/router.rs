//! The choice between the platform's routes and an instance, by host name alone.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Router,
    extract::{Request, State},
    http::Method,
    response::{IntoResponse, Response},
};
use service::RouteName;
use tower::ServiceExt;

use crate::{connection_info::ConnectionInfo, error::Error, instance::Instances, state::AppState};

/// The platform's routes are behind the same fallback as the instances, so that `/readyz` of an instance's host is
/// the instance's own.
#[derive(Clone)]
struct Hosts {
    state: AppState,
    platform: Router,
    instances: Arc<Instances>,
}

/// Routes by host name: `<label>.<apps domain>` to an instance, all else to `platform`.
pub(crate) fn by_host(state: AppState, platform: Router, instances: Instances) -> Router {
    Router::new().fallback(route).with_state(Hosts { state, platform, instances: Arc::new(instances) })
}

async fn route(State(hosts): State<Hosts>, mut request: Request) -> Response {
    let config = &hosts.state.config;
    let Some(connection) = ConnectionInfo::of(&request, config.public_url.scheme()) else {
        return Error::NoHost.into_response();
    };
    if *request.method() == Method::CONNECT || *request.method() == Method::TRACE {
        return Error::MethodNotServed.into_response();
    }
    let own = config.public_url.host_str().is_some_and(|own| own.eq_ignore_ascii_case(&connection.host));
    match instance_label(&connection.host, &config.apps.domain).filter(|_| !own) {
        Some(label) => {
            let mut response = hosts.instances.handle(label, &connection, request).await;
            response.extensions_mut().insert(RouteName("instance"));
            response
        }
        None => {
            request.extensions_mut().insert(connection);
            let response: Result<Response, Infallible> = hosts.platform.oneshot(request).await;
            response.unwrap_or_else(|never| match never {})
        }
    }
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
