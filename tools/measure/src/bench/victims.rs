//! The processes of a platform that a benchmark kills.

use std::{path::PathBuf, rc::Rc, time::Duration};

use anyhow::{Context, anyhow, ensure};
use machine::{control::Control, own::Started, process};
use nix::sys::signal::{Signal, kill};
use sqlx::postgres::PgConnectOptions;

/// The process to kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Victim {
    Broker,
    Jobs,
    Postgres,
    Workers,
}

impl Victim {
    pub(super) const ALL: [Self; 4] = [Self::Broker, Self::Jobs, Self::Postgres, Self::Workers];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Broker => "broker",
            Self::Jobs => "jobs service",
            Self::Postgres => "Postgres",
            Self::Workers => "all workers",
        }
    }

    /// The beginning of its keys in the last line.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Broker => "broker",
            Self::Jobs => "jobs",
            Self::Postgres => "postgres",
            Self::Workers => "workers",
        }
    }
}

/// The processes of a platform that can be killed.
pub(super) struct Processes {
    /// All programs of the platform.
    programs: Vec<Rc<Control>>,
    jobs: Rc<Control>,
    postgres: Rc<Control>,
    /// Texts in the command lines of the broker, and of workers.
    broker: PathBuf,
    broker_url: Result<String, String>,
    runner: PathBuf,
    database: PgConnectOptions,
}

impl Processes {
    pub(super) fn of(platform: Started) -> anyhow::Result<Self> {
        Ok(Self {
            jobs: platform.control("jobs")?,
            programs: platform.processes.into_values().collect(),
            postgres: platform.postgres,
            broker: platform.data.join("rabbitmq"),
            broker_url: platform.broker,
            runner: platform.programs.join("atelier-runner"),
            database: platform.database,
        })
    }

    /// CPU time that the programs and Postgres have used.
    pub(super) fn cpu_time(&self) -> Duration {
        let postgres = self.postgres.pid();
        let backends = postgres.map(process::children).unwrap_or_default();
        let programs = self.programs.iter().filter_map(|control| control.pid());
        programs.chain(postgres).chain(backends).filter_map(process::cpu_time).sum()
    }

    /// Connection options of a superuser for the platform's database.
    pub(super) fn database(&self) -> PgConnectOptions {
        self.database.clone()
    }

    /// The address of the broker, for one who may do everything.
    pub(super) fn broker_url(&self) -> anyhow::Result<String> {
        self.broker_url.clone().map_err(|why| anyhow!("no broker: {why}"))
    }

    /// Kills without a warning.
    pub(super) fn kill(&self, victim: Victim) -> anyhow::Result<()> {
        let of = |control: &Control| control.pid().context("it does not run");
        let pids = match victim {
            Victim::Jobs => vec![of(&self.jobs)?],
            Victim::Postgres => {
                let server = of(&self.postgres)?;
                [vec![server], process::children(server)].concat()
            }
            Victim::Broker => process::with_command_line(&self.broker.display().to_string())?,
            Victim::Workers => process::with_command_line(&self.runner.display().to_string())?,
        };
        ensure!(!pids.is_empty(), "{}: no process", victim.name());
        for pid in pids {
            // one that has ended in between
            let _ = kill(pid, Signal::SIGKILL);
        }
        Ok(())
    }
}
