//! The services of the platform, as `platform.toml` in the root of the repository lists them: their ports,
//! routes, callers and requirements. Settings of an installation (addresses, secrets) may not enter, and no
//! service imports another through this crate.

mod list;

use std::sync::LazyLock;

pub use list::{Internal, Service, User};

/// The gateway's entry in the list.
pub const GATEWAY: &str = "gateway";

static LIST: LazyLock<Vec<Service>> = LazyLock::new(|| {
    list::parse(include_str!("../../../platform.toml")).expect("the build script has read the list")
});

/// All services, the gateway and the operator included, in the order of the list.
#[must_use]
pub fn services() -> &'static [Service] {
    &LIST
}

/// The services with a schema in Postgres.
pub fn stateful() -> impl Iterator<Item = &'static Service> + Clone {
    LIST.iter().filter(|service| service.schema)
}

/// The services that the gateway forwards requests to: those that have paths, except itself.
pub fn routed() -> impl Iterator<Item = &'static Service> + Clone {
    LIST.iter().filter(|service| service.name != GATEWAY && !service.paths.is_empty())
}

/// The service of this name.
#[must_use]
pub fn service(name: &str) -> Option<&'static Service> {
    LIST.iter().find(|service| service.name == name)
}

/// The services that have an audit log, and its collection for administrators: `platform-…audit`.
pub fn audit_logs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_administrators = |path: &&str| path.starts_with("platform-") && path.ends_with("audit");
    LIST.iter().filter_map(move |service| {
        Some((&*service.name, service.collections().into_iter().find(of_administrators)?))
    })
}

impl Service {
    /// The services that call this one with a token of their own, in the order of the list.
    pub fn callers(&self) -> impl Iterator<Item = &'static str> {
        LIST.iter().filter(|caller| caller.calls.contains(&self.name)).map(|caller| caller.name.as_str())
    }
}
