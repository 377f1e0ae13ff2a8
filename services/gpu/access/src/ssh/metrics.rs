//! Metrics of the SSH endpoint.

use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue},
    metrics::{counter::Counter, family::Family, gauge::Gauge},
};

/// The outcome of a client's log-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
pub(super) enum LogIn {
    Accepted,
    /// The key does not open the instance.
    Refused,
    /// The right could not be checked.
    Failed,
    /// The tenant has too many connections.
    Limited,
}

/// What a channel carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
pub(super) enum Kind {
    Shell,
    Command,
    Sftp,
    Forward,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LogInLabels {
    result: LogIn,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    kind: Kind,
}

/// What the SSH endpoint measures.
#[derive(Default)]
pub struct SshMetrics {
    pub(super) connections: Gauge,
    /// Connections refused because this replica has reached its limit.
    pub(super) turned_away: Counter,
    log_ins: Family<LogInLabels, Counter>,
    channels: Family<KindLabels, Counter>,
}

impl SshMetrics {
    /// Adds the metrics to those of the process.
    pub fn register(&self, metrics: &service::Metrics) {
        metrics.register(|registry| {
            registry.register("ssh_connections", "Open SSH connections", &[], self.connections.clone());
            registry.register(
                "ssh_connections_turned_away",
                "SSH connections refused because of the limit of this replica",
                &[],
                self.turned_away.clone(),
            );
            registry.register(
                "ssh_log_ins",
                "Log-ins over SSH by result: Accepted, Refused, Failed, Limited",
                &["result"],
                self.log_ins.clone(),
            );
            registry.register(
                "ssh_channels",
                "SSH channels opened, by what they carry",
                &["kind"],
                self.channels.clone(),
            );
        });
    }

    pub(super) fn log_in(&self, result: LogIn) {
        self.log_ins.get_or_create(&LogInLabels { result }).inc();
    }

    pub(super) fn channel(&self, kind: Kind) {
        self.channels.get_or_create(&KindLabels { kind }).inc();
    }
}
