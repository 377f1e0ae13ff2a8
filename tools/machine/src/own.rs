//! Commands that need a platform of their own. The crate `up` starts one, and does not know the commands; they do not know it.

use std::{collections::BTreeMap, path::PathBuf, rc::Rc};

use anyhow::Context;
use futures::future::{FutureExt as _, LocalBoxFuture};
use sqlx::postgres::PgConnectOptions;
use xtask::packages::Consent;

use crate::{access::Access, config::Config, control::Control};

/// The requirements of a command on its platform.
pub struct Needs {
    /// The configuration, with a data folder of its own, which is emptied before.
    pub config: Config,
    /// Whether missing packages may be installed.
    pub consent: Consent,
    /// Number of gateways; two are behind HAProxy.
    pub gateways: usize,
    /// Whether there are workers of jobs, and a message broker.
    pub jobs: bool,
    /// The folder of the built console, if the gateway serves it.
    pub console: Option<PathBuf>,
    /// Changes for the injection of faults.
    pub drilled: Option<Drilled>,
}

/// Differences between the platform of a drill and that of `up`. It has two nodes.
pub struct Drilled {
    /// Ports at which its programs reach Postgres, the object store and the cluster.
    pub postgres: u16,
    pub object_store: u16,
    pub cluster: u16,
    /// Another gateway, which serves HTTPS: folder of its certificate, port, port of its metrics.
    pub tls: (PathBuf, u16, u16),
}

/// A platform that runs for one command.
pub struct Started {
    /// Its address and accounts.
    pub access: Access,
    /// Its data folder.
    pub data: PathBuf,
    /// The folder of its programs.
    pub programs: PathBuf,
    /// Connection options of a superuser for its database.
    pub database: PgConnectOptions,
    /// The address of the broker for one who may do everything, or why there is none.
    pub broker: Result<String, String>,
    /// The development cluster: its address without TLS, and the token of its administrator.
    pub cluster_url: String,
    pub cluster_token: String,
    /// Control of Postgres, and of each program by its name.
    pub postgres: Rc<Control>,
    pub processes: BTreeMap<&'static str, Rc<Control>>,
}

impl Started {
    /// Control of a process.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn control(&self, name: &str) -> anyhow::Result<Rc<Control>> {
        let control = if name == "postgres" { Some(&self.postgres) } else { self.processes.get(name) };
        control.cloned().with_context(|| format!("{name} does not run"))
    }
}

/// The work of a command on a platform.
type Work = Box<dyn FnOnce(Started) -> LocalBoxFuture<'static, anyhow::Result<()>>>;

/// The part of a command that needs a platform of its own.
pub struct Task {
    pub needs: Needs,
    pub work: Work,
}

impl Task {
    /// Does the work once there is such a platform.
    pub fn new<W>(needs: Needs, work: impl FnOnce(Started) -> W + 'static) -> Self
    where
        W: Future<Output = anyhow::Result<()>> + 'static,
    {
        Self { needs, work: Box::new(|started| work(started).boxed_local()) }
    }
}
