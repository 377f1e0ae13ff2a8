//! Connections to the upstreams over HTTP/1.1, kept open between requests.

use std::{
    collections::HashMap,
    io,
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use axum::body::{Body, Bytes, HttpBody};
use hyper::{
    Request, Response, StatusCode,
    body::{Frame, Incoming, SizeHint},
    client::conn::http1,
};
use hyper_util::rt::TokioIo;
use socket2::{SockRef, TcpKeepalive};
use tokio::{net::TcpStream, time::Instant};
use tokio_util::sync::CancellationToken;

/// The longest of two attempts to connect, each with a lookup of the name.
const ATTEMPT: Duration = Duration::from_secs(1);
/// Time without a byte after which an upstream is probed.
const PROBE_AFTER: Duration = Duration::from_secs(60);
/// Below the five seconds after which common servers close an idle connection.
pub(crate) const MAX_IDLE_TIME: Duration = Duration::from_secs(4);
/// Idle connections to one address.
const MAX_IDLE: usize = 256;

/// The connections of a process. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Pool(Arc<Mutex<HashMap<Arc<str>, Vec<Idle>>>>);

struct Idle {
    sender: http1::SendRequest<Body>,
    ended: CancellationToken,
    since: Instant,
}

/// A connection that serves one request at a time.
pub(crate) struct Connection {
    sender: http1::SendRequest<Body>,
    /// Cancelled when the connection has ended.
    ended: CancellationToken,
    authority: Arc<str>,
    pool: Pool,
}

/// A request that was not answered.
#[derive(Debug)]
pub(crate) struct Unanswered {
    pub(crate) error: hyper::Error,
    /// The request, if it was not sent.
    pub(crate) request: Option<Request<Body>>,
}

impl Pool {
    /// Returns an idle connection to `authority` (`host:port`), the one that was used last.
    pub(crate) fn reuse(&self, authority: &str) -> Option<Connection> {
        let mut pool = self.lock();
        let (key, idle) = pool.get_key_value(authority)?;
        let authority = Arc::clone(key);
        if idle.is_empty() {
            return None;
        }
        let idle = pool.get_mut(&authority)?;
        while let Some(Idle { sender, ended, since }) = idle.pop() {
            if sender.is_ready() && since.elapsed() < MAX_IDLE_TIME {
                return Some(Connection { sender, ended, authority, pool: self.clone() });
            }
        }
        None
    }

    /// Makes a connection to `authority` (`host:port`).
    ///
    /// # Errors
    /// If the address accepts none within two seconds.
    pub(crate) async fn connect(&self, authority: &str) -> io::Result<Connection> {
        let stream = twice(|| TcpStream::connect(authority)).await?;
        stream.set_nodelay(true)?;
        SockRef::from(&stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(PROBE_AFTER))?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        let ended = CancellationToken::new();
        let end = ended.clone().drop_guard();
        tokio::spawn(async move {
            let result = connection.with_upgrades().await;
            drop(end);
            if let Err(error) = result {
                tracing::debug!(%error, "connection to an upstream failed");
            }
        });
        Ok(Connection { sender, ended, authority: authority.into(), pool: self.clone() })
    }

    /// Closes the connections that have been idle for too long.
    pub(crate) fn close_idle(&self) {
        self.lock().retain(|_, idle| {
            idle.retain(|one| !one.sender.is_closed() && one.since.elapsed() < MAX_IDLE_TIME);
            !idle.is_empty()
        });
    }

    fn put(&self, authority: Arc<str>, sender: http1::SendRequest<Body>, ended: CancellationToken) {
        let mut pool = self.lock();
        let idle = pool.entry(authority).or_default();
        if idle.len() < MAX_IDLE {
            idle.push(Idle { sender, ended, since: Instant::now() });
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Arc<str>, Vec<Idle>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Repeats an attempt that fails or takes too long. Nothing was sent yet. After a lost packet the resolver
/// waits 5 s, and the next connection to a Service may reach another replica.
async fn twice<T, F: Future<Output = io::Result<T>>>(attempt: impl Fn() -> F) -> io::Result<T> {
    if let Ok(Ok(done)) = tokio::time::timeout(ATTEMPT, attempt()).await {
        return Ok(done);
    }
    tokio::time::timeout(ATTEMPT, attempt()).await?
}

impl Connection {
    /// Sends a request. The connection returns to the pool when the response has been read completely.
    ///
    /// # Errors
    /// If the connection ends before the head of the response has arrived.
    pub(crate) async fn send(mut self, request: Request<Body>) -> Result<Response<UpstreamBody>, Unanswered> {
        let mut sent = pin!(self.sender.try_send_request(request));
        let (answered, connection) = tokio::select! {
            biased;
            answered = &mut sent => (answered, Some(self)),
            () = self.ended.cancelled() => {
                // a request that was queued at the moment at which the connection ended stays in the queue as long as its
                // sender, and is returned then
                drop(self);
                (sent.await, None)
            }
        };
        match answered {
            Ok(response) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
                Ok(response.map(|body| UpstreamBody { body, connection: None }))
            }
            Ok(response) => Ok(response.map(|body| UpstreamBody::new(body, connection))),
            Err(mut error) => {
                let request = error.take_message();
                Err(Unanswered { error: error.into_error(), request })
            }
        }
    }

    fn release(self) {
        let Self { mut sender, ended, authority, pool } = self;
        if sender.is_ready() {
            return pool.put(authority, sender, ended);
        }
        if sender.is_closed() {
            return;
        }
        // the upstream has not yet received the whole request
        tokio::spawn(async move {
            if let Ok(Ok(())) = tokio::time::timeout(MAX_IDLE_TIME, sender.ready()).await {
                pool.put(authority, sender, ended);
            }
        });
    }
}

/// The body of a response.
pub(crate) struct UpstreamBody {
    body: Incoming,
    /// Until the body has been read.
    connection: Option<Connection>,
}

impl UpstreamBody {
    fn new(body: Incoming, connection: Option<Connection>) -> Self {
        let mut body = Self { body, connection };
        body.release_at_end();
        body
    }

    /// A body of known length is not polled after its last byte.
    fn release_at_end(&mut self) {
        if self.body.is_end_stream() {
            self.release();
        }
    }

    fn release(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.release();
        }
    }
}

impl HttpBody for UpstreamBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Err(_))) => self.connection = None,
            Poll::Ready(Some(Ok(_))) => self.release_at_end(),
            Poll::Ready(None) => self.release(),
            Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_attempted_twice_within_two_seconds() {
        let connected = async |answers: [Option<io::Result<u32>>; 2]| {
            let (attempts, answers) = (AtomicU32::new(0), Mutex::new(answers.into_iter()));
            let begun = Instant::now();
            let result = twice(|| {
                attempts.fetch_add(1, Ordering::SeqCst);
                let answer = answers.lock().unwrap().next().flatten();
                async move {
                    match answer {
                        Some(answer) => answer,
                        None => std::future::pending().await,
                    }
                }
            })
            .await;
            (result.map_err(|error| error.kind()), attempts.into_inner(), begun.elapsed().as_secs())
        };
        let refused = || Some(Err(io::ErrorKind::ConnectionRefused.into()));
        assert_eq!(connected([Some(Ok(7)), None]).await, (Ok(7), 1, 0));
        assert_eq!(connected([refused(), Some(Ok(7))]).await, (Ok(7), 2, 0));
        assert_eq!(connected([None, Some(Ok(7))]).await, (Ok(7), 2, 1));
        assert_eq!(connected([None, None]).await, (Err(io::ErrorKind::TimedOut), 2, 2));
        assert_eq!(connected([refused(), refused()]).await, (Err(io::ErrorKind::ConnectionRefused), 2, 0));
    }
}
