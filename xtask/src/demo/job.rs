//! A picture as a job, without an instance.

use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use reqwest::Method;
use serde_json::json;

use super::client::{Api, text};

/// Longest time from submission to the end.
const LIMIT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);

/// Submits a job. Returns its id.
pub(super) async fn submit(designer: &Api) -> anyhow::Result<String> {
    let parameters = json!({ "prompt": "a lighthouse in a storm", "steps": 10, "width": 256, "height": 256 });
    let body = json!({ "application": "stable-diffusion", "method": "txt2img", "parameters": parameters });
    let job = designer.post("/v1/jobs", body, 202).await?;
    Ok(text(&job, "id")?.to_owned())
}

/// Waits until a job has succeeded.
pub(super) async fn follow(designer: &Api, job: &str) -> anyhow::Result<()> {
    let begun = Instant::now();
    while begun.elapsed() < LIMIT {
        let seen = designer.get(&format!("/v1/jobs/{job}")).await?;
        match text(&seen, "state")? {
            "succeeded" => return Ok(()),
            "failed" | "cancelled" | "expired" => bail!("the job has no result: {seen}"),
            _ => tokio::time::sleep(PAUSE).await,
        }
    }
    bail!("the job does not end: {}", designer.get(&format!("/v1/jobs/{job}/explanation")).await?)
}

/// Downloads the picture from the object store.
pub(super) async fn download(designer: &Api, job: &str) -> anyhow::Result<()> {
    let artifacts = designer.list(&format!("/v1/jobs/{job}/artifacts")).await?;
    let [artifact] = &artifacts[..] else { bail!("not one picture: {artifacts:?}") };
    let path = format!("/v1/jobs/{job}/artifacts/{}/content", text(artifact, "id")?);
    let answer = designer.send(Method::GET, &path, None, None).await?;
    let location = answer.location.context(answer.text)?;
    let picture = reqwest::get(&location).await?.error_for_status()?.bytes().await?;
    ensure!(picture.starts_with(b"\x89PNG\r\n"), "not a PNG");
    ensure!(artifact["bytes"] == picture.len(), "{} bytes: {artifact}", picture.len());
    Ok(())
}
