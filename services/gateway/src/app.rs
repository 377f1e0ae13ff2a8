//! The wiring: the parts of the slices, router, workers, listeners.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use activity::Tracker;
use anyhow::Context;
use auth::{AuthState, Verifier};
use axum::Router;
use cache::Cache;
use peer::Endpoint;
use service::{Duty, Front, Metrics, Process, Round, Task, health::DependencyKind};
use tokio::net::TcpListener;
use traces::Origin;

use crate::{
    NAME,
    config::Config,
    credentials::Credentials,
    host_names::HostNames,
    instance::{self, InstanceMetrics, Instances, PersonalLinks, Routes},
    limits::{self, RateLimits},
    listener,
    modules::Modules,
    oneshot::oneshot,
    own,
    proxy::Proxy,
    readiness::Readiness,
    redirect,
    rest::{self, Api},
    router::Hosts,
    security_headers, site,
    tls::{self, Tls},
    transport::Transport,
    upstream,
};

const RATE_LIMITS_CLEAN_UP: Duration = Duration::from_secs(60);
const CONNECTIONS_CLEAN_UP: Duration = upstream::MAX_IDLE_TIME;

/// The gateway.
#[derive(Clone)]
pub struct App {
    config: Arc<Config>,
    names: HostNames,
    shared: Shared,
    process: Process,
    hosts: Arc<Hosts>,
    front: Front,
    internal: Router,
    transport: Transport,
}

/// Parts that several slices or workers use.
#[derive(Clone)]
struct Shared {
    auth: AuthState,
    rate_limits: Arc<RateLimits>,
    credentials: Arc<Credentials>,
    proxy: Arc<Proxy>,
    activity: Tracker,
    gpu: gpu_api::Client,
    routes: Routes,
}

impl Shared {
    fn new(config: &Config, process: &Process, http: &reqwest::Client) -> anyhow::Result<Self> {
        let cache = Cache::new(NAME, config.cache.as_ref(), &process.metrics)?;
        cache.report_to(&process.health);
        let rate_limits = Arc::new(RateLimits::new(&config.limits, &process.metrics)?);
        let verifier = Verifier::new(config.auth.clone(), http.clone());
        // with the token that reads revocations: without these, the end of an API key would go unnoticed
        let identity = config.auth.revocations.as_ref().map(|revocations| {
            let at = Endpoint { url: config.services["identity"].clone(), token: revocations.token.clone() };
            identity_api::Client::new(http.clone(), at)
        });
        let gpu = Endpoint { url: config.services["gpu"].clone(), token: config.gpu_token.clone() };
        let gpu = gpu_api::Client::new(http.clone(), gpu);
        Ok(Self {
            credentials: Arc::new(Credentials::new(
                identity,
                verifier.clone(),
                Arc::clone(&rate_limits),
                config.public_url.clone(),
                &cache,
            )),
            auth: AuthState { verifier, callers: Arc::default() },
            rate_limits,
            proxy: Arc::new(Proxy::new(process.shutdown.clone())),
            activity: Tracker::default(),
            routes: Routes::new(gpu.clone()),
            gpu,
        })
    }

    fn api(&self, config: &Config, own: Router, metrics: &Metrics) -> Api {
        let parts = rest::Parts {
            auth: self.auth.clone(),
            credentials: Arc::clone(&self.credentials),
            rate_limits: Arc::clone(&self.rate_limits),
            proxy: Arc::clone(&self.proxy),
            limits: config.limits.clone(),
            public_url: config.public_url.clone(),
        };
        Api::new(parts, &config.services, own, metrics)
    }

    fn instances(&self, config: &Config, metrics: &Metrics) -> anyhow::Result<Instances> {
        let parts = instance::Parts {
            verifier: self.auth.verifier.clone(),
            rate_limits: Arc::clone(&self.rate_limits),
            proxy: Arc::clone(&self.proxy),
            gpu: self.gpu.clone(),
            routes: self.routes.clone(),
            activity: self.activity.clone(),
            public_url: config.public_url.clone(),
            issuer: config.auth.issuer.clone(),
        };
        Instances::new(parts, &config.cookie_keys, config.limits.instance_requests_at_a_time, metrics)
    }

    fn personal_links(&self, config: &Config) -> Router {
        instance::personal_links(PersonalLinks {
            gpu: self.gpu.clone(),
            credentials: Arc::clone(&self.credentials),
            rate_limits: Arc::clone(&self.rate_limits),
            public_url: config.public_url.clone(),
        })
    }
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
        let shared = Shared::new(&config, &process, &http)?;
        let readiness = Arc::new(Readiness::new(&config.services, http.clone()));
        let verifier = shared.auth.verifier.clone();
        let front = Front::new(&process, move || {
            let (readiness, revocations) = (Arc::clone(&readiness), verifier.revocations().ready());
            async move {
                revocations?;
                readiness.check().await
            }
        })
        .with_origin(Origin::Outside);
        report_dependencies(&config, &process, &shared.rate_limits, &http);
        let own = own::router(own::Parts {
            auth: shared.auth.clone(),
            services: Arc::new(config.services.clone()),
            modules: Modules::new(&config.services, config.modules.clone(), http.clone()),
            front: front.clone(),
            own_address: config.metrics_listen,
            http,
            stop: process.shutdown.token(),
        });
        let pages = rest::document(&openapi()?)?
            .merge(site::router(config.console.as_ref(), &config.public_url)?)
            .merge(shared.personal_links(&config))
            .merge(front.health_routes());
        let instances = shared.instances(&config, &process.metrics)?;
        let api = shared.api(&config, own, &process.metrics);
        let names =
            HostNames { public_url: config.public_url.clone(), apps_domain: config.apps.domain.clone() };
        let hsts = security_headers::hsts(&config.public_url, config.hsts_seconds)?;
        let hosts = Hosts::new(names.clone(), &config.cors, hsts, api, pages, instances)?;
        Ok(Self {
            config: Arc::new(config),
            names,
            shared,
            hosts: Arc::new(hosts),
            internal: front.metrics_routes().merge(front.health_routes()).merge(front.report_routes()),
            front,
            process,
            transport,
        })
    }

    /// The background tasks. `internal` serves `/metrics`, health and report.
    fn tasks(&self, internal: TcpListener) -> anyhow::Result<Vec<Task>> {
        let shared = &self.shared;
        let internal = (Arc::new(internal.into_std()?), self.internal.clone());
        let period = Duration::from_secs(self.config.activity_seconds.max(1).into());
        let reporter = instance::Reporter::new(shared.gpu.clone(), shared.activity.clone(), period);
        let (limits, connections) = (RATE_LIMITS_CLEAN_UP, CONNECTIONS_CLEAN_UP);
        let mut tasks = vec![
            Task::until_stop("metrics", Duty::Serve, &internal, |(listener, routes), stop| async move {
                // the task keeps the socket, so that a restart does not lose the port
                let listener = TcpListener::from_std(listener.try_clone()?)?;
                axum::serve(listener, routes).with_graceful_shutdown(stop.cancelled_owned()).await?;
                Ok(())
            }),
            Task::every(
                "rate_limits",
                Duty::Housekeeping,
                limits,
                &shared.rate_limits,
                |limits| async move {
                    limits.forget_idle();
                    Ok(Round::Done)
                },
            ),
            Task::every("connections", Duty::Housekeeping, connections, &shared.proxy, |proxy| async move {
                proxy.close_idle();
                Ok(Round::Done)
            }),
            shared.routes.task(),
            reporter.task(),
        ];
        tasks.extend(shared.auth.verifier.task());
        tasks.extend(self.transport.tls.as_ref().map(Tls::task));
        Ok(tasks)
    }

    /// Starts the background tasks, of which one serves `internal`. They end with the process.
    ///
    /// # Errors
    /// If the listener cannot be used.
    pub fn start_workers(&self, internal: TcpListener) -> anyhow::Result<()> {
        self.process.workers.start(NAME, self.tasks(internal)?);
        Ok(())
    }

    /// Serves on listeners that are bound already, until shutdown.
    ///
    /// # Errors
    /// If a listener cannot be used.
    pub async fn serve_on(&self, public: TcpListener, internal: TcpListener) -> anyhow::Result<()> {
        self.start_workers(internal)?;
        let (config, shutdown) = (&self.config, &self.process.shutdown);
        let redirect = match config.tls.as_ref().and_then(|tls| tls.redirect_listen) {
            Some(listen) => Some(bind(listen).await?),
            None => None,
        };
        let redirecting = async {
            if let Some(listener) = redirect {
                let transport = Transport { tls: None, ..self.transport.clone() };
                let routes = redirect::router(self.names.clone());
                let answer = move |request| oneshot(routes.clone(), request);
                listener::serve(listener, answer, transport, &config.limits, shutdown).await;
            }
        };
        let (front, hosts) = (self.front.clone(), Arc::clone(&self.hosts));
        let answer = move |request| {
            let (front, hosts) = (front.clone(), Arc::clone(&hosts));
            // the connection moves the future; moving a box is cheaper
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

/// Adds what the gateway calls to the dependencies of its process.
fn report_dependencies(config: &Config, process: &Process, limits: &Arc<RateLimits>, http: &reqwest::Client) {
    for (name, url) in config.services.all() {
        process.health.depends_on_service(name, http, url.as_str());
    }
    if limits.is_shared() {
        let limits = Arc::clone(limits);
        process.health.depends_on("valkey", DependencyKind::Cache, move || {
            let limits = Arc::clone(&limits);
            async move { limits.ping().await }
        });
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
