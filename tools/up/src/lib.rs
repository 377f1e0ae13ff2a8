//! `cargo xtask up`: starts the whole platform in order, keeps it running, and stops it in order; and starts one for commands that
//! need a platform of their own.
//!
//! No such command may enter: it hands over a [`Task`], so that it is not built again with this crate, nor this crate with it.
#![expect(clippy::print_stdout, reason = "a command-line program talks to its user")]

mod broker;
pub mod gateways;
pub mod platform;
pub mod seed;
pub mod settings;
mod supervise;
mod worker;

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::Context;
use machine::{
    access::{Access, SignIn},
    client::Api,
    config::Config,
    own::{Needs, Task},
    secrets::{self, Secrets},
};
use nix::fcntl::{Flock, FlockArg};
use xtask::packages::{self, Consent};

/// E-mail address of the administrator.
const ADMINISTRATOR: &str = "admin@atelier.example";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Delete all data of an earlier `up` first
    #[arg(long)]
    fresh: bool,
    /// Install what is missing without asking
    #[arg(long)]
    yes: bool,
    /// Number of datacenters, each with a cluster and an operator of its own
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    datacenters: u8,
    /// Run instances on the cluster of this kubeconfig, with its current context. Its custom resource definitions and
    /// priority classes are installed, which needs an administrator's rights; its pods must be reachable from here
    #[arg(long, conflicts_with = "datacenters")]
    kubeconfig: Option<PathBuf>,
    #[command(flatten)]
    suited: seed::Suited,
    /// Number of gateways; two are behind HAProxy
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    gateways: u8,
    /// Where all services export their traces to (OTLP over gRPC), for example http://127.0.0.1:4317
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct SeedArgs {
    /// Address and accounts of the platform: the `demo.json` of docker-compose.yml
    #[arg(long)]
    access: PathBuf,
    /// Name of the datacenter
    #[arg(long, default_value = "dev-1")]
    datacenter: String,
    /// Name of its cluster in the configuration of the services
    #[arg(long, default_value = "dev-1")]
    cluster: String,
    #[command(flatten)]
    suited: seed::Suited,
}

/// Creates the demo data through the public API.
pub async fn seed(args: SeedArgs) -> anyhow::Result<()> {
    let access = Access::read(&args.access)?;
    let admin = Api::new(&access.gateway)?.sign_in(&access.administrator).await?;
    seed::seed(&admin, &access, &[(&args.datacenter, &args.cluster)], &args.suited).await
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let (mut config, config_file) = Config::load()?;
    config.otlp = args.otlp.or(config.otlp);
    let data = config.data();
    let _lock = lock(&data)?;
    machine::postgres::end_leftover(&data.join("postgres")).await?;
    rabbitmq::end_leftovers(&broker::folder(&data)).await?;
    if args.fresh {
        clear(&data)?;
        println!("deleted the data in {}", data.display());
    }
    let bin = packages::postgres(Consent::new(args.yes), &data.join("postgresql"))?;
    let no_broker = packages::optional_rabbitmq(Consent::new(args.yes))?;
    println!("building (the first time takes minutes)");
    let begun = Instant::now();
    let programs = machine::programs::folder()?;
    println!("  {:<28} {:>6.2} s", "built", begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    let console = packages::console(Consent::new(args.yes))?;
    if console.is_some() {
        println!("  {:<28} {:>6.2} s", "console", begun.elapsed().as_secs_f64());
    }
    let kubeconfig = args.kubeconfig.as_deref().map(std::fs::canonicalize).transpose();
    let kubeconfig = kubeconfig.context("the kubeconfig cannot be read")?;
    let datacenters = settings::datacenters(&config, args.datacenters.into(), kubeconfig);
    let gateways = gateways::gateways(&config, args.gateways.into());
    config.ports.check_free(&config_file, datacenters.len(), gateways.len())?;
    if gateways.len() > 1 {
        packages::haproxy(Consent::new(args.yes))?;
    }

    let begun = Instant::now();
    let secrets = Secrets::load_or_create(&data)?;
    let mut platform =
        platform::Platform::new(config.clone(), datacenters, gateways, &data, programs, secrets.clone())?;
    platform.prepare_for_jobs(no_broker);
    platform.console = console;
    let interrupted = supervise::interrupted()?;
    tokio::pin!(interrupted);
    let up = tokio::select! {
        up = bring_up(&mut platform, &bin, &args.suited) => up,
        () = &mut interrupted => Err(anyhow::anyhow!("interrupted")),
    };
    if let Err(error) = up {
        platform.stop().await;
        return Err(error);
    }
    let kubeconfig = settings::kubeconfig(&platform.datacenters[0], &data);
    print_summary(&platform, &kubeconfig, begun.elapsed().as_secs_f64());
    let ended = platform.watch(interrupted).await;
    println!("\nstopping");
    platform.stop().await;
    println!("stopped; the data stays in {}", data.display());
    ended
}

/// Does the work of a command on the platform that it needs, and starts and stops the platform's programs.
///
/// # Errors
/// If the platform does not start, or the work fails.
pub async fn carry_out(task: Task) -> anyhow::Result<()> {
    let (mut platform, _lock) = start_own(task.needs).await?;
    let work = async {
        let work = (task.work)(platform.started()?);
        tokio::select! {
            done = work => done,
            ended = platform.watch(std::future::pending()) => ended,
            interrupted = tokio::signal::ctrl_c() => {
                interrupted?;
                Err(anyhow::anyhow!("interrupted"))
            }
        }
    };
    let done = work.await;
    println!("stopping");
    platform.stop().await;
    done
}

/// Also returns a lock on the data folder.
async fn start_own(needs: Needs) -> anyhow::Result<(platform::Platform, Flock<std::fs::File>)> {
    let Needs { config, consent, jobs, console, drilled, .. } = needs;
    let data = config.data();
    let lock = lock(&data)?;
    machine::postgres::end_leftover(&data.join("postgres")).await?;
    rabbitmq::end_leftovers(&broker::folder(&data)).await?;
    clear(&data)?;
    let bin = packages::postgres(consent, &data.join("postgresql"))?;
    if jobs {
        packages::rabbitmq(consent)?;
    }
    if needs.gateways > 1 {
        packages::haproxy(consent)?;
    }
    let programs = machine::programs::folder()?;
    let mut datacenters = settings::datacenters(&config, 1, None);
    let mut gateways = gateways::gateways(&config, needs.gateways);
    config.ports.check_free(&xtask::root().join("atelier.toml"), 1, gateways.len())?;
    if let Some(drilled) = &drilled {
        datacenters[0].through = Some(drilled.cluster);
        datacenters[0].nodes = &["node-1", "node-2"];
        let (tls, port, metrics_port) = drilled.tls.clone();
        gateways.push(gateways::Gateway { name: "gateway-3", port, metrics_port, tls: Some(tls) });
    }
    let secrets = Secrets::load_or_create(&data)?;
    let mut platform = platform::Platform::new(config, datacenters, gateways, &data, programs, secrets)?;
    if let Some(drilled) = drilled {
        platform.reach_through(drilled.postgres, drilled.object_store);
        platform.prepare_for_drill();
    }
    if jobs {
        platform.prepare_for_jobs(None);
    }
    platform.console = console;
    if let Err(error) = bring_up(&mut platform, &bin, &seed::Suited::default()).await {
        platform.stop().await;
        return Err(error);
    }
    Ok((platform, lock))
}

async fn bring_up(
    platform: &mut platform::Platform,
    postgres_bin: &Path,
    suited: &seed::Suited,
) -> anyhow::Result<()> {
    let begun = Instant::now();
    platform.start_foundations(postgres_bin).await?;
    platform.migrate(&platform::stateful()).await?;
    platform.start_services().await?;
    let mut access = Access { second: platform.second(), ..access(&platform.config, &platform.secrets) };
    let file = platform.data.join(Access::FILE);
    match Api::new(&access.gateway)?.sign_in(&access.administrator).await {
        Ok(admin) => {
            let names: Vec<_> = platform.datacenters.iter().map(|one| (one.name, one.name)).collect();
            seed::seed(&admin, &access, &names, suited).await?;
            if platform.runs_jobs {
                let begun = Instant::now();
                if let Some(token) = worker::pool(&admin, &platform.datacenters[0], &platform.data).await? {
                    platform.start_worker(&token).await?;
                }
                println!("  {:<28} {:>6.2} s", "pool of jobs", begun.elapsed().as_secs_f64());
            }
        }
        // for example after a change of the password, once the platform has been up
        Err(error) if file.exists() => println!("  the demo data was not checked: {error:#}"),
        Err(error) => return Err(error),
    }
    // last: its start takes longest
    platform.await_broker(begun).await?;
    access.has_broker = platform.broker.is_ok();
    secrets::write_private(&file, &serde_json::to_vec_pretty(&access)?)
}

/// Allows one `up` per data folder. The lock ends with the process.
fn lock(data: &Path) -> anyhow::Result<Flock<std::fs::File>> {
    let file = std::fs::create_dir_all(data).and_then(|()| std::fs::File::create(data.join("lock")));
    let file = file.with_context(|| format!("the data folder {} is not writable", data.display()))?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock)
        .map_err(|_| anyhow::anyhow!("the platform is already up (data in {})", data.display()))
}

fn clear(data: &Path) -> anyhow::Result<()> {
    machine::postgres::remove(&data.join("postgres"))?;
    for entry in std::fs::read_dir(data)? {
        let path = entry?.path();
        if path.is_dir() {
            std::fs::remove_dir_all(&path)?;
        } else if !path.ends_with("lock") {
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}

pub fn access(config: &Config, secrets: &Secrets) -> Access {
    Access {
        gateway: format!("http://localhost:{}", config.ports["gateway"]),
        administrator: SignIn {
            email: ADMINISTRATOR.to_owned(),
            password: secrets.administrator_password.clone(),
        },
        designer: SignIn {
            email: "designer@atelier.example".to_owned(),
            password: secrets.designer_password.clone(),
        },
        second: None,
        has_worker: true,
        has_broker: false,
    }
}

fn print_summary(platform: &platform::Platform, kubeconfig: &Path, seconds: f64) {
    let config = &platform.config;
    let access = access(config, &platform.secrets);
    println!("\nAtelier is up after {seconds:.2} s.\n");
    match &platform.console {
        Some(_) => println!("  console         {}", access.gateway),
        None => println!("  start page      {} (the console is not built)", access.gateway),
    }
    println!("  designer        {}   {}", access.designer.email, access.designer.password);
    println!("  administrator   {}   {}", access.administrator.email, access.administrator.password);
    println!("  API             {}/api", access.gateway);
    match &platform.broker {
        Ok(_) => {
            println!("  message queue   {} (RabbitMQ {})", broker::public_url(config), broker::version());
        }
        Err(why) => println!("  message queue   none ({why}): jobs are submitted over HTTP only"),
    }
    println!("  kubectl         export KUBECONFIG={}", kubeconfig.display());
    println!("  logs            {}", config.data().join("log").display());
    if let Some(memory) = platform.memory() {
        let mib = |bytes: u64| bytes / (1024 * 1024);
        print!(
            "  memory          {} MiB, and {} MiB for Postgres",
            mib(memory.platform),
            mib(memory.postgres)
        );
        match memory.broker {
            Some(broker) => println!(", {} MiB for RabbitMQ", mib(broker)),
            None => println!(),
        }
    }
    println!("\n  sign in:  curl {}/v1/sessions -H 'content-type: application/json' \\", access.gateway);
    println!(
        "              -d '{{\"email\":\"{}\",\"password\":\"{}\"}}'",
        access.designer.email, access.designer.password
    );
    println!("  demo:     cargo xtask demo\n\nCtrl-C stops everything.");
}
