//! Notices of the gateway in a stream, between the events of the services.

use serde::Serialize;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{Ref, RefOr, Schema, schema::OneOfBuilder},
};

use super::topic::Topic;

/// A notice of the stream itself. It is the `data`; the name of the server-sent event is its `type`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type")]
pub(super) enum StreamNotice {
    /// The stream has begun.
    #[serde(rename = "stream.opened")]
    Opened {
        /// The topics of the stream.
        topics: Vec<Topic>,
    },
    /// Events of these topics may be missing before those that follow: read the lists again.
    #[serde(rename = "stream.reset")]
    Reset {
        /// The topics.
        topics: Vec<Topic>,
        /// Why.
        reason: ResetReason,
    },
    /// The service of these topics does not answer. The gateway retries, and the other topics continue.
    #[serde(rename = "stream.away")]
    Away {
        /// The topics.
        topics: Vec<Topic>,
    },
    /// The service answers again. Unless there is a `stream.reset`, the events of the meantime follow.
    #[serde(rename = "stream.back")]
    Back {
        /// The topics.
        topics: Vec<Topic>,
    },
}

/// Why events may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ResetReason {
    /// They have expired, or the database was restored.
    EventsDeleted,
    /// The position from which the client resumes does not include this topic.
    PositionUnknown,
}

impl StreamNotice {
    /// As a server-sent event.
    pub(super) fn message(&self) -> String {
        let data = serde_json::to_value(self).unwrap_or_default();
        format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
    }
}

/// The data of an event of the stream: an event of a service, or a notice of the stream itself.
pub(super) struct StreamEvent;

/// Names of the schemas of events in the documents of the services.
const EVENTS: [&str; 4] = ["Event", "JobEvent", "StorageEvent", "StockEvent"];

impl PartialSchema for StreamEvent {
    fn schema() -> RefOr<Schema> {
        let names = EVENTS.iter().copied().chain(["StreamNotice"]);
        let one_of = names.fold(OneOfBuilder::new(), |one_of, name| one_of.item(Ref::from_schema_name(name)));
        let about = "An event of a service, or a notice of the stream. `type` says which.";
        one_of.description(Some(about)).into()
    }
}

impl ToSchema for StreamEvent {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((StreamNotice::name().into_owned(), StreamNotice::schema()));
        StreamNotice::schemas(schemas);
    }
}
