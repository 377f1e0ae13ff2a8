//! Programs of Postgres: `pg_dump` and `pg_restore`.

use std::process::Stdio;

use anyhow::{Context, bail};
use secrecy::ExposeSecret;
use tokio::process::Command;

use crate::config::{Login, Target};

/// Runs a program of Postgres on a database. The password is in its environment, not in its arguments.
pub(crate) async fn run(
    program: &str,
    target: &Target,
    login: &Login,
    arguments: &[&str],
) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    command
        .args(["--host", &target.host, "--port", &target.port.to_string(), "--username", &login.user])
        .args(["--no-password", "--dbname", &target.database])
        .args(arguments)
        .env("PGPASSWORD", login.password.expose_secret())
        .envs(target.tls.iter().map(|(name, value)| (*name, value)))
        .stdin(Stdio::null());
    let output = command.output().await;
    let output =
        output.with_context(|| format!("cannot run {program}: install Postgres's client programs"))?;
    if !output.status.success() {
        bail!("{program} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
