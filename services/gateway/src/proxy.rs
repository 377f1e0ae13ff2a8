//! Carrying one request to one address, and its answer back: bodies as they come, in both directions,
//! and connections that switch to another protocol (WebSocket) until either side ends them.

use std::time::Duration;

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, Request, Response, StatusCode, Uri, Version, header, uri},
};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo, TokioTimer},
};

use tokio_util::sync::CancellationToken;

use crate::headers::{self, Via};

/// The pool of connections to whatever is behind the door.
pub(crate) struct Proxy {
    client: Client<HttpConnector, Body>,
    end: CancellationToken,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Nobody listens there.
    Connect(hyper_util::client::legacy::Error),
    /// The connection broke before the answer.
    Broken(hyper_util::client::legacy::Error),
    /// The answer did not begin in time.
    Late,
    /// The request cannot be written as one.
    Request,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Connect(_) => "no connection could be made",
            Self::Broken(_) => "the connection broke before an answer came",
            Self::Late => "no answer came in time",
            Self::Request => "the request cannot be passed on",
        })
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Connect(error) | Self::Broken(error) => Some(error),
            Self::Late | Self::Request => None,
        }
    }
}

impl Proxy {
    /// Connections that have switched protocols are cut when `end` comes.
    pub(crate) fn new(end: CancellationToken) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(Duration::from_secs(2)));
        connector.set_nodelay(true);
        connector.set_keepalive(Some(Duration::from_secs(60)));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            // less than the five seconds after which common servers hang up on an idle connection
            .pool_idle_timeout(Duration::from_secs(4))
            .pool_max_idle_per_host(64)
            .build(connector);
        Self { client, end }
    }

    /// Sends the request to `authority` (`host:port`), path and query as they are, and gives the answer
    /// when its head has come, within `limit` if there is one. What belongs to a connection is left out,
    /// and what is said of the way is what `via` says; all else in the headers is the caller's to decide
    /// before and after.
    ///
    /// # Errors
    /// When no answer came.
    pub(crate) async fn send(
        &self,
        mut request: Request<Body>,
        authority: &str,
        via: &Via<'_>,
        limit: Option<Duration>,
    ) -> Result<Response<Body>, Failure> {
        let upgrade = headers::upgrade(request.headers()).filter(|_| request.version() == Version::HTTP_11);
        let client_side = upgrade.is_some().then(|| hyper::upgrade::on(&mut request));

        let (mut parts, body) = request.into_parts();
        parts.uri = Uri::builder()
            .scheme(uri::Scheme::HTTP)
            .authority(authority)
            .path_and_query(parts.uri.path_and_query().map_or("/", uri::PathAndQuery::as_str))
            .build()
            .map_err(|_| Failure::Request)?;
        parts.version = Version::HTTP_11;
        parts.extensions.clear();
        headers::strip_hop_by_hop(&mut parts.headers);
        headers::sanitize(&mut parts.headers, via);
        if let Some(protocol) = upgrade {
            parts.headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
            parts.headers.insert(header::UPGRADE, protocol);
        }

        let answer = self.client.request(Request::from_parts(parts, body));
        let answer = match limit {
            Some(limit) => tokio::time::timeout(limit, answer).await.map_err(|_| Failure::Late)?,
            None => answer.await,
        };
        let mut response = answer.map_err(|error| {
            if error.is_connect() { Failure::Connect(error) } else { Failure::Broken(error) }
        })?;

        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            let Some(client_side) = client_side else { return Err(Failure::Request) };
            let protocol = response.headers().get(header::UPGRADE).cloned();
            let server_side = hyper::upgrade::on(&mut response);
            let end = self.end.clone();
            tokio::spawn(async move { end.run_until_cancelled(join(client_side, server_side)).await });
            headers::strip_hop_by_hop(response.headers_mut());
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
            if let Some(protocol) = protocol {
                response.headers_mut().insert(header::UPGRADE, protocol);
            }
            return Ok(response.map(|_| Body::empty()));
        }
        headers::strip_hop_by_hop(response.headers_mut());
        // told by the gateway for its own connection
        response.headers_mut().remove(HeaderName::from_static("alt-svc"));
        Ok(response.map(Body::new))
    }
}

/// Carries bytes both ways until both sides have ended, or one broke.
async fn join(client: hyper::upgrade::OnUpgrade, server: hyper::upgrade::OnUpgrade) {
    let (client, server) = match tokio::try_join!(client, server) {
        Ok(both) => both,
        Err(error) => {
            tracing::debug!(%error, "a connection did not switch protocols");
            return;
        }
    };
    let (mut client, mut server) = (TokioIo::new(client), TokioIo::new(server));
    if let Err(error) = tokio::io::copy_bidirectional(&mut client, &mut server).await {
        tracing::debug!(%error, "a switched connection ended early");
    }
}
