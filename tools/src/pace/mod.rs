//! `cargo xtask pace`: what building, testing and running the platform costs, as the last commands measured it. CI prints
//! it at its end, so that growth is seen in the run that brings it. Nothing fails here.

mod cases;
mod units;

use std::{collections::BTreeMap, path::Path};

use anyhow::Context;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Rows of each table
    #[arg(long, default_value_t = 20)]
    rows: usize,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    steps();
    units::print(args.rows)?;
    cases::print(args.rows)?;
    lines(args.rows)?;
    programs()?;
    heading("the platform at rest");
    print!("{}", xtask::pace::kept("rest.txt"));
    Ok(())
}

fn heading(text: &str) {
    println!("\n── {text}");
}

/// The last time of each step, in the order in which they ended first.
fn steps() {
    heading("steps, seconds");
    let text = xtask::pace::steps();
    let mut order = Vec::new();
    let mut last = BTreeMap::new();
    for (seconds, name) in text.lines().filter_map(|line| line.split_once('\t')) {
        if last.insert(name, seconds).is_none() {
            order.push(name);
        }
    }
    for name in order {
        println!("  {:>8}  {name}", last[name]);
    }
}

/// Lines of Rust in the source of each package.
fn lines(rows: usize) -> anyhow::Result<()> {
    heading("lines of Rust in src, and in tests");
    let mut packages = Vec::new();
    for manifest in manifests(&xtask::root())? {
        let folder = manifest.parent().context("a manifest without a folder")?;
        let (source, tests) = (count(&folder.join("src"))?, count(&folder.join("tests"))?);
        let name = folder.strip_prefix(xtask::root())?.display().to_string();
        packages.push((source, tests, name));
    }
    packages.sort_unstable_by(|a, b| b.cmp(a));
    let (source, tests) = packages.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    println!("  {source:>8} {tests:>8}  all {} packages", packages.len());
    for (source, tests, name) in packages.iter().take(rows) {
        println!("  {source:>8} {tests:>8}  {name}");
    }
    Ok(())
}

/// The manifests of the workspace's packages.
fn manifests(root: &Path) -> anyhow::Result<Vec<std::path::PathBuf>> {
    let mut found = Vec::new();
    let mut groups = ["", "dev", "libs", "services", "tests"].map(|group| root.join(group)).to_vec();
    // the crates of a service
    for service in std::fs::read_dir(root.join("services"))? {
        groups.push(service?.path());
    }
    for group in groups {
        for entry in std::fs::read_dir(group)? {
            let manifest = entry?.path().join("Cargo.toml");
            if manifest.is_file() {
                found.push(manifest);
            }
        }
    }
    Ok(found)
}

fn count(folder: &Path) -> anyhow::Result<usize> {
    let (mut lines, mut folders) = (0, vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                lines += std::fs::read_to_string(path)?.lines().count();
            }
        }
    }
    Ok(lines)
}

/// Sizes of the programs as they were built last.
fn programs() -> anyhow::Result<()> {
    heading("programs, MiB");
    let mut sizes = Vec::new();
    for entry in std::fs::read_dir(machine::programs::folder()?)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("atelier-") && !name.contains('.') {
            sizes.push((entry.metadata()?.len() >> 20, name));
        }
    }
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    for (size, name) in sizes {
        println!("  {size:>8}  {name}");
    }
    Ok(())
}
