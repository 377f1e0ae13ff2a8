//! The one public door. It knows who is calling and where things are, and nothing of what they mean:
//! - the REST API: verifies the access token, limits rates, forwards to the service of the path;
//! - instance traffic (`inst-….<apps domain>`): checks that the browser's cookie is for this instance,
//!   asks the gpu service for the address, and carries whatever goes both ways.
//!
//! It has no state of its own: any number of replicas stand side by side.

mod api;
mod config;
mod door;
mod headers;
mod instance;
mod limits;
mod proxy;
mod ready;
mod server;

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use axum::Router;
use service::{Front, Process, Shutdown};
use tokio::net::TcpListener;

pub use config::{Apps, Config, CookieKey, Limits, Services};

/// Does what the command line asks. There is nothing to migrate.
///
/// # Errors
/// When the configuration is not right, or a port is taken.
pub async fn run(cli: service::Cli) -> anyhow::Result<()> {
    match cli.command {
        service::Command::Serve { config } => {
            service::telemetry::init();
            let config = service::config::load(config.as_deref())?;
            serve(config, &Shutdown::on_signal()?).await
        }
        service::Command::Migrate { .. } => Ok(()),
        service::Command::Openapi => {
            use std::io::Write;
            writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&openapi()?)?)?;
            Ok(())
        }
    }
}

/// The merged OpenAPI document of everything that the gateway forwards.
///
/// # Errors
/// When a committed document is not one.
pub fn openapi() -> anyhow::Result<serde_json::Value> {
    api::openapi::merged()
}

/// Serves both listeners until `shutdown` begins.
///
/// # Errors
/// When the configuration is not right, or a port is taken.
pub async fn serve(config: Config, shutdown: &Shutdown) -> anyhow::Result<()> {
    let bind =
        async |listen| TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"));
    let (public, internal) = (bind(config.listen).await?, bind(config.metrics_listen).await?);
    tracing::info!(listen = %config.listen, metrics = %config.metrics_listen, "listening");
    serve_on(config, public, internal, shutdown).await
}

/// As [`serve`], on listeners that are bound already.
///
/// # Errors
/// When the configuration is not right.
pub async fn serve_on(
    config: Config,
    public: TcpListener,
    internal: TcpListener,
    shutdown: &Shutdown,
) -> anyhow::Result<()> {
    let limits = config.limits.clone();
    let app = Gateway::new(config, shutdown)?;
    let front = app.front();
    let metrics = front.metrics_routes().merge(front.health_routes());
    let token = shutdown.token();
    shutdown.track({
        let token = token.clone();
        async move {
            let served = axum::serve(internal, metrics).with_graceful_shutdown(token.cancelled_owned());
            if let Err(error) = served.await {
                tracing::error!(%error, "the metrics listener failed");
            }
        }
    });
    shutdown.track({
        let (app, token) = (app.clone(), token.clone());
        async move {
            while token.run_until_cancelled(tokio::time::sleep(Duration::from_secs(60))).await.is_some() {
                app.0.rates.forget_idle();
            }
        }
    });
    server::serve(public, app.router(&front), &limits, shutdown).await;
    shutdown.finish().await;
    Ok(())
}

/// What handlers share. Cheap to clone.
#[derive(Clone)]
struct Gateway(Arc<Inner>);

struct Inner {
    config: Config,
    verifier: auth::Verifier,
    rates: limits::Rates,
    proxy: proxy::Proxy,
    instances: instance::Instances,
    ready: ready::Ready,
    process: Process,
    openapi: bytes::Bytes,
}

impl Gateway {
    fn new(config: Config, shutdown: &Shutdown) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder().connect_timeout(Duration::from_secs(2)).build()?;
        Ok(Self(Arc::new(Inner {
            verifier: auth::Verifier::new(config.auth.clone(), http.clone()),
            rates: limits::Rates::new(&config.limits)?,
            proxy: proxy::Proxy::new(shutdown.token()),
            instances: instance::Instances::new(&config, http.clone())?,
            ready: ready::Ready::new(&config.services, http),
            process: Process::default(),
            openapi: serde_json::to_vec(&openapi()?)?.into(),
            config,
        })))
    }

    fn front(&self) -> Front {
        let app = self.clone();
        Front::new(&self.0.process, move || {
            let app = app.clone();
            async move { app.0.ready.check().await }
        })
    }

    fn router(&self, front: &Front) -> Router {
        front.wrap(door::router(self.clone(), front.health_routes()))
    }
}
