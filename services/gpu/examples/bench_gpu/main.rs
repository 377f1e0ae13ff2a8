//! `cargo xtask bench instances`: lists, reads, creations and reports of usage with many instances in
//! Postgres and with few, and the time from a grant to the instance in its unit while thousands wait. The
//! service is a process of its own; the stock service is a stand-in in this one, and so are the clients,
//! which send at a fixed rate: a latency is measured from the time at which its request was due.
//!
//! The last line is `instances: growth=… p99_ms=… wake_p99_ms=… memory_mib=…`: the largest ratio of the median of an
//! operation with many instances to that with few, the p99 of list/get/create/usage with many, the p99 from a grant to the
//! instance in the spec of its `GpuUnit`, and the largest resident memory of the service.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark that fails must say so and stop")]

mod load;
mod seed;
mod serve;
mod stock;
mod wake;

use std::{net::SocketAddr, process::Child};

use clap::Parser;
use instances::{MIGRATIONS, NAME};
use testkit::{Issuer, TestDb, eventually};

use load::{Kind, Latencies};
use serve::Service;
use stock::Stock;

#[derive(Debug, Parser)]
struct Args {
    /// Instances in the large table; a hundredth as many tenants
    #[arg(long, default_value_t = 1_000_000)]
    instances: i64,
    /// Instances in the small one
    #[arg(long, default_value_t = 10_000)]
    few: i64,
    /// Runs in the last 30 days of each tenant whose usage is reported; a hundredth of it in the small table
    #[arg(long, default_value_t = 72_000)]
    runs: i64,
    /// Clients at a time
    #[arg(long, default_value_t = 64)]
    clients: u32,
    /// Requests per second of all clients together
    #[arg(long, default_value_t = 300)]
    rate: u32,
    /// Seconds for each operation
    #[arg(long, default_value_t = 15)]
    seconds: u32,
    /// Seconds before that, which are not measured
    #[arg(long, default_value_t = 2)]
    warm_up_seconds: u32,
    /// Instances that wait for a unit
    #[arg(long, default_value_t = 10_000)]
    waiting: i64,
    /// Units that are granted
    #[arg(long, default_value_t = 300)]
    grants: usize,
    /// Be the service
    #[arg(long, hide = true)]
    serve: Option<String>,
}

#[tokio::main]
async fn main() {
    let args = Args::parse();
    if let Some(service) = &args.serve {
        return serve::run(service).await;
    }
    println!("{} clients, {} requests/s, {} s each", args.clients, args.rate, args.seconds);
    let few = measure(&args, args.few, args.runs / 100, 0).await;
    let many = measure(&args, args.instances, args.runs, args.waiting).await;

    println!("{:>10} {:>8} {:>9} {:>9} {:>9}", "instances", "", "p50 ms", "p99 ms", "max ms");
    for (count, figures) in [(args.few, &few), (args.instances, &many)] {
        for (kind, took) in &figures.requests {
            row(count, kind.name(), took);
        }
    }
    row(args.waiting, "wake", &many.wake);
    println!("memory of the service: {} MiB with few, {} MiB with many", few.memory_mib, many.memory_mib);
    let growth = few.requests.iter().zip(&many.requests).map(|(few, many)| many.1.at(0.5) / few.1.at(0.5));
    let p99: Vec<String> = many.requests.iter().map(|(_, took)| format!("{:.1}", took.at(0.99))).collect();
    println!(
        "instances: growth={:.2} p99_ms={} wake_p99_ms={:.1} memory_mib={}",
        growth.fold(0.0, f64::max),
        p99.join("/"),
        many.wake.at(0.99),
        many.memory_mib,
    );
}

fn row(count: i64, what: &str, took: &Latencies) {
    println!("{count:>10} {what:>8} {:>9.2} {:>9.2} {:>9.2}", took.at(0.5), took.at(0.99), took.at(1.0));
}

struct Figures {
    requests: Vec<(Kind, Latencies)>,
    wake: Latencies,
    memory_mib: u64,
}

/// Measures with a database of its own.
async fn measure(args: &Args, instances: i64, runs: i64, waiting: i64) -> Figures {
    let url =
        std::env::var("BENCH_POSTGRES").expect("BENCH_POSTGRES: run it with `cargo xtask bench instances`");
    let (db, issuer) = (TestDb::at(&url), Issuer::start().await);
    let folder = tempfile::tempdir().unwrap();
    let (cluster, kube) = wake::start_cluster(folder.path()).await;
    let stock = Stock::start(issuer.auth()).await;
    let database = db.service(NAME, &MIGRATIONS).await;
    let listen: SocketAddr = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let service = Service {
        listen,
        issuer: issuer.config().issuer,
        database: database.url,
        stock: stock.url().to_owned(),
        kubeconfig: cluster.kubeconfig_path().to_owned(),
    };
    let service = Running(service.start());
    let base = format!("http://{listen}");
    let http = reqwest::Client::new();
    eventually("the service is ready", async || {
        let ready = http.get(format!("{base}/readyz")).send().await;
        ready.is_ok_and(|ready| ready.status() == 200).then_some(())
    })
    .await;

    let mut conn = db.admin().await;
    let begun = std::time::Instant::now();
    let order = seed::order(&base, &issuer, &mut conn).await;
    let tenants = seed::instances(&mut conn, order, instances).await;
    println!("{instances} instances after {:.0} s", begun.elapsed().as_secs_f64());
    let owners = seed::owners(&mut conn, &issuer, &tenants).await;
    let mut requests = Vec::new();
    for kind in [Kind::List, Kind::Get, Kind::Create] {
        requests.push((kind, load::run(args, kind, &base, &owners).await));
    }
    let reporting = owners.get(..2).unwrap_or(&owners);
    seed::runs(&mut conn, reporting, runs).await;
    requests.push((Kind::Usage, load::run(args, Kind::Usage, &base, reporting).await));
    let wake = if waiting > 0 {
        seed::queue(&mut conn, order, waiting).await;
        wake::run(&kube, &stock, &mut conn, args.grants).await
    } else {
        Latencies::default()
    };
    let memory_mib = service.memory_mib();
    drop(service);
    cluster.stop().await;
    Figures { requests, wake, memory_mib }
}

/// The service. It is killed when this is dropped.
struct Running(Child);

impl Running {
    /// The largest resident memory that it has had.
    fn memory_mib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
