//! The console, built with Node.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};

use anyhow::ensure;

use super::{Consent, debian, on_path, run};

const LOCK: &str = "package-lock.json";

/// Oldest version that installs the packages; they bring the one that builds.
const OLDEST_NODE: u32 = 20;
/// Folders next to the sources: installed, built, and test-only files.
const NO_SOURCES: [&str; 8] =
    ["node_modules", "dist", "demo-dist", "bench", "e2e", "test-results", "mock-dist", "pictures"];

/// Builds the console unless it is built already, and returns its folder. None, and a line with the reason,
/// if that is not possible: the platform runs without it.
///
/// # Errors
/// The terminal cannot be asked, or a file cannot be written.
pub fn console(consent: Consent) -> anyhow::Result<Option<PathBuf>> {
    let source = crate::root().join("console");
    if !source.join("package.json").is_file() {
        return Ok(None);
    }
    let stamps = stamps()?;
    let (lock, built) = (stamps.join(LOCK), stamps.join("built"));
    let page = source.join("dist/index.html");
    let is_installed = has_installed(&source, &lock);
    if is_installed && is_built(&source, &page, &built)? {
        return Ok(Some(source.join("dist")));
    }
    if !has_node() {
        println!(
            "  the console is not built: it needs Node {OLDEST_NODE} or later with npm, 24 at best, from https://nodejs.org"
        );
        return Ok(None);
    }
    if !is_installed {
        if !consent.wants("the packages of the console (npm)")? {
            return Ok(None);
        }
        if let Err(error) = install(&source, &lock) {
            println!("  the console is not built: {error:#}");
            return Ok(None);
        }
    }
    // before the build, so that a change meanwhile is seen the next time
    let begun = SystemTime::now();
    if let Err(error) = run("npm run build in console/", npm(&source, &["run", "build"])) {
        println!("  the console is not built: {error:#}");
        return Ok(None);
    }
    fs::File::create(&built)?.set_modified(begun)?;
    Ok(Some(source.join("dist")))
}

/// Installs what the console is checked, built and tested with. Returns its folder.
///
/// # Errors
/// Without Node or consent, or if something cannot be installed.
pub fn for_console(consent: Consent) -> anyhow::Result<PathBuf> {
    let source = crate::root().join("console");
    ensure!(
        has_node(),
        "Node {OLDEST_NODE} or later with npm is required, 24 at best, from https://nodejs.org"
    );
    debian::chromium(consent)?;
    let lock = stamps()?.join(LOCK);
    if !has_installed(&source, &lock) {
        consent.ask("the packages of the console (npm)")?;
        install(&source, &lock)?;
    }
    Ok(source)
}

/// The folder with the records of what was installed and built.
fn stamps() -> anyhow::Result<PathBuf> {
    let folder = crate::target().join("console");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn install(source: &Path, lock: &Path) -> anyhow::Result<()> {
    let mut install = npm(source, &["ci", "--no-audit", "--no-fund"]);
    install.env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
    run("npm ci in console/", install)?;
    fs::copy(source.join(LOCK), lock)?;
    Ok(())
}

/// Whether the packages of the lock are installed.
fn has_installed(source: &Path, lock: &Path) -> bool {
    let wanted = fs::read(source.join(LOCK));
    let installed = fs::read(lock);
    source.join("node_modules").is_dir()
        && wanted.is_ok_and(|wanted| installed.is_ok_and(|installed| wanted == installed))
}

/// Whether nothing has changed since the build.
fn is_built(source: &Path, page: &Path, built: &Path) -> anyhow::Result<bool> {
    let Ok(at) = built.metadata().and_then(|known| known.modified()) else { return Ok(false) };
    Ok(page.is_file() && newest(source)? <= at)
}

/// When a source was changed last. A file that was deleted changes its folder.
fn newest(source: &Path) -> anyhow::Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    let mut open = Vec::new();
    for entry in fs::read_dir(source)? {
        let entry = entry?;
        if NO_SOURCES.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        open.push(entry.path());
    }
    while let Some(path) = open.pop() {
        let known = path.metadata()?;
        newest = newest.max(known.modified()?);
        if known.is_dir() {
            for entry in fs::read_dir(&path)? {
                open.push(entry?.path());
            }
        }
    }
    Ok(newest)
}

fn has_node() -> bool {
    let version = Command::new("node").arg("--version").output();
    let major = version.ok().and_then(|output| major(&String::from_utf8_lossy(&output.stdout)));
    on_path("npm").is_some() && major.is_some_and(|major| major >= OLDEST_NODE)
}

/// `v24.21.0` as 24.
fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

fn npm(source: &Path, arguments: &[&str]) -> Command {
    let mut npm = Command::new("npm");
    npm.current_dir(source).args(arguments);
    npm
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_version_of_node_is_read() {
        assert_eq!(major("v24.21.0\n"), Some(24));
        assert_eq!(major(""), None);
        assert_eq!(major("24"), None);
    }

    #[test]
    fn a_changed_source_is_newer_than_the_build_and_what_was_built_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path();
        let (page, built) = (source.join("dist/index.html"), source.join("built"));
        for part in ["src", "dist", "node_modules"] {
            fs::create_dir(source.join(part)).unwrap();
        }
        fs::write(source.join("src/main.tsx"), "").unwrap();
        assert!(!is_built(source, &page, &built).unwrap(), "never built");
        fs::write(&page, "").unwrap();
        let stamp = fs::File::create(&built).unwrap();
        let newer = newest(source).unwrap() + Duration::from_secs(1);
        stamp.set_modified(newer).unwrap();
        for other in ["dist/later.js", "node_modules/later.js"] {
            let later = fs::File::create(source.join(other)).unwrap();
            later.set_modified(newer + Duration::from_secs(1)).unwrap();
        }
        assert!(is_built(source, &page, &built).unwrap());
        let changed = fs::File::create(source.join("src/main.tsx")).unwrap();
        changed.set_modified(newer + Duration::from_secs(1)).unwrap();
        assert!(!is_built(source, &page, &built).unwrap());
    }
}
