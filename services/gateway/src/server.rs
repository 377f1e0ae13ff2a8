//! The public listener: connections within bounds, and an end that lets requests finish.

use std::{net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::{Router, body::Body, extract::ConnectInfo};
use hyper::{Request, body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use service::Shutdown;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::config::Limits;

/// Serves until `shutdown` begins. Each connection then ends after the request it is at.
pub(crate) async fn serve(listener: TcpListener, router: Router, limits: &Limits, shutdown: &Shutdown) {
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
    let (builder, token) = (Arc::new(builder), shutdown.token());
    let patience = Duration::from_secs(limits.head_seconds.into());
    let connections = Arc::new(Semaphore::new(limits.connections.max(1)));
    loop {
        let accepted = async {
            // the permit comes first: what cannot be served stays in the kernel's queue
            let permit = Arc::clone(&connections).acquire_owned().await;
            (listener.accept().await, permit)
        };
        let Some((accepted, permit)) = token.run_until_cancelled(accepted).await else { return };
        match accepted {
            Ok((stream, peer)) => {
                let (builder, router, token) = (Arc::clone(&builder), router.clone(), token.clone());
                shutdown.track(async move {
                    connection(stream, peer, &builder, router, patience, &token).await;
                    drop(permit);
                });
            }
            Err(error) => {
                // the process is out of files, say: give it a moment rather than spin
                tracing::warn!(%error, "a connection could not be accepted");
                token.run_until_cancelled(tokio::time::sleep(Duration::from_millis(50))).await;
            }
        }
    }
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    builder: &auto::Builder<TokioExecutor>,
    router: Router,
    patience: Duration,
    end: &CancellationToken,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY was refused");
    }
    let asked = CancellationToken::new();
    let asks = asked.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        asks.cancel();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        let router = router.clone();
        router.oneshot(request)
    });
    let mut connection = pin!(builder.serve_connection_with_upgrades(TokioIo::new(stream), service));
    // hyper's own timer begins when it knows which protocol is spoken, which takes some bytes to tell
    let silence = async {
        if tokio::time::timeout(patience, asked.cancelled()).await.is_ok() {
            std::future::pending::<()>().await;
        }
    };
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = silence => return tracing::debug!(%peer, "a connection asked for nothing"),
        () = end.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, %peer, "a connection ended early");
    }
}
