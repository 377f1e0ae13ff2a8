//! The ports of an instance as its tenant sees them.

use gpu_core::instance::{Instance, port::PublicPort};
use serde::Serialize;
use utoipa::ToSchema;

use super::super::config::Apps;

/// A port of an instance with a host name of its own.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InstancePort)]
pub(crate) struct PortView {
    /// Port of the container.
    port: u16,
    /// What people open there, for example `Jupyter`, or null.
    title: Option<String>,
    /// Its URL. Stays the same as long as the instance exists and has the port.
    url: String,
    /// Whether only signed-in members of the tenant reach it, with a ticket.
    sign_in: bool,
}

impl PortView {
    pub(crate) fn all(instance: &Instance, apps: &Apps) -> Vec<Self> {
        let view = |public: &PublicPort| Self {
            port: public.port,
            title: public.title.as_deref().or(instance.order.template.title(public.port)).map(str::to_owned),
            url: apps.url(instance.id, Some(public.port)),
            sign_in: public.sign_in,
        };
        instance.public_ports.iter().map(view).collect()
    }
}
