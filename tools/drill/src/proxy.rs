//! A TCP proxy that misbehaves on demand, between the platform's programs and Postgres, the API server or the
//! object store. Requests of HTTP/1.1 are recognized by their first line.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{mpsc, watch},
};

/// The effect on the bytes of all connections, old and new.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Fault {
    /// Bytes go through.
    None,
    /// Each chunk waits this long, in each direction.
    Delay(Duration),
    /// Nothing is forwarded and nothing is closed.
    Stall,
    /// All connections are reset, and new ones as soon as they are made.
    Reset,
    /// Watches of the Kubernetes API end, and new ones are answered with 410.
    WatchesGone,
    /// Watches of the Kubernetes API stay open and report nothing.
    WatchesSilent,
    /// Writes to the object store are refused for want of space.
    OverQuota,
    /// Every request is answered with 500.
    Errors,
}

const GONE: &str = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version","reason":"Expired","code":410}"#;
const OVER_QUOTA: &str =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>QuotaExceeded</Code></Error>";
const ERROR: &str = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"internal error","reason":"InternalError","code":500}"#;

#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) port: u16,
    fault: watch::Sender<Fault>,
}

impl Proxy {
    /// Listens on a free port of 127.0.0.1 and forwards to another.
    pub(super) async fn to(upstream: u16) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, machine::process::free_port()?)).await?;
        let port = listener.local_addr()?.port();
        let (fault, seen) = watch::channel(Fault::None);
        let upstream = SocketAddr::from((Ipv4Addr::LOCALHOST, upstream));
        tokio::spawn(async move {
            loop {
                if let Ok((client, _)) = listener.accept().await {
                    tokio::spawn(connection(client, upstream, seen.clone()));
                }
            }
        });
        Ok(Self { port, fault })
    }

    /// Takes effect at once, on open connections, too.
    pub(super) fn set(&self, fault: Fault) {
        self.fault.send_replace(fault);
    }
}

async fn connection(client: TcpStream, upstream: SocketAddr, mut fault: watch::Receiver<Fault>) {
    passes(&mut fault).await;
    let Ok(server) = TcpStream::connect(upstream).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let is_watch = Arc::new(AtomicBool::new(false));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let (answers, answered) = mpsc::channel(1);
    let requests = Requests { fault: fault.clone(), is_watch: Arc::clone(&is_watch), answers };
    let responses = Responses { fault: fault.clone(), is_watch: Arc::clone(&is_watch), answered };
    let ends = |fault: &Fault| {
        *fault == Fault::Reset || *fault == Fault::WatchesGone && is_watch.load(Ordering::Relaxed)
    };
    tokio::select! {
        ((), ()) = async { tokio::join!(requests.copy(from_client, to_server), responses.copy(from_server, to_client)) } => {}
        _ = fault.wait_for(ends) => {}
    }
}

/// Waits until bytes may pass.
async fn passes(fault: &mut watch::Receiver<Fault>) {
    let _ = fault.wait_for(|fault| *fault != Fault::Stall).await;
}

/// The delay of a chunk.
async fn delay(fault: &watch::Receiver<Fault>) {
    let now = *fault.borrow();
    if let Fault::Delay(time) = now {
        tokio::time::sleep(time).await;
    }
}

/// The direction from the client.
struct Requests {
    fault: watch::Receiver<Fault>,
    is_watch: Arc<AtomicBool>,
    /// The response for the client instead of the server's.
    answers: mpsc::Sender<String>,
}

impl Requests {
    async fn copy(mut self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            let chunk = &buffer[..count];
            passes(&mut self.fault).await;
            delay(&self.fault).await;
            if let Some(line) = request_line(chunk) {
                self.is_watch.store(line.contains("watch=true"), Ordering::Relaxed);
                let now = *self.fault.borrow();
                if let Some(answer) = refusal(now, &line) {
                    let _ = self.answers.send(answer).await;
                    return;
                }
            }
            if to.write_all(chunk).await.is_err() {
                return;
            }
        }
        let _ = to.shutdown().await;
    }
}

/// The direction to the client.
struct Responses {
    fault: watch::Receiver<Fault>,
    is_watch: Arc<AtomicBool>,
    answered: mpsc::Receiver<String>,
}

impl Responses {
    async fn copy(mut self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            let count = tokio::select! {
                read = from.read(&mut buffer) => read.unwrap_or(0),
                Some(answer) = self.answered.recv() => {
                    let _ = to.write_all(answer.as_bytes()).await;
                    0
                }
            };
            if count == 0 {
                break;
            }
            let is_watch = self.is_watch.load(Ordering::Relaxed);
            let silent = |fault: &Fault| *fault == Fault::Stall || is_watch && *fault == Fault::WatchesSilent;
            let _ = self.fault.wait_for(|fault| !silent(fault)).await;
            delay(&self.fault).await;
            if to.write_all(&buffer[..count]).await.is_err() {
                break;
            }
        }
        let _ = to.shutdown().await;
    }
}

/// The first line of a request, if the chunk begins with one.
fn request_line(chunk: &[u8]) -> Option<String> {
    let line = chunk.split(|byte| *byte == b'\r').next()?;
    let line = std::str::from_utf8(line).ok()?;
    line.ends_with(" HTTP/1.1").then(|| line.to_owned())
}

/// The response of the proxy to a request.
fn refusal(fault: Fault, line: &str) -> Option<String> {
    let is_write = ["PUT ", "POST "].iter().any(|method| line.starts_with(method));
    let (status, kind, body) = match fault {
        Fault::WatchesGone if line.contains("watch=true") => ("410 Gone", "application/json", GONE),
        Fault::OverQuota if is_write => ("403 Forbidden", "application/xml", OVER_QUOTA),
        Fault::Errors => ("500 Internal Server Error", "application/json", ERROR),
        _ => return None,
    };
    let length = body.len();
    Some(format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// A server that answers each request with the same text.
    async fn server() -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut buffer = [0; 1024];
                    while let Ok(1..) = client.read(&mut buffer).await {
                        client.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
                    }
                });
            }
        });
        port
    }

    async fn ask(proxy: &Proxy, path: &str) -> reqwest::Result<u16> {
        let client = reqwest::Client::builder().timeout(Duration::from_millis(400)).build()?;
        Ok(client.get(format!("http://127.0.0.1:{}{path}", proxy.port)).send().await?.status().as_u16())
    }

    #[tokio::test]
    async fn each_fault_reaches_clients_and_ends() {
        let proxy = Proxy::to(server().await).await.unwrap();
        assert_eq!(ask(&proxy, "/").await.unwrap(), 200);
        proxy.set(Fault::Stall);
        assert!(ask(&proxy, "/").await.unwrap_err().is_timeout());
        proxy.set(Fault::Reset);
        assert!(!ask(&proxy, "/").await.unwrap_err().is_timeout());
        proxy.set(Fault::WatchesGone);
        assert_eq!(ask(&proxy, "/pods?watch=true").await.unwrap(), 410);
        assert_eq!(ask(&proxy, "/pods").await.unwrap(), 200);
        proxy.set(Fault::WatchesSilent);
        assert!(ask(&proxy, "/pods?watch=true").await.unwrap_err().is_timeout());
        assert_eq!(ask(&proxy, "/pods").await.unwrap(), 200);
        proxy.set(Fault::Errors);
        assert_eq!(ask(&proxy, "/pods").await.unwrap(), 500);
        proxy.set(Fault::OverQuota);
        assert_eq!(ask(&proxy, "/pods").await.unwrap(), 200);
        proxy.set(Fault::Delay(Duration::from_millis(50)));
        let begun = Instant::now();
        assert_eq!(ask(&proxy, "/").await.unwrap(), 200);
        assert!(begun.elapsed() >= Duration::from_millis(100));
        proxy.set(Fault::None);
        assert_eq!(ask(&proxy, "/").await.unwrap(), 200);
    }
}
