//! `cargo xtask bench fairness`: the effect of one tenant on another on a whole platform: gateway, services
//! and Postgres.
//!
//! - *Requests.* The victim is a user who lists instances, lists jobs and submits jobs, each at a steady
//!   rate. It runs alternately alone and together with three users of another tenant, who list, submit, and
//!   submit batches as fast as they are answered. These clients are a process of the lowest priority, so that
//!   the victim waits for the platform, and not for its own machine. A latency is measured from the time at
//!   which the request was due. In a third turn there is no other tenant, but a process that uses as much CPU
//!   time as the platform did for that one: its effect on the victim is that of the machine alone.
//! - *Waits.* Workers that end each job after a moment. The victim submits one job after the other and waits until a worker has it; in
//!   turns alone, and after another tenant has submitted thousands of urgent jobs.
//!
//! The tenants of each turn are new.

mod clients;
mod machine;
mod tenants;
mod workers;

use std::{fmt::Write as _, time::Duration};

use clap::Parser;

use self::{clients::Kind, tenants::Tenants};
use super::{
    PROFILE,
    platform::{measure, quantile},
    victims::Processes,
};
use ::machine::{access::Access, client::Api, config::Config, own::Task};

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
    /// What it sends; everything if absent
    #[arg(long)]
    only: Option<Kind>,
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
    /// Run as the clients of the other tenant
    #[arg(long, hide = true)]
    crowd: bool,
    /// Run as load on the machine: use this many CPUs
    #[arg(long, hide = true)]
    burn: Option<f64>,
}

/// The load in addition to the victim's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Neighbour {
    None,
    Tenant,
    /// A process that uses as much CPU time.
    Machine,
}

impl Neighbour {
    const ALL: [Self; 3] = [Self::None, Self::Tenant, Self::Machine];

    fn name(self) -> &'static str {
        match self {
            Self::None => "alone",
            Self::Tenant => "beside",
            Self::Machine => "machine",
        }
    }
}

/// The measurements alone, and together with the other tenant.
#[derive(Default)]
struct Seen {
    alone: Vec<f64>,
    beside: Vec<f64>,
    /// Beside a process that uses as much CPU time.
    machine: Vec<f64>,
}

impl Seen {
    fn of(&mut self, neighbour: Neighbour) -> &mut Vec<f64> {
        match neighbour {
            Neighbour::None => &mut self.alone,
            Neighbour::Tenant => &mut self.beside,
            Neighbour::Machine => &mut self.machine,
        }
    }

    /// Keys of the last line about requests.
    fn keys_with_machine(&mut self, name: &str) -> String {
        let (alone, machine) = (quantile(&mut self.alone, 0.99), quantile(&mut self.machine, 0.99));
        let ratio = machine / alone.max(f64::MIN_POSITIVE);
        let keys = self.keys(name);
        format!("{keys} {name}_machine_p99_ms={machine:.1} {name}_machine_ratio={ratio:.2}")
    }

    /// Keys of the last line.
    fn keys(&mut self, name: &str) -> String {
        let (alone, beside) = (quantile(&mut self.alone, 0.99), quantile(&mut self.beside, 0.99));
        let ratio = beside / alone.max(f64::MIN_POSITIVE);
        format!(" {name}_alone_p99_ms={alone:.1} {name}_beside_p99_ms={beside:.1} {name}_ratio={ratio:.2}")
    }
}

/// Returns none if it has run as a part of the measurement.
pub(super) async fn run(rest: &[String]) -> anyhow::Result<Option<Task>> {
    let name = "fairness".to_owned();
    let args = Args::try_parse_from(std::iter::once(&name).chain(rest))?;
    if args.crowd {
        clients::crowd().await?;
        return Ok(None);
    }
    if let Some(cpus) = args.burn {
        machine::burn(cpus, args.seconds);
        return Ok(None);
    }
    measure(false, None, async move |access, processes| compare(&args, &access, &processes).await).map(Some)
}

async fn compare(args: &Args, access: &Access, processes: &Processes) -> anyhow::Result<()> {
    println!("programs of {}, built in {PROFILE}", ::machine::programs::folder()?.display());
    let admin = Api::new(&access.gateway)?.sign_in(&access.administrator).await?;
    let mut tenants = Tenants::new(admin);
    let mut keys = String::new();
    let mut failed = 0;
    requests(args, &mut tenants, processes, &mut failed, &mut keys).await?;
    let workers_url = format!("http://127.0.0.1:{}", Config::load()?.0.ports["jobs_workers"]);
    keys += &workers::waits(args, &mut tenants, &workers_url).await?.keys("wait");
    println!("fairness: profile={PROFILE} failed={failed}{keys}");
    Ok(())
}

async fn requests(
    args: &Args,
    tenants: &mut Tenants,
    processes: &Processes,
    failed: &mut usize,
    keys: &mut String,
) -> anyhow::Result<()> {
    // the oldest pool runs the jobs that name none; these never start
    tenants.pool("idle", 0).await?;
    let mut seen: [Seen; 3] = Default::default();
    println!(
        "{:<8} {:<10} {:>9} {:>9} {:>9} {:>8} {:>9} {:>9} {:>6}",
        "", "", "p50 ms", "p99 ms", "max ms", "failed", "other/s", "refused/s", "CPUs"
    );
    for _ in 0..args.turns {
        let victim = tenants.users(1).await?.remove(0);
        let crowd = tenants.users(3).await?;
        let mut used = [0.0_f64; 3];
        for neighbour in Neighbour::ALL {
            let other = async {
                match neighbour {
                    Neighbour::None => {}
                    Neighbour::Tenant => return clients::start_crowd(args, &crowd).await.map(Some),
                    Neighbour::Machine => machine::start((used[1] - used[0]).max(0.0), args.seconds).await?,
                }
                Ok(None)
            };
            let before = processes.cpu_time();
            let (victims, other) = tokio::join!(clients::victim(args, &victim), other);
            let (served, refused) = other?.unwrap_or_default();
            let cpus =
                (processes.cpu_time() - before).div_f64(Duration::from_secs(args.seconds).as_secs_f64());
            used[neighbour as usize] = cpus.as_secs_f64();
            for ((kind, mut one), seen) in Kind::ALL.into_iter().zip(victims).zip(&mut seen) {
                *failed += one.failed;
                println!(
                    "{:<8} {:<10} {:>9.1} {:>9.1} {:>9.1} {:>8} {served:>9.0} {refused:>9.0} {:>6.2}",
                    neighbour.name(),
                    kind.name(),
                    quantile(&mut one.took, 0.5),
                    quantile(&mut one.took, 0.99),
                    quantile(&mut one.took, 1.0),
                    one.failed,
                    cpus.as_secs_f64(),
                );
                seen.of(neighbour).append(&mut one.took);
            }
        }
    }
    for (kind, seen) in Kind::ALL.into_iter().zip(&mut seen) {
        let _ = write!(keys, "{}", seen.keys_with_machine(kind.name()));
    }
    Ok(())
}
