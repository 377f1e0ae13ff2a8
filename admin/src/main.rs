//! `atelier-admin`: for the operators of a platform.
#![expect(clippy::print_stdout, reason = "a command-line program talks to its user")]

use std::{
    fmt::Write as _, os::unix::fs::MetadataExt as _, path::PathBuf, process::ExitCode, time::Duration,
};

use anyhow::{Context, ensure};
use atelier_admin::{
    Config, Gateway, administrator, adopt, availability, backup, bundle, check, drain, evict, restore, rotate,
};
use atelier_identity::SigningKeyStart;
use clap::{Parser, Subcommand};
use ids::StorageId;
use jiff::Timestamp;
use secrecy::SecretString;
use url::Url;

#[derive(Debug, Parser)]
#[command(version, about = "Commands for the operators of an Atelier platform")]
struct Cli {
    /// Configuration (TOML); the environment (`ATELIER_…`) overrides it
    #[arg(long, global = true)]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Compare Postgres, the clusters and the object store; print each disagreement
    Check {
        /// Seconds after which a disagreement is checked again before it is printed
        #[arg(long, default_value_t = 60)]
        grace: u64,
    },
    /// Write the database to a new folder
    Backup { folder: PathBuf },
    /// Restore a backup, while no service runs
    Restore {
        folder: PathBuf,
        /// Delete the existing schemas of the database first
        #[arg(long)]
        replace: bool,
    },
    /// Prepare a database for the services, after a restore by other means or from an earlier release
    AfterRestore,
    /// Record a volume or bucket that exists without a row
    AdoptStorage {
        id: StorageId,
        /// Name of the storage specification whose price it gets
        #[arg(long)]
        storage_spec: String,
        /// Name for its users; its id if absent
        #[arg(long)]
        name: Option<String>,
        /// Size of a bucket
        #[arg(long)]
        size_gib: Option<i64>,
    },
    /// Show instances in clusters that do not exist in the database
    Evict {
        /// Remove them from their units
        #[arg(long)]
        yes: bool,
    },
    /// Create an administrator, or reset the password of one; the password is read from standard input
    Administrator { email: String },
    /// Encrypt everything under the first of the configured keys; list the keys that sign access tokens
    RotateKeys {
        /// Also request the next key that signs access tokens
        #[arg(long)]
        signing_keys: bool,
    },
    /// Drain a datacenter: stop accepting new instances, and wait until it is empty
    Drain {
        /// Name or id of the datacenter
        datacenter: String,
        /// Address of the gateway
        #[arg(long)]
        gateway: String,
        /// Access token or API key (`platform:write`) of an administrator
        #[arg(long, env = "ATELIER_TOKEN", hide_env_values = true)]
        token: String,
        /// Stop its instances, with this reason for their tenants
        #[arg(long)]
        stop: Option<String>,
        /// Seconds to wait
        #[arg(long, default_value_t = 3600)]
        timeout: u64,
        /// Reactivate the datacenter, and do not wait
        #[arg(long, conflicts_with = "stop")]
        undo: bool,
    },
    /// Show how many requests of a month the API answered, and how fast, by service; operations that miss an objective
    Availability {
        /// Address of the Prometheus that scrapes the gateways
        #[arg(long)]
        prometheus: Url,
        /// `YYYY-MM`, in UTC; the current month if absent
        #[arg(long)]
        month: Option<String>,
        /// Print all operations, as JSON
        #[arg(long)]
        json: bool,
    },
    /// Collect versions, state, metrics, logs and disagreements in a tar.gz, without secrets
    SupportBundle {
        file: PathBuf,
        /// Configuration of a service; may be repeated
        #[arg(long = "configuration")]
        configurations: Vec<PathBuf>,
        /// Folder with logs, `*.log`
        #[arg(long)]
        logs: Option<PathBuf>,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    match Box::pin(run(Cli::parse())).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

async fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    // neither the API nor Prometheus needs a configuration
    if let Command::Drain { datacenter, gateway, token, stop, timeout, undo } = cli.command {
        let gateway = Gateway::new(&gateway, token.into())?;
        if undo {
            drain::undo(&gateway, &datacenter).await?;
            println!("{datacenter} takes instances again");
            return Ok(ExitCode::SUCCESS);
        }
        let (timeout, poll) = (Duration::from_secs(timeout), Duration::from_secs(2));
        let request = drain::Request { datacenter, stop, timeout, poll };
        let left = drain::drain(&gateway, &request, |used| println!("{used} units in use")).await?;
        return Ok(if left == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    #[expect(clippy::disallowed_methods, reason = "the time of the command")]
    let now = Timestamp::now();
    if let Command::Availability { prometheus, month, json } = &cli.command {
        let report = availability::report(prometheus, month.as_deref(), now).await?;
        if *json {
            println!("{}", serde_json::to_string_pretty(&report)?);
        } else {
            print!("{report}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let config: Config = service::config::load(cli.config.as_deref())?;
    match cli.command {
        Command::Check { grace } => {
            let findings = check::run(&config, Duration::from_secs(grace)).await?;
            for finding in &findings {
                println!("{finding}");
            }
            if !findings.is_empty() {
                println!("{} disagreements", findings.len());
                return Ok(ExitCode::FAILURE);
            }
            println!("all agree");
        }
        Command::Backup { folder } => {
            let manifest = backup::backup(&config, &folder).await?;
            println!("{}: {} bytes, as of {:.0}", folder.display(), manifest.bytes, manifest.taken_at);
        }
        Command::Restore { folder, replace } => {
            let next = match restore::restore(&config, &folder, replace, now).await? {
                restore::Restored::Ready => "start the services, then `atelier-admin check`",
                restore::Restored::NeedsMigrations => {
                    "the backup is of an earlier release: run `migrate` of each service, then `atelier-admin \
                     after-restore`. Until then no service can connect."
                }
            };
            println!("restored; {next}");
        }
        Command::AfterRestore => {
            restore::prepare(&config, now).await?;
            println!("prepared; start the services, then `atelier-admin check`");
        }
        Command::AdoptStorage { id, storage_spec, name, size_gib } => {
            adopt::adopt(&config, &adopt::Request { id, storage_spec, name, size_gib }).await?;
            println!("{id} is a storage again");
        }
        Command::Evict { yes } => {
            let unknown = evict::evict(&config, yes).await?;
            for evict::Unknown { cluster, unit, instance, tenant } in &unknown {
                println!("{cluster}/{unit} {instance} of {tenant}");
            }
            let done = if yes { "removed" } else { "found; remove them with --yes" };
            println!("{} {done}", unknown.len());
        }
        Command::Administrator { email } => {
            let done = administrator::put(&config, &email, password()?, &operator()).await?;
            println!("{email}: {done:?}");
        }
        Command::RotateKeys { signing_keys } => rotate_keys(&config, signing_keys, now).await?,
        Command::SupportBundle { file, configurations, logs } => {
            let request = bundle::Request { configurations, logs, grace: Duration::from_secs(10) };
            bundle::bundle(&config, &file, &request, now).await?;
            println!("{}", file.display());
        }
        Command::Drain { .. } | Command::Availability { .. } => {}
    }
    Ok(ExitCode::SUCCESS)
}

async fn rotate_keys(config: &Config, signing_keys: bool, now: Timestamp) -> anyhow::Result<()> {
    if !(signing_keys && config.encryption_keys.is_empty()) {
        for done in rotate::rotate(config).await? {
            println!("{}: {} encrypted anew", done.service, done.rows);
        }
    }
    let published = if signing_keys {
        let done = rotate::rotate_signing_keys(config, &operator(), now).await?;
        match done.requested {
            Some(id) => println!("identity: the signing key {id} is requested"),
            None => println!("identity: the next signing key is requested or published already"),
        }
        done.published
    } else {
        rotate::signing_keys(config).await?
    };
    for SigningKeyStart { id, active_from } in published {
        println!("identity: the signing key {id} signs from {active_from:.0} on");
    }
    Ok(())
}

/// The user of the operating system who runs the program, for the audit log. The names are those of the environment.
fn operator() -> String {
    let name = |variable| std::env::var(variable).ok().filter(|name| !name.is_empty());
    let mut text = "user of the operating system".to_owned();
    if let Ok(process) = std::fs::metadata("/proc/self") {
        let _ = write!(text, ", id {}", process.uid());
    }
    if let Some(user) = name("USER").or_else(|| name("LOGNAME")) {
        let _ = write!(text, ", {user}");
    }
    if let Some(user) = name("SUDO_USER") {
        let _ = write!(text, ", by sudo of {user}");
    }
    text
}

/// Reads a password from standard input: it appears neither in the list of processes nor on the screen.
fn password() -> anyhow::Result<SecretString> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).context("cannot read the password from standard input")?;
    let password = line.trim_end_matches(['\r', '\n']);
    ensure!(!password.is_empty(), "write the password to standard input");
    Ok(password.into())
}
