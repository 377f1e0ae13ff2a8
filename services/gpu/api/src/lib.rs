//! What other services ask of the gpu service: types on the wire, which the service uses itself, and a client. Some types are
//! what callers send or read, as their comments say; the service has its own.
//!
//! Nothing may enter that is a rule, or that only one caller needs. A field that is added to a response has
//! `#[serde(default)]`, and an extensible enumeration of codes has a variant for unknown codes: replicas of
//! another release send neither.

mod client;
mod types;

pub use client::Client;
pub use types::{
    ActivityReport, EnvVar, HostLabel, InstanceEvent, InstanceEvents, InstanceState, LinkPerson,
    ManagedChange, ManagedInstance, ManagedOrder, OpenLinkRequest, OpenedLink, QueuePlace, Recall,
    RedeemRequest, Redeemed, ReportedActivity, Route, RouteChange, Secret, ShareLinkTicket, SpentTenant,
    SpentTenants,
};
