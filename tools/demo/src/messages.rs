//! Jobs by the message queue, as a program of a tenant uses it: publishes with confirms, reads its events and drops those that
//! it knows.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use anyhow::{Context, bail, ensure};
use futures::StreamExt;
use lapin::{
    BasicProperties, Channel, Confirmation, Connection, ConnectionProperties, Consumer,
    options::{BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, ConfirmSelectOptions},
    types::{AMQPValue, FieldTable, LongString},
};
use machine::client::{Api, text};
use serde_json::{Value, json};
use url::Url;
use uuid::Uuid;

use super::job;

/// Messages survive a crash of the broker.
const PERSISTENT: u8 = 2;
/// After this time without an event, no more are expected.
const QUIET: Duration = Duration::from_secs(10);
/// Longest time of a call to the broker.
const CALL_LIMIT: Duration = Duration::from_secs(10);

/// A credential, as it is shown once.
pub struct Credential {
    id: String,
    url: Url,
    queue: String,
    exchange: String,
}

/// A connection with a credential.
pub struct Line {
    credential: String,
    exchange: String,
    _connection: Connection,
    channel: Channel,
}

/// A connection that reads events.
pub struct Listener {
    line: Line,
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

/// Creates a credential.
pub async fn credential(designer: &Api) -> anyhow::Result<Credential> {
    let made = designer.post("/v1/mq-credentials", json!({ "name": "demo-farm" }), 201).await?;
    let mut url: Url = text(&made, "url")?.parse()?;
    let id = text(&made, "id")?.to_owned();
    let secret = text(&made, "secret")?;
    let signed = url.set_username(&id).and_then(|()| url.set_password(Some(secret)));
    ensure!(signed.is_ok(), "not the address of a broker: {}", made["url"]);
    let (queue, exchange) = (text(&made, "queue")?.to_owned(), text(&made, "exchange")?.to_owned());
    Ok(Credential { id, url, queue, exchange })
}

/// Creates a credential, connects with it, and reads events.
pub(super) async fn listen(designer: &Api) -> anyhow::Result<Listener> {
    listen_with(&credential(designer).await?).await
}

/// Connects with a credential, and reads events.
pub async fn listen_with(credential: &Credential) -> anyhow::Result<Listener> {
    let line = connect(credential).await?;
    let queue = credential.queue.as_str().into();
    let consume =
        line.channel.basic_consume(queue, "".into(), BasicConsumeOptions::default(), FieldTable::default());
    let events = timed(consume).await?;
    Ok(Listener { line, events, known: HashSet::new() })
}

/// Connects with a credential.
pub async fn connect(credential: &Credential) -> anyhow::Result<Line> {
    let connection =
        timed(Connection::connect(credential.url.as_str(), ConnectionProperties::default())).await?;
    let channel = timed(connection.create_channel()).await?;
    timed(channel.confirm_select(ConfirmSelectOptions::default())).await?;
    let Credential { id, exchange, .. } = credential;
    let (credential, exchange) = (id.clone(), exchange.clone());
    Ok(Line { credential, exchange, _connection: connection, channel })
}

async fn timed<T>(call: impl Future<Output = lapin::Result<T>>) -> anyhow::Result<T> {
    let answer = tokio::time::timeout(CALL_LIMIT, call).await;
    Ok(answer.with_context(|| format!("the broker did not answer in {} s", CALL_LIMIT.as_secs()))??)
}

impl Line {
    /// Publishes a generation with this number.
    pub async fn publish(&self, number: Uuid, parameters: &Value) -> anyhow::Result<()> {
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
        Ok(())
    }
}

impl Listener {
    /// Publishes a generation. Returns its number.
    async fn submit(&self, parameters: Value) -> anyhow::Result<Uuid> {
        let number = Uuid::new_v4();
        self.line.publish(number, &parameters).await.map(|()| number)
    }

    /// Reads events until each of the jobs has succeeded, and none has come for a while. Returns how many events of success each
    /// has, of which the id is new.
    pub async fn successes(&mut self, numbers: &[Uuid]) -> anyhow::Result<HashMap<Uuid, usize>> {
        let mut seen = HashMap::new();
        while let Ok(delivery) = tokio::time::timeout(QUIET, self.events.next()).await {
            let delivery = delivery.context("the broker has closed the queue")??;
            delivery.ack(BasicAckOptions::default()).await?;
            let id = delivery.properties.message_id().as_ref().context("a message without an id")?;
            let event: Value = serde_json::from_slice(&delivery.data)?;
            let number = event["reqNo"].as_str().and_then(|number| number.parse().ok());
            let number = number.filter(|number| numbers.contains(number) && event["event"] == "succeeded");
            if let Some(number) = number
                && self.known.insert(id.to_string())
            {
                *seen.entry(number).or_default() += 1;
            }
        }
        Ok(seen)
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
pub(super) async fn picture(line: &mut Listener, model: &str) -> anyhow::Result<Vec<u8>> {
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
pub(super) async fn cancel(designer: &Api, line: &mut Listener) -> anyhow::Result<()> {
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
pub(super) async fn disconnect(designer: &Api, line: Listener) -> anyhow::Result<()> {
    delete(designer, &line.line.credential).await
}
