//! `cargo xtask up`: the whole platform on this machine, started in order, watched, and stopped in order.

mod platform;
mod secrets;
mod seed;
mod settings;
mod supervise;

use std::{path::Path, time::Instant};

use anyhow::Context;
use nix::fcntl::{Flock, FlockArg};

use crate::{
    config::Config,
    demo::{Sights, SignIn, client::Api},
    packages::{self, Consent},
};
use secrets::Secrets;

/// Who administers the one-command platform.
const ADMINISTRATOR: &str = "admin@atelier.example";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Throw away all data of an earlier `up` first
    #[arg(long)]
    fresh: bool,
    /// Install what is missing without asking
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let (config, config_file) = Config::load()?;
    let data = config.data();
    let _lock = lock(&data)?;
    crate::postgres::end_leftover(&data.join("postgres")).await?;
    if args.fresh {
        clear(&data)?;
        println!("starting over: {} is empty", data.display());
    }
    let bin = packages::postgres(Consent::new(args.yes), &data.join("postgresql")).await?;
    println!("building (the first time takes minutes)");
    let begun = Instant::now();
    let programs = crate::build::programs().await?;
    println!("  {:<28} {:>6.2} s", "built", begun.elapsed().as_secs_f64());
    config.ports.check_free(&config_file)?;

    let begun = Instant::now();
    let secrets = Secrets::load_or_make(&data)?;
    let mut platform = platform::Platform::new(config.clone(), data.clone(), programs, secrets.clone());
    let interrupted = supervise::interrupted()?;
    tokio::pin!(interrupted);
    let up = tokio::select! {
        up = bring_up(&mut platform, &bin) => up,
        () = &mut interrupted => Err(anyhow::anyhow!("interrupted")),
    };
    if let Err(error) = up {
        platform.stop().await;
        return Err(error);
    }
    greet(&config, &secrets, begun.elapsed().as_secs_f64(), platform.memory());
    let ended = platform.watch(interrupted).await;
    println!("\nstopping");
    platform.stop().await;
    println!("stopped; the data stays in {}", data.display());
    ended
}

async fn bring_up(platform: &mut platform::Platform, postgres_bin: &Path) -> anyhow::Result<()> {
    platform.start_foundations(postgres_bin).await?;
    platform.migrate().await?;
    platform.start_services().await?;
    let sights = sights(&platform.config, &platform.secrets);
    let file = platform.data.join(Sights::FILE);
    match Api::new(&sights.gateway)?.sign_in(&sights.administrator).await {
        Ok(admin) => seed::seed(&admin, &sights).await?,
        // another password, say: that is the administrator's own affair once the platform has been up
        Err(error) if file.exists() => println!("  the demo data is left as it is: {error:#}"),
        Err(error) => return Err(error),
    }
    secrets::write_private(&file, &serde_json::to_vec_pretty(&sights)?)
}

/// One `up` at a time for one data folder. The lock goes with the process, however it ends.
fn lock(data: &Path) -> anyhow::Result<Flock<std::fs::File>> {
    let file = std::fs::create_dir_all(data).and_then(|()| std::fs::File::create(data.join("lock")));
    let file = file.with_context(|| format!("the data folder {} cannot be written to", data.display()))?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock)
        .map_err(|_| anyhow::anyhow!("the platform is up already (with the data in {})", data.display()))
}

fn clear(data: &Path) -> anyhow::Result<()> {
    crate::postgres::remove(&data.join("postgres"))?;
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

fn sights(config: &Config, secrets: &Secrets) -> Sights {
    Sights {
        gateway: format!("http://localhost:{}", config.ports.gateway),
        administrator: SignIn {
            email: ADMINISTRATOR.to_owned(),
            password: secrets.administrator_password.clone(),
        },
        designer: SignIn {
            email: "designer@atelier.example".to_owned(),
            password: secrets.designer_password.clone(),
        },
    }
}

fn greet(config: &Config, secrets: &Secrets, seconds: f64, memory: Option<(u64, u64)>) {
    let sights = sights(config, secrets);
    println!("\nAtelier is up after {seconds:.2} s.\n");
    println!("  API             {}/openapi.json", sights.gateway);
    println!("  administrator   {}   {}", sights.administrator.email, sights.administrator.password);
    println!("  designer        {}   {}", sights.designer.email, sights.designer.password);
    println!("  kubectl         export KUBECONFIG={}", config.data().join("cluster/kubeconfig").display());
    println!("  logs            {}", config.data().join("log").display());
    if let Some((platform, postgres)) = memory {
        let mib = |bytes: u64| bytes / (1024 * 1024);
        println!("  memory          {} MiB, and {} MiB of Postgres", mib(platform), mib(postgres));
    }
    println!("\n  sign in:  curl {}/v1/sessions -H 'content-type: application/json' \\", sights.gateway);
    println!(
        "              -d '{{\"email\":\"{}\",\"password\":\"{}\"}}'",
        sights.designer.email, sights.designer.password
    );
    println!("  the whole story:  cargo xtask demo\n\nCtrl-C stops everything.");
}
