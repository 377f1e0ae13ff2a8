//! Jobs: a picture without an instance.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use jiff::Timestamp;
use machine::{
    client::{Api, text},
    process,
};
use reqwest::Method;
use serde_json::{Value, json};

/// Longest time from submission to the end.
pub(super) const LIMIT: Duration = Duration::from_secs(60);

/// Jobs of a kind from which the platform learns how long they take.
const LEARNED: usize = 8;
/// Time between two jobs that forecasts do not include, in seconds for all waiting jobs.
const SLACK: f64 = 2.0;

#[expect(clippy::disallowed_methods, reason = "the platform's times are compared with it")]
fn now() -> Timestamp {
    Timestamp::now()
}

/// Orders a picture. Returns the id of the job.
pub(super) async fn picture(designer: &Api) -> anyhow::Result<String> {
    let parameters = json!({ "prompt": "a lighthouse in a storm", "steps": 10, "width": 256, "height": 256 });
    submit(designer, "stable-diffusion", "txt2img", parameters).await
}

/// Requests a quote: when a picture would be done, and its cost.
pub(super) async fn quote(designer: &Api) -> anyhow::Result<()> {
    let body = json!({
        "application": "stable-diffusion", "method": "txt2img", "parameters": { "prompt": "a lighthouse in a storm" },
    });
    // the price may be read just now
    process::until("the picture has a price", LIMIT, async || {
        let quote = designer.post("/v1/jobs/quote", body.clone(), 200).await?;
        let is_timed = quote["expected"]["end"]["p90"].is_string();
        Ok(is_timed && quote["costs"][0]["p90"].is_string())
    })
    .await
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

/// Orders pictures of one kind, more than the platform needs to learn how long they take. Returns their ids, in order.
pub(super) async fn dozen(designer: &Api) -> anyhow::Result<Vec<String>> {
    let picture = json!({
        "application": "stable-diffusion", "method": "txt2img",
        "parameters": { "prompt": "a fox in the snow", "steps": 20, "width": 512, "height": 512 },
    });
    let body = json!({ "jobs": vec![picture; LEARNED + 4] });
    let batch = designer.post("/v1/job-batches", body, 202).await?;
    let items = batch["items"].as_array().context("no items")?;
    items.iter().map(|item| Ok(text(&item["job"], "id")?.to_owned())).collect()
}

/// When a job is expected to start.
pub(super) struct Told {
    job: String,
    at: Timestamp,
    start: Timestamp,
}

/// Reads when the last of the jobs is expected to start, once enough of them have ended to learn from.
pub(super) async fn outlook(designer: &Api, jobs: &[String]) -> anyhow::Result<Told> {
    let state = async |job: &String| designer.get(&format!("/v1/jobs/{job}")).await;
    process::until("pictures are made", LIMIT, async || {
        // two workers may end them in another order
        for job in &jobs[..LEARNED] {
            if state(job).await?["state"] != "succeeded" {
                return Ok(false);
            }
        }
        Ok(true)
    })
    .await?;
    let job = jobs.last().context("no jobs")?;
    let found = designer.get(&format!("/v1/jobs/{job}/explanation")).await?;
    let is_told = found["position"].as_u64() > Some(0) && found["message"].is_string();
    ensure!(is_told, "a job that waits is not explained: {found}");
    Ok(Told { job: job.clone(), at: now(), start: text(&found, "expected_start")?.parse()? })
}

/// Waits until the job has started. Returns for how many seconds it was expected to wait, and how much later it started.
///
/// # Errors
/// If that is more than half of the expected wait, and [`SLACK`].
pub(super) async fn expect_start(designer: &Api, told: &Told) -> anyhow::Result<(f64, f64)> {
    let path = format!("/v1/jobs/{}", told.job);
    let mut started = None;
    process::until("the job starts", LIMIT, async || {
        started = designer.get(&path).await?["started_at"].as_str().map(str::to_owned);
        Ok(started.is_some())
    })
    .await?;
    let started: Timestamp = started.context("no time")?.parse()?;
    let (late, wait) = (started.duration_since(told.start), told.start.duration_since(told.at));
    let (late, wait) = (late.as_secs_f64(), wait.as_secs_f64());
    ensure!(late.abs() <= wait / 2.0 + SLACK, "expected in {wait:.1} s, and started {late:+.1} s from then");
    Ok((wait, late))
}

/// Makes a picture from that of a job, by another text.
pub(super) async fn variation(designer: &Api, job: &str, picture: &[u8]) -> anyhow::Result<()> {
    let artifact = artifact(designer, job).await?;
    let parameters = json!({ "prompt": "a lighthouse at night", "steps": 10, "width": 256, "height": 256,
                             "image": artifact["id"], "denoising_strength": 0.5 });
    let job = submit(designer, "stable-diffusion", "img2img", parameters).await?;
    follow(designer, &job).await?;
    ensure!(download(designer, &job).await? != picture, "the variation is the picture itself");
    Ok(())
}

/// The only result of a job.
async fn artifact(designer: &Api, job: &str) -> anyhow::Result<Value> {
    let artifacts = designer.list(&format!("/v1/jobs/{job}/artifacts")).await?;
    let [artifact] = &artifacts[..] else { bail!("not one picture: {artifacts:?}") };
    Ok(artifact.clone())
}

/// Downloads the picture from the object store.
pub(super) async fn download(designer: &Api, job: &str) -> anyhow::Result<Vec<u8>> {
    let artifact = artifact(designer, job).await?;
    let path = format!("/v1/jobs/{job}/artifacts/{}/content", text(&artifact, "id")?);
    let answer = designer.send(Method::GET, &path, None, None).await?;
    let location = answer.location.context(answer.text)?;
    let picture = reqwest::get(&location).await?.error_for_status()?.bytes().await?;
    ensure!(picture.starts_with(b"\x89PNG\r\n"), "not a PNG");
    ensure!(artifact["bytes"] == picture.len(), "{} bytes: {artifact}", picture.len());
    Ok(picture.to_vec())
}
