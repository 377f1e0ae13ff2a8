//! `cargo xtask check`: everything that must hold before the tests, cheapest first, as CI runs it.

use std::time::Instant;

use anyhow::bail;
use tokio::process::Command;

use crate::{
    deployment,
    drill::month,
    generate, migrations, observe,
    packages::{self, Consent},
    queries,
};

const CLIPPY: &[&str] = &["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Install what is missing without asking
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let consent = Consent::new(args.yes);
    step("format", cargo(&["fmt", "--all", "--check"])).await?;
    step("migrations", async { migrations::check() }).await?;
    step("unused dependencies", unused_dependencies(consent)).await?;
    step("licenses and sources of dependencies", dependencies(consent)).await?;
    step("clippy and checked SQL", clippy(consent)).await?;
    step("documentation", documentation()).await?;
    step("OpenAPI documents", generate::openapi(&generate::Args::check())).await?;
    step("custom resource definitions", generate::crds(&generate::Args::check())).await?;
    step("list of metrics", observe::metrics::run(&generate::Args::check())).await?;
    step("alert rules, runbooks, dashboards", observe::alerts::run(observe::alerts::Args { yes: args.yes }))
        .await?;
    step("simulated days", month::run(month::SHORT, 1, consent)).await?;
    step("chart and compose file", deployment::check(consent)).await
}

async fn step(name: &str, work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    println!("── {name}");
    let begun = Instant::now();
    work.await?;
    println!("── {name}: {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

async fn unused_dependencies(consent: Consent) -> anyhow::Result<()> {
    packages::cargo_tool(consent, "cargo-machete").await?;
    // as a program of its own: as `cargo machete` it misreads its arguments below `cargo run`
    succeed(Command::new("cargo-machete").arg("--skip-target-dir")).await
}

/// See deny.toml.
async fn dependencies(consent: Consent) -> anyhow::Result<()> {
    packages::cargo_tool(consent, "cargo-deny").await?;
    // also what only other platforms build: cargo-deny reads all of it
    cargo(&["fetch", "--locked", "--quiet"]).await?;
    cargo(&["deny", "--offline", "--log-level", "error", "check", "bans", "licenses", "sources"]).await
}

/// One compilation for both: the query macros run as part of it.
async fn clippy(consent: Consent) -> anyhow::Result<()> {
    match queries::outdated()? {
        Some(outdated) => outdated.check(consent, CLIPPY).await,
        None => cargo(CLIPPY).await,
    }
}

async fn documentation() -> anyhow::Result<()> {
    let mut command = Command::new("cargo");
    command.args(["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"]);
    succeed(command.env("RUSTDOCFLAGS", "--deny warnings")).await
}

async fn cargo(arguments: &[&str]) -> anyhow::Result<()> {
    succeed(Command::new("cargo").args(arguments)).await
}

async fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let status = command.current_dir(crate::root()).kill_on_drop(true).status().await?;
    if !status.success() {
        bail!("failed: {:?}", command.as_std());
    }
    Ok(())
}
