//! A registry of images with one private image per repository: it serves manifests, after basic
//! authentication or with a token of its own authorization service, as in the distribution specification and
//! Docker Hub.

use std::sync::{Arc, Mutex};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::{
        HeaderMap, StatusCode,
        header::{AUTHORIZATION, WWW_AUTHENTICATE},
    },
    response::{IntoResponse, Response},
    routing::get,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;

const TOKEN: &str = "a-token-of-the-registry";

/// How the registry authenticates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegistryAuth {
    /// By user name and password in each request.
    Basic,
    /// By a token, for which the password is exchanged.
    Token,
}

struct Inner {
    auth: RegistryAuth,
    username: String,
    password: Mutex<String>,
    manifests: Mutex<u32>,
    host: std::sync::OnceLock<String>,
}

/// A private registry. Clones share it.
#[derive(Clone)]
pub struct Registry(Arc<Inner>);

impl Registry {
    /// Starts a registry on the loopback interface, without TLS, with one user.
    pub async fn start(auth: RegistryAuth, username: &str, password: &str) -> Self {
        let registry = Self(Arc::new(Inner {
            auth,
            username: username.to_owned(),
            password: Mutex::new(password.to_owned()),
            manifests: Mutex::default(),
            host: std::sync::OnceLock::new(),
        }));
        let router = Router::new()
            .route("/v2/{team}/{name}/manifests/{reference}", get(manifest))
            .route("/token", get(token))
            .with_state(registry.clone());
        let url = crate::serve(router).await;
        registry.0.host.set(url.trim_start_matches("http://").to_owned()).unwrap();
        registry
    }

    /// Host and port, as in the names of its images.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.host.get().unwrap()
    }

    /// The name of its image.
    #[must_use]
    pub fn image(&self) -> String {
        format!("{}/team/app:1", self.host())
    }

    /// Changes the password of its user.
    pub fn set_password(&self, password: &str) {
        password.clone_into(&mut self.0.password.lock().unwrap());
    }

    /// Number of manifests that it has served.
    #[must_use]
    pub fn pulls(&self) -> u32 {
        *self.0.manifests.lock().unwrap()
    }

    /// Whether a request has the user's name and password.
    fn knows(&self, headers: &HeaderMap) -> bool {
        let both = format!("{}:{}", self.0.username, self.0.password.lock().unwrap());
        authorization(headers) == Some(&format!("Basic {}", STANDARD.encode(both)))
    }
}

fn authorization(headers: &HeaderMap) -> Option<&str> {
    headers.get(AUTHORIZATION)?.to_str().ok()
}

async fn manifest(
    State(registry): State<Registry>,
    Path((team, name, reference)): Path<(String, String, String)>,
    headers: HeaderMap,
) -> Response {
    let (is_allowed, challenge) = match registry.0.auth {
        RegistryAuth::Basic => (registry.knows(&headers), "Basic realm=\"registry\"".to_owned()),
        RegistryAuth::Token => (
            authorization(&headers) == Some(&format!("Bearer {TOKEN}")),
            format!(
                "Bearer realm=\"http://{}/token\",service=\"registry\",scope=\"repository:{team}/{name}:pull\"",
                registry.host()
            ),
        ),
    };
    if !is_allowed {
        return (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, challenge)]).into_response();
    }
    if (team.as_str(), name.as_str(), reference.as_str()) != ("team", "app", "1") {
        return StatusCode::NOT_FOUND.into_response();
    }
    *registry.0.manifests.lock().unwrap() += 1;
    Json(json!({ "schemaVersion": 2 })).into_response()
}

async fn token(State(registry): State<Registry>, headers: HeaderMap) -> Response {
    if registry.knows(&headers) {
        Json(json!({ "token": TOKEN })).into_response()
    } else {
        StatusCode::UNAUTHORIZED.into_response()
    }
}
