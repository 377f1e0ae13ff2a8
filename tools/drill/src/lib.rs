//! `cargo xtask drill`: starts a platform of its own and a Prometheus with the shipped rules, injects one fault after the
//! other while users are at work, and prints for each which alert paged, what users saw, and how it healed. Ends with the line
//! `drill: faults=… named=… healed=… false_pages=…`. See docs/DRILLS.md.
//!
//! How the platform is started may not enter: a drill hands over a task (`machine::own`).
#![expect(clippy::print_stdout, reason = "a command-line program talks to its user")]

mod certificate;
mod clock;
mod environment;
mod faults;
mod inject;
mod invariants;
pub mod month;
mod prometheus;
mod proxy;
mod queries;
mod report;
mod simulation;
mod users;

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use jiff::SignedDuration;
use machine::{
    client::Api,
    config::Config,
    own::{Drilled, Needs, Started, Task},
};
use xtask::packages::{self, Consent};

use environment::{Environment, Proxies};
use faults::{Action, Expects, FAULTS, Fault};
use inject::Injected;
use prometheus::{Firing, Prometheus, Target};
use report::{Row, Woken};
use simulation::{Simulation, Traffic};
use users::Users;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// List the faults
    #[arg(long)]
    list: bool,
    /// Inject only these faults
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Only check that each query of dashboards and rules finds series while the platform is used
    #[arg(long)]
    queries: bool,
    /// Only simulate a healthy month, which must not page, and failures, each of which must page
    #[arg(long)]
    month: bool,
    /// Days of the simulation
    #[arg(long, default_value_t = month::MONTH, value_parser = clap::value_parser!(i64).range(1..))]
    days: i64,
    /// Seed of the simulation
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only show that it runs: one fault that pages
    #[arg(long, conflicts_with_all = ["only", "queries", "month", "list"])]
    smoke: bool,
    /// Install what is missing without asking
    #[arg(long)]
    yes: bool,
}

/// The fault of a smoke run.
const SMOKE: &str = "gpu-down";

/// Time in which a promised alert has to fire.
const PROMISE: Duration = Duration::from_secs(30);
/// Longest time that a fault lasts: a late alert is still seen.
const LONGEST: Duration = Duration::from_secs(45);
/// Shortest time that a fault lasts, and how long one lasts that does not page.
const SHORTEST: Duration = Duration::from_secs(10);
const UNNOTICED: Duration = Duration::from_secs(16);
/// Time to heal after the end of a fault, and how long a slower one is awaited.
const HEALING: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(180);
/// The history that Prometheus has before each fault, in seconds: as much as the alert rules need.
const PAST: i64 = 6 * 3600;
/// The load of the users in that past.
const TRAFFIC: Traffic = Traffic { requests: 12.0, pages: 3.0, starts: 6.0 };

/// Returns the drill, which has a platform of its own; none if that is not needed.
///
/// # Errors
/// If a simulated month pages, or the options are not valid.
pub async fn run(mut args: Args) -> anyhow::Result<Option<Task>> {
    if args.list {
        report::list();
        return Ok(None);
    }
    let consent = Consent::new(args.yes);
    packages::prometheus(consent)?;
    if args.month {
        month::run(args.days, args.seed).await?;
        return Ok(None);
    }
    for name in &args.only {
        ensure!(FAULTS.iter().any(|fault| fault.name == *name), "no fault {name}; see --list");
    }
    if args.smoke {
        args.only = vec![SMOKE.to_owned()];
    }
    let has_faketime = !args.smoke && packages::faketime(consent)?;

    let (mut config, _) = Config::load()?;
    config.data.push("drill");
    let data = config.data();
    let (tls, tls_port, tls_metrics) =
        (data.with_extension("tls"), machine::process::free_port()?, machine::process::free_port()?);
    certificate::write(&tls, SignedDuration::from_hours(90 * 24))?;
    let ports = &config.ports;
    let proxies = Proxies {
        postgres: proxy::Proxy::to(ports["postgres"]).await?,
        cluster: proxy::Proxy::to(ports["cluster"]).await?,
        object_store: proxy::Proxy::to(ports["object_store"]).await?,
    };
    let drilled = Drilled {
        postgres: proxies.postgres.port,
        object_store: proxies.object_store.port,
        cluster: proxies.cluster.port,
        tls: (tls.clone(), tls_port, tls_metrics),
    };
    let targets = targets(&config, tls_metrics);
    let needs = Needs { config, consent, gateways: 2, jobs: false, console: None, drilled: Some(drilled) };
    Ok(Some(Task::new(needs, async move |platform| {
        drill(&args, platform, proxies, &tls, &targets, has_faketime).await
    })))
}

async fn drill(
    args: &Args,
    platform: Started,
    proxies: Proxies,
    tls: &Path,
    targets: &[Target],
    has_faketime: bool,
) -> anyhow::Result<()> {
    let folder = platform.data.join("prometheus");
    let admin = Api::new(&platform.access.gateway)?.sign_in(&platform.access.administrator).await?;
    let users = Users::prepare(&platform.access, &admin).await?;
    let environment = Environment::new(platform, proxies, users, tls)?;
    let bench = Bench { environment: &environment, folder, targets };
    let work = async {
        if args.only.is_empty() || args.queries {
            bench.queries().await?;
        }
        if args.queries {
            return Ok(());
        }
        bench.faults(&args.only, has_faketime).await
    };
    tokio::select! {
        done = work => done,
        () = environment.users.act() => bail!("the users went home"),
    }
}

fn targets(config: &Config, tls_metrics: u16) -> Vec<Target> {
    let ports = &config.ports;
    let target = |name: &str, port| Target { job: format!("atelier-{name}"), port, cluster: None };
    let gateways = [ports["gateway_metrics"], ports["gateway_2_metrics"], tls_metrics];
    let mut targets: Vec<_> = gateways.into_iter().map(|port| target("gateway", port)).collect();
    targets.extend(platform::stateful().map(|service| target(&service.name, ports[&service.name])));
    targets.push(Target { cluster: Some("dev-1"), ..target("operator", ports["operator"]) });
    targets
}

/// Where faults are injected and observed.
struct Bench<'e> {
    environment: &'e Environment,
    folder: PathBuf,
    targets: &'e [Target],
}

impl Bench<'_> {
    /// A Prometheus that knows six healthy hours and has scraped the platform.
    async fn prometheus(&self) -> anyhow::Result<Prometheus> {
        let folder = prometheus::fresh(&self.folder)?;
        let now = clock::after(SignedDuration::ZERO)?.as_second();
        let past = Simulation::of_the_past(1, TRAFFIC).samples(now - PAST, now - simulation::STEP);
        prometheus::load(&folder, &past).await?;
        let prometheus = Prometheus::start(&folder, self.targets).await?;
        prometheus.warmed_up(self.targets.len()).await?;
        Ok(prometheus)
    }

    async fn queries(&self) -> anyhow::Result<()> {
        let prometheus = self.prometheus().await?;
        let checked = queries::check(&prometheus).await;
        prometheus.stop().await;
        checked
    }

    async fn faults(&self, only: &[String], has_faketime: bool) -> anyhow::Result<()> {
        let chosen = FAULTS.iter().filter(|fault| only.is_empty() || only.contains(&fault.name));
        let mut rows = Vec::new();
        report::heading();
        for fault in chosen {
            let reason = match fault.action {
                Action::Not(reason) => Some(reason),
                Action::Clock(..) if !has_faketime => Some("libfaketime is not installed"),
                _ => None,
            };
            let row = match reason {
                Some(reason) => Row::not_injected(fault, reason.to_owned()),
                None => match self.fault(fault).await {
                    Ok(row) => row,
                    Err(error) => Row::not_injected(fault, format!("{error:#}")),
                },
            };
            println!("{row}");
            rows.push(row);
        }
        report::summary(&rows)
    }

    async fn fault(&self, fault: &'static Fault) -> anyhow::Result<Row> {
        let (environment, users) = (self.environment, &self.environment.users);
        let (calm, prometheus) = tokio::join!(self.calm(), self.prometheus());
        let prometheus = prometheus?;
        calm?;
        let before = prometheus.firing().await?;
        users.begin();
        let begun = Instant::now();
        let injected = Injected::new(environment, fault.action).await?;
        let mut watch = Watch { prometheus: &prometheus, begun, seen: Vec::new(), before };
        let lasted = tokio::select! {
            lasted = watch.fault(fault) => lasted,
            error = injected.last(environment) => Err(error),
        };
        let ended = injected.end(environment).await;
        users.mark();
        lasted.and(ended).context("the fault")?;
        let end = Instant::now();
        while users.seen().healed().is_none() && end.elapsed() < PATIENCE {
            watch.look().await?;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        // failures after the first successes count, too
        let settled = Instant::now();
        while settled.elapsed() < Duration::from_secs(3) {
            watch.look().await?;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        let (fired, seen) = (watch.seen, users.seen());
        let violations = match invariants::violations(environment).await {
            Ok(violations) => violations,
            Err(error) => vec![format!("cannot be checked: {error:#}")],
        };
        prometheus.stop().await;
        Ok(Row::new(fault, &fired, &seen, violations))
    }

    /// Waits until users see no failures, so that a fault does not meet the last one.
    async fn calm(&self) -> anyhow::Result<()> {
        let users = &self.environment.users;
        users.begin();
        users.mark();
        let begun = Instant::now();
        while users.seen().healed().is_none() {
            ensure!(
                begun.elapsed() < PATIENCE,
                "the platform does not work before the fault: {:?}, {:?}",
                users.seen().missing(),
                users.seen().failures
            );
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        Ok(())
    }
}

/// The alerts that fire during a fault.
struct Watch<'p> {
    prometheus: &'p Prometheus,
    begun: Instant,
    seen: Vec<Woken>,
    /// Alerts that fired before.
    before: Vec<Firing>,
}

impl Watch<'_> {
    async fn look(&mut self) -> anyhow::Result<()> {
        for firing in self.prometheus.firing().await? {
            let known = self.seen.iter().any(|woken| woken.firing == firing) || self.before.contains(&firing);
            if !known {
                self.seen.push(Woken { firing, after: self.begun.elapsed() });
            }
        }
        Ok(())
    }

    /// Lets the fault last until its alert has fired.
    async fn fault(&mut self, fault: &Fault) -> anyhow::Result<()> {
        loop {
            self.look().await?;
            let elapsed = self.begun.elapsed();
            let is_over = match fault.expects {
                Expects::Nobody(_) => elapsed > UNNOTICED,
                Expects::Page(..) => {
                    let own = self.seen.iter().any(|woken| report::is_own(fault, &woken.firing));
                    elapsed > SHORTEST && own || elapsed > LONGEST
                }
            };
            if is_over {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(400)).await;
        }
    }
}
