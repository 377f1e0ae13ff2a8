//! `cargo xtask smoke`: every benchmark, the soak, a drill and the upgrade, each in its smallest size, one
//! after the other. Programs that are never run break: this shows that each starts, measures and prints its
//! last line with all keys. It says nothing about speed.

use std::{
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use machine::{config::Ports, postgres::Postgres, process, scratch::Scratch};
use nix::sys::signal::Signal;
use xtask::packages::{self, Consent};

use crate::benchmark::Bench;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Run only these
    #[arg(value_name = "NAME")]
    pub only: Vec<String>,
    /// Install what is missing without asking
    #[arg(long)]
    pub yes: bool,
}

/// Longest time of one.
const LIMIT: Duration = Duration::from_secs(300);

/// A command that runs in its smallest size.
struct Smoke {
    name: String,
    /// Arguments of this program.
    arguments: Vec<String>,
    /// Keys of its last line.
    keys: &'static str,
    needs_postgres: bool,
    /// Then it runs only if it is named.
    uses_console: bool,
}

impl Smoke {
    fn of(bench: Bench) -> Self {
        let name = bench.name();
        let mut arguments = vec!["bench".to_owned(), name.clone(), "--built".to_owned(), "--".to_owned()];
        arguments.extend(bench.smoke_size().split(' ').map(str::to_owned));
        Self {
            name,
            arguments,
            keys: bench.keys(),
            needs_postgres: bench.needs_postgres(),
            uses_console: bench.uses_console(),
        }
    }

    fn command(name: &str, keys: &'static str) -> Self {
        let arguments = vec![name.to_owned(), "--smoke".to_owned()];
        Self { name: name.to_owned(), arguments, keys, needs_postgres: false, uses_console: false }
    }

    fn all() -> Vec<Self> {
        let mut all: Vec<_> = Bench::value_variants().iter().copied().map(Self::of).collect();
        all.push(Self::command(
            "soak",
            "requests failed rate p99_ms instances websockets restarts memory_growth descriptors_left",
        ));
        all.push(Self::command("drill", "faults named healed false_pages"));
        all.push(Self::command("upgrade", "from to requests failed instances lost"));
        all
    }
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let mut all = Smoke::all();
    for name in &args.only {
        ensure!(all.iter().any(|smoke| smoke.name == *name), "nothing is named {name}");
    }
    all.retain(|smoke| match args.only.as_slice() {
        [] => !smoke.uses_console,
        only => only.contains(&smoke.name),
    });
    let consent = Consent::new(args.yes);
    packages::for_smoke(consent)?;
    if all.iter().any(|smoke| smoke.uses_console) {
        packages::for_console(consent)?;
    }
    let scratch = Scratch::new()?;
    let bin = scratch.postgres_programs(consent)?;
    let postgres = match all.iter().any(|smoke| smoke.needs_postgres) {
        true => Some(scratch.postgres(&bin).await?),
        false => None,
    };
    let begun = Instant::now();
    let failed = tokio::select! {
        failed = run_all(&all, &scratch, postgres.as_ref(), bin) => failed,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted?;
            Err(anyhow::anyhow!("interrupted"))
        }
    };
    if let Some(postgres) = postgres {
        postgres.stop().await;
    }
    let failed = failed?;
    println!(
        "smoke: runs={} failed={} seconds={:.0}",
        all.len(),
        failed.len(),
        begun.elapsed().as_secs_f64()
    );
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

/// Runs all of them. Returns the names of those that failed.
async fn run_all<'s>(
    all: &'s [Smoke],
    scratch: &Scratch,
    postgres: Option<&Postgres>,
    bin: PathBuf,
) -> anyhow::Result<Vec<&'s str>> {
    let mut failed = Vec::new();
    for smoke in all {
        let begun = Instant::now();
        let mut command = process::command(std::env::current_exe()?, Signal::SIGINT);
        command.args(&smoke.arguments).kill_on_drop(true).stdin(Stdio::null());
        // a platform that runs on this machine is not disturbed
        command.env("ATELIER_DATA", scratch.path().join("data")).envs(Ports::free_variables()?);
        if let Some(postgres) = postgres.filter(|_| smoke.needs_postgres) {
            command.env("BENCH_POSTGRES", postgres.admin_url()).env("BENCH_POSTGRES_BIN", &bin);
        }
        let output = tokio::time::timeout(LIMIT, command.output()).await;
        let seconds = begun.elapsed().as_secs_f64();
        let checked = match output {
            Ok(output) => check(smoke, &output?),
            Err(_) => Err(anyhow::anyhow!("not within {} s", LIMIT.as_secs())),
        };
        match checked {
            Ok(line) => println!("{seconds:>6.1} s  {line}"),
            Err(error) => {
                println!("{seconds:>6.1} s  {} failed: {error:#}", smoke.name);
                failed.push(smoke.name.as_str());
            }
        }
    }
    Ok(failed)
}

/// Checks that it succeeded, and has a last line with all its keys, each with a value. Returns the line.
fn check(smoke: &Smoke, output: &std::process::Output) -> anyhow::Result<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    let checked = last_line(&smoke.name, smoke.keys, &text);
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("{}\n{text}\n{errors}", output.status);
    }
    checked.with_context(|| format!("its output:\n{text}"))
}

fn last_line(name: &str, keys: &str, text: &str) -> anyhow::Result<String> {
    let begin = format!("{name}: ");
    let line = text.lines().rfind(|line| line.starts_with(&begin));
    let line = line.with_context(|| format!("no line `{begin}…`"))?;
    let mut printed = Vec::new();
    for pair in line[begin.len()..].split_whitespace() {
        let (key, value) = pair.split_once('=').with_context(|| format!("`{pair}` is not key=value"))?;
        ensure!(!value.is_empty() && !value.contains("NaN") && value != "inf", "{key} has no value: {line}");
        printed.push(key);
    }
    let expected: Vec<&str> = keys.split_whitespace().collect();
    ensure!(printed == expected, "the keys are {printed:?} and not {expected:?}");
    Ok(line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_line_has_all_keys_with_values() {
        let text = "a table\nclaims: per_s=3 p50_ms=1.0/2.0\nstopping\n";
        assert_eq!(last_line("claims", "per_s p50_ms", text).unwrap(), "claims: per_s=3 p50_ms=1.0/2.0");
        for keys in ["per_s", "per_s p50_ms double", "p50_ms per_s"] {
            assert!(last_line("claims", keys, text).is_err(), "{keys}");
        }
        for text in ["", "queue: a=1", "claims: a=", "claims: a=NaN", "claims: a"] {
            assert!(last_line("claims", "a", text).is_err(), "{text}");
        }
    }
}
