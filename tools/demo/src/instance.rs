//! The designer's steps with an instance: its life, its log, its pages.

use anyhow::{Context, ensure};
use machine::client::{Api, text};
use serde_json::{Value, json};

use super::{browser::Browser, terminal};

pub(super) async fn create(designer: &Api, spec: &str, storage: &str) -> anyhow::Result<(String, Value)> {
    let services = designer.list("/v1/services").await?;
    let webui =
        services.iter().filter(|service| service["service"] == "stable-diffusion-webui").collect::<Vec<_>>();
    ensure!(webui.len() >= 2, "fewer than two versions of the WebUI: {services:?}");
    let body = json!({
        "name": "demo-drawing", "gpu_spec": spec, "service": "stable-diffusion-webui",
        "version": webui[0]["version"], "storage_id": storage,
    });
    let instance = designer.post("/v1/instances", body, 202).await?;
    Ok((text(&instance, "id")?.to_owned(), instance["operation_id"].clone()))
}

pub async fn request(designer: &Api, instance: &str, action: &str) -> anyhow::Result<Value> {
    Ok(designer.act(&format!("/v1/instances/{instance}/{action}"), 202).await?["operation_id"].clone())
}

pub async fn follow(designer: &Api, operation: &Value) -> anyhow::Result<()> {
    designer.follow("instance-operations", operation).await.map(drop)
}

pub async fn expect_running(designer: &Api, instance: &str, operation: &Value) -> anyhow::Result<()> {
    follow(designer, operation).await?;
    let seen = designer.get(&format!("/v1/instances/{instance}")).await?;
    ensure!(seen["state"] == "running", "the instance is not running: {seen}");
    Ok(())
}

pub async fn delete(designer: &Api, id: &str) -> anyhow::Result<()> {
    let path = format!("/v1/instances/{id}");
    let deleting = designer.delete(&path, 202).await?;
    follow(designer, &deleting["operation_id"]).await?;
    designer.expect_missing(&path).await
}

pub(super) async fn read_log(designer: &Api, instance: &str) -> anyhow::Result<()> {
    let path = format!("/v1/instances/{instance}/log?tail=100");
    let answer = designer.send(reqwest::Method::GET, &path, None, None).await?;
    ensure!(
        answer.status == 200 && !answer.text.trim().is_empty(),
        "no log: {} {}",
        answer.status,
        answer.text
    );
    Ok(())
}

pub async fn open(designer: &Api, instance: &str) -> anyhow::Result<Browser> {
    let ticket = designer.act(&format!("/v1/instances/{instance}/tickets"), 201).await?;
    Browser::open(text(&ticket, "url")?).await
}

pub(super) async fn page(browser: &Browser) -> anyhow::Result<()> {
    let (status, html) = browser.get("/").await?;
    ensure!(status == 200 && html.contains("<html"), "no page ({status}): {html}");
    let anonymous = browser.get_anonymously("/").await?;
    ensure!(anonymous == 401, "without the cookie the page answers {anonymous}");
    Ok(())
}

pub(super) async fn webui_api(browser: &Browser) -> anyhow::Result<()> {
    for path in ["/sdapi/v1/options", "/sdapi/v1/progress", "/sdapi/v1/sd-models"] {
        let (status, body) = browser.get(path).await?;
        ensure!(status == 200, "{path}: {status} {body}");
    }
    Ok(())
}

pub(super) async fn generate(browser: &Browser) -> anyhow::Result<()> {
    let order = json!({ "prompt": "a lighthouse in a storm, oil on canvas", "steps": 20, "width": 512, "height": 512 });
    let made = browser.post("/sdapi/v1/txt2img", &order).await?;
    let picture = made["images"][0].as_str().context("no picture")?;
    // the first bytes of every PNG file
    ensure!(picture.starts_with("iVBORw0KGgo"), "not a PNG: {}…", &picture[..picture.len().min(20)]);
    Ok(())
}

pub(super) async fn expect_kept(
    designer: &Api,
    gateway: &str,
    instance: &str,
    url: &str,
    file: &str,
) -> anyhow::Result<()> {
    let seen = designer.get(&format!("/v1/instances/{instance}")).await?;
    ensure!(seen["url"] == url, "the URL changed: {seen}");
    terminal::run(designer, gateway, instance, &format!("test -s '{file}'")).await?;
    let (status, _) = open(designer, instance).await?.get("/").await?;
    ensure!(status == 200, "the page answers {status}");
    Ok(())
}
