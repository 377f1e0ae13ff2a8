//! The pool of jobs, and its workers, which draw and train on the CPU.
//!
//! They are instances of a tenant of the platform, with a specification of their own, so that units of users
//! stay free. On the cluster of a kubeconfig, pods can neither reach the services of this machine nor pull
//! the image; there, and in a pool of an earlier version, the worker is a local process, registered like a
//! machine of the operator's own.

use std::path::Path;

use machine::{
    access::WORKERS_GPU_SPEC,
    client::{Api, text},
    secrets::write_private,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{seed, settings::Datacenter};

/// The pool. Jobs run in the oldest one.
const POOL: &str = "generation";
/// The tenant that pays for workers that are instances.
const TENANT: &str = "atelier-workers";
/// Units of their specification: one for the firm worker, one that is held back for users, and one that is lent.
const UNITS: u32 = 3;
/// Their service in the catalogue: a runner, with the stand-in of the WebUI as its engine.
const SERVICE: &str = "worker-webui";
const VERSION: &str = "1.10";
/// Name of the worker that is a process of this machine.
const REGISTERED: &str = "cpu-1";

/// The stored data of a registered worker, whose token is shown once.
#[derive(Serialize, Deserialize)]
struct Known {
    id: String,
    token: String,
}

/// Creates the pool, if necessary. Returns the token of the worker to run as a local process; none if the
/// jobs service runs the workers of the pool.
pub(super) async fn pool(
    admin: &Api,
    datacenter: &Datacenter,
    data: &Path,
) -> anyhow::Result<Option<String>> {
    let existing = admin.list("/v1/platform-pools").await?.into_iter().find(|pool| pool["name"] == POOL);
    let pool = match existing {
        Some(pool) => pool,
        None if datacenter.kubeconfig.is_some() => {
            let body = json!({ "name": POOL, "gpu_specs": seed::GPU_SPECS });
            admin.post("/v1/platform-pools", body, 201).await?
        }
        None => {
            let tenant = prepare(admin, datacenter.name).await?;
            let body = json!({
                "name": POOL, "gpu_specs": [WORKERS_GPU_SPEC], "tenant_id": tenant,
                "workers": { "service": SERVICE, "version": VERSION, "min": 1, "max": 1, "lent_max": 1 },
            });
            admin.post("/v1/platform-pools", body, 201).await?
        }
    };
    if pool["workers"].is_object() {
        return Ok(None);
    }
    register(admin, text(&pool, "id")?, data).await.map(Some)
}

/// Creates the prerequisites of workers that are instances. Returns the id of their tenant.
async fn prepare(admin: &Api, datacenter: &str) -> anyhow::Result<String> {
    let tenant = seed::ensure(admin, "/v1/tenants", TENANT, json!({ "name": TENANT })).await?;
    let spec = json!({
        "name": WORKERS_GPU_SPEC, "gpu_model": "CPU", "gpu_count": 1, "gpu_cores": 1, "video_memory_mib": 1024,
        "cpu_millis": 1000, "memory_mib": 1024, "disk_gib": 1, "price_per_hour": "0.1", "currency": "USD",
        "allocation": { "kind": "device", "resource": "nvidia.com/gpu" },
    });
    seed::ensure(admin, "/v1/gpu-specs", WORKERS_GPU_SPEC, spec).await?;
    if admin.list(&format!("/v1/stock?spec_name={WORKERS_GPU_SPEC}")).await?.is_empty() {
        let body = json!({ "gpu_spec": WORKERS_GPU_SPEC, "datacenter": datacenter, "count": UNITS });
        admin.post("/v1/stock/additions", body, 202).await?;
    }
    let image = json!({
        "service": SERVICE, "version": VERSION,
        "description": "Worker of jobs. The jobs service starts it: without a token of a worker it ends",
        "template": {
            "image": format!("atelier/{SERVICE}:{VERSION}"),
            "ports": [{ "port": 7860, "protocol": "TCP", "is_public": true, "is_probe": true,
                        "base_url": "/internal/ping" }],
            "working_dir": "/workspace",
            "start_timeout_seconds": 60,
        },
    });
    if admin.list("/v1/services").await?.iter().all(|known| known["service"] != SERVICE) {
        admin.post("/v1/services", image, 201).await?;
    }
    Ok(text(&tenant, "id")?.to_owned())
}

/// Returns the token of the registered worker, after creating it if necessary.
async fn register(admin: &Api, pool: &str, data: &Path) -> anyhow::Result<String> {
    let workers = format!("/v1/platform-pools/{pool}/workers");
    let file = data.join("worker.json");
    let known: Option<Known> = std::fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
    if let Some(worker) = admin.list(&workers).await?.iter().find(|worker| worker["name"] == REGISTERED) {
        match known {
            Some(known) if worker["id"] == known.id.as_str() => return Ok(known.token),
            _ => drop(admin.delete(&format!("{workers}/{}", text(worker, "id")?), 204).await?),
        }
    }
    let body = json!({ "name": REGISTERED, "gpu_spec": seed::GPU_SPECS[0], "node": "node-1" });
    let made = admin.post(&workers, body, 201).await?;
    let made = Known { id: text(&made, "id")?.to_owned(), token: text(&made, "token")?.to_owned() };
    write_private(&file, &serde_json::to_vec_pretty(&made)?)?;
    Ok(made.token)
}
