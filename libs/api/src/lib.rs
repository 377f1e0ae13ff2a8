//! The wire conventions of `docs/API-DESIGN.md`, shared by every service: problems, request bodies,
//! field checks, idempotent writes, lists, entity tags, operations, streams of events. No policy of one service belongs here.

pub mod audit;
pub mod changes;
pub mod email;
pub mod error_chain;
pub mod etag;
pub mod extract;
pub mod idempotency;
pub mod if_set;
pub mod last_event_id;
pub mod list;
pub mod lossless;
pub mod money;
pub mod openapi;
pub mod operation;
pub mod operation_reason;
pub mod page;
pub mod problem;
pub mod request_id;
pub mod subject;
pub mod urgency;
pub mod window;

pub use ::problem::{Checks, checks, text};
pub use changes::{Change, Changes};
pub use error_chain::ErrorChain;
pub use etag::{ETag, IfMatch};
pub use extract::{Json, Path, Query};
pub use idempotency::{IdempotencyKey, Reply};
pub use if_set::IfSet;
pub use last_event_id::LastEventId;
pub use list::{CountedPage, Fields, Include, Several, Total};
pub use operation::{Operation, OperationProgress, OperationState};
pub use page::{Cursor, Page, PageParams, PageRequest};
pub use problem::{FieldError, Invalid, Problem, ProblemDetails, ProblemType};
pub use urgency::{NamedUrgency, Urgency};
pub use window::Window;
