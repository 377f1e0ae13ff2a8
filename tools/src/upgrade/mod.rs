//! `cargo xtask upgrade`: two versions side by side. A platform of a previous commit, with two replicas of
//! each service, two gateways and two operators, is brought to this version under load: its schema is
//! migrated while the old programs continue, then each replica is replaced, the new one ready before the old
//! one ends. Ends with the line `upgrade: from=… to=… requests=… failed=… instances=… lost=…`, and with an
//! error if a request failed or an instance's pod has been replaced.

mod pods;
mod replicas;
mod versions;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use demo::{instance, stock};
use machine::{
    access::Access,
    client::{Api, text},
    config::Config,
    secrets::Secrets,
};
use measure::soak::{
    instances::{self, Instances},
    load::Load,
    seen::Seen,
};
use up::{
    gateways,
    platform::{Platform, stateful},
    settings,
};
use xtask::packages::{self, Consent};

use pods::Cluster;
use replicas::{Kind, Replicas};
use versions::Previous;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The previous version; by default the commit before the last one that added to migrations/
    #[arg(long)]
    from: Option<String>,
    /// Folder with the programs of the previous version, if they were built before
    #[arg(long, requires = "from")]
    programs: Option<PathBuf>,
    /// Requests per second
    #[arg(long, default_value_t = 100.0)]
    rate: f64,
    /// Only show that it runs: from this version to itself, one replica of each service, with little load
    #[arg(long, conflicts_with_all = ["from", "rate"])]
    smoke: bool,
    /// Keep the programs of the previous version, the data and the logs
    #[arg(long)]
    keep: bool,
    /// Install what is missing without asking
    #[arg(long)]
    yes: bool,
}

/// Instances that run all the time.
const KEPT: usize = 2;
/// The extent of the replacement.
struct Size {
    /// Requests per second.
    rate: f64,
    /// Load before the first step and after the last one.
    beside: Duration,
    /// Replicas of each service: the slot of the old one, and that of the new one.
    replicas: &'static [(u16, u16)],
    /// How long each of the instances is used that come and go.
    used: Duration,
}

impl Size {
    fn of(args: &Args) -> Self {
        if args.smoke {
            return Self {
                rate: 20.0,
                beside: Duration::from_secs(1),
                replicas: &[(0, 2)],
                used: instances::BRIEFLY_USED,
            };
        }
        Self {
            rate: args.rate,
            beside: Duration::from_secs(10),
            replicas: &[(0, 2), (1, 3)],
            used: instances::USED,
        }
    }
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let folder = xtask::root().join("target/upgrade");
    std::fs::create_dir_all(&folder)?;
    let size = Size::of(&args);
    let previous = match (args.programs, args.from) {
        _ if args.smoke => {
            Previous { revision: versions::own().await, programs: machine::programs::folder()? }
        }
        (Some(programs), Some(from)) => {
            Previous { revision: from, programs: std::fs::canonicalize(programs)? }
        }
        (_, from) => versions::build(from, &folder).await?,
    };
    // last: the programs of this version are where they belong
    let programs = if args.smoke { machine::programs::folder()? } else { machine::programs::build().await? };
    let data = folder.join("data");
    if data.exists() {
        std::fs::remove_dir_all(&data)?;
    }
    std::fs::create_dir_all(&data)?;
    let bin = packages::postgres(Consent::new(args.yes), &folder.join("postgresql"))?;
    packages::haproxy(Consent::new(args.yes))?;

    let (mut config, _) = Config::load()?;
    config.data.clone_from(&data);
    let datacenters = settings::datacenters(&config, 1, None);
    let gateways = gateways::gateways(&config, 1);
    let secrets = Secrets::load_or_create(&data)?;
    let platform = Platform::new(config, datacenters, gateways, &data, programs.clone(), secrets)?;
    let mut replicas = Replicas::new(platform);
    let ended = upgrade(&mut replicas, &previous, &programs, &bin, &size).await;
    replicas.platform.stop().await;
    if ended.is_ok() && !args.keep {
        std::fs::remove_dir_all(&data)?;
        // those that were given are not ours
        if previous.programs.starts_with(&folder) {
            std::fs::remove_dir_all(&previous.programs)?;
        }
    }
    ended
}

/// The result of an upgrade.
struct Outcome {
    requests: u64,
    failed: u64,
    instances: usize,
    lost: usize,
}

async fn upgrade(
    replicas: &mut Replicas,
    previous: &Previous,
    programs: &Path,
    postgres: &Path,
    size: &Size,
) -> anyhow::Result<()> {
    replicas.platform.start_foundations(postgres).await?;
    previous.programs.clone_into(&mut replicas.platform.programs);
    let services: Vec<_> = stateful().into_iter().filter(|service| previous.has(service)).collect();
    replicas.platform.migrate(&services).await?;
    replicas.start_balancer()?;
    for kind in Kind::all().into_iter().filter(|kind| previous.has(kind.program())) {
        for (old, _) in size.replicas {
            replicas.start(kind, *old).await?;
        }
    }
    let access = up::access(&replicas.platform.config, &replicas.platform.secrets);
    let admin = Api::new(&access.gateway)?.sign_in(&access.administrator).await?;
    let names: Vec<_> = replicas.platform.datacenters.iter().map(|one| (one.name, one.name)).collect();
    up::seed::seed(&admin, &access, &names, &up::seed::Suited::default()).await?;
    println!("{} is up", previous.revision);

    let outcome = under_load(replicas, previous, programs, &access, size).await?;
    let Outcome { requests, failed, instances, lost } = outcome;
    println!(
        "upgrade: from={} to={} requests={requests} failed={failed} instances={instances} lost={lost}",
        previous.revision,
        versions::own().await,
    );
    ensure!(failed == 0, "{failed} requests failed");
    ensure!(lost == 0, "{lost} instances were lost");
    Ok(())
}

async fn under_load(
    replicas: &mut Replicas,
    previous: &Previous,
    programs: &Path,
    access: &Access,
    size: &Size,
) -> anyhow::Result<Outcome> {
    let admin = Api::new(&access.gateway)?.sign_in(&access.administrator).await?;
    let cluster =
        Cluster::of(&settings::kubeconfig(&replicas.platform.datacenters[0], &replicas.platform.data))?;
    let kept = start_kept(&admin, access).await?;
    let before = cluster.instances().await?;
    ensure!(before.len() >= KEPT, "the cluster has {} pods of instances", before.len());

    let (seen, ended) = (Arc::new(Seen::default()), AtomicBool::new(false));
    let coming = Instances::prepare(&admin, size.used).await?;
    let load = Load::new(access, Arc::clone(&seen), coming.open()).await?;
    let rolling = async {
        let done = roll_over(replicas, previous, programs, &seen, size).await;
        ended.store(true, Ordering::Relaxed);
        done
    };
    let work = async { tokio::join!(rolling, load.send_until(size.rate, &ended)).0 };
    let done = tokio::select! {
        done = work => done,
        error = come_and_go(&coming, access, &seen) => Err(error),
        error = load.stay_signed_in() => Err(error),
    };
    print!("{}", seen.failures());
    done?;

    let after = cluster.instances().await?;
    let designer = Api::new(&access.gateway)?.sign_in(&access.designer).await?;
    let mut lost = before.iter().filter(|(instance, pod)| after.get(*instance) != Some(pod)).count();
    for id in &kept {
        let now = designer.get(&format!("/v1/instances/{id}")).await?;
        let runs = instance::open(&designer, id).await?.get("/").await?.0 == 200;
        if now["state"] != "running" || !runs {
            println!("lost: {now}");
            lost += 1;
        }
    }
    println!("{} instances came and went, {} WebSockets", coming.count(), coming.websockets());
    Ok(Outcome { requests: seen.requests(), failed: seen.failed(), instances: before.len(), lost })
}

/// Creates and deletes instances without an end. Failures are counted, and others continue.
async fn come_and_go(coming: &Instances, access: &Access, seen: &Seen) -> anyhow::Error {
    loop {
        let error = coming.come_and_go(access, seen).await;
        println!("  {error:#}");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Starts the instances that have to survive. Returns their ids.
async fn start_kept(admin: &Api, access: &Access) -> anyhow::Result<Vec<String>> {
    let spec = "upgrade-kept";
    let datacenter = stock::datacenter(admin).await?;
    stock::create_spec(admin, spec).await?;
    stock::add_stock(admin, spec, &datacenter).await?;
    let designer = Api::new(&access.gateway)?.sign_in(&access.designer).await?;
    let services = designer.list("/v1/services").await?;
    let webui = services.iter().find(|one| one["service"] == "stable-diffusion-webui").context("no WebUI")?;
    let mut kept = Vec::new();
    for n in 0..KEPT {
        let body = serde_json::json!({
            "name": format!("kept-{n}"), "gpu_spec": spec, "service": webui["service"], "version": webui["version"],
        });
        let made = designer.post("/v1/instances", body, 202).await?;
        let id = text(&made, "id")?.to_owned();
        instance::expect_running(&designer, &id, &made["operation_id"]).await?;
        kept.push(id);
    }
    Ok(kept)
}

/// Migrates the schema, then replaces all replicas.
async fn roll_over(
    replicas: &mut Replicas,
    previous: &Previous,
    programs: &Path,
    seen: &Seen,
    size: &Size,
) -> anyhow::Result<()> {
    let begun = Instant::now();
    let report = |what: &str| {
        let (requests, failed) = (seen.requests(), seen.failed());
        println!(
            "  {:>6.1} s  {what:<32} {requests:>8} requests {failed:>4} failed",
            begun.elapsed().as_secs_f64()
        );
    };
    tokio::time::sleep(size.beside).await;
    report("load on the old version");
    programs.clone_into(&mut replicas.platform.programs);
    replicas.platform.migrate(&stateful()).await?;
    report("schema migrated");
    tokio::time::sleep(size.beside).await;
    report("old version on the new schema");
    for kind in Kind::all() {
        for &(old, new) in size.replicas {
            replicas.start(kind, new).await?;
            if previous.has(kind.program()) {
                replicas.stop(kind, old).await?;
            }
        }
        report(&format!("{} replaced", kind.program()));
    }
    tokio::time::sleep(size.beside).await;
    report("load on the new version");
    Ok(())
}
