//! What happened to instances and budgets: the ordered log of each tenant, and the feed of all tenants for other services.
//!
//! - `model`: the types of events and their data.
//! - `store`: the log. Events are written by `instance/store.rs` and `budget`, in the transaction of the change.
//! - `http`: lists and the internal feed; `stream` follows a log as server-sent events.
//! - `hub`: one reader of new events per replica, whatever the number of streams.
//!
//! `docs/EVENTS.md` states names, order and guarantees.

mod http;
mod hub;
mod model;
pub(crate) mod store;
mod stream;

pub(crate) use http::{routes, wants_stream};
pub(crate) use hub::Hub;
pub use model::{
    Actor, BudgetReached, BudgetResumed, BudgetStopped, BudgetStopping, By, Claimed, Created, Deleted,
    Detail, Entry, Event, EventType, Failed, HoldEnded, HoldStarted, InstanceField, Interrupted, Requested,
    ResumeCause, RunEnded, Started, StopCause, StopRequested, Stopped, StorageChanged, TerminalClosed,
    TerminalEnd, TerminalOpened, Updated,
};
