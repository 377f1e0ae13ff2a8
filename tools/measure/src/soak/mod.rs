//! `cargo xtask soak`: steady load on a platform that was started with `up --gateways 2`, while instances come and go and
//! the gateways are restarted one after the other. Ends with the line
//! `soak: requests=… failed=… rate=… p99_ms=… instances=… websockets=… restarts=… memory_growth=… descriptors_left=…`, and
//! with an error if a request failed.

pub mod instances;
pub mod load;
mod replicas;
pub mod seen;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use machine::{
    access::Access,
    client::Api,
    config::Config,
    own::{Needs, Task},
};
use xtask::packages::Consent;

use instances::Instances;
use load::Load;
use replicas::Replicas;
use seen::Seen;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Minutes of load
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Part of the highest rate that is sent
    #[arg(long, default_value_t = 0.7)]
    load: f64,
    /// Only show that it runs: some seconds on a separate platform, with one restart of each gateway
    #[arg(long)]
    smoke: bool,
    /// Install what is missing without asking
    #[arg(long)]
    yes: bool,
}

/// Duration.
struct Size {
    /// Time in which the highest rate is measured.
    calibration: Duration,
    /// The duration of the load.
    time: Duration,
    /// Parts of that after which the gateways are restarted.
    restarts: &'static [f64],
    /// How long each instance is used.
    used: Duration,
}

impl Size {
    fn of(args: &Args) -> Self {
        if args.smoke {
            return Self {
                calibration: Duration::from_secs(1),
                time: Duration::from_secs(8),
                restarts: &[0.1],
                used: instances::BRIEFLY_USED,
            };
        }
        Self {
            calibration: Duration::from_secs(10),
            time: Duration::from_secs_f64(args.minutes * 60.0),
            restarts: &[0.1, 0.4],
            used: instances::USED,
        }
    }
}

/// Time between two lines.
const INTERVAL: Duration = Duration::from_secs(30);

/// Returns the work of a smoke run, which has a platform of its own.
///
/// # Errors
/// If no platform is up, or a request failed.
pub async fn run(args: Args) -> anyhow::Result<Option<Task>> {
    if !args.smoke {
        soak(&args, &Config::data_of_running()?).await?;
        return Ok(None);
    }
    let (mut config, _) = Config::load()?;
    config.data.push("soak");
    let consent = Consent::new(args.yes);
    let needs = Needs { config, consent, gateways: 2, jobs: false, console: None, drilled: None };
    Ok(Some(Task::new(needs, async move |platform| soak(&args, &platform.data).await)))
}

async fn soak(args: &Args, data: &Path) -> anyhow::Result<()> {
    let size = Size::of(args);
    let text = std::fs::read_to_string(data.join(Access::FILE))
        .context("start the platform with `cargo xtask up --gateways 2`")?;
    let access: Access = serde_json::from_str(&text)?;
    let mut replicas = Replicas::find(data)?;
    let visitor = Api::new(&access.gateway)?;
    let admin = visitor.sign_in(&access.administrator).await?;
    let instances = Instances::prepare(&admin, size.used).await?;

    let seen = Arc::new(Seen::default());
    let load = Load::new(&access, Arc::clone(&seen), instances.open()).await?;
    let coming_and_going = instances.come_and_go(&access, &seen);
    let sending = async {
        let highest = load.highest_rate(size.calibration).await;
        let rate = highest * args.load;
        println!("highest rate {highest:.0} requests/s; sending {rate:.0}");
        seen.begin();
        let restarting = restart(&mut replicas, &size);
        let ((), restarted, ()) =
            tokio::join!(load.send(rate, size.time), restarting, report(&seen, size.time));
        restarted.map(|restarts| (rate, restarts))
    };
    let ended = tokio::select! {
        ended = sending => ended,
        error = coming_and_going => Err(error),
        error = load.stay_signed_in() => Err(error),
    };
    instances.clear(&admin, &access).await?;
    let (rate, restarts) = ended?;
    let left = replicas.descriptors_left().await?;
    let growth = replicas.memory_growth()?;
    println!("{}", seen.failures());
    println!(
        "soak: requests={} failed={} rate={rate:.0} p99_ms={:.1} instances={} websockets={} restarts={restarts} \
         memory_growth={growth:.2} descriptors_left={left}",
        seen.requests(),
        seen.failed(),
        seen.at(0.99),
        instances.count(),
        instances.websockets(),
    );
    ensure!(seen.failed() == 0, "{} requests failed", seen.failed());
    Ok(())
}

/// Restarts both gateways, one after the other, at the stated times. Returns the number of restarts.
async fn restart(replicas: &mut Replicas, size: &Size) -> anyhow::Result<u32> {
    let (begun, time) = (Instant::now(), size.time);
    let mut restarts = 0;
    for part in size.restarts {
        sleep_until(begun + time.mul_f64(*part)).await;
        restarts += replicas.restart().await?;
    }
    // once the allocator has its usual size
    sleep_until(begun + time.mul_f64(0.7)).await;
    replicas.record_memory()?;
    sleep_until(begun + time).await;
    replicas.record_memory()?;
    Ok(restarts)
}

async fn report(seen: &Seen, time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() + INTERVAL <= time {
        tokio::time::sleep(INTERVAL).await;
        println!(
            "{:>6.0} s {:>9} requests {:>4} failed   p50 {:>6.1} ms   p99 {:>7.1} ms",
            begun.elapsed().as_secs_f64(),
            seen.requests(),
            seen.failed(),
            seen.at(0.5),
            seen.at(0.99),
        );
    }
}

async fn sleep_until(at: Instant) {
    tokio::time::sleep_until(at.into()).await;
}
