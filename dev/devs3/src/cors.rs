//! Requests of pages of other origins: what a bucket allows them, and the headers by which browsers know it.

use std::borrow::Cow;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use s3s::dto::{CORSRule, CORSRules};
use s3s::{S3Result, s3_error};
use serde::{Deserialize, Serialize};

use crate::store::Store;

const METHODS: [&str; 5] = ["GET", "HEAD", "PUT", "POST", "DELETE"];

/// Which requests of which pages a bucket allows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Rule {
    origins: Vec<String>,
    methods: Vec<String>,
    headers: Vec<String>,
    exposed: Vec<String>,
    max_age: Option<i32>,
}

impl Rule {
    fn of(rule: CORSRule) -> S3Result<Self> {
        let rule = Self {
            origins: rule.allowed_origins,
            methods: rule.allowed_methods,
            headers: rule.allowed_headers.unwrap_or_default(),
            exposed: rule.expose_headers.unwrap_or_default(),
            max_age: rule.max_age_seconds,
        };
        let is_known = rule.methods.iter().all(|method| METHODS.contains(&method.as_str()));
        if rule.origins.is_empty() || rule.methods.is_empty() || !is_known {
            return Err(s3_error!(MalformedXML));
        }
        // patterns, which Ceph knows
        if rule.origins.iter().chain(&rule.headers).any(|text| text.contains('*')) {
            return Err(s3_error!(NotImplemented));
        }
        Ok(rule)
    }

    fn shown(self) -> CORSRule {
        CORSRule {
            allowed_origins: self.origins,
            allowed_methods: self.methods,
            allowed_headers: Some(self.headers),
            expose_headers: Some(self.exposed),
            max_age_seconds: self.max_age,
            id: None,
        }
    }

    fn allows(&self, origin: &str, method: &str) -> bool {
        self.origins.iter().any(|allowed| allowed == origin)
            && self.methods.iter().any(|allowed| allowed == method)
    }

    fn allows_headers(&self, names: &str) -> bool {
        let is_allowed = |name: &str| self.headers.iter().any(|allowed| allowed.eq_ignore_ascii_case(name));
        names.split(',').map(str::trim).all(is_allowed)
    }

    fn add_to(&self, headers: &mut HeaderMap, origin: &HeaderValue, method: &str) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        let mut add = |name: HeaderName, text: Cow<'_, str>| {
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.insert(name, value);
            }
        };
        add(header::ACCESS_CONTROL_ALLOW_METHODS, method.into());
        if !self.exposed.is_empty() {
            add(header::ACCESS_CONTROL_EXPOSE_HEADERS, self.exposed.join(",").into());
        }
        if let Some(seconds) = self.max_age {
            add(header::ACCESS_CONTROL_MAX_AGE, seconds.to_string().into());
        }
    }
}

/// Reads the rules of a request.
///
/// # Errors
/// If Ceph would refuse one, or it has a pattern.
pub(crate) fn rules(rules: CORSRules) -> S3Result<Vec<Rule>> {
    rules.into_iter().map(Rule::of).collect()
}

/// The rules as a response shows them.
pub(crate) fn shown(rules: &[Rule]) -> CORSRules {
    rules.iter().cloned().map(Rule::shown).collect()
}

/// A request of a page of another origin.
pub(crate) struct Asked {
    bucket: String,
    origin: HeaderValue,
    method: Method,
}

impl Asked {
    /// None if no page of another origin asks.
    pub(crate) fn of(request: &axum::extract::Request) -> Option<Self> {
        let bucket = request.uri().path().split('/').nth(1)?.to_owned();
        let origin = request.headers().get(header::ORIGIN)?.clone();
        Some(Self { bucket, origin, method: request.method().clone() })
    }

    /// Adds to an answer that the page may read it, if it may.
    pub(crate) fn allow(&self, store: &Store, answer: &mut Response) {
        let document = store.state.read();
        let rules = document.buckets.get(&self.bucket).map_or(&[][..], |bucket| &bucket.cors);
        let origin = self.origin.to_str().unwrap_or_default();
        if let Some(rule) = rules.iter().find(|rule| rule.allows(origin, self.method.as_str())) {
            rule.add_to(answer.headers_mut(), &self.origin, self.method.as_str());
        }
    }
}

/// Answers a browser that asks whether a page may send a request.
pub(crate) fn preflight(store: &Store, request: &axum::extract::Request) -> Response {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = match allowed(store, request, answer.headers_mut()) {
        Ok(()) => StatusCode::OK,
        Err(status) => status,
    };
    answer
}

fn allowed(store: &Store, request: &axum::extract::Request, added: &mut HeaderMap) -> Result<(), StatusCode> {
    let text = |name: HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
    let asked = Asked::of(request).ok_or(StatusCode::BAD_REQUEST)?;
    let method = text(header::ACCESS_CONTROL_REQUEST_METHOD).ok_or(StatusCode::BAD_REQUEST)?;
    let names = text(header::ACCESS_CONTROL_REQUEST_HEADERS);
    let origin = asked.origin.to_str().map_err(|_| StatusCode::FORBIDDEN)?;
    let document = store.state.read();
    let bucket = document.buckets.get(&asked.bucket).ok_or(StatusCode::NOT_FOUND)?;
    let fits =
        |rule: &&Rule| rule.allows(origin, method) && names.is_none_or(|names| rule.allows_headers(names));
    let rule = bucket.cors.iter().find(fits).ok_or(StatusCode::FORBIDDEN)?;
    rule.add_to(added, &asked.origin, method);
    if let Some(names) = names.and_then(|names| HeaderValue::from_str(names).ok()) {
        added.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names);
    }
    Ok(())
}
