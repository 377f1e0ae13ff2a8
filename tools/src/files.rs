//! `cargo xtask files`: files that are generated from others or must agree with them.

use std::time::Instant;

use drill::month;
use generated::{console_client, deployment, generate, migrations, observe, platform_files, queries};
use machine::{postgres::Postgres, scratch::Scratch};
use xtask::packages::{Consent, Tests};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Install what is missing without asking
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn check(args: Args) -> anyhow::Result<()> {
    let consent = Consent::new(args.yes);
    let packages = Tests::install(consent)?;
    let scratch = Scratch::new()?;
    let postgres = scratch.postgres(&scratch.postgres_programs(consent)?).await?;
    let done = run(&packages, &postgres).await;
    postgres.stop().await;
    done
}

pub(crate) async fn run(packages: &Tests, postgres: &Postgres) -> anyhow::Result<()> {
    step("migrations", async { migrations::check() }).await?;
    step("files from platform.toml", async { platform_files::run(&generate::Args::check()) }).await?;
    step("SQL of the query macros", queries::check(postgres)).await?;
    step("OpenAPI documents", generate::openapi(&generate::Args::check())).await?;
    step("the console's client", console_client::run(&generate::Args::check())).await?;
    step("custom resource definitions", generate::crds(&generate::Args::check())).await?;
    step("list of metrics", observe::metrics::run(&generate::Args::check())).await?;
    step("alert rules, runbooks, dashboards", observe::alerts::check()).await?;
    step("simulated days", month::run(month::SHORT, 1)).await?;
    step("chart and compose file", deployment::check(packages)).await
}

async fn step(name: &str, work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    println!("── {name}");
    let begun = Instant::now();
    work.await?;
    println!("── {name}: {:.1} s", begun.elapsed().as_secs_f64());
    xtask::pace::record(name, begun)?;
    Ok(())
}
