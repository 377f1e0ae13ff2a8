//! What happened to instances and budgets: the ordered log of each tenant, and the feed of all tenants for other services.
//!
//! - `model`: the types of events, who caused them and why; `data`: the data of each type.
//! - `store`: the log. Events are written by `instance/store.rs` and `budget`, in the transaction of the change.
//! - `http`: lists and the internal feed; `stream` follows a log as server-sent events.
//! - `hub`: one reader of new events per replica, whatever the number of streams.
//!
//! `docs/EVENTS.md` states names, order and guarantees.

mod data;
mod http;
mod hub;
mod model;
pub(crate) mod store;
mod stream;

pub use data::{
    BudgetReached, BudgetResumed, BudgetStopped, BudgetStopping, Claimed, Created, Deleted, Failed,
    HoldEnded, HoldStarted, IdleStopAnnounced, IdleStopWithdrawal, IdleStopWithdrawn, InstanceField,
    Interrupted, Recalled, Requested, ResumeCause, RunEnded, Started, StopCause, StopRequested, Stopped,
    StorageChanged, TerminalClosed, TerminalEnd, TerminalOpened, Updated,
};
pub(crate) use http::routes;
pub(crate) use hub::Hub;
pub use model::{Actor, By, Detail, Entry, Event, EventType};
