//! `cargo xtask sqlx`: checks the SQL of every `sqlx::query!` against a real schema, and writes what the macros
//! learned to `.sqlx/`, so that everybody else compiles without a database. See docs/SQL.md.

mod cache;
mod inputs;

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, bail};
use nix::sys::signal::Signal;
use secrecy::SecretString;
use sqlx::{AssertSqlSafe, Connection, PgConnection, migrate::Migrator};

use self::inputs::Inputs;
use crate::{
    packages::Consent,
    postgres::Postgres,
    process::{self, Running},
    scratch::Scratch,
};

/// The database in which every service has its schema.
const DATABASE: &str = "atelier";

const CARGO_CHECK: &[&str] = &["check", "--workspace", "--all-targets", "--quiet"];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Change nothing; fail if .sqlx/ is out of date
    #[arg(long)]
    check: bool,
    /// Install what is missing without asking
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let consent = Consent::new(args.yes);
    match outdated()? {
        None => {
            println!(".sqlx is up to date: nothing has changed since the last run");
            Ok(())
        }
        Some(outdated) if args.check => outdated.check(consent, CARGO_CHECK).await,
        Some(outdated) => outdated.write(consent).await,
    }
}

/// What has changed since .sqlx was last known to be right; `None` if nothing has.
pub(crate) fn outdated() -> anyhow::Result<Option<Outdated>> {
    let root = crate::root();
    let crates = checked_crates(&root)?;
    let inputs = Inputs::new(&root, &crates)?;
    Ok((!inputs.are_recorded()?).then_some(Outdated { root, crates }))
}

/// The crates that use the query macros: each has a `sqlx.toml`, which names its schema.
fn checked_crates(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut crates = Vec::new();
    for wing in ["libs", "services"] {
        for entry in std::fs::read_dir(root.join(wing))? {
            let folder = entry?.path();
            if folder.join("sqlx.toml").exists() {
                crates.push(folder);
            }
        }
    }
    crates.sort();
    Ok(crates)
}

/// Crates whose queries have to be checked again.
#[derive(Debug)]
pub(crate) struct Outdated {
    root: PathBuf,
    crates: Vec<PathBuf>,
}

impl Outdated {
    /// Fails if .sqlx is out of date. `cargo` are the arguments of a cargo command that compiles
    /// everything.
    pub(crate) async fn check(self, consent: Consent, cargo: &[&str]) -> anyhow::Result<()> {
        let begun = Instant::now();
        let scratch = Scratch::new()?;
        let written = self.ask(&scratch, consent, cargo).await?;
        let differences = cache::differences(&self.committed(), &written)?;
        if !differences.is_empty() {
            let differences = differences.join("\n  ");
            bail!(".sqlx is out of date; run `cargo xtask sqlx` and commit:\n  {differences}");
        }
        self.done(&written, begun)
    }

    async fn write(self, consent: Consent) -> anyhow::Result<()> {
        let begun = Instant::now();
        let scratch = Scratch::new()?;
        let written = self.ask(&scratch, consent, CARGO_CHECK).await?;
        for difference in cache::differences(&self.committed(), &written)? {
            println!("  {difference}");
        }
        cache::replace(&self.committed(), &written)?;
        self.done(&written, begun)
    }

    fn committed(&self) -> PathBuf {
        self.root.join(".sqlx")
    }

    fn done(&self, written: &Path, begun: Instant) -> anyhow::Result<()> {
        Inputs::new(&self.root, &self.crates)?.record()?;
        let queries = std::fs::read_dir(written)?.count();
        let (crates, seconds) = (self.crates.len(), begun.elapsed().as_secs_f64());
        println!("{queries} queries of {crates} crates are checked ({seconds:.1} s)");
        Ok(())
    }

    /// Compiles with a database at hand: each macro asks it, and writes the answer to the folder that is returned.
    async fn ask(&self, scratch: &Scratch, consent: Consent, cargo: &[&str]) -> anyhow::Result<PathBuf> {
        let begun = Instant::now();
        let programs = scratch.postgres_programs(consent).await?;
        let postgres = scratch.postgres(&programs).await?;
        let schemas = migrate(&postgres, &self.root.join("migrations")).await?;
        println!("Postgres with {} is up ({:.1} s)", schemas.join(", "), begun.elapsed().as_secs_f64());

        // cargo does not know that a macro reads a database: it compiles what is newer than its last result
        let now = SystemTime::now();
        for folder in &self.crates {
            let library = folder.join("src/lib.rs");
            let file = std::fs::File::options().append(true).open(&library);
            file.and_then(|file| file.set_modified(now)).with_context(|| library.display().to_string())?;
        }
        let written = scratch.path().join("sqlx");
        std::fs::create_dir(&written)?;
        let mut command = process::command("cargo", Signal::SIGINT);
        command.current_dir(&self.root).args(cargo);
        command.env("SQLX_OFFLINE_DIR", &written).env_remove("SQLX_OFFLINE");
        for schema in &schemas {
            let url = format!("{}?options=-c%20search_path%3D{schema}", postgres.url(DATABASE));
            command.env(format!("{}_DATABASE_URL", schema.to_uppercase()), url);
        }
        let mut compiler = Running::spawn("cargo", command)?;
        let ended = tokio::select! {
            ended = compiler.ended() => Some(ended),
            _ = tokio::signal::ctrl_c() => None,
        };
        if ended.is_none() {
            compiler.stop(Signal::SIGINT, Duration::from_secs(10)).await;
        }
        postgres.stop().await;
        match ended.as_deref() {
            Some("exit status: 0") => Ok(written),
            Some(other) => bail!("the code does not compile ({other})"),
            None => bail!("interrupted"),
        }
    }
}

/// Makes the roles and the schema of each service, named by the folders of its migrations.
async fn migrate(postgres: &Postgres, migrations: &Path) -> anyhow::Result<Vec<String>> {
    let mut admin = PgConnection::connect_with(&postgres.admin()).await?;
    sqlx::raw_sql(AssertSqlSafe(format!("create database {DATABASE}"))).execute(&mut admin).await?;
    admin.close().await?;

    let mut admin = PgConnection::connect_with(&postgres.admin().database(DATABASE)).await?;
    let mut schemas = Vec::new();
    for entry in std::fs::read_dir(migrations)? {
        let entry = entry?;
        let schema = entry.file_name().into_string().ok().context("a folder of migrations without a name")?;
        let password = || SecretString::from("test");
        let passwords = provision::Passwords { owner: password(), app: password(), worker: password() };
        provision::provision(&mut admin, &schema, &passwords).await?;
        let as_owner = format!("set search_path = {schema}; set role atelier_{schema}_owner");
        sqlx::raw_sql(AssertSqlSafe(as_owner)).execute(&mut admin).await?;
        let migrator = Migrator::new(entry.path()).await?;
        migrator.run_direct(None, &mut admin, false).await.with_context(|| format!("migrations/{schema}"))?;
        sqlx::raw_sql("reset role; reset search_path").execute(&mut admin).await?;
        schemas.push(schema);
    }
    admin.close().await?;
    schemas.sort();
    Ok(schemas)
}
