//! The API page: Swagger UI over the merged document. Its files are in the binary; nothing is loaded from elsewhere.

use std::sync::Arc;

use axum::{
    Router,
    extract::Path,
    http::{StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::get,
};
use utoipa_swagger_ui::Config;

use super::API_PAGE;
use crate::refusal::Refusal;

/// The files of Swagger UI that the page needs.
const FILES: [&str; 2] = ["swagger-ui.css", "swagger-ui-bundle.js"];

const PAGE: &str = include_str!("api.html");
const START: &str = include_str!("api.js");
const STYLE: &str = include_str!("api.css");

/// Swagger UI sets styles by script, which needs no permission, and draws its icons from `data:` addresses.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) fn router() -> Router {
    let page = (
        [
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::CACHE_CONTROL, "no-cache"),
            (header::CONTENT_LANGUAGE, "en"),
        ],
        Html(PAGE),
    );
    Router::new()
        .route(API_PAGE, get(|| async move { page }))
        .route(&format!("{API_PAGE}/{{file}}"), get(|Path(file): Path<String>| async move { asset(&file) }))
}

fn asset(name: &str) -> Response {
    let own = match name {
        "start.js" => Some(("text/javascript; charset=utf-8", START)),
        "style.css" => Some(("text/css; charset=utf-8", STYLE)),
        _ => None,
    };
    if let Some((kind, text)) = own {
        return ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "max-age=3600")], text)
            .into_response();
    }
    let Some(name) = FILES.into_iter().find(|known| *known == name) else {
        return Refusal::no_such_route().into_response();
    };
    match utoipa_swagger_ui::serve(name, Arc::new(Config::default())) {
        Ok(Some(file)) => {
            let headers = [
                (header::CONTENT_TYPE, file.content_type),
                (header::CACHE_CONTROL, "max-age=3600".to_owned()),
                (header::VARY, "accept-encoding".to_owned()),
            ];
            let mut response = (StatusCode::OK, headers, file.bytes.into_owned()).into_response();
            if file.gzpipped {
                let gzip = header::HeaderValue::from_static("gzip");
                response.headers_mut().insert(header::CONTENT_ENCODING, gzip);
            }
            response
        }
        _ => Refusal::no_such_route().into_response(),
    }
}
