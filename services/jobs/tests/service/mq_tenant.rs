//! A message broker, and a tenant that uses it.

use std::{collections::HashSet, time::Duration};

use atelier_jobs::{App, MqConfig};
use auth::Role;
use futures::StreamExt as _;
use ids::TenantId;
use lapin::{
    BasicProperties, Channel, Confirmation, Connection, ConnectionProperties, Consumer,
    options::{
        BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions,
    },
    types::{AMQPValue, FieldTable, LongString},
};
use rabbitmq::{Broker, Options};
use serde_json::{Value, json};
use service::Process;
use testkit::{Client, DatabaseProxy, eventually};
use uuid::Uuid;

use crate::fixture::{Fixture, Service};

/// Longest time until an event comes, on a machine whose disk is busy.
const EVENT_LIMIT: Duration = Duration::from_secs(60);

/// A broker whose users the jobs service decides about.
pub(crate) struct Studio {
    pub(crate) fixture: Fixture,
    pub(crate) broker: Broker,
    folder: tempfile::TempDir,
}

impl Studio {
    #[expect(clippy::print_stdout, reason = "the report of a run names the broker's version")]
    pub(crate) async fn new() -> Self {
        let mut fixture = Fixture::new().await;
        // a replica of its own answers the broker, so that tests can stop the others
        let deciding = App::new(fixture.config.clone(), Process::default()).unwrap();
        let auth = testkit::serve(deciding.broker_router()).await;
        let folder = tempfile::tempdir().unwrap();
        let options = Options { folder: folder.path().to_owned(), port: None, auth: Some(auth) };
        let broker = Broker::start(&options).await.unwrap();
        println!("RabbitMQ {}", rabbitmq::version().unwrap());
        fixture.config.mq = Some(config(broker.url(), &broker));
        Self { fixture, broker, folder }
    }

    /// Kills the broker, and starts one without its data.
    pub(crate) async fn replace_broker(&mut self) {
        self.broker.kill().await;
        std::fs::remove_dir_all(self.folder.path().join("data")).unwrap();
        std::fs::create_dir(self.folder.path().join("data")).unwrap();
        self.broker.restart().await.unwrap();
    }

    /// From here on replicas reach the broker by way of a proxy.
    pub(crate) async fn proxied(&mut self) -> DatabaseProxy {
        let url = self.broker.url();
        let address = url.rsplit_once('@').unwrap().1.strip_suffix("/%2f").unwrap();
        let proxy = DatabaseProxy::start(address.to_owned()).await;
        let url = url.replace(address, &proxy.address().to_string());
        self.fixture.config.mq = Some(config(url, &self.broker));
        proxy
    }

    /// A new tenant with a credential.
    pub(crate) async fn tenant(&self, service: &Service) -> Tenant {
        let id = TenantId::new();
        let member = service.client.token(&self.fixture.issuer.user(id, Role::Member));
        let made = member.post("/v1/mq-credentials", json!({ "name": "farm" })).await.expect(201);
        let (user, secret) = (made.str("id").to_owned(), made.str("secret").to_owned());
        Tenant {
            id,
            member,
            url: self.broker.url_of(&user, &secret),
            user,
            queue: made.str("queue").to_owned(),
        }
    }

    /// Messages of a queue that no consumer has.
    pub(crate) async fn waiting(&self, queue: &str) -> u32 {
        self.find_queue(queue).await.unwrap()
    }

    /// Messages of a queue that no consumer has; none if there is no such queue.
    pub(crate) async fn find_queue(&self, queue: &str) -> Option<u32> {
        let connection = connect(&self.broker.url()).await.unwrap();
        let channel = connection.create_channel().await.unwrap();
        let options = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        let queue = channel.queue_declare(queue.into(), options, FieldTable::default()).await.ok()?;
        Some(queue.message_count())
    }

    /// Publishes a message as soon as the service has declared its queue. Returns a connection to read its events.
    pub(crate) async fn send_again(&self, tenant: &Tenant, post: &Post) -> Line {
        eventually("the message is taken", async || {
            let sent = tenant.open().await.publish(post).await;
            sent.is_ok_and(|confirmation| confirmation == Confirmation::Ack(None)).then_some(())
        })
        .await;
        eventually("its event has a queue", async || self.find_queue(&tenant.queue).await).await;
        tenant.open().await
    }
}

fn config(url: String, broker: &Broker) -> MqConfig {
    MqConfig {
        url: url.into(),
        auth_listen: "127.0.0.1:0".parse().unwrap(),
        public_url: Some("amqps://mq.test/%2f".to_owned()),
        management_url: Some(broker.management_url().into()),
    }
}

/// A tenant with a credential at the broker.
pub(crate) struct Tenant {
    pub(crate) id: TenantId,
    pub(crate) member: Client,
    pub(crate) user: String,
    pub(crate) url: String,
    pub(crate) queue: String,
}

pub(crate) async fn connect(url: &str) -> lapin::Result<Connection> {
    Connection::connect(url, ConnectionProperties::default()).await
}

impl Tenant {
    /// Opens a connection.
    pub(crate) async fn open(&self) -> Line {
        let connection = connect(&self.url).await.unwrap();
        let channel = connection.create_channel().await.unwrap();
        channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
        Line { user: self.user.clone(), queue: self.queue.clone(), channel, connection, events: None }
    }

    /// States of the tenant's jobs.
    pub(crate) async fn jobs(&self) -> Vec<String> {
        let page = self.member.get("/v1/jobs?limit=200").await.expect(200);
        let jobs = page.body["items"].as_array().unwrap();
        jobs.iter().map(|job| job["state"].as_str().unwrap().to_owned()).collect()
    }
}

/// A connection of a tenant.
pub(crate) struct Line {
    user: String,
    queue: String,
    pub(crate) channel: Channel,
    pub(crate) connection: Connection,
    events: Option<(Consumer, HashSet<String>)>,
}

/// A message to publish.
#[derive(Clone)]
pub(crate) struct Post {
    pub(crate) user: Option<String>,
    pub(crate) key: &'static str,
    pub(crate) headers: Value,
    pub(crate) body: Vec<u8>,
    /// Headers whose type matters.
    pub(crate) table: FieldTable,
    pub(crate) reply_to: Option<String>,
    pub(crate) content_type: &'static str,
    pub(crate) expiration: Option<&'static str>,
    pub(crate) delivery_mode: u8,
}

/// A job of this number.
pub(crate) fn fox(req_no: Uuid, prompt: &str) -> Post {
    let body = json!({ "method": "stable-diffusion.txt2img", "parameters": { "prompt": prompt } });
    Post {
        user: None,
        key: "ordinary",
        headers: json!({ "reqNo": req_no, "taskType": "GC" }),
        body: body.to_string().into_bytes(),
        table: FieldTable::default(),
        reply_to: None,
        content_type: "application/json",
        expiration: None,
        delivery_mode: 2,
    }
}

impl Line {
    /// The properties of a message, with the user of the connection unless it names one.
    pub(crate) fn properties(&self, post: &Post) -> BasicProperties {
        let mut headers = post.table.clone();
        for (name, value) in post.headers.as_object().unwrap() {
            let value = match value {
                Value::Number(number) => AMQPValue::LongLongInt(number.as_i64().unwrap()),
                Value::String(text) => AMQPValue::LongString(LongString::from(text.as_str())),
                other => panic!("{other} is no header"),
            };
            headers.insert(name.as_str().into(), value);
        }
        let user = post.user.as_ref().unwrap_or(&self.user);
        let mut properties = BasicProperties::default()
            .with_content_type(post.content_type.into())
            .with_delivery_mode(post.delivery_mode)
            .with_headers(headers);
        if !user.is_empty() {
            properties = properties.with_user_id(user.as_str().into());
        }
        if let Some(queue) = &post.reply_to {
            properties = properties.with_reply_to(queue.as_str().into());
        }
        if let Some(expiration) = post.expiration {
            properties = properties.with_expiration(expiration.into());
        }
        properties
    }

    /// Publishes a message, with the user of the connection unless it names one.
    pub(crate) async fn publish(&self, post: &Post) -> lapin::Result<Confirmation> {
        let properties = self.properties(post);
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let published = self.channel.basic_publish(
            "atelier.jobs".into(),
            post.key.into(),
            options,
            &post.body,
            properties,
        );
        published.await?.await
    }

    /// Publishes a message that the broker takes.
    pub(crate) async fn send(&self, post: &Post) {
        let confirmation = self.publish(post).await.unwrap();
        assert_eq!(confirmation, Confirmation::Ack(None));
    }

    /// Returns the next event that was not read before.
    pub(crate) async fn event(&mut self) -> Value {
        loop {
            let (event, is_new) = self.any_event().await;
            if is_new {
                return event;
            }
        }
    }

    /// Returns the next event, and whether its id is new.
    pub(crate) async fn any_event(&mut self) -> (Value, bool) {
        if self.events.is_none() {
            let options = BasicConsumeOptions::default();
            let consume = self.channel.basic_consume(
                self.queue.as_str().into(),
                "".into(),
                options,
                FieldTable::default(),
            );
            self.events = Some((consume.await.unwrap(), HashSet::new()));
        }
        let (consumer, known) = self.events.as_mut().unwrap();
        let Ok(next) = tokio::time::timeout(EVENT_LIMIT, consumer.next()).await else {
            let options = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
            let declare =
                self.channel.queue_declare(self.queue.as_str().into(), options, FieldTable::default());
            let queue = tokio::time::timeout(EVENT_LIMIT, declare).await;
            panic!("no event comes; its queue: {queue:?}");
        };
        let delivery = next.unwrap().unwrap();
        delivery.acker.ack(BasicAckOptions::default()).await.unwrap();
        let event: Value = serde_json::from_slice(&delivery.data).unwrap();
        let properties = &delivery.properties;
        if let Some(req_no) = event["reqNo"].as_str() {
            assert_eq!(properties.correlation_id().as_ref().unwrap().as_str(), req_no);
        }
        let is_new = known.insert(properties.message_id().as_ref().unwrap().as_str().to_owned());
        (event, is_new)
    }
}

/// The name of an event, and the number of its job's request.
pub(crate) fn named(event: &Value) -> (&str, Uuid) {
    (event["event"].as_str().unwrap(), event["reqNo"].as_str().unwrap().parse().unwrap())
}
