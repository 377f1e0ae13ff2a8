//! The wiring: state, slices, router, workers, listeners.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context;
use auth::HasAuth;
use axum::Router;
use service::{Front, Metrics, Process, Round};
use tokio::net::TcpListener;
use traces::Origin;

use crate::{
    NAME,
    config::Config,
    instance::{self, InstanceMetrics, Instances, Routes},
    limits, listener, own, platform_health,
    readiness::Readiness,
    redirect,
    rest::{self, Api},
    router::{Hosts, oneshot},
    site,
    state::AppState,
    tls::{self, Tls},
    transport::Transport,
    upstream,
};

const RATE_LIMITS_CLEAN_UP: Duration = Duration::from_secs(60);
const CONNECTIONS_CLEAN_UP: Duration = upstream::MAX_IDLE_TIME;

/// The gateway.
#[derive(Clone)]
pub struct App {
    state: AppState,
    process: Process,
    http: reqwest::Client,
    hosts: Arc<Hosts>,
    front: Front,
    internal: Router,
    transport: Transport,
    routes: Routes,
}

impl App {
    /// Builds the gateway. No service needs to run yet.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn new(config: Config, process: Process) -> anyhow::Result<Self> {
        let process = process.traced(NAME, config.telemetry.as_ref())?;
        let http = service::http_client()?;
        let is_https = config.public_url.scheme() == "https";
        anyhow::ensure!(config.tls.is_none() || is_https, "with [tls], public_url must begin with https");
        let tls = config.tls.as_ref().map(|tls| Tls::new(tls, &process.metrics)).transpose()?;
        let transport = Transport { proxy_protocol: config.proxy_protocol.clone(), tls };
        let state = AppState::new(config, &process, http.clone())?;
        let readiness = Arc::new(Readiness::new(&state.config.services, http.clone()));
        let verifier = state.auth().verifier.clone();
        let front = Front::new(&process, move || {
            let (readiness, revocations) = (Arc::clone(&readiness), verifier.revocations().ready());
            async move {
                revocations?;
                readiness.check().await
            }
        })
        .with_origin(Origin::Outside);
        platform_health::report_to(&process.health, &state, &http);
        let own = own::router(&state, front.clone(), http.clone(), process.shutdown.token());
        let pages = rest::document(&openapi()?)?
            .merge(site::router(&state.config)?)
            .merge(instance::personal_links(&state, http.clone()))
            .merge(front.health_routes());
        let routes = Routes::new(instance::gpu_client(&state, http.clone()));
        let instances = Instances::new(state.clone(), http.clone(), routes.clone(), &process.metrics)?;
        let hosts =
            Hosts::new(state.clone(), Api::new(state.clone(), own, &process.metrics), pages, instances)?;
        Ok(Self {
            hosts: Arc::new(hosts),
            internal: front.metrics_routes().merge(front.health_routes()).merge(front.report_routes()),
            front,
            state,
            process,
            http,
            transport,
            routes,
        })
    }

    /// Starts the background workers: `gateway.metrics` serves `/metrics`, health and report on `internal`,
    /// `gateway.activity` reports the instances in use, `gateway.rate_limits` forgets idle callers, `gateway.connections`
    /// closes idle connections to the upstreams, `gateway.routes` follows the changes of instances' routes,
    /// `gateway.certificates` (with TLS) replaces certificates.
    ///
    /// # Errors
    /// If the listener cannot be used.
    pub fn start_workers(&self, internal: TcpListener) -> anyhow::Result<()> {
        let (internal, routes) = (Arc::new(internal.into_std()?), self.internal.clone());
        self.process.workers.spawn(format!("{NAME}.metrics"), move |token| {
            let (internal, routes) = (Arc::clone(&internal), routes.clone());
            async move {
                // the worker keeps the socket, so that a restart does not lose the port
                let listener = TcpListener::from_std(internal.try_clone()?)?;
                axum::serve(listener, routes).with_graceful_shutdown(token.cancelled_owned()).await?;
                Ok(())
            }
        });
        self.state.auth().verifier.start(&self.process.workers, NAME);
        if let Some(tls) = &self.transport.tls {
            tls.start(&self.process.workers, NAME);
        }
        self.routes.start(&self.process.workers, NAME);
        let gpu = instance::gpu_client(&self.state, self.http.clone());
        let period = Duration::from_secs(self.state.config.activity_seconds.max(1).into());
        instance::Reporter::new(gpu, self.state.activity.clone(), period).start(&self.process.workers);
        let state = self.state.clone();
        self.process.workers.spawn_periodic(format!("{NAME}.rate_limits"), RATE_LIMITS_CLEAN_UP, move || {
            let state = state.clone();
            async move {
                state.rate_limits.forget_idle();
                Ok(Round::Done)
            }
        });
        let state = self.state.clone();
        self.process.workers.spawn_periodic(format!("{NAME}.connections"), CONNECTIONS_CLEAN_UP, move || {
            let state = state.clone();
            async move {
                state.proxy.close_idle();
                Ok(Round::Done)
            }
        });
        Ok(())
    }

    /// Serves on listeners that are bound already, until shutdown.
    ///
    /// # Errors
    /// If a listener cannot be used.
    pub async fn serve_on(&self, public: TcpListener, internal: TcpListener) -> anyhow::Result<()> {
        self.start_workers(internal)?;
        let (config, shutdown) = (&self.state.config, &self.process.shutdown);
        let redirect = match config.tls.as_ref().and_then(|tls| tls.redirect_listen) {
            Some(listen) => Some(bind(listen).await?),
            None => None,
        };
        let redirecting = async {
            if let Some(listener) = redirect {
                let transport = Transport { tls: None, ..self.transport.clone() };
                let routes = redirect::router(config);
                let answer = move |request| oneshot(routes.clone(), request);
                listener::serve(listener, answer, transport, &config.limits, shutdown).await;
            }
        };
        let (front, hosts) = (self.front.clone(), Arc::clone(&self.hosts));
        let answer = move |request| {
            let (front, hosts) = (front.clone(), Arc::clone(&hosts));
            // the connection moves the future; a box is moved faster
            async move { Box::pin(front.answer(request, |request| hosts.answer(request))).await }
        };
        let serving = listener::serve(public, answer, self.transport.clone(), &config.limits, shutdown);
        tokio::join!(serving, redirecting);
        self.process.shutdown.finish().await;
        Ok(())
    }

    /// Serves both listeners until shutdown.
    ///
    /// # Errors
    /// If the configuration is not valid, or a port is in use.
    pub async fn serve(config: Config, process: Process) -> anyhow::Result<()> {
        let (public, internal) = (bind(config.listen).await?, bind(config.metrics_listen).await?);
        tracing::info!(listen = %config.listen, metrics = %config.metrics_listen, "listening");
        Self::new(config, process)?.serve_on(public, internal).await
    }
}

/// The OpenAPI document of everything that the gateway forwards, merged from the services' documents.
///
/// # Errors
/// If a document is not valid JSON, or two have the same path.
pub fn openapi() -> anyhow::Result<serde_json::Value> {
    rest::openapi::merged()
}

/// The metrics of the process, for their description.
#[must_use]
pub fn metrics() -> Metrics {
    let process = Process::default();
    rest::register(&process.metrics);
    InstanceMetrics::register(&process.metrics);
    limits::register(&process.metrics);
    cache::describe_metrics(&process.metrics);
    tls::Gauges::register(&process.metrics);
    process.metrics
}

async fn bind(listen: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))
}
