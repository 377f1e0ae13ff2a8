//! `backup`: one dump of all schemas, from one snapshot, with a manifest.

use std::{io::Read as _, path::Path};

use anyhow::{Context, ensure};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sqlx::{Connection, Executor};

use crate::{
    Config, postgres,
    schemas::{self, Migrations},
};

/// Name of the manifest in the folder of a backup.
const MANIFEST: &str = "manifest.json";
/// Name of the dump.
pub(crate) const DUMP: &str = "atelier.dump";
/// Form of the manifest.
const FORMAT: u32 = 1;

/// The manifest of a backup.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Manifest {
    format: u32,
    /// Release of the program that wrote it.
    pub program: String,
    /// Version of the Postgres server.
    pub server: String,
    /// Time of the snapshot.
    pub taken_at: Timestamp,
    /// Position of the snapshot in the write-ahead log.
    pub wal_position: String,
    pub(crate) migrations: Migrations,
    /// Size of the dump in bytes.
    pub bytes: u64,
    /// SHA-256 of the dump, in hexadecimal.
    sha256: String,
}

/// Writes a backup to a new or empty folder.
///
/// # Errors
/// If the folder is not empty, the database cannot be read, or `pg_dump` fails.
pub async fn backup(config: &Config, folder: &Path) -> anyhow::Result<Manifest> {
    std::fs::create_dir_all(folder)?;
    ensure!(std::fs::read_dir(folder)?.next().is_none(), "{} is not empty", folder.display());
    let (reader, target) = (config.database.reader()?, config.database.target()?);
    let mut conn = config.database.connect(&reader).await?;
    // the manifest and the dump are of one snapshot, which lives as long as this transaction
    conn.execute("begin isolation level repeatable read read only").await?;
    let (snapshot, server, taken_at, wal_position): (String, String, jiff_sqlx::Timestamp, String) =
        sqlx::query_as(
            "select pg_export_snapshot(), current_setting('server_version'), now(),
                 (case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end)::text",
        )
        .fetch_one(&mut conn)
        .await?;
    let migrations = schemas::migrations(&mut conn).await?;
    ensure!(!migrations.is_empty(), "the database has none of the services' schemas");
    let dump = folder.join(DUMP);
    let snapshot = format!("--snapshot={snapshot}");
    let file = format!("--file={}", dump.display());
    let schemas: Vec<String> = migrations.keys().map(|schema| format!("--schema={schema}")).collect();
    let mut arguments = vec!["--format=custom", &snapshot, &file];
    arguments.extend(schemas.iter().map(String::as_str));
    postgres::run("pg_dump", &target, &reader, &arguments).await?;
    conn.close().await?;
    let (bytes, sha256) = digest(&dump)?;
    let manifest = Manifest {
        format: FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        server,
        taken_at: taken_at.to_jiff(),
        wal_position,
        migrations,
        bytes,
        sha256,
    };
    // last: a folder with a manifest is a complete backup
    std::fs::write(folder.join(MANIFEST), serde_json::to_vec_pretty(&manifest)?)?;
    Ok(manifest)
}

impl Manifest {
    /// Reads the manifest of a backup, and verifies the dump.
    pub(crate) fn verified(folder: &Path) -> anyhow::Result<Self> {
        let file = folder.join(MANIFEST);
        let text =
            std::fs::read(&file).with_context(|| format!("{} is not a complete backup", folder.display()))?;
        let manifest: Self = serde_json::from_slice(&text)?;
        ensure!(manifest.format == FORMAT, "format {} of the backup is not known", manifest.format);
        let (bytes, sha256) = digest(&folder.join(DUMP))?;
        ensure!(
            (bytes, &sha256) == (manifest.bytes, &manifest.sha256),
            "the dump is not the one of the manifest: it has {bytes} bytes and the SHA-256 {sha256}"
        );
        Ok(manifest)
    }
}

/// Returns the size and the hash of a file.
fn digest(file: &Path) -> anyhow::Result<(u64, String)> {
    let mut opened = std::fs::File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    let (mut hasher, mut buffer, mut bytes) = (Sha256::new(), vec![0; 1 << 20], 0);
    loop {
        let read = opened.read(&mut buffer)?;
        if read == 0 {
            return Ok((bytes, hex::encode(hasher.finalize())));
        }
        hasher.update(&buffer[..read]);
        bytes += read as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_or_incomplete_backup_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let dump = folder.path().join(DUMP);
        std::fs::write(&dump, "data").unwrap();
        let error = Manifest::verified(folder.path()).unwrap_err();
        assert!(error.to_string().contains("not a complete backup"), "{error}");
        let (bytes, sha256) = digest(&dump).unwrap();
        let manifest = Manifest {
            format: FORMAT,
            program: "1".into(),
            server: "15".into(),
            taken_at: Timestamp::UNIX_EPOCH,
            wal_position: "0/0".into(),
            migrations: Migrations::new(),
            bytes,
            sha256,
        };
        std::fs::write(folder.path().join(MANIFEST), serde_json::to_vec(&manifest).unwrap()).unwrap();
        Manifest::verified(folder.path()).unwrap();
        std::fs::write(&dump, "dato").unwrap();
        let error = Manifest::verified(folder.path()).unwrap_err();
        assert!(error.to_string().contains("not the one of the manifest"), "{error}");
    }
}
