//! How callers sign in, for a service's OpenAPI document.

use utoipa::openapi::{
    OpenApi,
    security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme},
};

/// The document, in which every operation needs an access token unless it says otherwise.
#[must_use]
pub fn secured(mut document: OpenApi) -> OpenApi {
    let bearer =
        SecurityScheme::Http(Http::builder().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build());
    document.components.get_or_insert_default().add_security_scheme("bearer", bearer);
    document.security = Some(vec![SecurityRequirement::new::<_, [&str; 0], &str>("bearer", [])]);
    document
}
