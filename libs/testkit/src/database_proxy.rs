//! A TCP proxy between services and Postgres, which loses connections.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};

/// Less than the header of a message: Postgres has 5 bytes, AMQP 7.
const PART_OF_A_MESSAGE: usize = 4;

/// The proxy. It ends with the runtime.
#[derive(Debug)]
pub struct DatabaseProxy {
    address: SocketAddr,
    cuts: watch::Sender<u64>,
}

impl DatabaseProxy {
    /// Listens on a free port and forwards to `upstream`, `host:port`.
    pub async fn start(upstream: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, cuts) = (listener.local_addr().unwrap(), watch::Sender::new(0));
        let seen = cuts.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(&upstream).await else { continue };
                let (_, _) = (client.set_nodelay(true), server.set_nodelay(true));
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(forward(from_client, to_server, seen.subscribe()));
                tokio::spawn(forward(from_server, to_client, seen.subscribe()));
            }
        });
        Self { address, cuts }
    }

    /// Address that services connect to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes all connections within the next message, in either direction: none that is sent from now on arrives.
    pub fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}

/// Forwards until one side closes, or the connection is cut.
async fn forward(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, cuts: watch::Receiver<u64>) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = match from.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(read) => read,
        };
        let is_cut = cuts.has_changed().unwrap_or(true);
        let forwarded = if is_cut { read.min(PART_OF_A_MESSAGE) } else { read };
        if to.write_all(&buffer[..forwarded]).await.is_err() || is_cut {
            return;
        }
    }
}
