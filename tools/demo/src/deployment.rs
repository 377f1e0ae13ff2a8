//! A model on a volume of an instance.

use anyhow::{Context, ensure};
use machine::{
    client::{Api, text},
    process,
};
use serde_json::{Value, json};

use super::{browser::Browser, instance, job, storage};

/// The model's file on a volume.
pub(super) struct Deployed {
    volume: String,
    /// Name of the file without its ending, by which prompts name the adapter.
    name: String,
}

/// Creates a volume and deploys the file of the model to it.
pub(super) async fn create(designer: &Api, model: &str, datacenter: &str) -> anyhow::Result<Deployed> {
    let volume = storage::create(designer, datacenter).await?;
    let path = format!("/v1/models/{model}/deployments");
    let made = designer.post(&path, json!({ "storage_id": volume }), 202).await?;
    let path = format!("{path}/{}", text(&made, "id")?);
    let mut seen = Value::Null;
    process::until("the file of the model is on the volume", job::LIMIT, async || {
        seen = designer.get(&path).await?;
        ensure!(seen["state"] != "failed", "the deployment has failed: {seen}");
        Ok(seen["state"] == "deployed")
    })
    .await?;
    let file = text(&seen, "path")?;
    let name = file.strip_prefix("models/Lora/").and_then(|name| name.strip_suffix(".safetensors"));
    let name = name.with_context(|| format!("not the folder of adapters: {file}"))?.to_owned();
    Ok(Deployed { volume, name })
}

/// Starts an instance with the volume. Returns its id.
pub(super) async fn start(designer: &Api, deployed: &Deployed, spec: &str) -> anyhow::Result<String> {
    let (id, operation) = instance::create(designer, spec, &deployed.volume).await?;
    instance::expect_running(designer, &id, &operation).await?;
    Ok(id)
}

/// Makes a picture with the model and one without, which differ.
pub(super) async fn compare(designer: &Api, deployed: &Deployed, id: &str) -> anyhow::Result<()> {
    let browser = instance::open(designer, id).await?;
    let (_, loras) = browser.get("/sdapi/v1/loras").await?;
    ensure!(loras.contains(&deployed.name), "the WebUI does not list {}: {loras}", deployed.name);
    let without = picture(&browser, "sks dog on the moon").await?;
    let with = picture(&browser, &format!("sks dog on the moon <lora:{}:1>", deployed.name)).await?;
    ensure!(with != without, "the model changes nothing");
    Ok(())
}

async fn picture(browser: &Browser, prompt: &str) -> anyhow::Result<String> {
    let order = json!({ "prompt": prompt, "steps": 5, "width": 128, "height": 128, "seed": 9 });
    let made = browser.post("/sdapi/v1/txt2img", &order).await?;
    Ok(made["images"][0].as_str().context("no picture")?.to_owned())
}

/// Deletes the instance and the volume.
pub(super) async fn delete(designer: &Api, deployed: &Deployed, id: &str) -> anyhow::Result<()> {
    instance::delete(designer, id).await?;
    storage::delete(designer, &deployed.volume).await
}
