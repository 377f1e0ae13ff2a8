//! What other services ask of the gpu service: types on the wire, and a client.
//!
//! What may not enter: rules, and whatever only one caller needs. A field that is added to an answer has `#[serde(default)]`, and
//! a code that may be added a variant for codes that are not known: replicas of another release send neither.

mod client;
mod types;

pub use client::Client;
pub use types::{
    ActivityReport, EnvVar, HostLabel, InstanceEvent, InstanceEvents, InstanceState, LinkPerson,
    ManagedChange, ManagedInstance, ManagedOrder, OpenLinkRequest, OpenedLink, PublishedRouteChange,
    QueuePlace, Recall, RedeemRequest, Redeemed, ReportedActivity, Route, RouteChange, RouteChanges, Secret,
    ShareLinkTicket, SpentTenant, SpentTenants,
};
