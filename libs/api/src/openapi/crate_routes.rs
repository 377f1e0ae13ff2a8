//! The routes of a service that consists of several crates.

use axum::{Router, extract::FromRef};
use utoipa::openapi::OpenApi;

use super::{OpenApiRouter, merge};

/// The routes of one crate of a service with the state `S`.
pub struct CrateRoutes<S> {
    document: OpenApi,
    /// Attaches their part of the state to the routes.
    serve: Box<dyn FnOnce(&S) -> Router>,
}

impl<S> CrateRoutes<S> {
    /// Routes that need the part `P` of the state.
    #[must_use]
    pub fn new<P: FromRef<S> + Clone + Send + Sync + 'static>(routes: OpenApiRouter<P>) -> Self {
        let (router, document) = routes.split_for_parts();
        Self { document, serve: Box::new(move |state| router.with_state(P::from_ref(state))) }
    }
}

/// All routes of the service.
pub fn served<S>(crates: impl IntoIterator<Item = CrateRoutes<S>>, state: &S) -> Router {
    crates.into_iter().map(|part| (part.serve)(state)).fold(Router::new(), Router::merge)
}

/// The document of all routes, which begins with `document`.
#[must_use]
pub fn documented<S>(crates: impl IntoIterator<Item = CrateRoutes<S>>, mut document: OpenApi) -> OpenApi {
    crates.into_iter().for_each(|part| merge(&mut document, part.document));
    document
}
