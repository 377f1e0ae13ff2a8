//! The message broker: the machine's RabbitMQ, if there is one. Without it jobs are submitted over HTTP only.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use machine::config::Config;
use rabbitmq::{Broker, Options};

/// Pauses before a node that has ended is started again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// The folder of its data.
pub(super) fn folder(data: &Path) -> PathBuf {
    data.join("rabbitmq")
}

/// How it is started.
pub(super) fn options(config: &Config, data: &Path) -> Options {
    Options {
        folder: folder(data),
        port: Some(config.ports["broker"]),
        auth: Some(format!("http://127.0.0.1:{}", config.ports["jobs_broker"])),
    }
}

/// Its address for tenants.
pub(super) fn public_url(config: &Config) -> String {
    format!("amqp://127.0.0.1:{}/%2f", config.ports["broker"])
}

pub(super) fn version() -> String {
    rabbitmq::version().unwrap_or_else(|| "of an unknown version".to_owned())
}

/// Starts it again when it ends, as long as this is polled.
pub(super) async fn keep_up(broker: Option<&mut Broker>) {
    let Some(broker) = broker else { return std::future::pending().await };
    let mut pause = PAUSES.0;
    loop {
        let how = broker.ended().await;
        println!("  RabbitMQ: {how}; restarting it");
        // the remains of the node
        broker.kill().await;
        tokio::time::sleep(pause).await;
        match broker.restart().await {
            Ok(()) => pause = PAUSES.0,
            Err(error) => {
                println!("  {error:#}");
                pause = (pause * 2).min(PAUSES.1);
            }
        }
    }
}
