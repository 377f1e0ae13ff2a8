//! A Kubernetes cluster for development: the part of the Kubernetes API that Atelier uses, a scheduler, and nodes that run
//! pods as local processes, all in one process. Ordinary Kubernetes clients use it with a kubeconfig. It refuses what
//! it does not support; README.md lists both.

mod api;
mod bootstrap;
pub mod config;
mod controllers;
mod faults;
mod hub;
mod images;
mod isolation;
mod kubelets;
mod node;
mod report;
mod runtime;
mod scheduler;
mod tls;
mod verbs;

pub use config::{Config, ImageConfig, NodeConfig, TokenConfig};
pub use faults::Part;

use anyhow::Context;
use axum::Router;
use hub::Hub;
use service::{Metrics, Shutdown, Workers};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// A running cluster. Without [`Cluster::stop`], it ends with the runtime.
pub struct Cluster {
    /// `http://127.0.0.1:<port>`
    pub url: String,
    /// Bearer token of the administrator.
    pub token: String,
    kubeconfig: PathBuf,
    hub: Arc<Hub>,
    workers: Workers,
    shutdown: Shutdown,
}

impl Cluster {
    /// Starts a cluster: reads its journal, kills the processes of a killed predecessor, registers the nodes and listens.
    pub async fn start(config: Config) -> anyhow::Result<Self> {
        std::fs::create_dir_all(&config.data_dir)
            .with_context(|| format!("create {}", config.data_dir.display()))?;
        let data_dir = config.data_dir.canonicalize()?;
        let listener =
            TcpListener::bind(config.listen).await.with_context(|| format!("listen on {}", config.listen))?;
        let url = format!("http://{}", listener.local_addr()?);
        let admin_token = admin_token(&data_dir)?;
        let journal = data_dir.join("journal.jsonl");
        let (store, queue) = objects::store::Store::open(config.journal.then_some(journal.as_path()))?;
        let shutdown = Shutdown::default();
        let hub = Arc::new(Hub {
            store: Arc::new(store),
            kinds: objects::kinds::Registry::builtin(),
            images: images::Images::new(config.images.clone()),
            faults: faults::Faults::default(),
            runtime: runtime::Runtime::new(data_dir.clone())?,
            kubelets: kubelets::Kubelets::default(),
            config,
            admin_token,
            stop: shutdown.token(),
        });
        bootstrap::run(&hub);
        let workers = Workers::new(&shutdown, &Metrics::default());
        let queue = Arc::new(Mutex::new(queue));
        spawn(&workers, "gc", &hub, move |hub| controllers::gc::run(hub, queue.clone()));
        spawn(&workers, "namespaces", &hub, controllers::namespaces::run);
        spawn(&workers, "accounts", &hub, controllers::accounts::run);
        spawn(&workers, "quotas", &hub, controllers::quotas::run);
        spawn(&workers, "volumes", &hub, controllers::volumes::run);
        spawn(&workers, "claims", &hub, controllers::claims::run);
        spawn(&workers, "nodes", &hub, controllers::nodes::run);
        spawn(&workers, "scheduler", &hub, scheduler::run);
        spawn(&workers, "node", &hub, node::run);
        spawn(&workers, "heartbeats", &hub, node::heartbeats::run);
        spawn(&workers, "alive", &hub, |hub| async move {
            hub.stop.run_until_cancelled(hub.runtime.alive.run()).await;
        });
        let kubeconfig = data_dir.join("kubeconfig");
        let (acceptor, authority) = tls::acceptor(&data_dir)?;
        write_private(&kubeconfig, &kubeconfig_text(&url, &hub.admin_token, &authority))?;
        let (listener, app, served) = (listener.into_std()?, api::router(hub.clone()), hub.clone());
        workers.spawn("devcluster.api", move |stop| {
            serve(listener.try_clone(), acceptor.clone(), served.clone(), app.clone(), stop)
        });
        Ok(Self { token: hub.admin_token.clone(), url, kubeconfig, hub, workers, shutdown })
    }

    /// The kubeconfig of the administrator.
    pub fn kubeconfig_path(&self) -> &Path {
        &self.kubeconfig
    }

    /// The background workers, for tests and drills.
    pub fn workers(&self) -> &Workers {
        &self.workers
    }

    /// Recovers a failed node.
    pub fn recover_node(&self, name: &str) {
        self.hub.runtime.set_failed(name, false);
    }

    /// Stops a part at once, as `kill -9` does. Once this returns, a scheduler binds nothing more.
    pub fn stop_part(&self, part: &Part) {
        let _nothing_is_being_written = self.hub.store.lock();
        self.hub.faults.stop(part);
    }

    /// Starts a stopped part. Returns when it serves.
    pub async fn start_part(&self, part: &Part) {
        {
            let mut tx = self.hub.store.lock();
            if *part == Part::ApiServer {
                tx.forget_changes();
            }
            self.hub.faults.start(part);
        }
        if *part == Part::Scheduler {
            self.hub.faults.scheduler_start().await;
        }
    }

    /// Whether the scheduler is neither stopped nor has exited.
    pub fn scheduler_is_running(&self) -> bool {
        self.hub.faults.scheduler_is_running()
    }

    /// Makes an image known, as a push to its registry does. Containers that wait for it start with their next pull.
    pub fn add_image(&self, image: ImageConfig) {
        self.hub.images.add(image);
    }

    /// Stops the API and the processes of all pods. The objects stay for the next start.
    pub async fn stop(self) {
        self.shutdown.begin();
        self.shutdown.finish().await;
    }
}

/// Starts a supervised worker.
fn spawn<R>(
    workers: &Workers,
    name: &str,
    hub: &Arc<Hub>,
    run: impl Fn(Arc<Hub>) -> R + Send + Sync + 'static,
) where
    R: Future<Output = ()> + Send + 'static,
{
    let hub = hub.clone();
    workers.spawn(format!("devcluster.{name}"), move |_| {
        let run = run(hub.clone());
        async move {
            run.await;
            Ok(())
        }
    });
}

/// Serves the API until the cluster stops. Connections that clients keep open delay the end by at most a second.
async fn serve(
    listener: std::io::Result<std::net::TcpListener>,
    acceptor: TlsAcceptor,
    hub: Arc<Hub>,
    app: Router,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let listener = tls::Listener::new(TcpListener::from_std(listener?)?, acceptor, hub);
    let served = axum::serve(listener, app).with_graceful_shutdown(stop.clone().cancelled_owned());
    let overdue = async {
        stop.cancelled().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    tokio::select! {
        served = served => served?,
        () = overdue => {}
    }
    Ok(())
}

fn admin_token(data_dir: &Path) -> anyhow::Result<String> {
    let path = data_dir.join("admin-token");
    if let Ok(token) = std::fs::read_to_string(&path) {
        return Ok(token.trim().to_owned());
    }
    let token = api::tokens::secret();
    write_private(&path, &token)?;
    Ok(token)
}

fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let fresh = path.with_extension("new");
    std::fs::write(&fresh, text).with_context(|| format!("write {}", path.display()))?;
    std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(0o600))?;
    std::fs::rename(&fresh, path)?;
    Ok(())
}

/// A kubeconfig with two contexts: one with TLS (kubectl sends tokens over TLS only) and one without.
fn kubeconfig_text(url: &str, token: &str, authority: &str) -> String {
    use base64::Engine as _;
    let ca = base64::engine::general_purpose::STANDARD.encode(authority);
    let tls = url.replacen("http:", "https:", 1);
    let context = |name: &str| {
        format!("- name: {name}\n  context:\n    cluster: {name}\n    user: admin\n    namespace: default\n")
    };
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: devcluster\nclusters:\n- name: devcluster\n  cluster:\n    server: {tls}\n    certificate-authority-data: {ca}\n- name: devcluster-plain\n  cluster:\n    server: {url}\ncontexts:\n{}{}users:\n- name: admin\n  user:\n    token: {token}\n",
        context("devcluster"),
        context("devcluster-plain"),
    )
}
