//! An object store for development: S3 with users, and the part of Ceph RGW's Admin Ops API that Atelier calls, on
//! plain files.
//!
//! Rule: it accepts only requests that Ceph RGW (≥ 16) accepts, with the same status codes; other requests
//! get `NotImplemented`. The cases in `tests/` run against both. The crate s3s verifies signatures, parses
//! XML and routes; the storage is our own, because it must isolate users and support long keys and keys such
//! as `a` together with `a/b`.

mod access;
mod admin;
mod cors;
mod cors_rule;
mod error;
mod multipart;
mod objects;
mod rules;
mod s3;
mod state;
mod store;
mod uploads;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Configuration. Unknown keys are refused.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Folder of all data; created if it does not exist.
    pub data_dir: PathBuf,
    /// Access key of the user `admin`, the only one that may call Admin Ops.
    pub admin_access_key: String,
    /// Secret key of the user `admin`.
    pub admin_secret_key: String,
    /// The response of `GetBucketLocation`.
    #[serde(default = "default_region")]
    pub region: String,
}

fn default_region() -> String {
    "default".to_owned()
}

/// A running store. It stops when dropped; [`Server::stop`] waits for the end.
pub struct Server {
    /// `http://ADDRESS:PORT`
    pub endpoint: String,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Server {
    /// Opens the data and starts the server.
    ///
    /// # Errors
    /// If the data cannot be read or the address is in use.
    pub async fn start(config: Config) -> anyhow::Result<Self> {
        let state = Arc::new(state::State::open(
            &config.data_dir,
            &config.admin_access_key,
            &config.admin_secret_key,
        )?);
        let objects = Arc::new(objects::Objects::open(&config.data_dir, state.buckets())?);
        let store = Arc::new(store::Store { state, objects, region: config.region });
        let mut builder = s3s::service::S3ServiceBuilder::new(s3::Api(store.clone()));
        builder.set_auth(access::Auth(store.clone()));
        builder.set_access(access::Access(store.clone()));
        builder.set_route(admin::Route(store.clone()));
        let service = builder.build();

        let listener = TcpListener::bind(config.listen)
            .await
            .with_context(|| format!("cannot listen on {}", config.listen))?;
        let endpoint = format!("http://{}", listener.local_addr()?);
        let app = axum::Router::new().fallback(move |request: axum::extract::Request| {
            let (service, store) = (service.clone(), store.clone());
            async move {
                if request.method() == http::Method::OPTIONS {
                    return cors::preflight(&store, &request);
                }
                let asked = cors::Asked::of(&request);
                let mut answer = admin::answer(&service, request).await;
                if let Some(asked) = asked {
                    asked.allow(&store, &mut answer);
                }
                answer
            }
        });
        let (stop, stopped) = oneshot::channel();
        let serve = axum::serve(listener, app).with_graceful_shutdown(async {
            let _ = stopped.await;
        });
        let task = tokio::spawn(async move { serve.await });
        Ok(Self { endpoint, stop, task })
    }

    /// Completes the open requests, then stops.
    ///
    /// # Errors
    /// If the server has failed.
    pub async fn stop(self) -> anyhow::Result<()> {
        let _ = self.stop.send(());
        self.task.await??;
        Ok(())
    }
}
