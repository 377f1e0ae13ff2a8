//! `command.run`: a program of the tenant, in the image of a dedicated pool.

use std::collections::BTreeMap;

use ids::{ModelId, UploadId};
use problem::{Checks, FieldError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Inputs, typed};

/// Words of a command, and their bytes together.
const WORDS: (usize, usize) = (64, 8_192);
/// Environment variables, and the bytes of a value.
const VARIABLES: (usize, usize) = (64, 4_096);
const MAX_UPLOADS: usize = 64;
const MAX_MODELS: usize = 8;
/// Seconds of work, at most and by default.
const SECONDS: (u32, u32) = (7 * 86_400, 86_400);
/// Set by the runner.
const RESERVED: [&str; 5] = ["RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"];

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    /// The program and its arguments.
    command: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Whatever the program reads from `input.json`.
    #[serde(default)]
    arguments: Value,
    #[serde(default)]
    uploads: Vec<UploadId>,
    #[serde(default)]
    models: Vec<ModelId>,
    /// Timeout of an attempt, in seconds.
    #[serde(default = "max_seconds")]
    max_seconds: u32,
}

fn max_seconds() -> u32 {
    SECONDS.1
}

pub(super) fn read(parameters: &Value) -> Result<Inputs, Vec<FieldError>> {
    let read: Run = typed(parameters)?;
    let mut checks = Checks::default();
    let at = "/parameters/command";
    checks.within(at, read.command.len(), 1, WORDS.0);
    let bytes: usize = read.command.iter().map(String::len).sum();
    checks.require(bytes <= WORDS.1, at, format!("must have at most {} bytes together", WORDS.1));
    checks.require(read.command.first().is_none_or(|program| !program.is_empty()), at, "has no program");
    checks.require(read.command.iter().all(|word| !word.contains('\0')), at, "must not contain NUL");
    let at = "/parameters/env";
    checks.within(at, read.env.len(), 0, VARIABLES.0);
    for (name, value) in &read.env {
        check_variable(&mut checks, name, value);
    }
    distinct(&mut checks, "/parameters/uploads", &read.uploads, MAX_UPLOADS);
    distinct(&mut checks, "/parameters/models", &read.models, MAX_MODELS);
    checks.within("/parameters/max_seconds", read.max_seconds, 1, SECONDS.0);
    let errors = checks.into_errors();
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Inputs {
        parameters: serde_json::to_value(&read).unwrap_or_default(),
        model: None,
        class: class(&read.command),
        uploads: read.uploads,
        artifacts: Vec::new(),
        models: read.models,
        base_model: None,
        needs: None,
        training: None,
    })
}

fn check_variable(checks: &mut Checks, name: &str, value: &str) {
    let at = format!("/parameters/env/{}", name.replace('~', "~0").replace('/', "~1"));
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.len() <= 128
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    checks.require(is_name, &at, "must be letters, digits and _, not beginning with a digit");
    let is_reserved = name.starts_with("ATELIER_") || RESERVED.contains(&name);
    checks.require(!is_reserved, &at, "is set by the platform");
    let is_valid = value.len() <= VARIABLES.1 && !value.contains('\0');
    checks.require(is_valid, &at, format!("must have at most {} bytes, and no NUL", VARIABLES.1));
}

fn distinct<Id: Ord + Copy>(checks: &mut Checks, at: &str, ids: &[Id], most: usize) {
    checks.within(at, ids.len(), 0, most);
    let mut distinct = ids.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    checks.require(distinct.len() == ids.len(), at, "must be different");
}

/// Jobs with the same command take about the same time.
fn class(command: &[String]) -> String {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    format!("command.run/{}", ModelId::derived(&words).uuid().simple())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn defaults_are_filled_in() {
        let inputs = read(&json!({ "command": ["python3", "train.py"] })).unwrap();
        assert_eq!(inputs.parameters["max_seconds"], 86_400);
        assert_eq!(inputs.model, None);
        assert_eq!(read(&inputs.parameters).unwrap(), inputs, "stored parameters can be read again");
        let other =
            read(&json!({ "command": ["python3", "other.py"], "arguments": { "epochs": 3 } })).unwrap();
        assert_ne!(other.class, inputs.class);
        assert_eq!(other.parameters["arguments"]["epochs"], 3);
    }

    #[test]
    fn each_invalid_field_is_named() {
        let upload = UploadId::new();
        let parameters = json!({
            "command": ["", "a\0b"], "max_seconds": 0, "uploads": [upload, upload],
            "env": { "RANK": "1", "ATELIER_WORKER_TOKEN": "x", "1A": "", "OK": "fine", "NUL": "\0" },
        });
        let errors = read(&parameters).unwrap_err();
        let pointers: Vec<_> = errors.iter().map(|error| error.pointer.as_str()).collect();
        let expected = [
            "command",
            "command",
            "env/1A",
            "env/ATELIER_WORKER_TOKEN",
            "env/NUL",
            "env/RANK",
            "uploads",
            "max_seconds",
        ];
        assert_eq!(pointers, expected.map(|field| format!("/parameters/{field}")));
    }
}
