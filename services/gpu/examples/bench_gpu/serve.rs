//! The service as a process of its own: this program, which gets its addresses and builds the configuration.

use std::{
    net::SocketAddr,
    path::PathBuf,
    process::{Child, Command},
};

use atelier_gpu::{
    Apps, BudgetsConfig, Config, EventsConfig, HoldsConfig, IdleConfig, MonitoringConfig, StreamsConfig,
    TerminalConfig,
};
use crds::ClusterConfig;
use db::DbConfig;
use encryption::EncryptionKey;
use peer::Endpoint;
use serde::{Deserialize, Serialize};
use testkit::{Issuer, service_token};

use crate::stock::CLUSTER;

#[derive(Serialize, Deserialize)]
pub(crate) struct Service {
    pub(crate) listen: SocketAddr,
    /// Address of the issuer of tokens.
    pub(crate) issuer: String,
    /// Address of its database.
    pub(crate) database: String,
    /// Address of the stock service, which also answers as the storage service.
    pub(crate) stock: String,
    pub(crate) kubeconfig: PathBuf,
}

impl Service {
    /// Starts it.
    pub(crate) fn start(&self) -> Child {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--serve", &serde_json::to_string(self).unwrap()]);
        command.env("RUST_LOG", "error").spawn().unwrap()
    }

    fn config(self) -> Config {
        let token = service_token("gpu");
        let endpoint = || Endpoint { url: self.stock.parse().unwrap(), token: token.clone().into() };
        Config {
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
            callers: [("gpu".to_owned(), token.clone().into())].into(),
            encryption_keys: vec![EncryptionKey {
                id: "1".to_owned(),
                key: "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=".into(),
            }],
            stock: endpoint(),
            storage: endpoint(),
            identity: None,
            apps: Apps { scheme: "http".to_owned(), domain: "localhost".to_owned(), port: None },
            clusters: [(
                CLUSTER.to_owned(),
                ClusterConfig { kubeconfig: Some(self.kubeconfig), context: None },
            )]
            .into(),
            terminal: TerminalConfig::default(),
            streams: StreamsConfig::default(),
            events: EventsConfig::default(),
            holds: HoldsConfig::default(),
            budgets: BudgetsConfig::default(),
            log_archive: None,
            ssh: None,
            prometheus: [].into(),
            monitoring: MonitoringConfig::default(),
            idle: IdleConfig::default(),
            audit: audit::RetentionConfig::default(),
            cache: None,
            telemetry: None,
        }
    }
}

/// Serves until the process is terminated.
pub(crate) async fn run(service: &str) {
    let service: Service = serde_json::from_str(service).unwrap();
    let process = service::Process::on_signal().unwrap();
    Box::pin(atelier_gpu::App::serve(service.config(), process)).await.unwrap();
}
