//! The source of a crate, searched for queries.

use std::path::Path;

use anyhow::Context;

/// The source of a crate that uses the query macros.
#[derive(Debug)]
pub(super) struct Source {
    /// The schema in which its queries run.
    pub(super) schema: String,
    /// All of it, without what literals may differ in.
    text: String,
}

impl Source {
    pub(super) fn read(folder: &Path) -> anyhow::Result<Self> {
        let settings = std::fs::read_to_string(folder.join("sqlx.toml"))?;
        let schema = schema(&settings).with_context(|| format!("{}/sqlx.toml", folder.display()))?;
        let mut text = String::new();
        let mut folders = vec![folder.join("src"), folder.join("tests"), folder.join("examples")];
        while let Some(folder) = folders.pop().filter(|folder| folder.exists()) {
            for entry in std::fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "sql") {
                    text.push_str(&bare(&std::fs::read_to_string(path)?));
                }
            }
        }
        Ok(Self { schema, text })
    }

    /// Whether a literal of the source has this value.
    pub(super) fn has(&self, query: &str) -> bool {
        self.text.contains(&bare(query))
    }
}

/// `gpu` of `database-url-var = "GPU_DATABASE_URL"`.
fn schema(settings: &str) -> Option<String> {
    let (_, rest) = settings.split_once("database-url-var = \"")?;
    let (schema, _) = rest.split_once("_DATABASE_URL\"")?;
    Some(schema.to_lowercase())
}

/// The text without white space, quotes and backslashes: a value is written in several ways.
fn bare(text: &str) -> String {
    text.replace("\\n", "").chars().filter(|one| !one.is_whitespace() && !"\"\\".contains(*one)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_found_however_its_literal_is_written() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("src")).unwrap();
        std::fs::write(folder.path().join("sqlx.toml"), "database-url-var = \"GPU_DATABASE_URL\"").unwrap();
        let lines =
            "query!(\"select a as \\\"a!\\\" \\\n   from t\"); query!(r#\"select b as \"b!\"\n from t\"#)";
        std::fs::write(folder.path().join("src/store.rs"), lines).unwrap();
        let source = Source::read(folder.path()).unwrap();
        assert_eq!(source.schema, "gpu");
        assert!(source.has("select a as \"a!\" from t") && source.has("select b as \"b!\"\n from t"));
        assert!(!source.has("select c from t"));
    }
}
