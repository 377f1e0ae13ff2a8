//! Forwards one request to one address: streams bodies both ways, and the bytes of connections that switch protocols
//! (WebSocket).

use std::{io, time::Duration};

use api::{Problem, ProblemType};
use axum::{
    body::{Body, HttpBody},
    http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Uri, Version, header},
};
use futures::{StreamExt, stream};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use service::Shutdown;

use crate::{
    connection_info::ConnectionInfo,
    headers,
    upstream::{Pool, Unanswered, UpstreamBody},
};

/// Sends requests to the upstreams.
pub(crate) struct Proxy {
    pool: Pool,
    shutdown: Shutdown,
}

/// The connection on which a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Via {
    /// A pooled one, if there is one. The upstream may close it at that moment.
    Pool,
    /// A new one.
    NewConnection,
}

/// An upstream that returned no response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot connect")]
    Connect(#[source] io::Error),
    /// The upstream may have received the request.
    #[error("the connection ended before the response")]
    Interrupted(#[source] hyper::Error),
    #[error("no response in time")]
    TimedOut,
    #[error("the request cannot be forwarded")]
    NotForwardable,
}

impl Error {
    /// The problem of a request that `service` did not answer.
    pub(crate) fn problem(self, service: &str) -> Problem {
        match self {
            Self::Connect(_) | Self::Interrupted(_) => {
                Problem::unavailable(&format!("The {service} service"), self)
            }
            Self::TimedOut => Problem::new(
                ProblemType::NoAnswer,
                format!("The {service} service did not respond in time. The request may have taken effect."),
            )
            .caused_by(format!("the {service} service did not respond in time")),
            Self::NotForwardable => Problem::bad_request("The request cannot be forwarded."),
        }
    }
}

impl Proxy {
    /// Switched connections are closed when `shutdown` begins.
    pub(crate) fn new(shutdown: Shutdown) -> Self {
        Self { pool: Pool::default(), shutdown }
    }

    /// Closes connections that have been idle for too long.
    pub(crate) fn close_idle(&self) {
        self.pool.close_idle();
    }

    /// Sends the request to `authority` (`host:port`) with its path and query unchanged. Returns the response once its
    /// head has arrived, within `timeout` if there is one. Removes hop-by-hop headers both ways and sets the
    /// `X-Forwarded-…` headers; all other headers are up to the caller.
    ///
    /// A switched connection is closed when `end` completes.
    ///
    /// # Errors
    /// If no response arrives.
    pub(crate) async fn send(
        &self,
        mut request: Request<Body>,
        authority: &str,
        via: Via,
        connection: &ConnectionInfo,
        timeout: Option<Duration>,
        end: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Response<Body>, Error> {
        let protocol = headers::upgrade(request.headers()).filter(|_| request.version() == Version::HTTP_11);
        let client_side = protocol.is_some().then(|| hyper::upgrade::on(&mut request));
        let request = upstream_request(request, connection, protocol);

        let response = self.exchange(request, authority, via);
        let mut response = match timeout {
            Some(timeout) => tokio::time::timeout(timeout, response).await.map_err(|_| Error::TimedOut)?,
            None => response.await,
        }?;

        // the client's connection has its own version
        *response.version_mut() = Version::HTTP_11;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            let client_side = client_side.ok_or(Error::NotForwardable)?;
            self.join(client_side, hyper::upgrade::on(&mut response), end);
            let protocol = response.headers().get(header::UPGRADE).cloned();
            headers::strip_hop_by_hop(response.headers_mut());
            set_upgrade(response.headers_mut(), protocol);
            return Ok(response.map(|_| Body::empty()));
        }
        headers::strip_hop_by_hop(response.headers_mut());
        // an upstream cannot advertise alternatives for the gateway's address
        response.headers_mut().remove(HeaderName::from_static("alt-svc"));
        Ok(response.map(Body::new))
    }

    /// Sends the request on a connection that accepts it. A request that was not sent is sent on another connection.
    async fn exchange(
        &self,
        mut request: Request<Body>,
        authority: &str,
        via: Via,
    ) -> Result<Response<UpstreamBody>, Error> {
        while via == Via::Pool
            && let Some(connection) = self.pool.reuse(authority)
        {
            match connection.send(request).await {
                Ok(response) => return Ok(response),
                Err(Unanswered { request: Some(unsent), .. }) => request = unsent,
                Err(Unanswered { error, request: None }) => return Err(Error::Interrupted(error)),
            }
        }
        let connection = Box::pin(self.pool.connect(authority)).await.map_err(Error::Connect)?;
        connection.send(request).await.map_err(|unanswered| Error::Interrupted(unanswered.error))
    }

    /// Copies bytes both ways until both sides have ended, one fails, `end` completes, or shutdown begins.
    fn join(&self, client: OnUpgrade, server: OnUpgrade, end: impl Future<Output = ()> + Send + 'static) {
        let token = self.shutdown.token();
        self.shutdown.track(async move {
            tokio::select! {
                () = copy_both_ways(client, server) => {}
                () = end => {}
                () = token.cancelled() => {}
            }
        });
    }
}

/// Aborts the body when `end` completes: the client sees that it is incomplete.
pub(crate) fn cut_when(body: Body, end: impl Future<Output = ()> + Send + 'static) -> Body {
    if body.is_end_stream() {
        return body;
    }
    let parts = stream::unfold(Some((body.into_data_stream(), Box::pin(end))), |rest| async {
        let (mut data, mut end) = rest?;
        tokio::select! {
            biased;
            () = &mut end => Some((Err(axum::Error::new(RightsEnded)), None)),
            part = data.next() => Some((part?, Some((data, end)))),
        }
    });
    Body::from_stream(parts)
}

/// The rights of the caller ended during the response.
#[derive(Debug, thiserror::Error)]
#[error("the caller's rights ended")]
struct RightsEnded;

fn upstream_request(
    request: Request<Body>,
    connection: &ConnectionInfo,
    protocol: Option<HeaderValue>,
) -> Request<Body> {
    let (mut parts, body) = request.into_parts();
    // from HTTP/2 and from the absolute form; an upstream expects the origin form
    if parts.uri.authority().is_some() {
        parts.uri = parts.uri.path_and_query().cloned().map_or_else(|| Uri::from_static("/"), Uri::from);
    }
    parts.version = Version::HTTP_11;
    parts.extensions.clear();
    headers::strip_hop_by_hop(&mut parts.headers);
    headers::set_forwarded(&mut parts.headers, connection);
    if protocol.is_some() {
        set_upgrade(&mut parts.headers, protocol);
    }
    Request::from_parts(parts, body)
}

fn set_upgrade(headers: &mut HeaderMap, protocol: Option<HeaderValue>) {
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    if let Some(protocol) = protocol {
        headers.insert(header::UPGRADE, protocol);
    }
}

async fn copy_both_ways(client: OnUpgrade, server: OnUpgrade) {
    let (client, server) = match tokio::try_join!(client, server) {
        Ok(both) => both,
        Err(error) => return tracing::debug!(%error, "connection did not switch protocols"),
    };
    let (mut client, mut server) = (TokioIo::new(client), TokioIo::new(server));
    if let Err(error) = tokio::io::copy_bidirectional(&mut client, &mut server).await {
        tracing::debug!(%error, "switched connection failed");
    }
}
