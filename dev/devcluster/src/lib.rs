//! The development cluster: the Kubernetes API (the part of it that Atelier uses), a scheduler, and nodes that run
//! pods as local processes, in one process. It is reached through ordinary Kubernetes clients and a kubeconfig.
//! Small and honest: what it does not know it refuses. Not a place for anything Atelier-specific beyond names.

mod admission;
mod api;
pub mod config;
mod controllers;
mod error;
mod hub;
mod kinds;
mod node;
mod quantity;
mod rbac;
mod scheduler;
mod schema;
mod store;
mod tls;
mod verbs;

pub use config::{Config, ImageConfig, NodeConfig, TokenConfig};

use anyhow::Context;
use hub::Hub;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A running cluster. Dropping it without [`Cluster::stop`] ends the API and, with the runtime, the pods.
pub struct Cluster {
    /// `http://127.0.0.1:<port>`
    pub url: String,
    /// The administrator's bearer token.
    pub token: String,
    kubeconfig: PathBuf,
    hub: Arc<Hub>,
    server: JoinHandle<()>,
    tasks: Vec<JoinHandle<()>>,
}

/// Starts a cluster: reads its journal, ends processes an earlier life left behind, registers the nodes, listens.
pub async fn start(config: Config) -> anyhow::Result<Cluster> {
    std::fs::create_dir_all(&config.data_dir)
        .with_context(|| format!("create {}", config.data_dir.display()))?;
    let data_dir = config.data_dir.canonicalize()?;
    let listener =
        TcpListener::bind(config.listen).await.with_context(|| format!("listen on {}", config.listen))?;
    let url = format!("http://{}", listener.local_addr()?);
    let admin_token = admin_token(&data_dir)?;
    let journal = data_dir.join("journal.jsonl");
    let (store, upkeep) = store::Store::open(config.journal.then_some(journal.as_path()))?;
    let hub = Arc::new(Hub {
        store: Arc::new(store),
        kinds: kinds::Registry::new(),
        nodes: node::Nodes::new(data_dir.clone())?,
        config,
        admin_token,
        stop: CancellationToken::new(),
    });
    serve_definitions(&hub);
    controllers::namespaces::ensure_builtin(&hub);
    controllers::volumes::ensure_class(&hub);
    kinds::builtin::ensure_priority_classes(&hub);
    controllers::nodes::register(&hub);
    controllers::gc::look_at_all(&hub);
    let tasks = vec![
        tokio::spawn(controllers::gc::run(hub.clone(), upkeep)),
        tokio::spawn(controllers::namespaces::run(hub.clone())),
        tokio::spawn(controllers::volumes::run(hub.clone())),
        tokio::spawn(controllers::claims::run(hub.clone())),
        tokio::spawn(controllers::nodes::run(hub.clone())),
        tokio::spawn(scheduler::run(hub.clone())),
        tokio::spawn(node::run(hub.clone())),
    ];
    let kubeconfig = data_dir.join("kubeconfig");
    let (acceptor, authority) = tls::acceptor(&data_dir)?;
    write_private(&kubeconfig, &kubeconfig_text(&url, &hub.admin_token, &authority))?;
    let stop = hub.stop.clone();
    let listener = tls::Mixed::new(listener, acceptor, hub.stop.clone())?;
    let app = api::router(hub.clone());
    let server = tokio::spawn(async move {
        let served = axum::serve(listener, app).with_graceful_shutdown(stop.cancelled_owned()).await;
        if let Err(error) = served {
            tracing::error!(%error, "api server ended");
        }
    });
    Ok(Cluster { token: hub.admin_token.clone(), url, kubeconfig, hub, server, tasks })
}

impl Cluster {
    /// A kubeconfig file for the administrator.
    pub fn kubeconfig_path(&self) -> &Path {
        &self.kubeconfig
    }

    /// What a node's death looks like: its processes are killed, it is tainted, its pods are evicted.
    pub fn fail_node(&self, name: &str) {
        self.hub.nodes.fail(name);
    }

    /// Brings a failed node back.
    pub fn recover_node(&self, name: &str) {
        self.hub.nodes.recover(name);
    }

    /// Ends the API and every pod's process; the objects stay for the next start.
    pub async fn stop(self) {
        self.hub.stop.cancel();
        for task in self.tasks {
            if let Err(error) = task.await {
                tracing::error!(%error, "task failed");
            }
        }
        // connections that clients keep open do not hold the end up
        if tokio::time::timeout(std::time::Duration::from_secs(1), self.server).await.is_err() {
            tracing::debug!("connections left open");
        }
    }
}

/// Kinds that stored definitions describe.
fn serve_definitions(hub: &Hub) {
    let definitions: Vec<_> =
        hub.store.lock().list("customresourcedefinitions.apiextensions.k8s.io", "").cloned().collect();
    for definition in definitions {
        match kinds::custom::resource_of(&definition.value) {
            Ok(resource) => hub.kinds.insert(resource),
            Err(causes) => {
                tracing::error!(name = definition.name(), ?causes, "stored definition is not served");
            }
        }
    }
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

/// Two contexts to one cluster: over TLS (kubectl sends its token over nothing else) and plain.
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
