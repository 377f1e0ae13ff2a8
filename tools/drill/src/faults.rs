//! The faults, and which alert has to page for each.

use std::{slice, sync::LazyLock, time::Duration};

use super::proxy;

/// A fault.
pub(super) struct Fault {
    pub(super) name: String,
    pub(super) what: String,
    pub(super) expects: Expects,
    pub(super) action: Action,
}

/// Which alert has to page.
#[derive(Debug, Clone, Copy)]
pub(super) enum Expects {
    /// This alert, which is a page, within 30 s, with this label if any.
    Page(&'static str, Option<(&'static str, &'static str)>),
    /// Nobody, for this reason.
    Nobody(&'static str),
}

/// The fault to inject.
#[derive(Debug, Clone, Copy)]
pub(super) enum Action {
    /// Kills the processes and keeps them from being restarted.
    Down(&'static [&'static str]),
    /// Kills the processes; they are restarted.
    Kill(&'static [&'static str]),
    /// Stops the processes (SIGSTOP).
    Hang(&'static [&'static str]),
    /// Lets the processes run an eighth of the time.
    Slow(&'static [&'static str]),
    /// Connections to Postgres.
    ToPostgres(proxy::Fault),
    /// Connections to the API server.
    ToCluster(proxy::Fault),
    /// Connections to the object store.
    ToObjectStore(proxy::Fault),
    /// Each commit waits 100 ms.
    SlowCommits,
    /// Others hold all connections.
    NoConnections,
    /// A table is locked.
    Locked,
    /// A node fails with everything on it.
    NodeLost,
    /// Both nodes accept no new pods.
    Cordoned,
    /// Pods of others use all resources that are not reserved.
    Full,
    /// The process of an instance is killed.
    InstanceKilled,
    /// An instance of a version whose image does not exist.
    NoImage,
    /// The process is restarted with its log on a full disk.
    LogDiskFull(&'static str),
    /// The process is restarted with its clock this many seconds ahead.
    Clock(&'static str, i32),
    /// The third gateway's certificate has expired.
    Certificate,
    /// The signing key is rotated again and again.
    KeyRotation,
    /// An object in the cluster without a record in the database.
    PoisonUnit,
    /// A row that cannot be reconciled.
    PoisonRow,
    /// Cannot be injected here, for this reason.
    Not(&'static str),
}

const RESTARTED: &str = "restarted at once";
const OTHER_REPLICA: &str = "the other gateway serves";
const BURN: &str = "slow, but it works: ApiSlow pages if it lasts (burn rate over an hour)";

const fn unavailable(job: &'static str) -> Expects {
    Expects::Page("ServiceUnavailable", Some(("job", job)))
}

const POSTGRES: Expects = Expects::Page("PostgresUnavailable", None);
const CLUSTER: Expects = Expects::Page("ClusterSilent", Some(("cluster", "dev-1")));
const STORE: Expects = Expects::Page("ObjectStoreUnreachable", None);
const GATEWAYS: &[&str] = &["gateway-1", "gateway-2", "gateway-3"];

/// The services with a schema: name, and job of Prometheus.
static SERVICES: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
    platform::stateful().map(|service| (&*service.name, format!("atelier-{}", service.name))).collect()
});

/// All faults, in the order in which they are injected: those of each service, then the others.
pub(super) static FAULTS: LazyLock<Vec<Fault>> = LazyLock::new(|| {
    let others = OTHERS.iter().map(|&(name, what, expects, action)| Fault {
        name: name.to_owned(),
        what: what.to_owned(),
        expects,
        action,
    });
    SERVICES.iter().flat_map(|(name, job)| of_service(name, job)).chain(others).collect()
});

fn of_service(name: &'static &'static str, job: &'static str) -> [Fault; 3] {
    let fault = |kind, what, expects, action: fn(&'static [&'static str]) -> Action| Fault {
        name: format!("{name}-{kind}"),
        what: format!("{name} {what}"),
        expects,
        action: action(slice::from_ref(name)),
    };
    [
        fault("down", "is killed and does not start", unavailable(job), Action::Down),
        fault("hung", "hangs", unavailable(job), Action::Hang),
        fault("slow", "runs 1/8 of the time", Expects::Nobody(BURN), Action::Slow),
    ]
}

/// Faults by name: what they are, what they expect and how they are injected.
const OTHERS: &[(&str, &str, Expects, Action)] = &[
    ("gpu-killed", "gpu is killed once", Expects::Nobody(RESTARTED), Action::Kill(&["gpu"])),
    (
        "operator-down",
        "the operator is killed and does not start",
        unavailable("atelier-operator"),
        Action::Down(&["operator"]),
    ),
    ("operator-hung", "the operator hangs", unavailable("atelier-operator"), Action::Hang(&["operator"])),
    (
        "operator-slow",
        "the operator runs 1/8 of the time",
        Expects::Nobody("slow, but it works: InstanceStartsFailing pages if starts take 30 s"),
        Action::Slow(&["operator"]),
    ),
    (
        "gateways-down",
        "all gateways are killed and do not start",
        unavailable("atelier-gateway"),
        Action::Down(GATEWAYS),
    ),
    (
        "gateway-killed",
        "one of the gateways is killed once",
        Expects::Nobody(OTHER_REPLICA),
        Action::Kill(&["gateway-1"]),
    ),
    (
        "gateway-hung",
        "one of the gateways hangs",
        Expects::Nobody(OTHER_REPLICA),
        Action::Hang(&["gateway-1"]),
    ),
    (
        "gateway-slow",
        "one of the gateways runs 1/8 of the time",
        Expects::Nobody(BURN),
        Action::Slow(&["gateway-1"]),
    ),
    ("postgres-down", "Postgres is killed and does not start", POSTGRES, Action::Down(&["postgres"])),
    (
        "postgres-killed",
        "Postgres is killed once (SIGKILL)",
        Expects::Nobody("recovers within seconds"),
        Action::Kill(&["postgres"]),
    ),
    ("postgres-hung", "Postgres hangs", POSTGRES, Action::Hang(&["postgres"])),
    (
        "postgres-cut",
        "connections to Postgres pass nothing",
        POSTGRES,
        Action::ToPostgres(proxy::Fault::Stall),
    ),
    ("postgres-slow-disk", "each commit takes 100 ms more", Expects::Nobody(BURN), Action::SlowCommits),
    ("postgres-no-connections", "others hold all connections", POSTGRES, Action::NoConnections),
    (
        "postgres-locked",
        "the table of instances is locked",
        Expects::Page("PostgresPoolExhausted", Some(("job", "atelier-gpu"))),
        Action::Locked,
    ),
    (
        "postgres-replica-lag",
        "a replica of Postgres lags behind",
        Expects::Nobody(""),
        Action::Not("no service reads from a replica, and there is none on this machine"),
    ),
    ("cluster-away", "the API server refuses connections", CLUSTER, Action::ToCluster(proxy::Fault::Reset)),
    ("cluster-hung", "the API server answers nothing", CLUSTER, Action::ToCluster(proxy::Fault::Stall)),
    ("cluster-errors", "the API server answers 500", CLUSTER, Action::ToCluster(proxy::Fault::Errors)),
    (
        "cluster-slow",
        "each packet of the API server takes 300 ms",
        Expects::Nobody("starts are slower, and in time"),
        Action::ToCluster(proxy::Fault::Delay(Duration::from_millis(300))),
    ),
    (
        "cluster-410",
        "the API server answers watches with 410",
        Expects::Nobody("the services list again; ClusterWatchDisconnected pages after 2 min"),
        Action::ToCluster(proxy::Fault::WatchesGone),
    ),
    (
        "watch-silent",
        "watches report nothing",
        Expects::Nobody("found by comparison: ticket WatchMissesChanges"),
        Action::ToCluster(proxy::Fault::WatchesSilent),
    ),
    (
        "node-lost",
        "one of two nodes fails",
        Expects::Nobody("instances move to other units; ticket UnitsInactive after 15 min"),
        Action::NodeLost,
    ),
    (
        "nodes-cordoned",
        "no node accepts new pods",
        Expects::Nobody("units keep their places"),
        Action::Cordoned,
    ),
    (
        "nodes-full",
        "others use what is not reserved",
        Expects::Nobody("units keep their places"),
        Action::Full,
    ),
    (
        "instance-killed",
        "the process of an instance is killed",
        Expects::Nobody("the instance of one user; restarted"),
        Action::InstanceKilled,
    ),
    (
        "no-image",
        "an image cannot be pulled",
        Expects::Nobody("the instance of one user; reported to them"),
        Action::NoImage,
    ),
    ("rgw-away", "the object store refuses connections", STORE, Action::ToObjectStore(proxy::Fault::Reset)),
    ("rgw-hung", "the object store answers nothing", STORE, Action::ToObjectStore(proxy::Fault::Stall)),
    (
        "rgw-slow",
        "each packet of the object store takes 300 ms",
        Expects::Nobody("buckets are slower"),
        Action::ToObjectStore(proxy::Fault::Delay(Duration::from_millis(300))),
    ),
    (
        "rgw-over-quota",
        "the object store refuses all writes",
        Expects::Nobody("ObjectStoreFailing pages after 15 min without a success"),
        Action::ToObjectStore(proxy::Fault::OverQuota),
    ),
    (
        "log-disk-full",
        "the disk for the log of gpu is full",
        Expects::Nobody("logs are lost, nothing else"),
        Action::LogDiskFull("gpu"),
    ),
    (
        "clock-ahead",
        "the clock of gpu is 2 min ahead",
        Expects::Page("ClockWrong", Some(("job", "atelier-gpu"))),
        Action::Clock("gpu", 120),
    ),
    (
        "certificate",
        "a certificate has expired",
        Expects::Page("CertificateExpires", None),
        Action::Certificate,
    ),
    ("key-rotation", "signing keys are rotated", Expects::Nobody("no fault at all"), Action::KeyRotation),
    (
        "poison-unit",
        "a unit in the cluster without a record in the database",
        Expects::Nobody("ticket StockDisagreement"),
        Action::PoisonUnit,
    ),
    (
        "poison-row",
        "a storage that cannot be reconciled",
        Expects::Nobody("one row of one tenant; retried with backoff"),
        Action::PoisonRow,
    ),
    (
        "balancer-killed",
        "the load balancer is killed once",
        Expects::Nobody(RESTARTED),
        Action::Kill(&["balancer"]),
    ),
    (
        "dns",
        "names cannot be resolved",
        Expects::Nobody(""),
        Action::Not("all addresses of this platform are 127.0.0.1"),
    ),
];
