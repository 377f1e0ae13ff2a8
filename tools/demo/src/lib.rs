//! `cargo xtask demo`: what an administrator and a designer do with the platform, through the public API. Prints the
//! time of each step, and ends at the first unmet expectation.
//!
//! How the platform is started may not enter: the steps know its address and its accounts. Measurements use them, too.
#![expect(clippy::print_stdout, reason = "a command-line program talks to its user")]

pub mod browser;
mod deployment;
mod hold;
pub mod instance;
mod isolation;
mod job;
pub mod lending;
pub mod messages;
mod order;
mod queue;
mod revocation;
mod second;
pub mod stock;
mod storage;
mod story;
mod tenant_end;
mod terminal;
mod training;
mod usage;

use std::{path::PathBuf, time::Instant};

use anyhow::Context;
use machine::{access::Access, config::Config};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address and accounts of a platform that `up` has not started, after `seed`
    #[arg(long)]
    access: Option<PathBuf>,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
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
pub struct Steps {
    count: u32,
    figures: Vec<(&'static str, String)>,
}

impl Steps {
    /// Runs one step and prints its time.
    pub async fn step<T>(
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
    pub fn skip(&self, why: &str) {
        println!("  -. {why}");
    }

    /// Adds a figure to the summary.
    pub fn figure(&mut self, name: &'static str, value: impl std::fmt::Display) {
        self.figures.push((name, value.to_string()));
    }

    fn summary(&self, seconds: f64) {
        let figures: Vec<_> = self.figures.iter().map(|(name, value)| format!("{name}={value}")).collect();
        println!("demo: steps={} seconds={seconds:.2} {}", self.count, figures.join(" "));
    }
}
