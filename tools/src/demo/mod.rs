//! `cargo xtask demo`: what an administrator and a designer do with the platform, through the public API. Prints the
//! time of each step, and ends at the first unmet expectation.

pub(crate) mod browser;
pub(crate) mod client;
mod deployment;
mod hold;
pub(crate) mod instance;
mod isolation;
mod job;
pub(crate) mod lending;
pub(crate) mod messages;
mod order;
mod queue;
mod revocation;
mod second;
pub(crate) mod stock;
mod storage;
mod story;
mod tenant_end;
mod terminal;
mod training;
mod usage;

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::config::Config;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Address and accounts of a platform that `up` has not started, after `seed`
    #[arg(long)]
    access: Option<PathBuf>,
}

/// The address of the platform and the accounts of the demo; `up` writes it to `demo.json` in the data folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Access {
    pub(crate) gateway: String,
    pub(crate) administrator: SignIn,
    pub(crate) designer: SignIn,
    /// With `up --datacenters 2`.
    #[serde(default)]
    pub(crate) second: Option<Second>,
    /// Whether there is a worker of jobs.
    #[serde(default)]
    pub(crate) has_worker: bool,
    /// Whether there is a message broker.
    #[serde(default)]
    pub(crate) has_broker: bool,
}

/// The second datacenter.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Second {
    pub(crate) datacenter: String,
    /// Configuration file of its cluster, which names its process.
    pub(crate) cluster: PathBuf,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SignIn {
    pub(crate) email: String,
    pub(crate) password: String,
}

impl Access {
    pub(crate) const FILE: &str = "demo.json";

    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(serde_json::from_str(&text)?)
    }
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let access = match args.access {
        Some(file) => Access::read(&file)?,
        None => Access::read(&Config::data_of_running()?.join(Access::FILE))
            .context("start the platform with `cargo xtask up`")?,
    };
    let begun = Instant::now();
    let mut steps = Steps::default();
    Box::pin(story::play(&access, &mut steps)).await?;
    steps.summary(begun.elapsed().as_secs_f64());
    Ok(())
}

/// Prints the steps as they happen, and a summary.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    count: u32,
    figures: Vec<(&'static str, String)>,
}

impl Steps {
    /// Runs one step and prints its time.
    pub(crate) async fn step<T>(
        &mut self,
        what: &str,
        work: impl Future<Output = anyhow::Result<T>>,
    ) -> anyhow::Result<T> {
        self.count += 1;
        let begun = Instant::now();
        match work.await {
            Ok(done) => {
                println!("{:3}. {what:<66} {:>8.1} ms", self.count, begun.elapsed().as_secs_f64() * 1000.0);
                Ok(done)
            }
            Err(error) => {
                println!("{:3}. {what:<66}   FAILED", self.count);
                Err(error.context(what.to_owned()))
            }
        }
    }

    /// Prints that there is nothing to do some steps with.
    pub(crate) fn skip(&self, why: &str) {
        println!("  -. {why}");
    }

    /// Adds a figure to the summary.
    pub(crate) fn figure(&mut self, name: &'static str, value: impl std::fmt::Display) {
        self.figures.push((name, value.to_string()));
    }

    fn summary(&self, seconds: f64) {
        let figures: Vec<_> = self.figures.iter().map(|(name, value)| format!("{name}={value}")).collect();
        println!("demo: steps={} seconds={seconds:.2} {}", self.count, figures.join(" "));
    }
}
