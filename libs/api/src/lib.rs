//! The wire conventions of `docs/API-DESIGN.md`, shared by every service: problems, request bodies,
//! idempotent writes, lists, entity tags, operations. No policy of any one service belongs here.

pub mod etag;
pub mod extract;
pub mod idempotency;
pub mod operation;
pub mod page;
pub mod problem;
pub mod request_id;

pub use etag::{ETag, IfMatch};
pub use extract::{Json, Path, Query};
pub use idempotency::{IdempotencyKey, Reply};
pub use operation::{Operation, OperationState};
pub use page::{Cursor, Page, PageParams, PageRequest};
pub use problem::{FieldError, Problem};
