//! Jobs: a picture without an instance.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use reqwest::Method;
use serde_json::{Value, json};

use super::client::{Api, text};

/// Longest time from submission to the end.
pub(super) const LIMIT: Duration = Duration::from_secs(60);

/// Orders a picture. Returns the id of the job.
pub(super) async fn picture(designer: &Api) -> anyhow::Result<String> {
    let parameters = json!({ "prompt": "a lighthouse in a storm", "steps": 10, "width": 256, "height": 256 });
    submit(designer, "stable-diffusion", "txt2img", parameters).await
}

/// Submits a job. Returns its id.
pub(super) async fn submit(
    designer: &Api,
    application: &str,
    method: &str,
    parameters: Value,
) -> anyhow::Result<String> {
    let body = json!({ "application": application, "method": method, "parameters": parameters });
    let job = designer.post("/v1/jobs", body, 202).await?;
    Ok(text(&job, "id")?.to_owned())
}

/// Follows the events of a job until it has succeeded.
pub(super) async fn follow(designer: &Api, job: &str) -> anyhow::Result<()> {
    let url = format!("{}/v1/jobs/{job}/events", designer.base);
    let token = designer.token.as_deref().unwrap_or_default();
    let request = reqwest::Client::new().get(url).bearer_auth(token).header("accept", "text/event-stream");
    let mut events = request.send().await?.error_for_status()?;
    let mut read = Vec::new();
    let followed = tokio::time::timeout(LIMIT, async {
        // the stream ends with the job
        while let Some(part) = events.chunk().await? {
            read.extend_from_slice(&part);
        }
        reqwest::Result::Ok(())
    });
    let is_over = followed.await.is_ok_and(|read| read.is_ok());
    let read = String::from_utf8_lossy(&read);
    let order = ["job.submitted", "job.assigned", "job.started", "job.succeeded"];
    let positions: Vec<_> = order.iter().map(|kind| read.find(&format!("event: {kind}\n"))).collect();
    let is_complete = positions.iter().all(Option::is_some) && positions.is_sorted();
    ensure!(is_over && is_complete, "not the events of a job that succeeds: {read}");
    Ok(())
}

/// Downloads the picture from the object store.
pub(super) async fn download(designer: &Api, job: &str) -> anyhow::Result<Vec<u8>> {
    let artifacts = designer.list(&format!("/v1/jobs/{job}/artifacts")).await?;
    let [artifact] = &artifacts[..] else { bail!("not one picture: {artifacts:?}") };
    let path = format!("/v1/jobs/{job}/artifacts/{}/content", text(artifact, "id")?);
    let answer = designer.send(Method::GET, &path, None, None).await?;
    let location = answer.location.context(answer.text)?;
    let picture = reqwest::get(&location).await?.error_for_status()?.bytes().await?;
    ensure!(picture.starts_with(b"\x89PNG\r\n"), "not a PNG");
    ensure!(artifact["bytes"] == picture.len(), "{} bytes: {artifact}", picture.len());
    Ok(picture.to_vec())
}
