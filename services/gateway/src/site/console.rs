//! The built console: its files, and its page at every other path of the platform.

use std::{path::PathBuf, sync::Arc};

use anyhow::ensure;
use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use tower_http::services::ServeDir;
use url::{Origin, Url};

use crate::{html, refusal::Refusal, rest};

/// The page that is the console.
const PAGE: &str = "/index.html";
/// Where files have names that change with their content.
const ASSETS: &str = "/assets/";
/// First segments of paths that are never the console's.
const RESERVED: [&str; 7] = ["v1", "api", "share", "internal", "healthz", "readyz", "openapi.json"];

/// The console.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsoleConfig {
    /// The folder of the built console, with its `index.html`. Without that file there is a start page instead.
    pub directory: PathBuf,
    /// Origins of the object store, which the console shows pictures from and uploads files to.
    #[serde(default)]
    pub content_origins: Vec<Url>,
}

/// A built console. Clones share it.
#[derive(Clone)]
pub(super) struct Console {
    directory: Arc<PathBuf>,
    files: ServeDir,
    policy: Arc<HeaderValue>,
}

impl Console {
    /// None if there is no built console in the folder.
    ///
    /// # Errors
    /// If an origin is not valid.
    pub(super) fn open(config: &ConsoleConfig) -> anyhow::Result<Option<Self>> {
        let policy = Arc::new(policy(&config.content_origins)?);
        if !config.directory.join("index.html").is_file() {
            let directory = config.directory.display();
            tracing::warn!(%directory, "there is no built console");
            return Ok(None);
        }
        let files = ServeDir::new(&config.directory)
            .append_index_html_on_directories(false)
            .precompressed_br()
            .precompressed_gzip();
        Ok(Some(Self { directory: Arc::new(config.directory.clone()), files, policy }))
    }

    /// Answers a request that no route of the platform has.
    pub(super) async fn answer(self, request: Request) -> Response {
        let (parts, _) = request.into_parts();
        let path = parts.uri.path();
        let is_read = [Method::GET, Method::HEAD].contains(&parts.method);
        if !is_read || is_reserved(path) || !rest::is_unambiguous(path) {
            return rest::no_page(path).into_response();
        }
        if is_file_name(path)
            && let Some(mut response) = self.file(&parts.method, path, &parts.headers).await
        {
            let is_forever =
                path.starts_with(ASSETS) && response.status() != StatusCode::RANGE_NOT_SATISFIABLE;
            let cache = if is_forever { "public, max-age=31536000, immutable" } else { "no-cache" };
            response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
            return response;
        }
        // an asset of another build is missing, also for requests that accept HTML
        let is_page = path == "/" || html::is_wanted(&parts.headers) && !path.starts_with(ASSETS);
        let page = if is_page { self.file(&parts.method, PAGE, &parts.headers).await } else { None };
        let Some(mut response) = page else {
            return rest::no_page(path).into_response();
        };
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response.headers_mut().append(header::VARY, HeaderValue::from_static("accept"));
        response
    }

    /// The file at a path. None if there is none.
    async fn file(&self, method: &Method, path: &str, headers: &HeaderMap) -> Option<Response> {
        let file = self.directory.join(path.strip_prefix('/')?);
        if !tokio::fs::metadata(file).await.is_ok_and(|known| known.is_file()) {
            return None;
        }
        let mut request = Request::new(Body::empty());
        *request.method_mut() = method.clone();
        *request.uri_mut() = path.parse::<Uri>().ok()?;
        *request.headers_mut() = headers.clone();
        let mut response = match self.files.clone().try_call(request).await {
            Ok(response) => response.map(Body::new),
            Err(error) => return Some(Refusal::internal(error).into_response()),
        };
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, (*self.policy).clone());
        Some(response)
    }
}

/// The policy of the console: nothing but its own files and requests, and content of these origins.
fn policy(content_origins: &[Url]) -> anyhow::Result<HeaderValue> {
    let mut others = String::new();
    for url in content_origins {
        let is_origin =
            matches!(url.origin(), Origin::Tuple(..)) && url.path() == "/" && url.query().is_none();
        ensure!(is_origin, "console.content_origins: {url} is not an origin such as https://objects.example");
        others += &format!(" {}", url.origin().ascii_serialization());
    }
    Ok(HeaderValue::from_str(&format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:{others}; font-src 'self'; \
         connect-src 'self'{others}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'"
    ))?)
}

/// Whether a path is of the platform, or of what programs ask hosts for.
fn is_reserved(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    first.starts_with('.') || RESERVED.contains(&first)
}

/// Whether a path can be that of a file of the build: none of those is hidden or needs encoding.
fn is_file_name(path: &str) -> bool {
    path != "/" && !path.contains('%') && path.split('/').all(|segment| !segment.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_names_origins_of_content_and_nothing_else() {
        let urls = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<Url>>();
        let allowed = policy(&urls(&["https://objects.example", "http://127.0.0.1:9000/"])).unwrap();
        let allowed = allowed.to_str().unwrap();
        let others = "https://objects.example http://127.0.0.1:9000";
        assert!(allowed.contains(&format!("img-src 'self' data: {others};")), "{allowed}");
        assert!(allowed.contains(&format!("connect-src 'self' {others};")), "{allowed}");
        assert!(allowed.contains("script-src 'self';") && !allowed.contains("unsafe"), "{allowed}");
        for wrong in ["https://objects.example/bucket", "https://objects.example/?x", "data:text/html,x"] {
            assert!(policy(&urls(&[wrong])).is_err(), "{wrong}");
        }
    }

    #[test]
    fn paths_of_the_platform_are_reserved() {
        for path in
            ["/v1", "/api/x", "/share", "/.well-known/x", "/healthz", "/openapi.json", "/internal/v1/x"]
        {
            assert!(is_reserved(path), "{path}");
        }
        for path in ["/", "/instances", "/v10", "/apis", "/assets/v1"] {
            assert!(!is_reserved(path), "{path}");
        }
    }
}
