//! The PostgreSQL that this machine has.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use super::on_path;

/// Oldest supported major version of Postgres.
const OLDEST_POSTGRES: u32 = 15;

/// The newest `/usr/lib/postgresql/<major>/bin`: Debian does not put the server's programs on the PATH.
fn debian_postgres() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    versions
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let major: u32 = entry.file_name().to_str()?.parse().ok()?;
            let bin = entry.path().join("bin");
            (major >= OLDEST_POSTGRES && bin.join("initdb").is_file()).then_some((major, bin))
        })
        .max()
        .map(|(_, bin)| bin)
}

/// The folder with its server programs.
pub(super) fn found() -> Option<PathBuf> {
    debian_postgres().or_else(|| {
        let initdb = std::fs::canonicalize(on_path("initdb")?).ok()?;
        let version = Command::new(&initdb).arg("--version").output().ok()?;
        let new_enough = major(&String::from_utf8_lossy(&version.stdout))? >= OLDEST_POSTGRES;
        new_enough.then(|| initdb.parent().map(Path::to_owned)).flatten()
    })
}

/// The major version in the output of `initdb --version`.
fn major(text: &str) -> Option<u32> {
    let number = text.strip_prefix("initdb (PostgreSQL) ")?;
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::major;

    #[test]
    fn reads_the_version_of_postgres() {
        assert_eq!(major("initdb (PostgreSQL) 14.13 (Ubuntu 14.13-0ubuntu0.22.04.1)\n"), Some(14));
        assert_eq!(major("initdb (PostgreSQL) 18beta1\n"), Some(18));
        assert_eq!(major("initdb: command not found"), None);
    }
}
