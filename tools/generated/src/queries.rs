//! `cargo xtask sqlx`: checks the SQL of every `sqlx::query!` against a real schema, and writes what the macros
//! learned to `.sqlx/`, so that everybody else compiles without a database. See docs/SQL.md.

mod cache;
mod texts;

use std::{
    path::{Path, PathBuf},
    str::FromStr,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, bail, ensure};
use machine::{
    postgres::Postgres,
    process::{self, Running},
    scratch::Scratch,
};
use nix::sys::signal::Signal;
use secrecy::SecretString;
use sqlx::{
    AssertSqlSafe, Connection, Executor, PgConnection, SqlSafeStr, migrate::Migrator,
    postgres::PgConnectOptions,
};
use xtask::packages::Consent;

use self::{cache::Query, texts::Texts};

/// The database in which every service has its schema.
const DATABASE: &str = "atelier";

const CARGO_CHECK: &[&str] = &["check", "--workspace", "--all-targets", "--quiet"];

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Change nothing; fail if .sqlx/ is out of date
    #[arg(long)]
    check: bool,
    /// Install what is missing without asking
    #[arg(long)]
    yes: bool,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let begun = Instant::now();
    let root = xtask::root();
    let crates = checked_crates(&root)?;
    let scratch = Scratch::new()?;
    let postgres = scratch.postgres(&scratch.postgres_programs(Consent::new(args.yes))?).await?;
    let done =
        if args.check { check(&postgres).await } else { write(&root, &crates, &scratch, &postgres).await };
    postgres.stop().await;
    done?;
    let queries = std::fs::read_dir(root.join(".sqlx"))?.count();
    println!("{queries} queries of {} crates ({:.1} s)", crates.len(), begun.elapsed().as_secs_f64());
    Ok(())
}

/// Has Postgres describe each query of .sqlx, in the schema of each service whose program contains it, like
/// the macros do.
///
/// # Errors
/// Names each query that Postgres describes in another way, and each that no program has. A query that is in
/// a program but not in .sqlx does not compile.
pub async fn check(postgres: &Postgres) -> anyhow::Result<()> {
    let root = xtask::root();
    let queries = cache::queries(&root.join(".sqlx"))?;
    let texts = Texts::new(queries.iter().map(|query| query.text.as_str()));
    let programs = machine::programs::folder()?;
    let schemas = migrate(postgres, &root.join("migrations")).await?;
    let mut uses = Vec::new();
    for schema in &schemas {
        uses.push(texts.found_in(&programs.join(format!("atelier-{schema}")))?);
    }
    // what only this program runs, in one schema of those
    let mut elsewhere = texts.found_in(&programs.join("atelier-admin"))?;
    elsewhere.retain(|number| uses.iter().all(|numbers| !numbers.contains(number)));
    let is_used = |number: &usize| elsewhere.contains(number) || uses.iter().any(|one| one.contains(number));
    let unused = (0..queries.len()).filter(|number| !is_used(number));
    let mut faults: Vec<_> = unused.map(|number| format!("unused: {}", queries[number])).collect();
    for (schema, numbers) in schemas.iter().zip(&uses) {
        // as the macros: a plan for given parameters may lack the joins that make a column nullable
        let settings = [("search_path", schema.as_str()), ("plan_cache_mode", "force_generic_plan")];
        let options = PgConnectOptions::from_str(&postgres.url(DATABASE))?.options(settings);
        let mut connection = PgConnection::connect_with(&options).await?;
        for &number in numbers {
            if let Err(fault) = describe(&mut connection, &queries[number]).await {
                faults.push(format!("{fault:#}: {} in {schema}", queries[number]));
            }
        }
        for number in elsewhere.clone() {
            if describe(&mut connection, &queries[number]).await.is_ok() {
                elsewhere.remove(&number);
            }
        }
        connection.close().await?;
    }
    faults.extend(elsewhere.iter().map(|&number| format!("changed: {} in atelier-admin", queries[number])));
    if !faults.is_empty() {
        bail!(".sqlx is out of date; run `cargo xtask sqlx` and commit:\n  {}", faults.join("\n  "));
    }
    Ok(())
}

/// Fails if Postgres does not describe the query as .sqlx does.
async fn describe(connection: &mut PgConnection, query: &Query) -> anyhow::Result<()> {
    let described = connection.describe(AssertSqlSafe(query.text.clone()).into_sql_str()).await?;
    ensure!(serde_json::to_value(&described)? == query.described, "changed");
    Ok(())
}

/// Compiles with a database, and replaces .sqlx by the output of the macros.
async fn write(
    root: &Path,
    crates: &[PathBuf],
    scratch: &Scratch,
    postgres: &Postgres,
) -> anyhow::Result<()> {
    let written = ask(root, crates, scratch, postgres).await?;
    let committed = root.join(".sqlx");
    for difference in cache::differences(&committed, &written)? {
        println!("  {difference}");
    }
    cache::replace(&committed, &written)
}

/// The crates that use the query macros: each has a `sqlx.toml`, which names its schema.
fn checked_crates(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let services = folders(&root.join("services"))?;
    let mut crates = folders(&root.join("libs"))?;
    for service in services {
        crates.extend(folders(&service)?);
        crates.push(service);
    }
    crates.retain(|folder| folder.join("sqlx.toml").exists());
    crates.sort();
    Ok(crates)
}

fn folders(parent: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(parent)? {
        folders.push(entry?.path());
    }
    folders.retain(|path| path.is_dir());
    Ok(folders)
}

/// Compiles with a database at hand: each macro asks it, and writes the answer to the folder that is returned.
async fn ask(
    root: &Path,
    crates: &[PathBuf],
    scratch: &Scratch,
    postgres: &Postgres,
) -> anyhow::Result<PathBuf> {
    let schemas = migrate(postgres, &root.join("migrations")).await?;
    // cargo does not know that a macro reads a database: it compiles files that are newer than its last
    // result
    let now = SystemTime::now();
    for folder in crates {
        let library = folder.join("src/lib.rs");
        let file = std::fs::File::options().append(true).open(&library);
        file.and_then(|file| file.set_modified(now)).with_context(|| library.display().to_string())?;
    }
    let written = scratch.path().join("sqlx");
    std::fs::create_dir(&written)?;
    let mut command = process::command("cargo", Signal::SIGINT);
    command.current_dir(root).args(CARGO_CHECK);
    command.env("SQLX_OFFLINE_DIR", &written).env_remove("SQLX_OFFLINE");
    for schema in &schemas {
        let url = format!("{}?options=-c%20search_path%3D{schema}", postgres.url(DATABASE));
        command.env(format!("{}_DATABASE_URL", schema.to_uppercase()), url);
    }
    let mut compiler = Running::spawn("cargo", command)?;
    let ended = tokio::select! {
        ended = compiler.ended() => ended,
        _ = tokio::signal::ctrl_c() => {
            compiler.stop(Signal::SIGINT, Duration::from_secs(10)).await;
            bail!("interrupted");
        }
    };
    if ended != "exit status: 0" {
        bail!("the code does not compile ({ended})");
    }
    Ok(written)
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
