//! The structure of the workspace, read from the source: imports between slices and files, sizes of crates, and the dependencies of
//! the `core` crates.
//!
//! A *slice* is a file or folder directly below the `src/` of a crate. Slices of a crate import each other in no circle, so each
//! can be understood, and built, with those below it only. Nor do the files of a slice.
//!
//! What a module imports from those above it, up to `lib.rs`, is not counted: it is a part of them.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test says what it read, and fails by an assertion"
)]

mod circles;
mod needs;
mod paths;
mod source;

use std::path::{Path, PathBuf};

use circles::circles;
use needs::Needs;
use source::Crate;

/// Maximum number of lines of the source of a crate, with its unit tests. A larger one is split where a part has rules of its own, or
/// another reason to change (ADR 31).
const MAX_LINES: usize = 12_000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// The folders of all crates that are not only tests: those in the root of the repository, below them, and below those.
fn folders() -> Vec<PathBuf> {
    let tops = ["admin", "dev", "fetch", "libs", "runner", "services", "tools", "xtask"];
    let tops: Vec<_> = tops.map(|name| root().join(name)).into();
    let middle: Vec<_> = tops.iter().flat_map(|folder| folders_in(folder)).collect();
    let bottom: Vec<_> = middle.iter().flat_map(|folder| folders_in(folder)).collect();
    let mut folders = [tops, middle, bottom].concat();
    folders.retain(|folder| folder.join("Cargo.toml").exists() && folder.join("src").exists());
    folders.sort();
    folders
}

fn crates() -> Vec<Crate> {
    let root = root();
    folders().iter().map(|folder| Crate::read(&root, folder)).collect()
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    found.filter(|path| path.is_dir()).collect()
}

/// Lines of all source files in the folder and below it.
fn lines(folder: &Path) -> usize {
    let here = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    here.map(|path| match path.extension() {
        _ if path.is_dir() => lines(&path),
        Some(extension) if extension == "rs" => std::fs::read_to_string(path).unwrap().lines().count(),
        _ => 0,
    })
    .sum()
}

#[test]
fn no_crate_is_too_large() {
    let mut wrong = Vec::new();
    for folder in folders() {
        let name = folder.strip_prefix(root()).unwrap().display().to_string();
        let lines = lines(&folder.join("src"));
        println!("{name}: {lines} lines");
        if lines > MAX_LINES {
            wrong.push(format!("{name} has {lines} lines, more than {MAX_LINES}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn slices_import_each_other_in_no_circle() {
    let mut wrong = Vec::new();
    for read in crates() {
        let found = circles(&read.imports_of_slices());
        println!("{}: {} files, {} circles of slices", read.name, read.files(), found.len());
        wrong.extend(found.iter().map(|circle| format!("{}:\n{circle}", read.name)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_import_each_other_in_no_circle() {
    let found = crates().iter().flat_map(|read| circles(&read.imports_of_files())).collect::<Vec<_>>();
    let told: Vec<_> = found.iter().map(ToString::to_string).collect();
    assert!(told.is_empty(), "{}", told.join("\n"));
}

/// Crates named `core` have the rules of a service: values in, values out. Those of the operator are about objects of a cluster.
/// Features that other crates ask for are left out: `sqlx` lets columns have types of the jobs' core.
#[test]
fn rules_are_built_without_database_and_server() {
    let needs = Needs::read(&root());
    let services = folders_in(&root().join("services"));
    let cores = services.iter().map(|service| service.join("core")).filter(|core| core.exists());
    let mut rules: Vec<_> = cores.map(|core| (core, &["sqlx", "axum", "kube"][..])).collect();
    assert!(!rules.is_empty(), "no service has a core");
    rules.push((root().join("services/operator/plans"), &["sqlx", "axum"]));
    let mut wrong = Vec::new();
    for (folder, forbidden) in rules {
        let needed = needs.of(&folder);
        println!("{}: {} packages", folder.display(), needed.len());
        assert!(needed.contains_key("serde"), "{needed:?}");
        for forbidden in forbidden {
            let parts = format!("{forbidden}-");
            let found = needed.iter().find(|(name, _)| name == forbidden || name.starts_with(&parts));
            wrong.extend(found.map(|(_, way)| format!("{}: {}", folder.display(), way.join(" -> "))));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Tests the reader itself with a crate whose imports are known.
#[test]
fn imports_are_read_as_the_compiler_reads_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sample");
    let read = Crate::read(&root, &root);
    let edges: Vec<_> = read
        .imports_of_files()
        .into_iter()
        .map(|import| format!("{} -> {}", import.from, import.to))
        .collect();
    assert_eq!(
        edges,
        [
            "src/alias.rs -> src/instance/model.rs",
            "src/instance/mod.rs -> src/instance/model.rs",
            "src/instance/model.rs -> src/instance/store.rs",
            "src/instance/store.rs -> src/instance/model.rs",
            "src/lib.rs -> src/router.rs",
            "src/router.rs -> src/alias.rs",
            "src/router.rs -> src/instance/mod.rs",
        ]
    );
    let slices = circles(&read.imports_of_slices());
    assert!(slices.is_empty(), "{slices:?}");
    let files = circles(&read.imports_of_files());
    assert_eq!(files.iter().map(|circle| circle.members.len()).collect::<Vec<_>>(), [2]);
}
