//! Scopes: which operations a token may call. A token without scopes may call every operation that its role allows.
//!
//! The scope of an operation follows from its method and path, by the list of services (`platform.toml`). Every service checks it with the token
//! ([`crate::User`], [`crate::Member`], [`crate::Admin`]); `tests/scopes.rs` fails while a documented operation has none.

use std::{fmt, str::FromStr, sync::LazyLock};

use http::Method;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::table::{Table, fits};

macro_rules! scopes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $text:tt;)+) => {
        /// What a token may be used for. `…:write` includes `…:read` of the same name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
        pub enum Scope {
            $($(#[doc = $doc])+ #[serde(rename = $text)] $variant,)+
        }

        impl Scope {
            /// All scopes.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the name, as in tokens.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }
    };
}

scopes! {
    /// Reads instances, their logs, metrics and events, and SSH connections.
    InstancesRead = "instances:read";
    /// Creates, changes, opens and deletes instances; opens terminals.
    InstancesWrite = "instances:write";
    /// Reads storages and their access keys.
    StoragesRead = "storages:read";
    /// Creates, changes and deletes storages and access keys.
    StoragesWrite = "storages:write";
    /// Reads jobs, their results, uploads and models.
    JobsRead = "jobs:read";
    /// Submits and cancels jobs; creates uploads; changes and deletes models.
    JobsWrite = "jobs:write";
    /// Reads GPU specifications, services, storage specifications and datacenters.
    CatalogueRead = "catalogue:read";
    /// Reads usage, quota and budget.
    UsageRead = "usage:read";
    /// Reads the tenant's audit log, as an owner.
    AuditRead = "audit:read";
    /// Reads the tenant, its members and invitations.
    MembersRead = "members:read";
    /// Invites, changes and removes members.
    MembersWrite = "members:write";
    /// Reads the user's account, sessions, SSH keys and received invitations.
    AccountRead = "account:read";
    /// Changes the user's account: password, sessions, SSH keys, invitations.
    AccountWrite = "account:write";
    /// Reads API keys.
    ApiKeysRead = "api-keys:read";
    /// Creates and deletes API keys.
    ApiKeysWrite = "api-keys:write";
    /// Reads as an administrator of the platform.
    PlatformRead = "platform:read";
    /// Writes as an administrator of the platform.
    PlatformWrite = "platform:write";
}

impl Scope {
    /// Returns the other scopes that include this one.
    const fn included_in(self) -> &'static [Self] {
        match self {
            Self::InstancesRead => &[Self::InstancesWrite],
            Self::StoragesRead => &[Self::StoragesWrite],
            Self::JobsRead => &[Self::JobsWrite],
            // every order refers to the catalogue
            Self::CatalogueRead => &[
                Self::InstancesRead,
                Self::InstancesWrite,
                Self::StoragesRead,
                Self::StoragesWrite,
                Self::PlatformRead,
                Self::PlatformWrite,
            ],
            Self::MembersRead => &[Self::MembersWrite],
            Self::AccountRead => &[Self::AccountWrite],
            Self::ApiKeysRead => &[Self::ApiKeysWrite],
            Self::PlatformRead => &[Self::PlatformWrite],
            _ => &[],
        }
    }

    /// Returns the scope with which an administrator acts as one in a request of this method.
    pub(crate) fn of_administrators(method: &Method) -> Self {
        if method.is_safe() { Self::PlatformRead } else { Self::PlatformWrite }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Scopes of one token or API key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scopes(u32);

impl Scopes {
    const fn bit(scope: Scope) -> u32 {
        1 << scope as u32
    }

    /// Returns whether an operation that needs `scope` may be called.
    #[must_use]
    pub fn allow(self, scope: Scope) -> bool {
        let has = |scope| self.0 & Self::bit(scope) != 0;
        has(scope) || scope.included_in().iter().copied().any(has)
    }

    /// Returns the scopes.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.iter().copied().filter(move |scope| self.0 & Self::bit(*scope) != 0)
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | Self::bit(scope)))
    }
}

/// Reads a claim `scope` (RFC 8693): names separated by spaces. Unknown ones allow nothing.
impl From<&str> for Scopes {
    fn from(claim: &str) -> Self {
        claim.split(' ').filter_map(|name| name.parse().ok()).collect()
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Scope::name).collect();
        f.write_str(&names.join(" "))
    }
}

/// The text is no scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not a scope")]
pub struct UnknownScope;

impl FromStr for Scope {
    type Err = UnknownScope;
    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        Self::ALL.iter().copied().find(|scope| scope.name() == text).ok_or(UnknownScope)
    }
}

static OPERATIONS: LazyLock<Table<[Scope; 2]>> = LazyLock::new(|| {
    let known = |text: &String| text.parse().expect("platform.toml: a path needs known scopes");
    let paths = platform::services().iter().flat_map(|service| &service.paths);
    Table::new(paths.map(|(path, scopes)| (path.as_str(), scopes.each_ref().map(known))))
});

/// Returns the scope that an operation needs; none if no service has the path.
#[must_use]
pub fn required_scope(method: &Method, path: &str) -> Option<Scope> {
    let [read, write] = *OPERATIONS.find(path.strip_prefix("/v1/")?)?;
    Some(if method.is_safe() { read } else { write })
}

/// A credential that grants access to the platform other than by its API, created by an operation below a
/// path.
struct WayIn {
    path: &'static str,
    /// The scope that it grants: an API key that creates it needs this as well.
    scope: Option<Scope>,
    /// Whether its requests do not pass the gateway, which counts those of an API key.
    uncounted: bool,
}

const WAYS_IN: &[WayIn] = &[
    // submits jobs, and reads their events
    WayIn { path: "mq-credentials", scope: Some(Scope::JobsWrite), uncounted: true },
    // receives events of jobs
    WayIn { path: "webhooks", scope: Some(Scope::JobsRead), uncounted: false },
    // a shell in instances
    WayIn { path: "ssh-keys", scope: Some(Scope::InstancesWrite), uncounted: false },
    WayIn { path: "storages/*/credentials", scope: None, uncounted: true },
];

/// The requirements on an API key, in addition to [`required_scope`], to create a credential.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Making {
    /// A further scope.
    pub(crate) scope: Option<Scope>,
    /// Whether the requests of the key must not be limited.
    pub(crate) unlimited: bool,
}

/// Returns the requirements on an API key, so that a created credential can do no more than the key.
pub(crate) fn making(method: &Method, path: &str) -> Making {
    let path = path.strip_prefix("/v1/").filter(|_| !method.is_safe() && method != Method::DELETE);
    let way_in = path.and_then(|path| WAYS_IN.iter().find(|way_in| fits(way_in.path, path)));
    way_in.map_or(Making::default(), |way_in| Making { scope: way_in.scope, unlimited: way_in.uncounted })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for scope in Scope::ALL {
            assert_eq!(scope.name().parse(), Ok(*scope));
            assert_eq!(serde_json::to_value(scope).unwrap(), scope.name());
        }
        assert_eq!("instances".parse::<Scope>(), Err(UnknownScope));
        let all: Scopes = Scope::ALL.iter().copied().collect();
        assert_eq!(Scopes::from(all.to_string().as_str()), all);
        assert_eq!(Scopes::from("openid profile instances:read").to_string(), "instances:read");
    }

    #[test]
    fn a_scope_allows_itself_and_what_it_includes() {
        let write = Scopes::from("instances:write");
        for (scope, allowed) in [
            (Scope::InstancesWrite, true),
            (Scope::InstancesRead, true),
            (Scope::CatalogueRead, true),
            (Scope::StoragesRead, false),
            (Scope::PlatformRead, false),
        ] {
            assert_eq!(write.allow(scope), allowed, "{scope}");
        }
        assert!(!Scopes::from("instances:read").allow(Scope::InstancesWrite));
        assert!(Scope::ALL.iter().all(|scope| !Scopes::default().allow(*scope)));
    }

    #[test]
    fn operations_have_the_scope_of_their_path() {
        for (method, path, scope) in [
            (Method::GET, "/v1/instances", Some(Scope::InstancesRead)),
            (Method::HEAD, "/v1/instances/inst_1/log", Some(Scope::InstancesRead)),
            (Method::POST, "/v1/instances/inst_1/tickets", Some(Scope::InstancesWrite)),
            (Method::GET, "/v1/instances/inst_1/terminal", Some(Scope::InstancesWrite)),
            (Method::POST, "/v1/instances/quote", Some(Scope::InstancesRead)),
            (Method::POST, "/v1/jobs/quote", Some(Scope::JobsRead)),
            (Method::POST, "/v1/jobs", Some(Scope::JobsWrite)),
            (Method::POST, "/v1/services", Some(Scope::PlatformWrite)),
            (Method::POST, "/v1/tenants/ten_1/invitations", Some(Scope::MembersWrite)),
            (Method::DELETE, "/v1/tenants/ten_1", Some(Scope::PlatformWrite)),
            (Method::PUT, "/v1/me/password", Some(Scope::AccountWrite)),
            (Method::GET, "/v1/instancesx", None),
            (Method::GET, "/v2/instances", None),
            (Method::GET, "/internal/v1/instances", None),
        ] {
            assert_eq!(required_scope(&method, path), scope, "{method} {path}");
        }
    }
}
