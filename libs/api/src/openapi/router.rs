//! Routes with their document.

use std::collections::BTreeMap;

use axum::Router;
use serde_json::json;
use utoipa::openapi::{Components, OpenApi, RefOr, Schema, extensions::Extensions};
use utoipa_axum::router::UtoipaMethodRouter;

/// Names that several types of a document have, until [`super::finish`] refuses it.
pub(super) const CLASHES: &str = "x-schema-clashes";

/// Like the router of `utoipa-axum`, in which one of several types of the same name silently replaces the
/// others in the document. This one records the name, and [`super::finish`] refuses the document.
pub struct OpenApiRouter<S = ()>(utoipa_axum::router::OpenApiRouter<S>);

impl<S: Send + Sync + Clone + 'static> Default for OpenApiRouter<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Send + Sync + Clone + 'static> OpenApiRouter<S> {
    /// Returns a router without routes.
    #[must_use]
    pub fn new() -> Self {
        Self(utoipa_axum::router::OpenApiRouter::new())
    }

    /// Returns a router without routes. Its document begins with this one.
    #[must_use]
    pub fn with_openapi(document: OpenApi) -> Self {
        Self(utoipa_axum::router::OpenApiRouter::with_openapi(document))
    }

    /// Adds handlers of one path.
    #[must_use]
    pub fn routes(mut self, (schemas, paths, handlers): UtoipaMethodRouter<S>) -> Self {
        note_clashes(self.0.get_openapi_mut(), &schemas);
        Self(self.0.routes((schemas, paths, handlers)))
    }

    /// Adds all routes of another router.
    #[must_use]
    pub fn merge(mut self, mut other: Self) -> Self {
        let document = other.0.to_openapi();
        merge(self.0.get_openapi_mut(), document);
        Self(self.0.merge(other.0))
    }

    /// Provides the state.
    #[must_use]
    pub fn with_state<S2>(self, state: S) -> OpenApiRouter<S2> {
        OpenApiRouter(self.0.with_state(state))
    }

    /// Returns the routes and the document.
    pub fn split_for_parts(self) -> (Router<S>, OpenApi) {
        self.0.split_for_parts()
    }

    /// Returns the document.
    #[must_use]
    pub fn into_openapi(self) -> OpenApi {
        self.0.into_openapi()
    }
}

/// Adds the other document to the first.
pub fn merge(document: &mut OpenApi, mut other: OpenApi) {
    let schemas = other.components.as_ref().map(|components| components.schemas.clone()).unwrap_or_default();
    note_clashes(document, &schemas.into_iter().collect::<Vec<_>>());
    let noted = other.extensions.as_mut().and_then(|extensions| extensions.remove(CLASHES));
    note(
        document,
        noted
            .iter()
            .flat_map(|noted| noted.as_array().into_iter().flatten())
            .filter_map(|name| name.as_str()),
    );
    document.merge(other);
}

/// Records names that these schemas give to several types, or to another type than the document does.
fn note_clashes(document: &mut OpenApi, schemas: &[(String, RefOr<Schema>)]) {
    let mut known: BTreeMap<&str, &RefOr<Schema>> = BTreeMap::new();
    let components = document.components.get_or_insert_with(Components::new).clone();
    known.extend(components.schemas.iter().map(|(name, schema)| (name.as_str(), schema)));
    let clashes = schemas.iter().filter(|(name, schema)| *known.entry(name).or_insert(schema) != schema);
    let clashes: Vec<&str> = clashes.map(|(name, _)| name.as_str()).collect();
    note(document, clashes.into_iter());
}

fn note<'a>(document: &mut OpenApi, names: impl Iterator<Item = &'a str>) {
    for name in names {
        let noted = document.extensions.get_or_insert_with(Extensions::default);
        let noted = noted.entry(CLASHES.to_owned()).or_insert_with(|| json!([]));
        if let Some(noted) = noted.as_array_mut() {
            noted.push(json!(name));
        }
    }
}
