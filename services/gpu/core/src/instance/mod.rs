//! What an instance is: its states and their only transitions, what was ordered, and what a cluster should do next.

mod change;
mod decide;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
mod hold;
pub mod idle_stop;
mod model;
pub mod mount;
pub mod own_image;
mod parts;
pub mod port;
mod refusal;
pub mod secret;
mod state;

pub use crate::operation::OperationKind;
pub use change::{Offer, created, updated};
pub use decide::{Action, Step, decide, occupied_unit, unreachable_cluster};
pub use hold::Hold;
pub use idle_stop::{Announced, IdleConfig, IdleStop};
pub use model::{Accepted, Command, Effects, End, EndedOperation, Event, Instance, NotAllowed, Unexpected};
pub use mount::Mount;
pub use parts::{
    AttachedStorage, ClaimStatus, CurrentOperation, Failure, OnNodeLoss, Order, OrderedGpu, Pod, Pull,
};
pub use port::PublicPort;
pub use refusal::Refusal;
pub use secret::{Progress, SecretChange, SecretObject, SecretRef, TrackedSecret};
pub use state::{InstanceState, State};
