//! Configuration: a TOML file, overridden by the environment, with unknown keys refused.

use std::path::Path;

use figment::{
    Figment,
    providers::{Env, Format, Toml},
};
use serde::de::DeserializeOwned;

use crate::health::redact;

/// Reads `T` from the file, if one is given, and from the environment: `ATELIER_DATABASE__URL` is
/// `database.url`. `T` and what it contains must `deny_unknown_fields`.
///
/// # Errors
/// Names the key that is missing, unknown or invalid, and its source.
pub fn load<T: DeserializeOwned>(file: Option<&Path>) -> anyhow::Result<T> {
    let mut figment = Figment::new();
    if let Some(file) = file {
        anyhow::ensure!(file.exists(), "the configuration file {} does not exist", file.display());
        figment = figment.merge(Toml::file_exact(file));
    }
    let figment = figment.merge(Env::prefixed("ATELIER_").split("__"));
    if let Ok(values) = figment.extract() {
        redact::remember(&values);
    }
    Ok(figment.extract()?)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Config {
        listen: String,
    }

    #[test]
    fn an_unknown_key_is_refused_by_name() {
        let dir = std::env::temp_dir().join(format!("atelier-config-{}", uuid::Uuid::now_v7()));
        std::fs::create_dir(&dir).unwrap();
        let file = dir.join("config.toml");
        std::fs::write(&file, "listen = \"127.0.0.1:1\"\n").unwrap();
        assert_eq!(super::load::<Config>(Some(&file)).unwrap().listen, "127.0.0.1:1");
        std::fs::write(&file, "listen = \"127.0.0.1:1\"\nlissten = \"x\"\n").unwrap();
        let error = super::load::<Config>(Some(&file)).unwrap_err().to_string();
        assert!(error.contains("lissten"), "{error}");
        std::fs::remove_dir_all(dir).unwrap();
    }
}
