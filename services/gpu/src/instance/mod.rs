//! Tenants' instances: commands of users, and the reconciler that carries them out.

mod actions;
mod admin;
mod change;
mod claim;
mod create;
mod decide;
pub(crate) mod end;
pub mod fault;
#[cfg(test)]
pub(crate) mod fixture;
mod hold;
mod http;
mod idle_stop;
mod list;
mod list_store;
mod managed;
mod manifest;
mod model;
mod mount;
mod new_volume;
mod own_image;
mod parts;
mod port;
pub(crate) mod queue;
mod reason;
mod reconcile;
mod references;
mod secret;
pub(crate) mod starts;
mod state;
pub(crate) mod store;
mod view;

pub use crate::operation::OperationKind;
use crate::state::AppState;
use api::openapi::OpenApiRouter;
pub use decide::{Action, Step, decide};

pub use hold::{Hold, HoldEnd};
pub use idle_stop::{Announced, IdleStop};
pub use model::{Accepted, Command, Effects, EndedOperation, Event, Instance, NotAllowed, Unexpected};
pub use mount::Mount;
pub use parts::{
    AttachedStorage, Claim, ClaimStatus, CurrentOperation, Displaced, Failure, OnNodeLoss, Order, OrderedGpu,
    Place, Pod, Pull,
};
pub use port::PublicPort;
pub use reason::{Reason, ReasonCode};
pub use reconcile::Reconciler;
pub(crate) use secret::reencrypt;
pub use secret::{Progress, SecretChange, SecretObject, SecretRef, TrackedSecret};
pub use state::{InstanceState, State};
pub use store::QUEUE;
pub(crate) use view::InstanceView;

/// The routes of tenants, of administrators and of other services.
pub(crate) fn routes() -> OpenApiRouter<AppState> {
    http::routes().merge(queue::routes()).merge(admin::routes()).merge(managed::routes())
}
