//! Services as processes of their own. Each is this program, which gets the service as an argument and builds
//! the configuration.

use std::{
    net::SocketAddr,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use atelier_gateway::{Apps, Config, CookieKey, Cors, Limits, Services};
use audit::RetentionConfig;
use db::DbConfig;
use serde::{Deserialize, Serialize};
use service::TelemetryConfig;
use testkit::{Issuer, SERVICE_TOKEN, eventually};

/// A limit that is never reached.
const UNLIMITED: u32 = 1_000_000;

/// The service to run.
#[derive(Serialize, Deserialize)]
pub(crate) enum Service {
    Gateway(Gateway),
    Stock(Stock),
}

/// A gateway. Clients, which have one address here, are not limited by it.
#[derive(Serialize, Deserialize)]
pub(crate) struct Gateway {
    pub(crate) listen: SocketAddr,
    pub(crate) metrics_listen: SocketAddr,
    /// The stand-in for all services.
    pub(crate) upstream: SocketAddr,
    /// Address of the issuer of tokens.
    pub(crate) issuer: String,
    /// Requests per second of a user, with the other default limits; none without.
    pub(crate) limit: Option<u32>,
    /// Where spans are exported to.
    pub(crate) traces: Option<String>,
}

/// A stock service.
#[derive(Serialize, Deserialize)]
pub(crate) struct Stock {
    pub(crate) listen: SocketAddr,
    pub(crate) issuer: String,
    /// Address of its database.
    pub(crate) database: String,
}

impl Service {
    /// Starts it on this core.
    pub(crate) fn start(&self, core: &str) -> Child {
        let mut command = Command::new("taskset");
        command.args(["-c", core]).arg(own()).args(["serve", &serde_json::to_string(self).unwrap()]);
        command.env("RUST_LOG", "error").stdout(Stdio::null()).spawn().expect("taskset")
    }
}

/// This program.
pub(crate) fn own() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// A free address of this machine.
pub(crate) fn free_address() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Waits until the address accepts connections.
pub(crate) async fn listens(address: SocketAddr) {
    eventually(&format!("{address} accepts connections"), async || {
        tokio::net::TcpStream::connect(address).await.ok().map(drop)
    })
    .await;
}

/// Serves until the process is terminated.
pub(crate) async fn run(service: &str) {
    let process = service::Process::on_signal().unwrap();
    match serde_json::from_str(service).unwrap() {
        Service::Gateway(gateway) => {
            Box::pin(atelier_gateway::App::serve(gateway.config(), process)).await.unwrap();
        }
        Service::Stock(stock) => Box::pin(atelier_stock::App::serve(stock.config(), process)).await.unwrap(),
    }
}

impl Gateway {
    fn config(self) -> Config {
        let upstream: url::Url = format!("http://{}", self.upstream).parse().unwrap();
        let addresses = Limits {
            address_requests_per_second: UNLIMITED,
            address_request_burst: UNLIMITED,
            ..Limits::default()
        };
        let limits = match self.limit {
            Some(limit) => Limits { requests_per_second: limit, ..addresses },
            None => Limits {
                requests_per_second: UNLIMITED,
                request_burst: UNLIMITED,
                tenant_requests_per_second: UNLIMITED,
                tenant_request_burst: UNLIMITED,
                ..addresses
            },
        };
        Config {
            console: None,
            listen: self.listen,
            metrics_listen: self.metrics_listen,
            tls: None,
            proxy_protocol: None,
            cors: Cors::default(),
            telemetry: self
                .traces
                .map(|traces| TelemetryConfig { endpoint: traces.parse().unwrap(), sample_ratio: 0.01 }),
            hsts_seconds: 0,
            public_url: format!("http://{}", self.listen).parse().unwrap(),
            apps: Apps::default(),
            auth: Issuer::config_of(&self.issuer),
            services: Services::new(|_| upstream.clone()),
            modules: [].into(),
            gpu_token: "none".into(),
            cookie_keys: vec![CookieKey {
                id: "1".to_owned(),
                key: "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=".into(),
            }],
            cache: None,
            limits,
            activity_seconds: 30,
            drain_seconds: 0,
        }
    }
}

impl Stock {
    fn config(self) -> atelier_stock::Config {
        atelier_stock::Config {
            listen: self.listen,
            database: DbConfig {
                url: self.database,
                app_password: "test".into(),
                worker_password: "test".into(),
                owner_password: None,
                max_connections: 10,
                heal_seconds: 60,
            },
            auth: Issuer::config_of(&self.issuer),
            callers: [("test".to_owned(), SERVICE_TOKEN.into())].into(),
            clusters: [].into(),
            cache: None,
            stock: atelier_stock::StockConfig::default(),
            audit: RetentionConfig::default(),
            telemetry: None,
        }
    }
}
