//! Events of instances and budgets: their types and data, who caused them and why. The log of each tenant keeps them.

mod data;
mod model;

pub use data::{
    BudgetReached, BudgetResumed, BudgetStopped, BudgetStopping, Claimed, Created, Deleted, Failed,
    HoldEnded, HoldStarted, IdleStopAnnounced, IdleStopWithdrawal, IdleStopWithdrawn, InstanceField,
    Interrupted, Recalled, Requested, ResumeCause, RunEnded, Started, StopCause, StopRequested, Stopped,
    StorageChanged, TerminalClosed, TerminalEnd, TerminalOpened, Updated,
};
pub use model::{Actor, By, Detail, Entry, Event, EventType, NewEvent};
