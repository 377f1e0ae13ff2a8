//! What other services ask of the gpu service: types on the wire, which the service uses itself, and a client. Some types are
//! what callers send or read, as their comments say; the service has its own.
//!
//! What may not enter: rules, and whatever only one caller needs. A field that is added to an answer has `#[serde(default)]`, and
//! a code that may be added a variant for codes that are not known: replicas of another release send neither.

mod client;
mod types;

pub use client::Client;
pub use types::{
    ActivityReport, EnvVar, HostLabel, InstanceEvent, InstanceEvents, InstanceState, LinkPerson,
    ManagedChange, ManagedInstance, ManagedOrder, OpenLinkRequest, OpenedLink, QueuePlace, Recall,
    RedeemRequest, Redeemed, ReportedActivity, Route, RouteChange, Secret, ShareLinkTicket, SpentTenant,
    SpentTenants,
};
