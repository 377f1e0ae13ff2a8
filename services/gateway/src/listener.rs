//! The public listener: a bounded number of connections, time limits for slow clients, graceful shutdown.

use std::{
    convert::Infallible,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use axum::{
    body::Body,
    extract::ConnectInfo,
    http::{HeaderValue, StatusCode, Version, header},
};
use hyper::{Request, Response, body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use service::Shutdown;
use socket2::{SockRef, TcpKeepalive};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_util::sync::CancellationToken;

use crate::{
    concurrency::Concurrency,
    limits::{Limits, network},
    transport::Transport,
};

/// Pause after an accept that failed, for example because the process has no file descriptors left.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// Time without a byte after which a client is probed.
const PROBE_AFTER: Duration = Duration::from_secs(60);
/// Time between two probes.
const PROBE_INTERVAL: Duration = Duration::from_secs(15);

/// How connections are served.
struct Server<A> {
    /// Open connections of each client address (an IPv6 address by its /64).
    open: Concurrency<IpAddr>,
    builder: auto::Builder<TokioExecutor>,
    /// Answers a request.
    answer: A,
    transport: Transport,
    /// Time for a connection to send the head of its first request.
    head_timeout: Duration,
    shutdown: Shutdown,
}

/// Serves until `shutdown` begins. Each connection then ends after its current request.
pub(crate) async fn serve<A, F>(
    listener: TcpListener,
    answer: A,
    transport: Transport,
    limits: &Limits,
    shutdown: &Shutdown,
) where
    A: Fn(Request<Body>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let token = shutdown.token();
    let server = Arc::new(Server {
        open: Concurrency::new(limits.connections_per_address),
        builder: builder(limits),
        answer,
        transport,
        head_timeout: Duration::from_secs(limits.head_seconds.into()),
        shutdown: shutdown.clone(),
    });
    let permits = Arc::new(Semaphore::new(limits.connections.max(1)));
    loop {
        let accept = async {
            // the permit comes first: a connection that cannot be served stays in the kernel's queue
            let permit = Arc::clone(&permits).acquire_owned().await;
            (listener.accept().await, permit)
        };
        let Some((accepted, permit)) = token.run_until_cancelled(accept).await else { return };
        match accepted {
            Ok((stream, peer)) => {
                let server = Arc::clone(&server);
                shutdown.track(async move {
                    server.serve(stream, peer).await;
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                token.run_until_cancelled(tokio::time::sleep(ACCEPT_RETRY)).await;
            }
        }
    }
}

fn builder(limits: &Limits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(limits.head_seconds.into()))
        .max_buf_size(limits.head_bytes.max(8192))
        .max_headers(128);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(128)
        .max_header_list_size(u32::try_from(limits.head_bytes).unwrap_or(u32::MAX))
        .keep_alive_interval(Duration::from_secs(30));
    builder
}

impl<A, F> Server<A>
where
    A: Fn(Request<Body>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    async fn serve(self: Arc<Self>, stream: TcpStream, peer: SocketAddr) {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "cannot set TCP_NODELAY");
        }
        // an unreachable client must not keep its instance in use
        let probes = TcpKeepalive::new().with_time(PROBE_AFTER).with_interval(PROBE_INTERVAL);
        if let Err(error) = SockRef::from(&stream).set_tcp_keepalive(&probes) {
            tracing::debug!(%error, "cannot set SO_KEEPALIVE");
        }
        let ending = self.shutdown.token();
        let opened = ending.run_until_cancelled(self.transport.open(stream, peer)).await;
        let (stream, peer) = match opened {
            Some(Ok(opened)) => opened,
            Some(Err(error)) => {
                return tracing::debug!(error = %api::ErrorChain(&error), %peer, "connection closed");
            }
            None => return,
        };
        let Some(_open) = self.open.take(network(peer.ip())) else {
            return tracing::debug!(%peer, "too many connections from this address");
        };
        let first_request = CancellationToken::new();
        let arrived = first_request.clone();
        let server = Arc::clone(&self);
        let service = service_fn(move |request: Request<Incoming>| {
            arrived.cancel();
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            let is_http1 = request.version() <= Version::HTTP_11;
            let (response, server) = ((server.answer)(request), Arc::clone(&server));
            async move {
                let mut response = response.await;
                if is_http1
                    && server.shutdown.is_draining()
                    && response.status() != StatusCode::SWITCHING_PROTOCOLS
                {
                    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Infallible>(response)
            }
        });
        let mut connection = pin!(self.builder.serve_connection_with_upgrades(TokioIo::new(stream), service));
        // hyper's timeout starts once the protocol is known, which needs bytes from the client
        let silent = async {
            if tokio::time::timeout(self.head_timeout, first_request.cancelled()).await.is_ok() {
                std::future::pending::<()>().await;
            }
        };
        let result = tokio::select! {
            result = connection.as_mut() => result,
            () = silent => return tracing::debug!(%peer, "connection without a request closed"),
            () = ending.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = result {
            tracing::debug!(%error, %peer, "connection failed");
        }
    }
}
