//! The modules of a crate, and what they import from each other.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use crate::{circles::Import, paths::Paths};

/// A crate, as read from its source.
pub(crate) struct Crate {
    /// Its folder in the repository.
    pub(crate) name: String,
    modules: BTreeMap<Vec<String>, Module>,
}

struct Module {
    /// Its file in the repository.
    file: String,
    paths: Paths,
}

/// The target of a path.
struct Place<'a> {
    module: &'a Module,
    path: &'a [String],
}

impl Crate {
    /// Reads the library and the program of the crate in `folder`; names its files as they are below `root`.
    pub(crate) fn read(root: &Path, folder: &Path) -> Self {
        let name = folder.strip_prefix(root).unwrap().display().to_string();
        let mut read = Self { name, modules: BTreeMap::new() };
        for (file, module) in [("lib.rs", vec![]), ("main.rs", vec!["main".to_owned()])] {
            let file = folder.join("src").join(file);
            if file.exists() {
                read.read_module(root, &file, &folder.join("src"), module);
            }
        }
        read
    }

    pub(crate) fn files(&self) -> usize {
        self.modules.len()
    }

    /// `folder` has the files of the module's own modules.
    fn read_module(&mut self, root: &Path, file: &Path, folder: &Path, module: Vec<String>) {
        let source = std::fs::read_to_string(file).unwrap();
        let parsed = syn::parse_file(&source).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let paths = Paths::of(&parsed);
        for below in &paths.files {
            let place: PathBuf = folder.join(below.join("/"));
            let files = [place.with_extension("rs"), place.join("mod.rs")];
            let file = files.into_iter().find(|file| file.exists()).unwrap();
            self.read_module(root, &file, &place, [module.as_slice(), below].concat());
        }
        let file = file.strip_prefix(root).unwrap().display().to_string();
        self.modules.insert(module, Module { file, paths });
    }

    /// The imports between files, each once.
    pub(crate) fn imports_of_files(&self) -> Vec<Import> {
        self.imports(|_, module| module.file.clone())
    }

    /// The imports between the files and folders directly below `src/`, each once. Modules of a program are read below `main`.
    pub(crate) fn imports_of_slices(&self) -> Vec<Import> {
        self.imports(|path, module| path.iter().find(|name| *name != "main").unwrap_or(&module.file).clone())
    }

    fn imports(&self, unit: impl Fn(&[String], &Module) -> String) -> Vec<Import> {
        let mut found: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
        for (path, module) in &self.modules {
            let named = module.paths.named.iter().map(|named| (&named.module, &named.path, false));
            let handed_on = module.paths.handed_on.iter().map(|on| (&on.module, &on.path, true));
            for (within, named, is_handed_on) in named.chain(handed_on) {
                let from = [path.as_slice(), within].concat();
                let Some(target) = self.absolute(&from, named) else { continue };
                // re-exports of items below the module; other re-exports count as imports
                if is_handed_on && target.starts_with(path) {
                    continue;
                }
                let Some(place) = self.resolve(&target, 0) else { continue };
                // a module is a part of those above it, and may use their items
                if path.starts_with(place.path) {
                    continue;
                }
                let edge = (unit(path, module), unit(place.path, place.module));
                if edge.0 != edge.1 {
                    found.entry(edge).or_default().insert(named.join("::"));
                }
            }
        }
        let import =
            |((from, to), names): (_, BTreeSet<_>)| Import { from, to, names: names.into_iter().collect() };
        found.into_iter().map(import).collect()
    }

    /// The path from the root of the crate; none if it leads out of the crate.
    fn absolute(&self, from: &[String], path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        let below = |module: &[String], rest: &[String]| [module, rest].concat();
        match first.as_str() {
            // of a program in the same crate as a library
            "crate" if from.first().is_some_and(|first| first == "main") => Some(below(&from[..1], rest)),
            "crate" => Some(rest.to_vec()),
            "self" => Some(below(from, rest)),
            "super" => {
                let mut module = from.split_last()?.1;
                let mut rest = rest;
                while let Some(("super", after)) =
                    rest.split_first().map(|(first, after)| (first.as_str(), after))
                {
                    module = module.split_last()?.1;
                    rest = after;
                }
                Some(below(module, rest))
            }
            // a module below this one
            _ => {
                let path = below(from, path);
                self.modules.contains_key(&path[..=from.len()]).then_some(path)
            }
        }
    }

    /// The module in which the item at a path from the root is, through all re-exports.
    fn resolve(&self, path: &[String], depth: usize) -> Option<Place<'_>> {
        let longest = (0..=path.len()).rev().find(|&length| self.modules.contains_key(&path[..length]))?;
        let (known, module) = self.modules.get_key_value(&path[..longest])?;
        let place = Place { module, path: known };
        let Some(item) = path.get(longest) else { return Some(place) };
        if depth == 8 {
            return Some(place);
        }
        for on in module.paths.handed_on.iter().filter(|on| on.module.is_empty()) {
            let Some(target) = self.absolute(known, &on.path) else { continue };
            if on.name.as_ref() == Some(item) {
                let target = [target.as_slice(), &path[longest + 1..]].concat();
                return self.resolve(&target, depth + 1);
            }
        }
        Some(place)
    }
}
