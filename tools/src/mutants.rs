//! `cargo xtask mutants`: changes the pure rules one expression at a time, and reports each change that no test
//! notices. .cargo/mutants.toml lists the rules.

use std::time::Duration;

use anyhow::bail;
use machine::{
    process::{self, Running},
    scratch::Scratch,
};
use nix::sys::signal::Signal;
use xtask::packages::{self, Consent};

/// Name of the report, and arguments. The rules of services are tested by unit tests, which build and run in
/// seconds; a library by all its tests.
const RUNS: [(&str, &[&str]); 2] = [
    (
        "services",
        &[
            "--package=atelier-gpu-instances",
            "--package=atelier-operator-plans",
            "--package=atelier-stock",
            "--cargo-arg=--lib",
        ],
    ),
    (
        "libs",
        &[
            "--package=atelier-api",
            "--package=atelier-checks",
            "--package=atelier-auth",
            "--package=atelier-db",
        ],
    ),
];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A regular expression: only mutants whose description matches, for example `instance/decide`
    filter: Option<String>,
    /// Install what is missing without asking
    #[arg(long)]
    yes: bool,
    /// Passed on to cargo mutants, for example --list
    #[arg(last = true)]
    rest: Vec<String>,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let consent = Consent::new(args.yes);
    let path = packages::Tools::install(consent)?.on_path()?;
    packages::cargo_mutants(consent)?;
    let scratch = Scratch::new()?;
    let programs = scratch.postgres_programs(consent)?;
    let postgres = scratch.postgres(&programs).await?;
    let temporary = scratch.path().join("tmp");
    std::fs::create_dir(&temporary)?;

    let root = xtask::root();
    let target = root.join("target/mutants");
    let mut failed = None;
    for (name, which) in RUNS {
        let report = target.join(name);
        std::fs::create_dir_all(&report)?;
        let mut cargo = process::command("cargo", Signal::SIGINT);
        // the unchanged code is known to pass, by `cargo xtask test`
        cargo
            .current_dir(&root)
            .args(["mutants", "--baseline", "skip", "--timeout", "60", "--output"])
            .arg(&report)
            .args(which);
        if let Some(filter) = &args.filter {
            cargo.args(["--re", filter]);
        }
        // one target folder for all: each mutant is compiled on top of the one before
        cargo.args(&args.rest).env("CARGO_TARGET_DIR", &target).env("PATH", &path);
        cargo
            .env("TMPDIR", &temporary)
            .env("TEST_POSTGRES", postgres.admin_url())
            .env("TEST_POSTGRES_BIN", &programs);
        let mut mutants = Running::spawn("cargo mutants", cargo)?;
        let ended = tokio::select! {
            ended = mutants.ended() => ended,
            _ = tokio::signal::ctrl_c() => {
                mutants.stop(Signal::SIGINT, Duration::from_secs(10)).await;
                "interrupted".to_owned()
            }
        };
        println!("the report is in {}", report.join("mutants.out").display());
        // 2: some mutants were missed, which is what one runs this for
        if !matches!(ended.as_str(), "exit status: 0" | "exit status: 2") {
            failed = Some(ended);
            break;
        }
    }
    postgres.stop().await;
    match failed {
        Some(ended) => bail!("cargo mutants failed ({ended})"),
        None => Ok(()),
    }
}
