//! Addresses of instances. Pure.

use std::net::{IpAddr, SocketAddr};

use gpu_core::{catalogue::Template, instance::State};

/// Returns the address of a running instance's port; that of its service if none is given.
pub(super) fn address(state: &State, template: &Template, port: Option<u16>) -> Option<String> {
    let State::Running { pod, .. } = state else { return None };
    let ip: IpAddr = pod.ip.parse().ok()?;
    let port = match port {
        Some(port) => port,
        None => template.public_port()?.port,
    };
    Some(SocketAddr::new(ip, port).to_string())
}
