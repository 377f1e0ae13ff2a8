//! Forwarding a request of an authorized user to the instance's pod.

use std::sync::Arc;

use axum::{
    body::{Body, HttpBody},
    extract::Request,
    http::{Method, header},
    response::Response,
};
use gpu_api::HostLabel;
use ids::TenantId;

use super::{
    Instances,
    cookie::Session,
    metrics::Outcome,
    page::{Notice, Reader},
    routes::OpenRoute,
};
use crate::{
    concurrency::Slot,
    connection_info::ConnectionInfo,
    headers,
    proxy::{self, Via},
    refusal::Refusal,
};

impl Instances {
    /// Sends the request to the instance, with the rights of `session` if it needs any, without the session cookie and without a token of the platform.
    pub(super) async fn forward(
        &self,
        host: HostLabel,
        label: &str,
        route: &Arc<OpenRoute>,
        connection: &ConnectionInfo,
        mut request: Request,
        session: Option<Session>,
    ) -> Result<Response, Refusal> {
        let Some(address) = &route.address else {
            self.metrics.count(Outcome::NotRunning);
            return Ok(self.notice(Notice::of(route), request.headers()));
        };
        let reader = Reader::of(request.headers());
        // without a cookie, a cross-origin request has no advantage
        if route.sign_in && !is_same_origin(&request, connection) {
            return Err(Refusal::cross_origin());
        }
        let slot = Arc::new(self.under_way.take(route.tenant_id).ok_or_else(Refusal::too_many_at_a_time)?);
        self.cookies.remove(request.headers_mut());
        headers::strip_tokens_of(request.headers_mut(), &self.parts.issuer);
        let copy = repeatable(&request);
        let mut sent = self.send(route, address, request, connection, session, &slot).await;
        if let Err(Failed::Over | Failed::Proxy(proxy::Error::Connect(_))) = &sent {
            self.parts.routes.forget(label).await;
            if let Some(copy) = copy
                && let Some(now) = self.parts.routes.find(host, label).await.ok().flatten()
                && now.instance_id == route.instance_id
                && now.tenant_id == route.tenant_id
            {
                match &now.address {
                    // stopped and started again since `route` was read
                    Some(address) if now.address != route.address => {
                        sent = self.send(&now, address, copy, connection, session, &slot).await;
                    }
                    Some(_) => {}
                    None => {
                        self.metrics.count(Outcome::NotRunning);
                        return Ok(self.notice_for(Notice::of(&now), reader));
                    }
                }
            }
        }
        let error = match sent {
            Ok(mut response) => {
                self.metrics.count(Outcome::Answered);
                self.cookies.guard(response.headers_mut());
                return Ok(response);
            }
            Err(Failed::Over) => {
                self.metrics.count(Outcome::Interrupted);
                return Ok(self.notice_for(Notice::Interrupted, reader));
            }
            Err(Failed::Proxy(error)) => error,
        };
        let chain = api::ErrorChain(&error);
        tracing::info!(instance.id = %route.instance_id, error = %chain, "instance unreachable");
        match error {
            error @ proxy::Error::NotForwardable => Err(error.problem("instance").into()),
            proxy::Error::Connect(_) => {
                self.metrics.count(Outcome::NotResponding);
                Ok(self.notice_for(Notice::NotResponding, reader))
            }
            proxy::Error::Interrupted(_) | proxy::Error::TimedOut => {
                self.metrics.count(Outcome::Interrupted);
                Ok(self.notice_for(Notice::Interrupted, reader))
            }
        }
    }

    /// Sends a request on a route. The response is cut when the route or the rights end.
    async fn send(
        &self,
        route: &Arc<OpenRoute>,
        address: &str,
        request: Request,
        connection: &ConnectionInfo,
        session: Option<Session>,
        slot: &Arc<Slot<TenantId>>,
    ) -> Result<Response, Failed> {
        // open for as long as the request, its response or the switched connection
        let open = (self.parts.activity.open(route.instance_id), Arc::clone(slot));
        let ended = || {
            let (revoked, over, open) = (self.revoked(route, session), route.over(), open.clone());
            async move {
                tokio::select! {
                    () = revoked => {}
                    () = over => {}
                }
                drop(open);
            }
        };
        tokio::select! {
            sent = self.parts.proxy.send(request, address, Via::Pool, connection, None, ended()) => {
                let response = sent.map_err(Failed::Proxy)?;
                Ok(response.map(|body| proxy::cut_when(body, ended())))
            }
            () = route.over() => Err(Failed::Over),
        }
    }
}

/// A request without a response.
enum Failed {
    /// The route ended before the response.
    Over,
    Proxy(proxy::Error),
}

/// Returns a copy of a request that can be sent twice: one without a body and without a protocol switch.
fn repeatable(request: &Request) -> Option<Request> {
    let bare = matches!(*request.method(), Method::GET | Method::HEAD)
        && headers::upgrade(request.headers()).is_none()
        && request.body().is_end_stream();
    bare.then(|| {
        let mut copy = Request::new(Body::empty());
        *copy.method_mut() = request.method().clone();
        *copy.uri_mut() = request.uri().clone();
        *copy.headers_mut() = request.headers().clone();
        copy
    })
}

/// Whether the request comes from a page of the instance or from no page, or is safe (it changes nothing).
fn is_same_origin(request: &Request, connection: &ConnectionInfo) -> bool {
    let safe = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if safe && headers::upgrade(request.headers()).is_none() {
        return true;
    }
    // `Origin` is `null` for forms of own pages without a referrer
    if request.headers().get("sec-fetch-site").is_some_and(|site| site == "same-origin") {
        return true;
    }
    request.headers().get(header::ORIGIN).is_none_or(|origin| {
        let own = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        own.is_some_and(|(scheme, authority)| {
            scheme == connection.scheme && authority.eq_ignore_ascii_case(&connection.authority)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: Method, headers: &[(&'static str, &'static str)]) -> Request {
        let mut request = Request::builder().method(method).uri("/path?query");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Body::empty()).unwrap()
    }

    const UPGRADE: [(&str, &str); 2] = [("connection", "upgrade"), ("upgrade", "websocket")];

    #[test]
    fn only_bare_reads_are_repeated() {
        let copy = repeatable(&request(Method::GET, &[("accept", "*/*")])).unwrap();
        assert_eq!(
            (copy.uri().to_string().as_str(), &copy.headers()["accept"]),
            ("/path?query", &"*/*".parse().unwrap())
        );
        assert!(repeatable(&request(Method::HEAD, &[])).is_some());
        assert!(repeatable(&request(Method::POST, &[])).is_none());
        assert!(repeatable(&request(Method::GET, &UPGRADE)).is_none());
        assert!(repeatable(&request(Method::GET, &[]).map(|_| Body::from("body"))).is_none());
    }

    #[test]
    fn other_origins_may_only_read() {
        let connection = ConnectionInfo {
            peer: "10.0.0.1".parse().unwrap(),
            scheme: "https".to_owned(),
            host: "inst-1.apps.test".to_owned(),
            authority: "inst-1.apps.test:8443".to_owned(),
        };
        let own = ("origin", "https://INST-1.apps.test:8443");
        let other = ("origin", "https://inst-2.apps.test:8443");
        for (method, headers, allowed) in [
            (Method::GET, vec![other], true),
            (Method::HEAD, vec![other], true),
            (Method::OPTIONS, vec![other], true),
            (Method::POST, vec![], true),
            (Method::POST, vec![own], true),
            (Method::POST, vec![other], false),
            (Method::POST, vec![("origin", "null")], false),
            (Method::POST, vec![("origin", "null"), ("sec-fetch-site", "same-origin")], true),
            (Method::POST, vec![("origin", "null"), ("sec-fetch-site", "same-site")], false),
            (Method::POST, vec![("origin", "null"), ("sec-fetch-site", "cross-site")], false),
            (Method::POST, vec![("origin", "https://inst-1.apps.test")], false),
            (Method::POST, vec![("origin", "http://inst-1.apps.test:8443")], false),
            (Method::GET, [UPGRADE.as_slice(), &[other]].concat(), false),
            (Method::GET, [UPGRADE.as_slice(), &[own]].concat(), true),
        ] {
            let request = request(method, &headers);
            assert_eq!(is_same_origin(&request, &connection), allowed, "{request:?}");
        }
    }
}
