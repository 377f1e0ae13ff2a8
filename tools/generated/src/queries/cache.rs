//! The files of `.sqlx/`, one per query.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use anyhow::Context;
use serde_json::Value;

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

/// A query with the information of the macros.
#[derive(Debug)]
pub(super) struct Query {
    file: String,
    pub(super) text: String,
    pub(super) described: Value,
}

impl std::fmt::Display for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.file, beginning(&self.text))
    }
}

/// The queries of a folder.
pub(super) fn queries(folder: &Path) -> anyhow::Result<Vec<Query>> {
    let parse = |(file, text): (String, String)| {
        let mut parsed: Value = serde_json::from_str(&text).with_context(|| file.clone())?;
        let text = parsed["query"].as_str().with_context(|| file.clone())?.to_owned();
        Ok(Query { file, text, described: parsed["describe"].take() })
    };
    cache(folder)?.into_iter().map(parse).collect()
}

/// The differences, a line each: the file, and the beginning of its query.
pub(super) fn differences(committed: &Path, written: &Path) -> anyhow::Result<Vec<String>> {
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
    let parsed: Value = serde_json::from_str(text).unwrap_or_default();
    beginning(parsed["query"].as_str().unwrap_or("no query"))
}

fn beginning(query: &str) -> String {
    let words: Vec<_> = query.split_whitespace().collect();
    words.join(" ").chars().take(80).collect()
}

/// Makes the committed files those that were written.
pub(super) fn replace(committed: &Path, written: &Path) -> anyhow::Result<()> {
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
