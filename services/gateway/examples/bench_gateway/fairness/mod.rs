//! `cargo xtask bench gateway-fairness`: the effect on one tenant of another that sends far more than its
//! share. The gateway and the stock service are processes of their own, before a real Postgres. The victim is
//! one user who lists GPU specifications at a fixed rate; the other tenant has three users with 64
//! connections each. The gateway and the service have the first core. The clients have the second: those of
//! the other tenant are a process of their own with the lowest priority, so that the victim's client waits
//! for the platform alone.
//!
//! Two cases, each in rounds with and without the other tenant, in turns:
//! - *limited*: the defaults; the other tenant sends `times` the requests of one user's rate limit.
//! - *unlimited*: without rate limits, so that admission alone divides the service; each connection of the
//!   other tenant sends its next request once the last was answered.
//!
//! The last line is `gateway-fairness: victim_p99_ratio=… unlimited_p99_ratio=… victim_p99_ms=…
//! unlimited_p99_ms=…`: the victim's p99 with the other tenant relative to that alone, as medians of all
//! rounds. A latency is measured from the time at which the request was due.

mod client;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Child,
    time::Duration,
};

use auth::Role;
use ids::TenantId;
use testkit::{Issuer, TestDb};

use crate::serve::{self, Gateway, Service, Stock};
use client::{Outcome, Pace};

/// Requests per second that the gateway accepts of one user in the limited case: the default.
const RATE_LIMIT: u32 = 100;
const USERS: usize = 3;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Rounds of each case
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 6)]
    seconds: u64,
    /// Requests per second of the victim
    #[arg(long, default_value_t = 50)]
    rate: u32,
    /// Connections of each user of the other tenant
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// How many times its share the other tenant sends in the limited case
    #[arg(long, default_value_t = 50)]
    times: u32,
}

/// The other tenant's clients.
#[derive(Debug, clap::Args)]
pub(crate) struct Crowd {
    /// The gateway
    #[arg(long)]
    at: SocketAddr,
    /// A file with a token in each line
    #[arg(long)]
    tokens: PathBuf,
    /// Requests per second; without it each connection sends its next request after an answer
    #[arg(long)]
    rate: Option<u32>,
    #[arg(long)]
    seconds: u64,
    /// Connections of each user
    #[arg(long)]
    connections: usize,
}

pub(crate) async fn run(args: &Args) {
    pin_to_clients_core();
    measure(args).await;
}

/// Leaves the first core to the services.
fn pin_to_clients_core() {
    let id = std::process::id().to_string();
    let pinned = std::process::Command::new("taskset").args(["-a", "-c", "-p", "1", &id]).output().unwrap();
    assert!(pinned.status.success(), "{}", String::from_utf8_lossy(&pinned.stderr));
}

/// One case: the victim's latencies alone and with the other tenant, round by round.
#[derive(Default)]
struct Case {
    alone: Vec<f64>,
    beside: Vec<f64>,
}

impl Case {
    fn ratio(&self) -> f64 {
        median(&self.beside) / median(&self.alone)
    }
}

async fn measure(args: &Args) {
    let url = std::env::var("BENCH_POSTGRES")
        .expect("BENCH_POSTGRES: run it with `cargo xtask bench gateway-fairness`");
    let (db, issuer) = (TestDb::at(&url), Issuer::start().await);
    let folder = tempfile::tempdir().unwrap();
    let issuer_url = issuer.config().issuer;
    let database = db.service(atelier_stock::NAME, &atelier_stock::MIGRATIONS).await.url;
    let listen = serve::free_address();
    let stock = Stock { listen, issuer: issuer_url.clone(), database };
    let stock = Running::start(&Service::Stock(stock), listen).await;
    let gateway = async |limit| {
        let listen = serve::free_address();
        let gateway = Gateway {
            listen,
            metrics_listen: serve::free_address(),
            upstream: stock.address,
            issuer: issuer_url.clone(),
            limit,
            traces: None,
        };
        Running::start(&Service::Gateway(gateway), listen).await
    };
    let (limited, unlimited) = (gateway(Some(RATE_LIMIT)).await, gateway(None).await);

    println!(
        "{:>10} {:>7} {:>9} {:>9} {:>9} {:>10} {:>10} {:>8}",
        "", "", "p50 ms", "p99 ms", "max ms", "failed", "other/s", "refused"
    );
    let mut cases = [Case::default(), Case::default()];
    for _ in 0..args.rounds {
        for (n, gateway) in [&limited, &unlimited].into_iter().enumerate() {
            let name = ["limited", "unlimited"][n];
            let alone = victim(args, gateway.address, &issuer).await;
            row(name, "alone", &alone, None, args);
            cases[n].alone.push(alone.at(0.99));
            let (beside, other) = tokio::join!(
                victim(args, gateway.address, &issuer),
                start_crowd(
                    args,
                    (n == 0).then_some(RATE_LIMIT * args.times),
                    gateway.address,
                    &issuer,
                    folder.path()
                )
            );
            row(name, "beside", &beside, Some(other), args);
            cases[n].beside.push(beside.at(0.99));
        }
    }
    let [limited, unlimited] = &cases;
    println!(
        "gateway-fairness: victim_p99_ratio={:.2} unlimited_p99_ratio={:.2} victim_p99_ms={:.1} unlimited_p99_ms={:.1}",
        limited.ratio(),
        unlimited.ratio(),
        median(&limited.beside),
        median(&unlimited.beside),
    );
}

async fn victim(args: &Args, gateway: SocketAddr, issuer: &Issuer) -> Outcome {
    let token = issuer.user(TenantId::new(), Role::Member);
    let pace = Pace::Every(Duration::from_secs(1) / args.rate);
    client::run(gateway, &[token], 4, pace, Duration::from_secs(args.seconds)).await
}

/// Starts the other tenant's clients as a process. Returns the numbers of served and of refused requests.
async fn start_crowd(
    args: &Args,
    rate: Option<u32>,
    gateway: SocketAddr,
    issuer: &Issuer,
    folder: &Path,
) -> (usize, usize) {
    let tenant = TenantId::new();
    let tokens: Vec<_> = (0..USERS).map(|_| issuer.user(tenant, Role::Member)).collect();
    let file = folder.join("tokens");
    std::fs::write(&file, tokens.join("\n")).unwrap();
    let mut command = tokio::process::Command::new("nice");
    command.args(["-n", "19", "taskset", "-c", "1"]).arg(serve::own());
    command.args(["crowd", "--at", &gateway.to_string(), "--tokens"]).arg(&file);
    command.args(["--seconds", &args.seconds.to_string(), "--connections", &args.connections.to_string()]);
    if let Some(rate) = rate {
        command.args(["--rate", &rate.to_string()]);
    }
    let output = command.stderr(std::process::Stdio::inherit()).output().await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let counts: Vec<usize> = text.split_whitespace().map(|count| count.parse().unwrap()).collect();
    let [served, refused] = counts[..] else { panic!("the other tenant's clients failed: {text}") };
    (served, refused)
}

pub(crate) async fn crowd(crowd: &Crowd) {
    let tokens = std::fs::read_to_string(&crowd.tokens).unwrap();
    let tokens: Vec<_> = tokens.lines().map(str::to_owned).collect();
    let pace = crowd.rate.map_or(Pace::AtOnce, |rate| Pace::Every(Duration::from_secs(1) / rate));
    let time = Duration::from_secs(crowd.seconds);
    let outcome = client::run(crowd.at, &tokens, USERS * crowd.connections, pace, time).await;
    println!("{} {}", outcome.took.len(), outcome.refused);
}

fn row(case: &str, what: &str, victim: &Outcome, other: Option<(usize, usize)>, args: &Args) {
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let per_second = |n: usize| n as f64 / args.seconds as f64;
    let (served, refused) =
        other.map_or((0.0, 0.0), |(served, refused)| (per_second(served), per_second(refused)));
    println!(
        "{case:>10} {what:>7} {:>9.2} {:>9.2} {:>9.2} {:>10} {served:>10.0} {refused:>8.0}",
        victim.at(0.5),
        victim.at(0.99),
        victim.at(1.0),
        victim.refused,
    );
}

fn median(all: &[f64]) -> f64 {
    let mut all = all.to_vec();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// A service. It is killed when this is dropped.
struct Running {
    process: Child,
    address: SocketAddr,
}

impl Running {
    async fn start(service: &Service, address: SocketAddr) -> Self {
        let running = Self { process: service.start("0"), address };
        serve::listens(address).await;
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
