//! Routes in use, and their end.

use std::{
    collections::HashMap,
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use clients::gpu::{Route, RouteChange};
use ids::InstanceId;
use tokio_util::sync::CancellationToken;

/// A route, for as long as it or a connection on it is in use.
pub(crate) struct OpenRoute {
    pub(super) label: String,
    route: Route,
    over: CancellationToken,
    registry: Arc<Registry>,
}

/// The routes in use, by instance.
#[derive(Default)]
pub(super) struct Registry(Mutex<HashMap<InstanceId, Vec<Weak<OpenRoute>>>>);

impl OpenRoute {
    pub(super) fn new(label: &str, route: Route, registry: &Arc<Registry>) -> Arc<Self> {
        let open = Arc::new(Self {
            label: label.to_owned(),
            route,
            over: CancellationToken::new(),
            registry: Arc::clone(registry),
        });
        registry.lock().entry(open.instance_id).or_default().push(Arc::downgrade(&open));
        open
    }

    /// Whether this is the same route, and not over.
    pub(super) fn is(&self, route: &Route) -> bool {
        self.route == *route && !self.over.is_cancelled()
    }

    /// Whether what is open on this route may stay open when it is `now`.
    pub(super) fn goes_on_as(&self, now: Option<&Route>) -> bool {
        now.is_some_and(|now| {
            now.tenant_id == self.tenant_id
                && now.address.is_some()
                && now.address == self.address
                && (self.sign_in || !now.sign_in)
        })
    }

    /// Cuts what is open on this route.
    pub(super) fn end(&self) {
        self.over.cancel();
    }

    /// Completes when the instance has stopped or moved, or the port was closed.
    pub(crate) fn over(&self) -> impl Future<Output = ()> + Send + use<> {
        self.over.clone().cancelled_owned()
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
