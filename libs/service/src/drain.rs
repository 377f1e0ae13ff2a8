//! Reads the rest of a request's body that its handler has not read. Otherwise the server closes the
//! connection after the response: a client that is still sending may lose the response, and a connection
//! shared by many callers breaks for all of them.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::Request,
    middleware::Next,
    response::Response,
};
use futures::StreamExt;
use hyper::body::{Frame, SizeHint};

/// Maximum number of bytes that are read; after more, the connection is closed.
const LIMIT: usize = 512 * 1024;
/// How long the response waits for the rest of the body.
const TIME: Duration = Duration::from_secs(1);

/// A body that the layer can read on when the handler has dropped its half.
#[derive(Clone)]
struct Shared(Arc<Mutex<Body>>);

impl HttpBody for Shared {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut body = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Pin::new(&mut *body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).size_hint()
    }
}

/// The layer. For services whose handlers do not respond before they have read what they need.
pub(crate) async fn layer(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let body = Shared(Arc::new(Mutex::new(body)));
    let response = next.run(Request::from_parts(parts, Body::new(body.clone()))).await;
    let rest = async {
        let (mut parts, mut read) = (Body::new(body).into_data_stream(), 0);
        while let Some(Ok(part)) = parts.next().await {
            read += part.len();
            if read > LIMIT {
                break;
            }
        }
    };
    // a client that is slower loses its connection
    let _ = tokio::time::timeout(TIME, rest).await;
    response
}
