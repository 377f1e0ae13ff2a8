//! The scheduling core of a pool: events in, explained decisions out. docs/SCHEDULING.md describes the rules.
//!
//! A [`Pool`] is built from a [`Snapshot`] and then kept by [`Pool::apply`]. [`Pool::round`] returns the decisions that
//! follow, and the pool already contains them: the caller persists them, and restores the pool from the database if it
//! cannot. All maps are ordered and all quantities are integers, so equal input gives equal decisions.
//!
//! No clock, I/O or randomness may enter: times are arguments, in milliseconds since 1970.
//!
//! Slices, each of which imports only those before it:
//! - `estimate`: how long jobs take; `model`: the facts; `decision`: what a pool decides, and why;
//! - `account`: what a tenant has used; `queue`: what waits; `fleet`: the workers; `pool`: the state of a pool, of all these;
//! - `event`: what happens outside; `explanation`: why a job waits; `capacity`: what a pool has;
//! - `share`, `order`: which job is next; `placement`: which workers it gets; `group`, `hand_over`: nodes of groups; `hold`: tenants whose
//!   jobs may not run; `lending`: units of the stock. Each has methods of `Pool`, which call each other;
//! - `reservation`, `preemption`: workers that are kept for jobs, and taken from them; `round`: all rules, once;
//! - `chance`: seeded numbers; `arrivals`: jobs that may come; `simulation`: a pool run forward; `forecast`: when jobs start and end.

mod account;
mod arrivals;
mod capacity;
mod chance;
mod decision;
mod estimate;
mod event;
mod explanation;
mod fleet;
mod forecast;
mod group;
mod hand_over;
mod hold;
mod lending;
mod model;
mod order;
mod placement;
mod pool;
mod preemption;
mod queue;
mod reservation;
mod round;
mod share;
mod simulation;

pub use account::Used;
pub use arrivals::Arrivals;
pub use capacity::{NodeCapacity, SpecCapacity};
pub use decision::{Cause, Decision, Rule};
pub use estimate::{Estimate, Histogram};
pub use event::{Ending, Event, FIRM_AFTER, Refused};
pub use explanation::{Explanation, Waiting};
pub use forecast::{Forecast, Outlook, Quantiles, SOON};
/// A time since 1970, or a duration, in milliseconds.
pub type Millis = u64;

pub use model::{
    Attempt, Entry, Group, GroupId, GroupMode, Hold, Job, JobId, Level, ModelId, NodeId, Reservation,
    Settings, Shape, Share, Slice, Spec, SpecId, State, Tenant, TenantId, Tenure, WantedBack, Worker,
    WorkerId, WorkerState,
};
pub use pool::{Pool, Snapshot};
pub use simulation::{Simulation, Step};
