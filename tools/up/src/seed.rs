//! The demo data of a new platform, created through its public API. What exists is not changed.

use std::time::Instant;

use anyhow::Context;
use machine::{
    access::Access,
    client::{Api, text},
};
use serde_json::{Value, json};

const TENANT: &str = "atelier-studio";

/// Names of the GPU specifications.
pub(super) const GPU_SPECS: [&str; 2] = ["3080-small-4-1", "4090-small-8-1"];

/// How the demo data fits the cluster.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Suited {
    /// Image of the demo's service, for a cluster that pulls images: that of `cargo xtask images --service webui`
    #[arg(long, value_name = "IMAGE")]
    webui: Option<String>,
    /// Specifications for one small node, as with kind and k3s: units of 250 millicores and 512 MiB, volumes of the
    /// access mode ReadWriteOnce
    #[arg(long)]
    small: bool,
}

/// `datacenters`: name and cluster.
pub async fn seed(
    admin: &Api,
    access: &Access,
    datacenters: &[(&str, &str)],
    suited: &Suited,
) -> anyhow::Result<()> {
    let begun = Instant::now();
    for (name, cluster) in datacenters {
        let body = json!({ "name": name, "region": "local", "cluster": cluster });
        ensure(admin, "/v1/datacenters", name, body).await?;
    }
    for spec in gpu_specs(suited.small) {
        let name = text(&spec, "name")?.to_owned();
        ensure(admin, "/v1/gpu-specs", &name, spec).await?;
        let stock = admin.list(&format!("/v1/stock?spec_name={name}")).await?;
        for (datacenter, _) in datacenters {
            if stock.iter().all(|row| row["datacenter"]["name"] != *datacenter) {
                let body = json!({ "gpu_spec": name, "datacenter": datacenter, "count": 2 });
                admin.post("/v1/stock/additions", body, 202).await?;
            }
        }
    }
    for spec in storage_specs(suited.small) {
        let name = text(&spec, "name")?.to_owned();
        ensure(admin, "/v1/storage-specs", &name, spec).await?;
    }
    let existing = admin.list("/v1/services").await?;
    for image in catalogue(suited.webui.as_deref()) {
        let same =
            |other: &&Value| (&other["service"], &other["version"]) == (&image["service"], &image["version"]);
        if existing.iter().find(same).is_none() {
            admin.post("/v1/services", image, 201).await?;
        }
    }
    designer(admin, access).await?;
    println!("  {:<28} {:>6.2} s", "demo data", begun.elapsed().as_secs_f64());
    Ok(())
}

/// Returns the object of this name, after creating it if necessary.
pub(super) async fn ensure(admin: &Api, collection: &str, name: &str, body: Value) -> anyhow::Result<Value> {
    match admin.list(collection).await?.into_iter().find(|object| object["name"] == name) {
        Some(object) => Ok(object),
        None => admin.post(collection, body, 201).await,
    }
}

async fn designer(admin: &Api, access: &Access) -> anyhow::Result<()> {
    let tenant = ensure(admin, "/v1/tenants", TENANT, json!({ "name": TENANT })).await?;
    let email = &access.designer.email;
    let user = match admin.list("/v1/users").await?.into_iter().find(|user| user["email"] == email.as_str()) {
        Some(user) => user,
        None => {
            let body = json!({
                "email": email, "password": access.designer.password, "display_name": "Designer",
            });
            admin.post("/v1/users", body, 201).await?
        }
    };
    let members = format!("/v1/tenants/{}/members", text(&tenant, "id")?);
    let user_id = text(&user, "id").context("the designer has no id")?;
    if !admin.list(&members).await?.iter().any(|member| member["user_id"] == user_id) {
        admin.post(&members, json!({ "user_id": user_id, "role": "owner" }), 201).await?;
    }
    Ok(())
}

fn gpu_specs(small: bool) -> [Value; 2] {
    let spec = |name, model, cores, video_memory, cpus: u32, memory: u32, price| {
        let (cpu, memory, disk) = if small { (250, 512, 1) } else { (cpus * 1000, memory, 50) };
        json!({
            "name": name, "gpu_model": model, "gpu_count": 1, "gpu_cores": cores,
            "video_memory_mib": video_memory, "cpu_millis": cpu, "memory_mib": memory,
            "disk_gib": disk, "price_per_hour": price, "currency": "USD",
            "allocation": { "kind": "device", "resource": "nvidia.com/gpu" },
        })
    };
    [
        spec(GPU_SPECS[0], "NVIDIA-GeForce-RTX-3080", 8704, 10_240, 4, 8192, "0.2"),
        spec(GPU_SPECS[1], "NVIDIA-GeForce-RTX-4090", 16_384, 24_576, 8, 32_768, "0.6"),
    ]
}

fn storage_specs(small: bool) -> [Value; 2] {
    let access_mode = if small { "read_write_once" } else { "read_write_many" };
    [
        json!({ "name": "ssd", "kind": "volume", "min_size_gib": 1, "max_size_gib": 2048,
                "price_per_gib_month": "0.1", "currency": "USD", "access_mode": access_mode }),
        json!({ "name": "archive", "kind": "bucket", "min_size_gib": 1, "max_size_gib": 10_240,
                "price_per_gib_month": "0.02", "currency": "USD" }),
    ]
}

/// Two versions of the WebUI, both of them the stand-in that draws on the CPU.
fn catalogue(image: Option<&str>) -> [Value; 2] {
    ["1.6", "1.10"].map(|version| {
        let image = image.map_or_else(|| format!("atelier/webui:{version}"), str::to_owned);
        json!({
            "service": "stable-diffusion-webui", "version": version,
            "description": format!("Stand-in for Stable Diffusion WebUI {version} that needs no GPU"),
            "descriptions": { "zh-CN": format!("Stable Diffusion WebUI {version} 的替身，无需 GPU") },
            "links": [{ "title": "Stable Diffusion WebUI",
                        "url": "https://github.com/AUTOMATIC1111/stable-diffusion-webui" }],
            "recommended": version == "1.10",
            "template": {
                "image": image,
                "ports": [{ "port": 7860, "protocol": "TCP", "is_public": true, "is_probe": true,
                            "base_url": "/internal/ping" }],
                "env": [{ "name": "SD_VERSION", "value": version }],
                "working_dir": "/workspace",
                "storage_mount_path": "/workspace/storage",
                "start_timeout_seconds": 60,
            },
        })
    })
}
