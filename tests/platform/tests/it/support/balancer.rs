//! One address for the replicas of a service, as a Kubernetes service is.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};

/// Forwards connections to the replicas in turn. A connection to a replica that is killed breaks off.
#[derive(Debug, Clone)]
pub(crate) struct Balancer {
    url: String,
    replicas: Arc<Mutex<Vec<String>>>,
}

impl Balancer {
    /// Listens, without replicas.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let replicas = Arc::new(Mutex::new(Vec::<String>::new()));
        let (targets, next) = (Arc::clone(&replicas), AtomicUsize::new(0));
        tokio::spawn(async move {
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                let target = {
                    let targets = targets.lock().unwrap();
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    (!targets.is_empty()).then(|| targets[n % targets.len()].clone())
                };
                // without a replica the connection is closed
                let Some(target) = target else { continue };
                tokio::spawn(async move {
                    if let Ok(mut replica) = TcpStream::connect(target).await {
                        let _ = copy_bidirectional(&mut client, &mut replica).await;
                    }
                });
            }
        });
        Self { url, replicas }
    }

    /// Base URL, without a trailing slash.
    #[must_use]
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Adds the replica at this base URL.
    pub(crate) fn add(&self, base: &str) {
        self.replicas.lock().unwrap().push(address(base));
    }

    /// Removes a replica.
    pub(crate) fn remove(&self, base: &str) {
        let address = address(base);
        self.replicas.lock().unwrap().retain(|replica| *replica != address);
    }
}

fn address(base: &str) -> String {
    base.trim_start_matches("http://").to_owned()
}
