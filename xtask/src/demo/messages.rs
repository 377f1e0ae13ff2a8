//! Jobs by the message queue, as a program of a tenant uses it: publishes with confirms, reads its events and drops those that
//! it knows.

use std::{collections::HashSet, time::Duration};

use anyhow::{Context, bail, ensure};
use futures::StreamExt;
use lapin::{
    BasicProperties, Channel, Confirmation, Connection, ConnectionProperties, Consumer,
    options::{BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, ConfirmSelectOptions},
    types::{AMQPValue, FieldTable, LongString},
};
use serde_json::{Value, json};
use url::Url;
use uuid::Uuid;

use super::{
    client::{Api, text},
    job,
};

/// Messages survive a crash of the broker.
const PERSISTENT: u8 = 2;
/// Longest time of a call to the broker.
const CALL_LIMIT: Duration = Duration::from_secs(10);

/// A connection with a credential.
pub(super) struct Line {
    credential: String,
    exchange: String,
    _connection: Connection,
    channel: Channel,
    events: Consumer,
    known: HashSet<String>,
}

/// Deletes the credentials of an interrupted demo.
pub(super) async fn delete_leftovers(designer: &Api) -> anyhow::Result<()> {
    for credential in designer.list("/v1/mq-credentials").await? {
        if text(&credential, "name")?.starts_with("demo-") {
            delete(designer, text(&credential, "id")?).await?;
        }
    }
    Ok(())
}

async fn delete(designer: &Api, credential: &str) -> anyhow::Result<()> {
    designer.delete(&format!("/v1/mq-credentials/{credential}"), 204).await.map(drop)
}

/// Creates a credential, and connects with it.
pub(super) async fn connect(designer: &Api) -> anyhow::Result<Line> {
    let made = designer.post("/v1/mq-credentials", json!({ "name": "demo-farm" }), 201).await?;
    let mut url: Url = text(&made, "url")?.parse()?;
    let credential = text(&made, "id")?.to_owned();
    let secret = text(&made, "secret")?;
    let signed = url.set_username(&credential).and_then(|()| url.set_password(Some(secret)));
    ensure!(signed.is_ok(), "not the address of a broker: {}", made["url"]);
    let connection = timed(Connection::connect(url.as_str(), ConnectionProperties::default())).await?;
    let channel = timed(connection.create_channel()).await?;
    timed(channel.confirm_select(ConfirmSelectOptions::default())).await?;
    let queue = text(&made, "queue")?.into();
    let consume =
        channel.basic_consume(queue, "".into(), BasicConsumeOptions::default(), FieldTable::default());
    let events = timed(consume).await?;
    let exchange = text(&made, "exchange")?.to_owned();
    Ok(Line { credential, exchange, _connection: connection, channel, events, known: HashSet::new() })
}

async fn timed<T>(call: impl Future<Output = lapin::Result<T>>) -> anyhow::Result<T> {
    let answer = tokio::time::timeout(CALL_LIMIT, call).await;
    Ok(answer.with_context(|| format!("the broker did not answer in {} s", CALL_LIMIT.as_secs()))??)
}

impl Line {
    /// Publishes a generation. Returns its number.
    async fn submit(&self, parameters: Value) -> anyhow::Result<Uuid> {
        let number = Uuid::new_v4();
        let header = |value: &str| AMQPValue::LongString(LongString::from(value));
        let mut headers = FieldTable::default();
        headers.insert("reqNo".into(), header(&number.to_string()));
        headers.insert("taskType".into(), header("GC"));
        let properties = BasicProperties::default()
            .with_user_id(self.credential.as_str().into())
            .with_content_type("application/json".into())
            .with_delivery_mode(PERSISTENT)
            .with_headers(headers);
        let body = json!({ "method": "stable-diffusion.txt2img", "parameters": parameters }).to_string();
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let (exchange, key) = (self.exchange.as_str().into(), "ordinary".into());
        let published = self.channel.basic_publish(exchange, key, options, body.as_bytes(), properties);
        let confirmation = timed(async { published.await?.await }).await?;
        ensure!(confirmation == Confirmation::Ack(None), "the broker does not take it: {confirmation:?}");
        Ok(number)
    }

    /// Reads the events of a job up to one of these. Returns their names, and the last one.
    async fn until(&mut self, number: Uuid, last: &[&str]) -> anyhow::Result<(Vec<String>, Value)> {
        let mut names = Vec::new();
        let read = async {
            loop {
                let delivery = self.events.next().await.context("the broker has closed the queue")??;
                delivery.ack(BasicAckOptions::default()).await?;
                let id = delivery.properties.message_id().as_ref().context("a message without an id")?;
                let event: Value = serde_json::from_slice(&delivery.data)?;
                if event["reqNo"] == number.to_string() && self.known.insert(id.to_string()) {
                    names.push(text(&event, "event")?.to_owned());
                    if names.last().is_some_and(|name| last.contains(&name.as_str())) {
                        return anyhow::Ok(event);
                    }
                }
            }
        };
        match tokio::time::timeout(job::LIMIT, read).await {
            Ok(event) => Ok((names, event?)),
            Err(_) => bail!("no event {last:?} of {number} in {} s, but {names:?}", job::LIMIT.as_secs()),
        }
    }
}

/// Orders a picture with a model, and follows it until it has succeeded. Returns the picture, as it is in the object store.
pub(super) async fn picture(line: &mut Line, model: &str) -> anyhow::Result<Vec<u8>> {
    let number = line
        .submit(json!({
            "prompt": "sks dog on a beach", "steps": 10, "width": 256, "height": 256,
            "models": [{ "id": model, "weight": 1 }],
        }))
        .await?;
    let (names, event) = line.until(number, &["succeeded", "failed", "rejected"]).await?;
    ensure!(names == ["accepted", "started", "succeeded"], "{names:?}, {event}");
    let artifacts = event["result"]["artifacts"].as_array().context("no artifacts")?;
    let [artifact] = &artifacts[..] else { bail!("not one picture: {event}") };
    let picture = reqwest::get(text(artifact, "url")?).await?.error_for_status()?.bytes().await?;
    ensure!(artifact["bytes"] == picture.len(), "{} bytes: {artifact}", picture.len());
    Ok(picture.to_vec())
}

/// Orders large pictures, and cancels them while they are made.
pub(super) async fn cancel(designer: &Api, line: &mut Line) -> anyhow::Result<()> {
    let parameters = json!({ "prompt": "a city at night", "steps": 150, "width": 1024, "height": 1024 });
    let number = line.submit(parameters).await?;
    let (_, started) = line.until(number, &["started", "failed", "rejected"]).await?;
    let path = format!("/v1/jobs/{}", text(&started, "jobId")?);
    designer.act(&format!("{path}/cancel"), 202).await?;
    let (names, event) = line.until(number, &["succeeded", "failed", "cancelled"]).await?;
    ensure!(names == ["cancelled"] && event["status"] == "cancelled", "{names:?}, {event}");
    let job = designer.get(&path).await?;
    ensure!(job["state"] == "cancelled", "the job is not cancelled: {job}");
    Ok(())
}

/// Deletes the credential: new connections are refused.
pub(super) async fn disconnect(designer: &Api, line: Line) -> anyhow::Result<()> {
    delete(designer, &line.credential).await
}
