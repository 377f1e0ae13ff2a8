//! What a crate is built with: its dependencies and theirs, as the manifests and Cargo.lock say. An optional dependency counts where a
//! feature asks for it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use toml::{Table, Value};

/// The manifests of the workspace, and the packages from elsewhere.
pub(crate) struct Needs {
    root: PathBuf,
    /// Those that several crates name, by name.
    shared: Table,
    /// Dependencies of the packages in Cargo.lock.
    locked: BTreeMap<String, BTreeSet<String>>,
}

/// A dependency of a crate of the workspace.
struct Dependency {
    name: String,
    /// Its folder, if it is a crate of the workspace.
    folder: Option<PathBuf>,
    /// The features that it is used with, `default` among them unless it is left out.
    features: Vec<String>,
}

impl Needs {
    pub(crate) fn read(root: &Path) -> Self {
        let shared = &parse(&root.join("Cargo.toml"))["workspace"]["dependencies"];
        let lock = parse(&root.join("Cargo.lock"));
        let mut locked: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for package in lock["package"].as_array().unwrap() {
            let needs = package.get("dependencies").and_then(Value::as_array).into_iter().flatten();
            // "name", or "name version"
            let needs = needs.map(|need| need.as_str().unwrap().split(' ').next().unwrap().to_owned());
            locked.entry(text(&package["name"])).or_default().extend(needs);
        }
        Self { root: root.to_owned(), shared: shared.as_table().unwrap().clone(), locked }
    }

    /// All packages that the crate in `folder` is built with, each with the way to it.
    pub(crate) fn of(&self, folder: &Path) -> BTreeMap<String, Vec<String>> {
        let mut found = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let mut next = vec![(folder.to_owned(), vec!["default".to_owned()], Vec::new())];
        while let Some((folder, features, way)) = next.pop() {
            if !seen.insert((folder.clone(), features.clone())) {
                continue;
            }
            for need in self.dependencies(&folder, &features) {
                let way = [way.as_slice(), std::slice::from_ref(&need.name)].concat();
                match need.folder {
                    Some(folder) => next.push((folder, need.features, way.clone())),
                    None => self.follow(&need.name, &way, &mut found),
                }
                found.entry(need.name).or_insert(way);
            }
        }
        found
    }

    /// Adds what a package from elsewhere needs.
    fn follow(&self, package: &str, way: &[String], found: &mut BTreeMap<String, Vec<String>>) {
        for need in self.locked.get(package).into_iter().flatten() {
            let way = [way, std::slice::from_ref(need)].concat();
            if found.insert(need.clone(), way.clone()).is_none() {
                self.follow(need, &way, found);
            }
        }
    }

    /// What the crate in `folder` names as its dependencies, without those of its tests.
    fn dependencies(&self, folder: &Path, features: &[String]) -> Vec<Dependency> {
        let manifest = parse(&folder.join("Cargo.toml"));
        let enabled = enabled(manifest.get("features"), features);
        let Some(needs) = manifest.get("dependencies").and_then(Value::as_table) else { return Vec::new() };
        let own = needs.iter().filter(|(name, need)| {
            let is_optional = need.get("optional").and_then(Value::as_bool) == Some(true);
            !is_optional || enabled.contains(*name)
        });
        own.map(|(name, need)| {
            let is_shared = need.get("workspace").is_some();
            let shared = is_shared.then(|| self.shared.get(name)).flatten();
            let field = |name| need.get(name).or_else(|| shared?.get(name));
            let base = if is_shared { &self.root } else { folder };
            let lists = [Some(need), shared].into_iter().flatten().filter_map(|one| one.get("features"));
            Dependency {
                name: field("package").map_or_else(|| name.clone(), text),
                folder: field("path").map(|path| base.join(text(path))),
                features: lists
                    .flat_map(|list| list.as_array().unwrap())
                    .map(text)
                    .chain(
                        (field("default-features") != Some(&Value::Boolean(false))).then(|| "default".into()),
                    )
                    .collect(),
            }
        })
        .collect()
    }
}

/// The features that are enabled by these, and the optional dependencies that they ask for.
fn enabled(features: Option<&Value>, asked: &[String]) -> BTreeSet<String> {
    let mut enabled = BTreeSet::new();
    let mut next = asked.to_vec();
    while let Some(feature) = next.pop() {
        let feature = feature.trim_start_matches("dep:").split(['/', '?']).next().unwrap().to_owned();
        let implied = features.and_then(|features| features.get(&feature)?.as_array());
        if enabled.insert(feature) {
            next.extend(implied.into_iter().flatten().map(text));
        }
    }
    enabled
}

fn parse(file: &Path) -> Value {
    let content = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    toml::from_str(&content).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
