//! `cargo xtask bench fairness`: what one tenant notices of another that sends far more than its share. The gateway and
//! the stock service are processes of their own, before a real Postgres. The victim is one user who lists GPU
//! specifications at a fixed rate; the other tenant has three users with 64 connections each. The gateway and the service
//! have the first core. The clients have the second: those of the other tenant are a process of their own with the lowest
//! priority, so that the victim's client waits for the platform alone.
//!
//! Two cases, each in rounds with and without the other tenant, in turns:
//! - *limited*: the defaults; the other tenant sends 50 times the requests of one user's rate limit.
//! - *unlimited*: without rate limits, so that admission alone divides the service; each connection of the
//!   other tenant sends its next request once the last was answered.
//!
//! The last line is `fairness: victim_p99_ratio=… unlimited_p99_ratio=… victim_p99_ms=… unlimited_p99_ms=…`: the victim's
//! p99 with the other tenant relative to that alone, as medians of all rounds. A latency counts from the time at which
//! the request was due.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark that fails must say so and stop")]

mod client;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Child,
    time::Duration,
};

use auth::Role;
use clap::Parser;
use client::{Outcome, Pace};
use ids::TenantId;
use testkit::{Issuer, SERVICE_TOKEN, TestDb, eventually};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Requests per second that the gateway accepts of one user in the limited case: the default.
const RATE_LIMIT: u32 = 100;
/// How many times its share the other tenant sends.
const TIMES: u32 = 50;
const USERS: usize = 3;

#[derive(Debug, Parser)]
struct Args {
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
    /// Be a service, with this configuration
    #[arg(long, hide = true, num_args = 2, value_names = ["NAME", "FILE"])]
    serve: Option<Vec<PathBuf>>,
    /// Be the other tenant's clients
    #[command(flatten)]
    crowd: Crowd,
}

/// The other tenant's clients.
#[derive(Debug, clap::Args)]
struct Crowd {
    /// The gateway
    #[arg(long, hide = true)]
    at: Option<SocketAddr>,
    /// A file with a token in each line
    #[arg(long, hide = true)]
    tokens: Option<PathBuf>,
    /// Whether each connection sends its next request after an answer
    #[arg(long, hide = true)]
    at_once: bool,
}

#[tokio::main]
async fn main() {
    let args = Args::parse();
    if let Some([name, file]) = args.serve.as_deref() {
        let process = service::Process::on_signal().unwrap();
        match name.to_str().unwrap() {
            "gateway" => {
                let config = service::config::load(Some(file)).unwrap();
                Box::pin(atelier_gateway::serve(config, process)).await.unwrap();
            }
            _ => {
                let config = service::config::load(Some(file)).unwrap();
                Box::pin(atelier_stock::serve(config, process)).await.unwrap();
            }
        }
        return;
    }
    if let Some(gateway) = args.crowd.at {
        return crowd(&args, gateway).await;
    }
    pin_to_clients_core();
    measure(&args).await;
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
    let url =
        std::env::var("BENCH_POSTGRES").expect("BENCH_POSTGRES: run it with `cargo xtask bench fairness`");
    let (db, issuer) = (TestDb::at(&url), Issuer::start().await);
    let folder = tempfile::tempdir().unwrap();
    let stock =
        Service::start(folder.path(), "stock", |listen| stock_config(listen, &issuer), Some(&db)).await;
    // all clients have one address here
    let address = "address_requests_per_second = 1000000, address_request_burst = 1000000";
    let limits = format!("limits = {{ requests_per_second = {RATE_LIMIT}, {address} }}");
    let limited =
        Service::start(folder.path(), "limited", |at| gateway_config(at, &stock, &issuer, &limits), None)
            .await;
    let none = format!(
        "limits = {{ requests_per_second = 1000000, request_burst = 1000000, \
         tenant_requests_per_second = 1000000, tenant_request_burst = 1000000, {address} }}"
    );
    let unlimited =
        Service::start(folder.path(), "unlimited", |at| gateway_config(at, &stock, &issuer, &none), None)
            .await;

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
                start_crowd(args, n == 1, gateway.address, &issuer, folder.path())
            );
            row(name, "beside", &beside, Some(other), args);
            cases[n].beside.push(beside.at(0.99));
        }
    }
    let [limited, unlimited] = &cases;
    println!(
        "fairness: victim_p99_ratio={:.2} unlimited_p99_ratio={:.2} victim_p99_ms={:.1} unlimited_p99_ms={:.1}",
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

/// Starts the other tenant's clients as a process. Returns the requests that were served, and those that were refused.
async fn start_crowd(
    args: &Args,
    at_once: bool,
    gateway: SocketAddr,
    issuer: &Issuer,
    folder: &Path,
) -> (usize, usize) {
    let tenant = TenantId::new();
    let tokens: Vec<_> = (0..USERS).map(|_| issuer.user(tenant, Role::Member)).collect();
    let file = folder.join("tokens");
    std::fs::write(&file, tokens.join("\n")).unwrap();
    let mut command = tokio::process::Command::new("nice");
    command.args(["-n", "19", "taskset", "-c", "1"]).arg(std::env::current_exe().unwrap());
    command.args(["--at", &gateway.to_string(), "--tokens"]).arg(&file);
    command.args(["--seconds", &args.seconds.to_string(), "--connections", &args.connections.to_string()]);
    if at_once {
        command.arg("--at-once");
    }
    let output = command.stderr(std::process::Stdio::inherit()).output().await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let counts: Vec<usize> = text.split_whitespace().map(|count| count.parse().unwrap()).collect();
    let [served, refused] = counts[..] else { panic!("the other tenant's clients failed: {text}") };
    (served, refused)
}

async fn crowd(args: &Args, gateway: SocketAddr) {
    let tokens = std::fs::read_to_string(args.crowd.tokens.as_ref().unwrap()).unwrap();
    let tokens: Vec<_> = tokens.lines().map(str::to_owned).collect();
    let pace = if args.crowd.at_once {
        Pace::AtOnce
    } else {
        Pace::Every(Duration::from_secs(1) / (RATE_LIMIT * TIMES))
    };
    let time = Duration::from_secs(args.seconds);
    let outcome = client::run(gateway, &tokens, USERS * args.connections, pace, time).await;
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
struct Service {
    process: Child,
    address: SocketAddr,
}

impl Service {
    async fn start(
        folder: &Path,
        name: &str,
        config: impl Fn(SocketAddr) -> String,
        db: Option<&TestDb>,
    ) -> Self {
        let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut config = config(address);
        if let Some(db) = db {
            let database = db.service(atelier_stock::NAME, &atelier_stock::MIGRATIONS).await;
            let url = database.url;
            config += &format!(
                "\ndatabase = {{ url = \"{url}\", app_password = \"test\", worker_password = \"test\" }}"
            );
        }
        let file = folder.join(format!("{name}.toml"));
        std::fs::write(&file, config).unwrap();
        let kind = if db.is_some() { "stock" } else { "gateway" };
        let mut command = std::process::Command::new("taskset");
        command.args(["-c", "0"]).arg(std::env::current_exe().unwrap()).arg("--serve").arg(kind).arg(file);
        let process = command.env("RUST_LOG", "error").spawn().unwrap();
        eventually(&format!("{name} accepts connections"), async || {
            tokio::net::TcpStream::connect(address).await.ok().map(drop)
        })
        .await;
        Self { process, address }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn auth(issuer: &Issuer) -> String {
    let auth = issuer.config();
    format!(
        "auth = {{ issuer = \"{0}\", audience = \"{1}\", jwks_url = \"{2}\", \
         revocations = {{ url = \"{0}\", token = \"{SERVICE_TOKEN}\" }} }}",
        auth.issuer,
        auth.audience,
        auth.jwks_url.unwrap(),
    )
}

fn stock_config(listen: SocketAddr, issuer: &Issuer) -> String {
    format!("listen = \"{listen}\"\ncallers = {{ test = \"{SERVICE_TOKEN}\" }}\n{}", auth(issuer))
}

fn gateway_config(listen: SocketAddr, stock: &Service, issuer: &Issuer, limits: &str) -> String {
    let metrics = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let stock = stock.address;
    format!(
        r#"
        listen = "{listen}"
        metrics_listen = "{metrics}"
        public_url = "http://{listen}"
        {}
        services = {{ identity = "http://{stock}", stock = "http://{stock}", gpu = "http://{stock}", storage = "http://{stock}" }}
        gpu_token = "none"
        cookie_keys = [{{ id = "1", key = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=" }}]
        {limits}
        "#,
        auth(issuer),
    )
}
