//! Routes in use, and their end.

use std::{
    collections::HashMap,
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use gpu_api::{Route, RouteChange};
use ids::{InstanceId, ShareLinkId};
use tokio_util::sync::CancellationToken;

/// A route, for as long as it or a connection on it is in use.
pub(crate) struct OpenRoute {
    pub(super) label: String,
    route: Route,
    over: CancellationToken,
    shares: Mutex<Shares>,
    registry: Arc<Registry>,
}

/// The share links of a route.
struct Shares {
    valid: Vec<ShareLinkId>,
    /// Links that were used to open connections.
    open: HashMap<ShareLinkId, CancellationToken>,
}

/// The routes in use, by instance.
#[derive(Default)]
pub(super) struct Registry(Mutex<HashMap<InstanceId, Vec<Weak<OpenRoute>>>>);

impl OpenRoute {
    pub(super) fn new(label: &str, route: Route, registry: &Arc<Registry>) -> Arc<Self> {
        let open = Arc::new(Self {
            label: label.to_owned(),
            over: CancellationToken::new(),
            shares: Mutex::new(Shares { valid: route.share_links.clone(), open: HashMap::new() }),
            route,
            registry: Arc::clone(registry),
        });
        registry.lock().entry(open.instance_id).or_default().push(Arc::downgrade(&open));
        open
    }

    /// Whether this is the same route, and has not ended.
    pub(super) fn is(&self, route: &Route) -> bool {
        self.route == *route && !self.over.is_cancelled()
    }

    /// Whether connections on this route may stay open if the route is `now`.
    pub(super) fn goes_on_as(&self, now: Option<&Route>) -> bool {
        now.is_some_and(|now| {
            now.tenant_id == self.tenant_id
                && now.address.is_some()
                && now.address == self.address
                && (self.sign_in || !now.sign_in)
        })
    }

    /// Completes when the instance has stopped or moved, or the port was closed. Keeps the route in use until then.
    pub(crate) fn over(self: &Arc<Self>) -> impl Future<Output = ()> + Send + use<> {
        let route = Arc::clone(self);
        async move { route.over.cancelled().await }
    }

    /// Completes when the share link is deleted. Keeps the route in use until then.
    pub(crate) fn unshared(self: &Arc<Self>, link: ShareLinkId) -> impl Future<Output = ()> + Send + use<> {
        let route = Arc::clone(self);
        let mut shares = self.shares();
        let open = shares.valid.contains(&link).then(|| shares.open.entry(link).or_default().clone());
        async move {
            if let Some(open) = open {
                open.cancelled().await;
            }
            drop(route);
        }
    }

    fn shares(&self) -> MutexGuard<'_, Shares> {
        self.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes connections that were opened with other links.
    pub(super) fn keep_shares(&self, valid: &[ShareLinkId]) {
        let mut shares = self.shares();
        shares.valid = valid.to_vec();
        shares.open.retain(|link, open| {
            let is_valid = valid.contains(link);
            if !is_valid {
                open.cancel();
            }
            is_valid
        });
    }

    /// Closes the connections on this route.
    pub(super) fn end(&self) {
        self.over.cancel();
    }
}

impl Deref for OpenRoute {
    type Target = Route;
    fn deref(&self) -> &Route {
        &self.route
    }
}

impl Drop for OpenRoute {
    fn drop(&mut self) {
        let mut routes = self.registry.lock();
        if let Some(of_instance) = routes.get_mut(&self.route.instance_id) {
            of_instance.retain(|route| route.strong_count() > 0);
            if of_instance.is_empty() {
                routes.remove(&self.route.instance_id);
            }
        }
    }
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, HashMap<InstanceId, Vec<Weak<OpenRoute>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The routes in use that a change concerns.
    pub(super) fn concerned(&self, change: RouteChange) -> Vec<Arc<OpenRoute>> {
        let routes = self.lock();
        let of_instance = change.instance_id.and_then(|id| routes.get(&id)).into_iter().flatten();
        let all = change.tenant_id.map(|_| routes.values().flatten()).into_iter().flatten();
        let found: Vec<_> = of_instance.chain(all).filter_map(Weak::upgrade).collect();
        // the last reference to a route locks the registry
        drop(routes);
        let is_concerned = |route: &Arc<OpenRoute>| {
            Some(route.instance_id) == change.instance_id || Some(route.tenant_id) == change.tenant_id
        };
        found.into_iter().filter(is_concerned).collect()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use ids::TenantId;

    use super::*;

    fn route(share_links: Vec<ShareLinkId>) -> Route {
        Route {
            instance_id: InstanceId::new(),
            tenant_id: TenantId::new(),
            address: Some("127.0.0.1:1".to_owned()),
            state: "running".to_owned(),
            is_queued: false,
            sign_in: true,
            share_links,
            queue: None,
        }
    }

    fn changed(route: &Route) -> RouteChange {
        RouteChange { instance_id: Some(route.instance_id), tenant_id: None }
    }

    #[test]
    fn a_route_is_known_as_long_as_something_is_open_on_it() {
        let (registry, route) = (Arc::default(), route(Vec::new()));
        let open = OpenRoute::new("label", route.clone(), &registry);
        let over = open.over();
        drop(open);
        let tenant = RouteChange { instance_id: None, tenant_id: Some(route.tenant_id) };
        let other = RouteChange { instance_id: Some(InstanceId::new()), tenant_id: Some(TenantId::new()) };
        assert!(registry.concerned(other).is_empty());
        assert_eq!(registry.concerned(tenant).len(), 1);
        let [found] = <[_; 1]>::try_from(registry.concerned(changed(&route))).ok().unwrap();
        let mut over = std::pin::pin!(over);
        assert_eq!(over.as_mut().now_or_never(), None);
        found.end();
        assert_eq!(over.as_mut().now_or_never(), Some(()));
    }

    #[test]
    fn a_route_is_forgotten_when_nothing_is_open_on_it() {
        let (registry, route) = (Arc::default(), route(Vec::new()));
        let (open, again) = (
            OpenRoute::new("label", route.clone(), &registry),
            OpenRoute::new("label", route.clone(), &registry),
        );
        drop(open);
        assert_eq!(registry.concerned(changed(&route)).len(), 1);
        drop(again);
        assert!(registry.lock().is_empty());
    }

    #[test]
    fn what_stays_open_is_what_goes_on() {
        let now = route(Vec::new());
        let open = |route: Route| OpenRoute::new("label", route, &Arc::default());
        let other = |change: fn(&mut Route)| {
            let mut other = now.clone();
            change(&mut other);
            other
        };
        assert!(open(now.clone()).goes_on_as(Some(&now)));
        assert!(open(now.clone()).goes_on_as(Some(&other(|route| route.sign_in = false))));
        assert!(!open(other(|route| route.sign_in = false)).goes_on_as(Some(&now)), "it needs sign-in now");
        for changed in [
            other(|route| route.tenant_id = TenantId::new()),
            other(|route| route.address = None),
            other(|route| route.address = Some("127.0.0.1:2".to_owned())),
        ] {
            assert!(!open(now.clone()).goes_on_as(Some(&changed)), "{changed:?}");
        }
        assert!(!open(now).goes_on_as(None));
    }

    #[test]
    fn a_deleted_link_ends_even_if_it_is_used_a_moment_later() {
        let (kept, deleted) = (ShareLinkId::new(), ShareLinkId::new());
        let open = OpenRoute::new("label", route(vec![kept, deleted]), &Arc::default());
        let before = [open.unshared(kept), open.unshared(deleted)];
        open.keep_shares(&[kept]);
        let after = [open.unshared(kept), open.unshared(deleted)];
        let ended = [before, after].map(|both| both.map(|unshared| unshared.now_or_never().is_some()));
        assert_eq!(ended, [[false, true], [false, true]]);
    }
}
