//! A message, as it is read and as `mq_dead` keeps it.

use lapin::{
    BasicProperties,
    message::Delivery,
    types::{AMQPValue, ShortString},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is known of a message besides its body.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Properties {
    /// The broker refuses a message whose `user_id` is not the user of the connection.
    pub(super) user_id: Option<String>,
    pub(super) correlation_id: Option<String>,
    pub(super) content_type: Option<String>,
    pub(super) reply_to: Option<String>,
    pub(super) headers: Map<String, Value>,
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message {
    pub(super) properties: Properties,
    pub(super) body: Vec<u8>,
}

impl Message {
    pub(super) fn of(delivery: &mut Delivery) -> Self {
        Self { properties: properties(&delivery.properties), body: std::mem::take(&mut delivery.data) }
    }
}

fn properties(of: &BasicProperties) -> Properties {
    let text = |property: &Option<ShortString>| property.as_ref().map(|text| clean(text.as_str()));
    let headers = of.headers().iter().flat_map(|headers| headers.inner());
    Properties {
        user_id: text(of.user_id()),
        correlation_id: text(of.correlation_id()),
        content_type: text(of.content_type()),
        reply_to: text(of.reply_to()),
        headers: headers.map(|(name, value)| (clean(name.as_str()), json(value))).collect(),
    }
}

/// Postgres stores no NUL in text.
fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Types that mean nothing here are null.
fn json(value: &AMQPValue) -> Value {
    match value {
        AMQPValue::Boolean(value) => Value::from(*value),
        AMQPValue::ShortShortInt(value) => Value::from(*value),
        AMQPValue::ShortShortUInt(value) => Value::from(*value),
        AMQPValue::ShortInt(value) => Value::from(*value),
        AMQPValue::ShortUInt(value) => Value::from(*value),
        AMQPValue::LongInt(value) => Value::from(*value),
        AMQPValue::LongUInt(value) => Value::from(*value),
        AMQPValue::LongLongInt(value) => Value::from(*value),
        AMQPValue::Timestamp(value) => Value::from(*value),
        AMQPValue::ShortString(value) => clean(value.as_str()).into(),
        AMQPValue::LongString(value) => clean(&String::from_utf8_lossy(value.as_bytes())).into(),
        _ => Value::Null,
    }
}
