//! An order that brings everything with it: a new volume, a secret, a public port, an idle stop.

use anyhow::{Context, ensure};
use machine::client::{Api, text};
use serde_json::{Value, json};

use super::{browser, instance, storage, terminal};

/// Name and value of the secret.
const SECRET: (&str, &str) = ("HF_TOKEN", "hf_only-the-container-sees-this");

/// An instance with its own volume.
pub(super) struct Ordered {
    id: String,
    volume: String,
    public_url: String,
}

/// Orders it, and waits until it is running. A secret among the variables is refused before.
pub(super) async fn create(designer: &Api, spec: &str, datacenter: &str) -> anyhow::Result<Ordered> {
    let specs = designer.list("/v1/storage-specs").await?;
    let volumes =
        specs.iter().find(|spec| spec["kind"] == "volume").context("no specification of volumes")?;
    let (name, value) = SECRET;
    let mut order = json!({
        "name": "demo-complete", "gpu_spec": spec, "service": "stable-diffusion-webui",
        "datacenter": datacenter,
        "new_storage": { "name": "demo-new", "storage_spec": volumes["name"], "size_gib": 10 },
        "public_ports": [{ "port": 7860, "sign_in": false }],
        "idle_stop": { "after_seconds": 3600 },
        "env": [{ "name": name, "value": value }],
    });
    let refused = designer.post("/v1/instances", order.clone(), 422).await?;
    ensure!(refused["errors"][0]["pointer"] == "/env/0/value", "another refusal: {refused}");
    order["secrets"] = order["env"].take();
    order["env"] = json!([]);
    let made = designer.post("/v1/instances", order, 202).await?;
    let id = text(&made, "id")?.to_owned();
    let volume = text(&made["storages"][0], "storage_id")?.to_owned();
    let public_url = text(&made["ports"][0], "url")?.to_owned();
    instance::expect_running(designer, &id, &made["operation_id"]).await?;
    Ok(Ordered { id, volume, public_url })
}

/// The container has the secret and the volume, and no answer has the secret.
pub(super) async fn expect_contents(designer: &Api, gateway: &str, ordered: &Ordered) -> anyhow::Result<()> {
    let (name, value) = SECRET;
    let command = format!("printf %s \"${name}\"; test -d storage");
    let printed = terminal::run(designer, gateway, &ordered.id, &command).await?;
    ensure!(printed.trim() == value, "the container's secret is {printed:?}");
    let seen: Value = designer.get(&format!("/v1/instances/{}", ordered.id)).await?;
    ensure!(seen["secrets"][0]["name"] == name && !seen.to_string().contains(value), "the view: {seen}");
    ensure!(seen["idle_stop"]["after_seconds"] == 3600, "no idle stop: {seen}");
    Ok(())
}

/// The public port answers without a ticket, the instance's own URL does not.
pub(super) async fn expect_public(designer: &Api, ordered: &Ordered) -> anyhow::Result<()> {
    let seen = designer.get(&format!("/v1/instances/{}", ordered.id)).await?;
    let public = browser::status_of(&ordered.public_url).await?;
    let own = browser::status_of(text(&seen, "url")?).await?;
    ensure!((public, own) == (200, 401), "without a cookie, the ports answer {public} and {own}");
    Ok(())
}

/// Deletes the instance, and then its volume.
pub(super) async fn delete(designer: &Api, ordered: &Ordered) -> anyhow::Result<()> {
    instance::delete(designer, &ordered.id).await?;
    storage::delete(designer, &ordered.volume).await
}
