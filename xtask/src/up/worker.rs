//! A worker of jobs that draws on the CPU: the stand-in of the WebUI, and the runner beside it.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{secrets::write_private, seed};
use crate::demo::client::{Api, text};

/// Name of the worker.
const NAME: &str = "cpu-1";

/// What is kept of a worker: its token is shown once.
#[derive(Serialize, Deserialize)]
struct Known {
    id: String,
    token: String,
}

/// Returns the token of the worker, after creating it and its pool if necessary.
pub(super) async fn token(admin: &Api, data: &Path) -> anyhow::Result<String> {
    let body = json!({ "name": "generation", "gpu_specs": [seed::GPU_SPECS[0], seed::GPU_SPECS[1]] });
    let pool = seed::ensure(admin, "/v1/platform-pools", "generation", body).await?;
    let workers = format!("/v1/platform-pools/{}/workers", text(&pool, "id")?);
    let file = data.join("worker.json");
    let known: Option<Known> = std::fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
    if let Some(worker) = admin.list(&workers).await?.iter().find(|worker| worker["name"] == NAME) {
        match known {
            Some(known) if worker["id"] == known.id.as_str() => return Ok(known.token),
            _ => drop(admin.delete(&format!("{workers}/{}", text(worker, "id")?), 204).await?),
        }
    }
    let body = json!({ "name": NAME, "gpu_spec": seed::GPU_SPECS[0], "node": "node-1" });
    let made = admin.post(&workers, body, 201).await?;
    let made = Known { id: text(&made, "id")?.to_owned(), token: text(&made, "token")?.to_owned() };
    write_private(&file, &serde_json::to_vec_pretty(&made)?)?;
    Ok(made.token)
}
