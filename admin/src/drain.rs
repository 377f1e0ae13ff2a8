//! `drain`: sets a datacenter to draining, so that it accepts no new instances and no new stock, and waits until it is
//! empty.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::gateway::Gateway;

/// How a datacenter is drained.
#[derive(Debug, Clone)]
pub struct Request {
    /// Name or id of the datacenter.
    pub datacenter: String,
    /// Stops the instances that are there, with this reason for their tenants.
    pub stop: Option<String>,
    /// How long to wait until no unit is in use.
    pub timeout: Duration,
    /// Time between two checks.
    pub poll: Duration,
}

/// Drains the datacenter, and prints the number of units in use when it changes. Returns this number at the end: 0, or
/// more if the time was over.
///
/// # Errors
/// If the API refuses a request.
pub async fn drain(
    gateway: &Gateway,
    request: &Request,
    mut progress: impl FnMut(usize),
) -> anyhow::Result<usize> {
    let path = format!("/v1/datacenters/{}", request.datacenter);
    let found = gateway.get(&path).await?;
    let id = found["id"].as_str().unwrap_or(&request.datacenter);
    gateway.patch(&format!("/v1/datacenters/{id}"), &json!({ "state": "draining" })).await?;
    let deadline = Instant::now() + request.timeout;
    let (mut told, mut stopped) = (None, Vec::new());
    loop {
        let used = used(gateway, id).await?;
        if let Some(reason) = &request.stop {
            for instance in used.iter().filter_map(|unit| unit["holder"]["instance_id"].as_str()) {
                if stopped.iter().all(|known| known != instance) {
                    stop(gateway, instance, reason).await?;
                    stopped.push(instance.to_owned());
                }
            }
        }
        if told.replace(used.len()) != Some(used.len()) {
            progress(used.len());
        }
        if used.is_empty() || Instant::now() >= deadline {
            return Ok(used.len());
        }
        sleep(request.poll).await;
    }
}

/// Reactivates the datacenter.
///
/// # Errors
/// If the API refuses a request.
pub async fn undo(gateway: &Gateway, datacenter: &str) -> anyhow::Result<()> {
    let found = gateway.get(&format!("/v1/datacenters/{datacenter}")).await?;
    let id = found["id"].as_str().unwrap_or(datacenter);
    gateway.patch(&format!("/v1/datacenters/{id}"), &json!({ "state": "active" })).await?;
    Ok(())
}

/// The units of the datacenter that instances have claimed.
async fn used(gateway: &Gateway, datacenter: &str) -> anyhow::Result<Vec<Value>> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/stock-units?datacenter={datacenter}&state=used&limit=200{cursor}");
        let mut page = gateway.get(&path).await?;
        if let Some(items) = page["items"].as_array_mut() {
            all.append(items);
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Ok(all),
        }
    }
}

/// Stops an instance as an administrator. One that stops already, or is gone, needs nothing.
async fn stop(gateway: &Gateway, instance: &str, reason: &str) -> anyhow::Result<()> {
    let reason: String = url::form_urlencoded::byte_serialize(reason.as_bytes()).collect();
    let path = format!("/v1/platform-instances/{instance}/stop?reason={reason}");
    match gateway.post(&path).await {
        Err(error) if error.to_string().contains(": 404 ") || error.to_string().contains(": 409 ") => Ok(()),
        done => done.map(drop),
    }
}
