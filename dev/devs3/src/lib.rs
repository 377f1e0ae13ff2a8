//! The embedded object store: S3 with users of its own and the few calls of Ceph RGW's Admin Ops
//! API that Atelier makes, on plain files.
//!
//! A development tool with one promise: what it accepts, Ceph RGW (≥ 16) accepts with the same
//! codes; what it does not know it refuses with `NotImplemented`. The cases in `tests/` run
//! against either. Signatures, XML and routing are s3s's; the files are ours, because isolation
//! between users, long keys and keys such as `a` beside `a/b` must hold.

mod access;
mod admin;
mod multipart;
mod objects;
mod rules;
mod s3;
mod state;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// What the store is told from outside. Unknown keys are refused.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Folder of all its data; made when missing.
    pub data_dir: PathBuf,
    /// Key of the user `admin`, who alone may call Admin Ops.
    pub admin_access_key: String,
    /// Its secret.
    pub admin_secret_key: String,
    /// What `GetBucketLocation` answers.
    #[serde(default = "default_region")]
    pub region: String,
}

fn default_region() -> String {
    "default".to_owned()
}

/// A running store. Dropped, it stops by itself; [`Server::stop`] waits for that.
pub struct Server {
    /// `http://ADDRESS:PORT`
    pub endpoint: String,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Server {
    /// Answers the requests under way, then ends.
    ///
    /// # Errors
    /// When the server had failed.
    pub async fn stop(self) -> anyhow::Result<()> {
        let _ = self.stop.send(());
        self.task.await??;
        Ok(())
    }
}

/// Opens the data and serves.
///
/// # Errors
/// When the data cannot be read or the address is taken.
pub async fn start(config: Config) -> anyhow::Result<Server> {
    let state =
        Arc::new(state::State::open(&config.data_dir, &config.admin_access_key, &config.admin_secret_key)?);
    let objects = Arc::new(objects::Objects::open(&config.data_dir, state.buckets())?);
    let store = Arc::new(s3::Store { state, objects, region: config.region });
    let mut builder = s3s::service::S3ServiceBuilder::new(s3::Api(store.clone()));
    builder.set_auth(access::Auth(store.clone()));
    builder.set_access(access::Access(store.clone()));
    builder.set_route(admin::Route(store));
    let service = builder.build();

    let listener = TcpListener::bind(config.listen)
        .await
        .with_context(|| format!("cannot listen on {}", config.listen))?;
    let endpoint = format!("http://{}", listener.local_addr()?);
    let app = axum::Router::new().fallback(move |request: axum::extract::Request| {
        let service = service.clone();
        async move { admin::answer(&service, request).await }
    });
    let (stop, stopped) = oneshot::channel();
    let serve = axum::serve(listener, app).with_graceful_shutdown(async {
        let _ = stopped.await;
    });
    let task = tokio::spawn(async move { serve.await });
    Ok(Server { endpoint, stop, task })
}
