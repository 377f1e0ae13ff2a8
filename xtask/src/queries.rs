//! `cargo xtask sqlx`: checks the SQL of every `sqlx::query!` against a real schema, and writes what the macros
//! learned to `.sqlx/`, so that everybody else compiles without a database. See docs/SQL.md.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    time::{Instant, SystemTime},
};

use anyhow::{Context, bail};
use nix::sys::signal::Signal;
use secrecy::SecretString;
use sqlx::{AssertSqlSafe, Connection, PgConnection, migrate::Migrator};

use crate::{
    packages::Consent,
    postgres::Postgres,
    process::{self, Running},
    scratch::Scratch,
};

/// The database in which every service has its schema.
const DATABASE: &str = "atelier";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Change nothing; fail if .sqlx/ is not what the code gives
    #[arg(long)]
    check: bool,
    /// Install what is missing without asking
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let begun = Instant::now();
    let root = crate::root();
    let committed = root.join(".sqlx");
    let crates = checked_crates(&root)?;
    let stamp = Stamp::new()?;
    let inputs = fingerprint(&root, &crates)?;
    if stamp.holds(inputs) {
        println!(".sqlx is up to date (nothing has changed since the last run)");
        return Ok(());
    }

    let scratch = Scratch::new()?;
    let written = scratch.path().join("sqlx");
    std::fs::create_dir(&written)?;
    let programs = scratch.postgres_programs(Consent::new(args.yes)).await?;
    let postgres = scratch.postgres(&programs).await?;
    let schemas = migrate(&postgres, &root.join("migrations")).await?;
    println!("Postgres with {} is up ({:.1} s)", schemas.join(", "), begun.elapsed().as_secs_f64());

    compile(&crates, &schemas, &postgres, &written).await?;
    postgres.stop().await;

    let differences = differences(&committed, &written)?;
    if args.check && !differences.is_empty() {
        bail!(
            ".sqlx is not what the code gives; run `cargo xtask sqlx` and commit:\n  {}",
            differences.join("\n  ")
        );
    }
    if !args.check {
        replace(&committed, &written)?;
        for difference in &differences {
            println!("  {difference}");
        }
    }
    stamp.write(fingerprint(&root, &crates)?)?;
    let queries = std::fs::read_dir(&written)?.count();
    println!(
        "{queries} queries of {} crates checked, {} files changed ({:.1} s)",
        crates.len(),
        differences.len(),
        begun.elapsed().as_secs_f64()
    );
    Ok(())
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
        let passwords = db::Passwords { owner: password(), app: password(), worker: password() };
        db::provision(&mut admin, &schema, &passwords).await?;
        sqlx::raw_sql(AssertSqlSafe(format!("set search_path = {schema}; set role atelier_{schema}_owner")))
            .execute(&mut admin)
            .await?;
        let migrator = Migrator::new(entry.path()).await?;
        migrator.run_direct(None, &mut admin, false).await.with_context(|| format!("migrations/{schema}"))?;
        sqlx::raw_sql("reset role; reset search_path").execute(&mut admin).await?;
        schemas.push(schema);
    }
    admin.close().await?;
    schemas.sort();
    Ok(schemas)
}

/// Compiles the workspace with a database at hand: each macro asks it, and writes the answer to `written`.
async fn compile(
    crates: &[PathBuf],
    schemas: &[String],
    postgres: &Postgres,
    written: &Path,
) -> anyhow::Result<()> {
    // cargo does not know that a macro reads a database: the crates are compiled again because they are newer
    let now = SystemTime::now();
    for folder in crates {
        let library = folder.join("src/lib.rs");
        let file = std::fs::File::options().append(true).open(&library);
        file.and_then(|file| file.set_modified(now)).with_context(|| library.display().to_string())?;
    }
    let mut cargo = process::command("cargo", Signal::SIGINT);
    cargo.current_dir(crate::root()).args(["check", "--workspace", "--all-targets", "--quiet"]);
    cargo.env("SQLX_OFFLINE_DIR", written).env_remove("SQLX_OFFLINE");
    for schema in schemas {
        let url = format!("{}?options=-c%20search_path%3D{schema}", postgres.url(DATABASE));
        cargo.env(format!("{}_DATABASE_URL", schema.to_uppercase()), url);
    }
    let mut cargo = Running::spawn("cargo check", cargo)?;
    tokio::select! {
        ended = cargo.ended() => match ended.as_str() {
            "exit status: 0" => Ok(()),
            other => bail!("the code does not compile ({other})"),
        },
        _ = tokio::signal::ctrl_c() => {
            cargo.stop(Signal::SIGINT, std::time::Duration::from_secs(10)).await;
            bail!("interrupted")
        }
    }
}

/// The cached queries of a folder: file name and content.
fn cache(folder: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    if folder.exists() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            files.insert(name, std::fs::read_to_string(entry.path())?);
        }
    }
    Ok(files)
}

/// What differs, a line each: the file, and the beginning of its query.
fn differences(committed: &Path, written: &Path) -> anyhow::Result<Vec<String>> {
    let (committed, written) = (cache(committed)?, cache(written)?);
    let names: BTreeSet<_> = committed.keys().chain(written.keys()).collect();
    let mut lines = Vec::new();
    for name in names {
        let (what, text) = match (committed.get(name), written.get(name)) {
            (None, Some(text)) => ("missing", text),
            (Some(text), None) => ("unused", text),
            (Some(old), Some(new)) if old != new => ("changed", new),
            _ => continue,
        };
        lines.push(format!("{what}: {name} ({})", query(text)));
    }
    Ok(lines)
}

/// The first words of a cached query.
fn query(text: &str) -> String {
    let parsed: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let query = parsed["query"].as_str().unwrap_or("no query");
    let words: Vec<_> = query.split_whitespace().collect();
    words.join(" ").chars().take(80).collect()
}

fn replace(committed: &Path, written: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(committed)?;
    let (old, new) = (cache(committed)?, cache(written)?);
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        std::fs::remove_file(committed.join(name))?;
    }
    for (name, text) in new.iter().filter(|(name, text)| old.get(*name) != Some(text)) {
        std::fs::write(committed.join(name), text)?;
    }
    Ok(())
}

/// Remembers for which inputs the last run succeeded, beside the compiled programs.
struct Stamp {
    file: PathBuf,
}

impl Stamp {
    fn new() -> anyhow::Result<Self> {
        let program = std::env::current_exe()?;
        Ok(Self { file: program.parent().context("a program without a folder")?.join("xtask-sqlx.stamp") })
    }

    fn holds(&self, inputs: u64) -> bool {
        std::fs::read_to_string(&self.file).is_ok_and(|text| text == inputs.to_string())
    }

    fn write(&self, inputs: u64) -> std::io::Result<()> {
        std::fs::write(&self.file, inputs.to_string())
    }
}

/// Of everything the cache depends on, and of the cache: sources, migrations, versions.
fn fingerprint(root: &Path, crates: &[PathBuf]) -> anyhow::Result<u64> {
    let mut hasher = DefaultHasher::new();
    let mut folders = vec![root.join("migrations"), root.join(".sqlx")];
    folders.extend(crates.iter().cloned());
    let mut files = vec![root.join("Cargo.lock")];
    while let Some(folder) = folders.pop() {
        if !folder.exists() {
            continue;
        }
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    for file in files {
        file.hash(&mut hasher);
        std::fs::read(file)?.hash(&mut hasher);
    }
    Ok(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_an_unused_and_a_changed_query_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let (committed, written) = (folder.path().join("committed"), folder.path().join("written"));
        for folder in [&committed, &written] {
            std::fs::create_dir(folder).unwrap();
        }
        let text = |query: &str, nullable| format!(r#"{{"query":"{query}","nullable":[{nullable}]}}"#);
        std::fs::write(committed.join("query-1.json"), text("select 1", true)).unwrap();
        std::fs::write(committed.join("query-2.json"), text("select\\n  2", true)).unwrap();
        std::fs::write(written.join("query-2.json"), text("select\\n  2", false)).unwrap();
        std::fs::write(written.join("query-3.json"), text("select 3", true)).unwrap();

        assert_eq!(
            differences(&committed, &written).unwrap(),
            [
                "unused: query-1.json (select 1)",
                "changed: query-2.json (select 2)",
                "missing: query-3.json (select 3)"
            ]
        );
        replace(&committed, &written).unwrap();
        assert_eq!(differences(&committed, &written).unwrap(), [""; 0]);
    }
}
