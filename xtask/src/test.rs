//! `cargo xtask test`: all tests, on what is real: a Postgres and a Ceph RGW started for this run.

use std::{path::PathBuf, time::Instant};

use anyhow::bail;
use nix::sys::signal::Signal;

use crate::{
    packages::{self, Consent},
    process::{self, Running},
    rgw::Rgw,
    scratch::Scratch,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Install what is missing without asking
    #[arg(long)]
    yes: bool,
    /// Run the cluster cases against the cluster of KUBECONFIG instead of the development cluster
    #[arg(long)]
    cluster: bool,
    /// Passed on to cargo nextest (a filter, say)
    #[arg(last = true)]
    nextest: Vec<String>,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let consent = Consent::new(args.yes);
    let scratch = Scratch::new()?;
    let folder = scratch.path();
    let bin = scratch.postgres_programs(consent).await?;
    packages::ceph(consent).await?;

    let mut cargo = process::command("cargo", Signal::SIGINT);
    cargo.current_dir(crate::root()).args(["nextest", "run", "--no-fail-fast"]);
    if args.cluster {
        let Some(kubeconfig) = std::env::var_os("KUBECONFIG") else {
            bail!("--cluster needs KUBECONFIG");
        };
        cargo.env("TEST_KUBECONFIG", PathBuf::from(kubeconfig));
        cargo.args(["--package", "atelier-operator", "--test", "it", "--test-threads", "1"]);
    } else {
        cargo.arg("--workspace");
    }
    cargo.args(&args.nextest);
    // built first, so that the servers do not wait for the compiler
    crate::build::programs().await?;

    let begun = Instant::now();
    std::fs::create_dir(folder.join("tmp"))?;
    let postgres = scratch.postgres(&bin).await?;
    let rgw = Rgw::start(&folder.join("ceph")).await?;
    println!("Postgres and Ceph RGW are up ({:.1} s)", begun.elapsed().as_secs_f64());
    cargo
        .env("TMPDIR", folder.join("tmp"))
        .env("TEST_POSTGRES", postgres.admin_url())
        .env("TEST_POSTGRES_BIN", &bin)
        .env("RGW_ENDPOINT", &rgw.endpoint)
        .env("RGW_ACCESS_KEY", &rgw.access_key)
        .env("RGW_SECRET_KEY", &rgw.secret_key);
    let mut tests = Running::spawn("cargo nextest", cargo)?;
    let ended = tokio::select! {
        ended = tests.ended() => Some(ended),
        _ = tokio::signal::ctrl_c() => None,
    };
    if ended.is_none() {
        tests.stop(Signal::SIGINT, std::time::Duration::from_secs(10)).await;
    }
    rgw.stop().await;
    postgres.stop().await;
    match ended.as_deref() {
        Some("exit status: 0") => Ok(()),
        Some(other) => bail!("the tests did not pass ({other})"),
        None => bail!("interrupted"),
    }
}
