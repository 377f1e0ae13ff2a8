//! A Valkey or Redis of the machine, and a slow proxy in front of it.

use std::{
    net::SocketAddr,
    process::{Child, Command, Stdio},
    time::Duration,
};

use redis::{FromRedisValue, ToRedisArgs};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    time::timeout,
};

use crate::eventually;

/// A Valkey or Redis that keeps nothing on disk. It is killed when this is dropped.
#[derive(Debug)]
pub struct Valkey {
    process: Child,
    port: u16,
}

impl Valkey {
    /// Starts one on a free port.
    pub async fn start() -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self::at(port).await
    }

    /// Starts one on this port.
    pub async fn at(port: u16) -> Self {
        Self::with(port, &[]).await
    }

    /// Starts one with these options.
    pub async fn with(port: u16, options: &[&str]) -> Self {
        let number = port.to_string();
        let own = ["--port", &number, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
        let start = |program| Command::new(program).args(own).args(options).stdout(Stdio::null()).spawn();
        let process = start("valkey-server").or_else(|_| start("redis-server"));
        let process = process.expect("valkey-server or redis-server: `cargo xtask test` installs one");
        eventually("the store accepts connections", async || {
            TcpStream::connect(("127.0.0.1", port)).await.ok().map(drop)
        })
        .await;
        Self { process, port }
    }

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its address, as configurations name it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Runs a command on it.
    pub async fn run<T: FromRedisValue>(&self, name: &str, arguments: impl ToRedisArgs) -> T {
        let client = redis::Client::open(self.url()).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        redis::cmd(name).arg(arguments).query_async(&mut connection).await.unwrap()
    }

    /// The names of everything that is stored, in order.
    pub async fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.run("KEYS", "*").await;
        names.sort();
        names
    }
}

impl Drop for Valkey {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A TCP proxy that delays answers. It ends with the runtime.
#[derive(Debug)]
pub struct SlowProxy {
    address: SocketAddr,
    delay: watch::Sender<Duration>,
}

impl SlowProxy {
    /// Listens on a free port and forwards to `upstream`, `host:port`, without a delay.
    pub async fn start(upstream: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, delay) = (listener.local_addr().unwrap(), watch::Sender::new(Duration::ZERO));
        let seen = delay.subscribe();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(&upstream).await else { continue };
                let (_, _) = (client.set_nodelay(true), server.set_nodelay(true));
                let (mut from_client, mut to_client) = client.into_split();
                let (mut from_server, mut to_server) = server.into_split();
                let mut seen = seen.clone();
                tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
                tokio::spawn(async move {
                    let mut buffer = vec![0; 16 * 1024];
                    while let Ok(read @ 1..) = from_server.read(&mut buffer).await {
                        let delay = *seen.borrow_and_update();
                        // until another delay is set
                        let _ = timeout(delay, seen.changed()).await;
                        if to_client.write_all(&buffer[..read]).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { address, delay }
    }

    /// Address of the listener.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Delays each answer by this time from now on.
    pub fn hold_back(&self, delay: Duration) {
        self.delay.send_replace(delay);
    }
}
