//! A message, as it is read and as `mq_dead` keeps it.

use jiff::Timestamp;
use jobs_core::refusal::{Code, Refusal};
use lapin::{
    BasicProperties,
    message::Delivery,
    types::{AMQPValue, ShortString},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::topology::Intake;

/// Maximum depth of arrays and tables in headers.
const DEPTH: usize = 4;

/// The properties of a message besides its body.
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
    /// Why it is refused, whatever its contents.
    pub(super) fault: Option<Refusal>,
}

impl Message {
    /// Returns a message that was received from this queue.
    pub(super) fn of(delivery: &mut Delivery, queue: Intake) -> Self {
        let properties = properties(&delivery.properties);
        let fault = match queue {
            Intake::Urgent | Intake::Ordinary => None,
            Intake::Unrouted => unroutable(delivery.routing_key.as_str()),
            Intake::Dead => Some(dead_lettered(&properties.headers)),
        };
        Self { properties, body: std::mem::take(&mut delivery.data), fault }
    }
}

/// A message that arrives while the exchange is being declared, and has no queue yet, is treated like any
/// other.
fn unroutable(key: &str) -> Option<Refusal> {
    let is_known = Intake::KEYS.contains(&key);
    let detail = || format!("the routing key {:?} is neither urgent nor ordinary", clean(key));
    (!is_known).then(|| Refusal::new(Code::UnknownRoutingKey, detail()))
}

/// Why the broker took a message out of its queue.
fn dead_lettered(headers: &Map<String, Value>) -> Refusal {
    match headers.get("x-death").and_then(|deaths| deaths[0]["reason"].as_str()) {
        Some("expired") => Refusal::new(
            Code::MessageExpired,
            "the expiration of the message has passed before it was taken in",
        ),
        _ => Refusal::new(Code::DeliveryFailed, "its delivery has failed too often"),
    }
}

fn properties(of: &BasicProperties) -> Properties {
    let text = |property: &Option<ShortString>| {
        let text = property.as_ref().map(|text| clean(text.as_str()));
        text.filter(|text| !text.is_empty())
    };
    let headers = of.headers().iter().flat_map(|headers| headers.inner());
    Properties {
        user_id: text(of.user_id()),
        correlation_id: text(of.correlation_id()),
        content_type: text(of.content_type()),
        reply_to: text(of.reply_to()),
        headers: headers.map(|(name, value)| (clean(name.as_str()), json(value, DEPTH))).collect(),
    }
}

/// Postgres stores no NUL in text.
fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

fn bytes(text: &[u8]) -> Value {
    clean(&String::from_utf8_lossy(text)).into()
}

/// A value of a header. Clients write text as strings or bytes, and times as timestamps.
fn json(value: &AMQPValue, depth: usize) -> Value {
    match value {
        AMQPValue::Boolean(value) => Value::from(*value),
        AMQPValue::ShortShortInt(value) => Value::from(*value),
        AMQPValue::ShortShortUInt(value) => Value::from(*value),
        AMQPValue::ShortInt(value) => Value::from(*value),
        AMQPValue::ShortUInt(value) => Value::from(*value),
        AMQPValue::LongInt(value) => Value::from(*value),
        AMQPValue::LongUInt(value) => Value::from(*value),
        AMQPValue::LongLongInt(value) => Value::from(*value),
        AMQPValue::Float(value) => Value::from(*value),
        AMQPValue::Double(value) => Value::from(*value),
        AMQPValue::DecimalValue(value) => format!("{}e-{}", value.value, value.scale).into(),
        AMQPValue::Timestamp(seconds) => time(*seconds).map_or_else(|| (*seconds).into(), Value::from),
        AMQPValue::ShortString(value) => clean(value.as_str()).into(),
        AMQPValue::LongString(value) => bytes(value.as_bytes()),
        AMQPValue::ByteArray(value) => bytes(value.as_slice()),
        AMQPValue::FieldArray(values) if depth > 0 => {
            values.as_slice().iter().map(|value| json(value, depth - 1)).collect()
        }
        AMQPValue::FieldTable(table) if depth > 0 => {
            let fields = table.inner().iter();
            let fields = fields.map(|(name, value)| (clean(name.as_str()), json(value, depth - 1)));
            Value::Object(fields.collect())
        }
        AMQPValue::FieldArray(_) | AMQPValue::FieldTable(_) => "…".into(),
        AMQPValue::Void => Value::Null,
    }
}

fn time(seconds: u64) -> Option<String> {
    Some(Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?.to_string())
}

#[cfg(test)]
mod tests {
    use lapin::types::{DecimalValue, FieldArray, FieldTable, LongString};
    use serde_json::json;

    use super::*;

    #[test]
    fn headers_of_each_type_are_read() {
        let text = |text: &str| AMQPValue::LongString(LongString::from(text));
        let mut table = FieldTable::default();
        table.insert("amount".into(), text("0.5"));
        let mut deep = AMQPValue::Void;
        for _ in 0..6 {
            deep = AMQPValue::FieldArray(FieldArray::from(vec![deep]));
        }
        for (value, expected) in [
            (AMQPValue::Void, Value::Null),
            (AMQPValue::Boolean(true), json!(true)),
            (AMQPValue::ShortShortInt(-8), json!(-8)),
            (AMQPValue::ShortShortUInt(8), json!(8)),
            (AMQPValue::ShortInt(8), json!(8)),
            (AMQPValue::ShortUInt(8), json!(8)),
            (AMQPValue::LongInt(8), json!(8)),
            (AMQPValue::LongUInt(8), json!(8)),
            (AMQPValue::LongLongInt(8), json!(8)),
            (AMQPValue::Float(8.0), json!(8.0)),
            (AMQPValue::Double(0.5), json!(0.5)),
            (AMQPValue::DecimalValue(DecimalValue { scale: 1, value: 5 }), json!("5e-1")),
            (AMQPValue::Timestamp(1_893_456_000), json!("2030-01-01T00:00:00Z")),
            (AMQPValue::Timestamp(u64::MAX), json!(u64::MAX)),
            (AMQPValue::ShortString("a\0b".into()), json!("a\u{fffd}b")),
            (text("urgent"), json!("urgent")),
            (AMQPValue::LongString(LongString::from(vec![0xff])), json!("\u{fffd}")),
            (AMQPValue::ByteArray(b"8".to_vec().into()), json!("8")),
            (AMQPValue::FieldArray(FieldArray::from(vec![text("a"), AMQPValue::Void])), json!(["a", null])),
            (AMQPValue::FieldTable(table), json!({ "amount": "0.5" })),
            (deep, json!([[[["…"]]]])),
        ] {
            assert_eq!(super::json(&value, DEPTH), expected, "{value:?}");
        }
    }

    #[test]
    fn where_a_message_comes_from_may_be_its_fault() {
        for key in ["normal", "Urgent", "", "ordinary ", "urgent.", "*", "#", "a\0"] {
            assert_eq!(unroutable(key).unwrap().code, Code::UnknownRoutingKey, "{key:?}");
        }
        for key in Intake::KEYS {
            assert_eq!(unroutable(key), None);
        }
        for (headers, code) in [
            (
                json!({ "x-death": [{ "reason": "expired" }, { "reason": "delivery_limit" }] }),
                Code::MessageExpired,
            ),
            (json!({ "x-death": [{ "reason": "delivery_limit" }] }), Code::DeliveryFailed),
            (json!({ "x-death": "expired" }), Code::DeliveryFailed),
            (json!({}), Code::DeliveryFailed),
        ] {
            assert_eq!(dead_lettered(headers.as_object().unwrap()).code, code, "{headers}");
        }
    }
}
