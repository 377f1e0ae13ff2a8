//! `cargo xtask bench fairness`: what one tenant notices of another on a whole platform: gateway, services and Postgres.
//!
//! - *Requests.* The victim is a user who lists instances, lists jobs and submits jobs, each at a steady rate. In turns it is alone, and
//!   beside three users of another tenant, who list, submit, and submit batches as fast as they are answered. These clients are a
//!   process of the lowest priority, so that the victim waits for the platform, and not for its own machine. A latency counts from the
//!   time at which the request was due.
//! - *Waits.* Workers that end each job after a moment. The victim submits one job after the other and waits until a worker has it; in
//!   turns alone, and after another tenant has submitted thousands of urgent jobs.
//!
//! The tenants of each turn are new.

mod clients;
mod tenants;
mod workers;

use std::fmt::Write as _;

use clap::Parser;

use self::{clients::Kind, tenants::Tenants};
use super::platform::{measure, quantile};
use crate::{
    config::Config,
    demo::{Access, client::Api},
    up::Needs,
};

#[derive(Debug, Parser)]
struct Args {
    /// Turns
    #[arg(long, default_value_t = 4)]
    turns: usize,
    /// Seconds of each measurement of requests
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Requests per second of the victim, of each kind
    #[arg(long, default_value_t = 10)]
    rate: u32,
    /// Connections of each user of the other tenant
    #[arg(long, default_value_t = 8)]
    connections: usize,
    /// Jobs of its batches
    #[arg(long, default_value_t = 200)]
    batch: usize,
    /// Its urgent jobs
    #[arg(long, default_value_t = 4_000)]
    urgent: usize,
    /// Jobs of the victim for which the wait is measured, in each turn
    #[arg(long, default_value_t = 50)]
    jobs: usize,
    #[arg(long, default_value_t = 2)]
    workers: usize,
    /// Be the clients of the other tenant
    #[arg(long, hide = true)]
    crowd: bool,
}

/// What was measured alone, and beside the other tenant.
#[derive(Default)]
struct Seen {
    alone: Vec<f64>,
    beside: Vec<f64>,
}

impl Seen {
    /// Keys of the last line.
    fn keys(&mut self, name: &str) -> String {
        let (alone, beside) = (quantile(&mut self.alone, 0.99), quantile(&mut self.beside, 0.99));
        let ratio = beside / alone.max(f64::MIN_POSITIVE);
        format!(" {name}_alone_p99_ms={alone:.1} {name}_beside_p99_ms={beside:.1} {name}_ratio={ratio:.2}")
    }
}

pub(super) async fn run(rest: &[String]) -> anyhow::Result<()> {
    let name = "fairness".to_owned();
    let args = Args::try_parse_from(std::iter::once(&name).chain(rest))?;
    if args.crowd {
        return clients::crowd().await;
    }
    let needs = Needs { gateways: 1, jobs: false };
    measure(needs, async |access, _| compare(&args, access).await).await
}

async fn compare(args: &Args, access: &Access) -> anyhow::Result<()> {
    let admin = Api::new(&access.gateway)?.sign_in(&access.administrator).await?;
    let mut tenants = Tenants::new(admin);
    let mut keys = String::new();
    let mut failed = 0;
    requests(args, &mut tenants, &mut failed, &mut keys).await?;
    let door = format!("http://127.0.0.1:{}", Config::load()?.0.ports.jobs_workers);
    keys += &workers::waits(args, &mut tenants, &door).await?.keys("wait");
    println!("fairness: failed={failed}{keys}");
    Ok(())
}

async fn requests(
    args: &Args,
    tenants: &mut Tenants,
    failed: &mut usize,
    keys: &mut String,
) -> anyhow::Result<()> {
    // the oldest pool runs the jobs that name none; these never start
    tenants.pool("idle", 0).await?;
    let mut seen: [Seen; 3] = Default::default();
    println!(
        "{:<8} {:<10} {:>9} {:>9} {:>9} {:>8} {:>9} {:>9}",
        "", "", "p50 ms", "p99 ms", "max ms", "failed", "other/s", "refused/s"
    );
    for _ in 0..args.turns {
        let victim = tenants.users(1).await?.remove(0);
        let crowd = tenants.users(3).await?;
        for beside in [false, true] {
            let other = async {
                match beside {
                    true => clients::start_crowd(args, &crowd).await.map(Some),
                    false => Ok(None),
                }
            };
            let (victims, other) = tokio::join!(clients::victim(args, &victim), other);
            let (served, refused) = other?.unwrap_or_default();
            for ((kind, mut one), seen) in Kind::ALL.into_iter().zip(victims).zip(&mut seen) {
                *failed += one.failed;
                println!(
                    "{:<8} {:<10} {:>9.1} {:>9.1} {:>9.1} {:>8} {served:>9.0} {refused:>9.0}",
                    if beside { "beside" } else { "alone" },
                    kind.name(),
                    quantile(&mut one.took, 0.5),
                    quantile(&mut one.took, 0.99),
                    quantile(&mut one.took, 1.0),
                    one.failed,
                );
                if beside { &mut seen.beside } else { &mut seen.alone }.append(&mut one.took);
            }
        }
    }
    for (kind, seen) in Kind::ALL.into_iter().zip(&mut seen) {
        let _ = write!(keys, "{}", seen.keys(kind.name()));
    }
    Ok(())
}
