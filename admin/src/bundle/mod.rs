//! `support-bundle`: an archive for support, without secrets.

mod redact;

use std::{
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context;
use flate2::{Compression, write::GzEncoder};
use jiff::Timestamp;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, PgConnection};

use self::redact::Redactor;
use crate::{Config, check, schemas};

/// Maximum number of bytes taken from the end of a log.
const LOG_BYTES: u64 = 2 * 1024 * 1024;
/// How long a process may take to answer.
const PROCESS: Duration = Duration::from_secs(5);

/// The contents of a bundle.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Configuration files of services.
    pub configurations: Vec<PathBuf>,
    /// A folder with logs, `*.log`.
    pub logs: Option<PathBuf>,
    /// For how long a disagreement has to last.
    pub grace: Duration,
}

/// Writes a bundle (tar.gz).
///
/// # Errors
/// If a file cannot be read or written. What does not answer is recorded in the bundle.
pub async fn bundle(config: &Config, file: &Path, request: &Request, now: Timestamp) -> anyhow::Result<()> {
    let mut redactor = Redactor::default();
    learn(&mut redactor, config);
    let mut entries = configurations(&mut redactor, &request.configurations)?;
    entries.push(("versions.json".to_owned(), pretty(&database(config, versions).await)));
    entries.push(("database.json".to_owned(), pretty(&database(config, statistics).await)));
    entries.push(("queues.json".to_owned(), pretty(&database(config, queues).await)));
    let checked = match check::run(config, request.grace).await {
        Ok(findings) if findings.is_empty() => "all agree\n".to_owned(),
        Ok(findings) => findings.iter().map(|finding| format!("{finding}\n")).collect(),
        Err(error) => format!("the check failed: {error:#}\n"),
    };
    entries.push(("check.txt".to_owned(), checked));
    for (name, url) in &config.bundle.processes {
        for path in ["readyz", "metrics"] {
            entries.push((format!("processes/{name}/{path}.txt"), answer(url, path).await));
        }
    }
    if let Some(folder) = &request.logs {
        entries.extend(logs(folder)?);
    }
    write(file, entries, &redactor, now)
}

/// The secrets of this program's configuration.
fn learn(redactor: &mut Redactor, config: &Config) {
    let database = &config.database;
    let superuser = database.superuser.as_ref().map(|login| &login.password);
    let store = config.object_store.as_ref();
    let secrets = [database.reader_password.as_ref(), superuser, store.map(|store| &store.secret_key)];
    secrets.into_iter().flatten().for_each(|secret| redactor.add(secret.expose_secret()));
    store.into_iter().for_each(|store| redactor.add(&store.access_key));
    for key in config.encryption_keys.values().flatten() {
        redactor.add(key.key.expose_secret());
    }
}

type Entries = Vec<(String, String)>;

fn configurations(redactor: &mut Redactor, files: &[PathBuf]) -> anyhow::Result<Entries> {
    let mut entries = Vec::new();
    for file in files {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let value: Value =
            toml::from_str(&text).with_context(|| format!("{} is not TOML", file.display()))?;
        entries.push((format!("configuration/{}.json", stem(file)), pretty(&redactor.configuration(value))));
    }
    Ok(entries)
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The ends of the logs in a folder.
fn logs(folder: &Path) -> anyhow::Result<Entries> {
    let mut entries = Vec::new();
    let found = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in found {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "log") {
            continue;
        }
        let mut file = File::open(&path)?;
        let start = file.metadata()?.len().saturating_sub(LOG_BYTES);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        // half a line may be half a secret
        let text = if start > 0 { text.split_once('\n').map_or("", |(_, rest)| rest) } else { &text };
        entries.push((format!("logs/{}.log", stem(&path)), text.to_owned()));
    }
    entries.sort();
    Ok(entries)
}

async fn answer(url: &str, path: &str) -> String {
    let get = async {
        let client = service::http_client()?;
        let url = format!("{}/{path}", url.trim_end_matches('/'));
        let response = client.get(url).timeout(PROCESS).send().await?;
        let status = response.status();
        anyhow::Ok(format!("{status}\n{}", response.text().await?))
    };
    get.await.unwrap_or_else(|error| format!("no answer: {error:#}\n"))
}

/// Returns the result of `read` on the database, or the error.
async fn database(
    config: &Config,
    read: impl AsyncFnOnce(&mut PgConnection) -> anyhow::Result<Value>,
) -> Value {
    let read = async {
        let mut conn = config.database.connect(&config.database.reader()?).await?;
        read(&mut conn).await
    };
    read.await.unwrap_or_else(|error| json!({ "error": format!("{error:#}") }))
}

async fn versions(conn: &mut PgConnection) -> anyhow::Result<Value> {
    let server: String = sqlx::query_scalar("select version()").fetch_one(&mut *conn).await?;
    let migrations = schemas::migrations(conn).await?;
    Ok(json!({ "atelier-admin": env!("CARGO_PKG_VERSION"), "postgres": server, "migrations": migrations }))
}

async fn statistics(conn: &mut PgConnection) -> anyhow::Result<Value> {
    let tables: Vec<(String, i64, i64)> = sqlx::query_as(
        "select schemaname || '.' || relname, n_live_tup, pg_total_relation_size(relid)
         from pg_stat_user_tables order by 3 desc, 1 limit 50",
    )
    .fetch_all(&mut *conn)
    .await?;
    let connections: Vec<(Option<String>, Option<String>, i64)> = sqlx::query_as(
        "select usename::text, state, count(*) from pg_stat_activity where datname = current_database() group by 1, 2
         order by 1, 2",
    )
    .fetch_all(conn)
    .await?;
    let table = |(name, rows, bytes)| json!({ "table": name, "rows": rows, "bytes": bytes });
    let connection = |(role, state, count)| json!({ "role": role, "state": state, "count": count });
    Ok(json!({
        "tables": tables.into_iter().map(table).collect::<Vec<_>>(),
        "connections": connections.into_iter().map(connection).collect::<Vec<_>>(),
    }))
}

async fn queues(conn: &mut PgConnection) -> anyhow::Result<Value> {
    let mut all = serde_json::Map::new();
    for table in schemas::queues(&mut *conn).await? {
        // the name is that of a table of a migration
        let sql = format!(
            "select count(*) filter (where lease_until is null and wake_at <= now()), count(*) filter (where lease_until > now()),
                 count(*) filter (where lease_until <= now()), count(*) filter (where failures > 0),
                 extract(epoch from now() - min(wake_at) filter (where lease_until is null and wake_at <= now()))::float8
             from {table} where coalesce(lease_until, wake_at) is not null"
        );
        let (due, leased, expired, failing, oldest): (i64, i64, i64, i64, Option<f64>) =
            sqlx::query_as(AssertSqlSafe(sql)).fetch_one(&mut *conn).await?;
        let queue = json!({ "due": due, "leased": leased, "expired_leases": expired, "failing": failing,
            "oldest_due_seconds": oldest });
        all.insert(table, queue);
    }
    Ok(Value::Object(all))
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Writes the archive. Nothing gets into it but through the redactor.
fn write(file: &Path, entries: Entries, redactor: &Redactor, now: Timestamp) -> anyhow::Result<()> {
    let output = File::create(file).with_context(|| format!("cannot write {}", file.display()))?;
    let mut archive = tar::Builder::new(GzEncoder::new(output, Compression::default()));
    for (name, text) in entries {
        let text = redactor.text(&text);
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o600);
        header.set_mtime(u64::try_from(now.as_second()).unwrap_or(0));
        archive.append_data(&mut header, format!("atelier-support/{name}"), text.as_bytes())?;
    }
    archive.into_inner()?.finish()?;
    Ok(())
}
