//! Cheap clients over HTTP/1.1, so that they do not measure themselves.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
    time::{Instant, sleep_until},
};

/// When a connection sends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pace {
    /// All connections together at this interval.
    Every(Duration),
    /// Each connection, once its last request was answered.
    AtOnce,
}

/// The measurements of the clients.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Milliseconds of each request that was answered with 200, in order.
    pub(crate) took: Vec<f64>,
    /// Requests that were answered with anything else.
    pub(crate) refused: usize,
}

impl Outcome {
    /// The latency below which this part of the requests is.
    pub(crate) fn at(&self, part: f64) -> f64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index"
        )]
        let n = (self.took.len() as f64 * part) as usize;
        self.took[n.min(self.took.len() - 1)]
    }
}

/// Sends requests on `connections`, which share the tokens, for this time.
pub(crate) async fn run(
    gateway: SocketAddr,
    tokens: &[String],
    connections: usize,
    pace: Pace,
    time: Duration,
) -> Outcome {
    let (begun, sent) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let mut clients = JoinSet::new();
    for n in 0..connections {
        let request = format!(
            "GET /v1/gpu-specs HTTP/1.1\r\nhost: {gateway}\r\nauthorization: Bearer {}\r\n\r\n",
            tokens[n % tokens.len()]
        );
        let sent = Arc::clone(&sent);
        clients.spawn(async move {
            let mut connection = TcpStream::connect(gateway).await.unwrap();
            connection.set_nodelay(true).unwrap();
            let mut outcome = Outcome::default();
            loop {
                let due = match pace {
                    Pace::Every(interval) => {
                        let number = u32::try_from(sent.fetch_add(1, Ordering::Relaxed)).unwrap();
                        begun + interval * number
                    }
                    Pace::AtOnce => Instant::now(),
                };
                if due >= begun + time {
                    return outcome;
                }
                sleep_until(due).await;
                connection.write_all(request.as_bytes()).await.unwrap();
                if status(&mut connection).await == 200 {
                    outcome.took.push(due.elapsed().as_secs_f64() * 1000.0);
                } else {
                    outcome.refused += 1;
                }
            }
        });
    }
    let mut all = Outcome::default();
    for one in clients.join_all().await {
        all.took.extend(one.took);
        all.refused += one.refused;
    }
    all.took.sort_by(f64::total_cmp);
    all
}

/// Reads a response with a `Content-Length`, and returns its status.
async fn status(connection: &mut TcpStream) -> u16 {
    let (mut response, mut end) = (Vec::with_capacity(2048), None);
    while end.is_none_or(|end| response.len() < end) {
        assert!(connection.read_buf(&mut response).await.unwrap() > 0, "the connection was closed");
        if end.is_none()
            && let Some(head) = response.windows(4).position(|four| four == b"\r\n\r\n")
        {
            let text = String::from_utf8_lossy(&response[..head]).to_ascii_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            end = Some(head + 4 + length.trim().parse::<usize>().unwrap());
        }
    }
    String::from_utf8_lossy(&response[9..12]).parse().unwrap()
}
