//! The designer's steps with storages.

use anyhow::Context;
use machine::client::{Api, text};
use serde_json::json;

pub(super) async fn create(designer: &Api, datacenter: &str) -> anyhow::Result<String> {
    let specs = designer.list("/v1/storage-specs").await?;
    let volume = specs.iter().find(|spec| spec["kind"] == "volume").context("no specification of volumes")?;
    let body = json!({ "name": "demo-models", "storage_spec": volume["name"], "size_gib": 10, "datacenter": datacenter });
    let storage = designer.post("/v1/storages", body, 202).await?;
    designer.follow("storage-operations", &storage["operation_id"]).await?;
    Ok(text(&storage, "id")?.to_owned())
}

pub(super) async fn delete(designer: &Api, id: &str) -> anyhow::Result<()> {
    let path = format!("/v1/storages/{id}");
    let deleting = designer.delete(&path, 202).await?;
    designer.follow("storage-operations", &deleting["operation_id"]).await?;
    designer.expect_missing(&path).await
}
