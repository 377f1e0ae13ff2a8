//! The CORS rules of a bucket: permissions of pages of other origins, and the headers for browsers.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue, header};
use s3s::dto::{CORSRule, CORSRules};
use s3s::{S3Result, s3_error};
use serde::{Deserialize, Serialize};

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

    pub(crate) fn allows(&self, origin: &str, method: &str) -> bool {
        self.origins.iter().any(|allowed| allowed == origin)
            && self.methods.iter().any(|allowed| allowed == method)
    }

    pub(crate) fn allows_headers(&self, names: &str) -> bool {
        let is_allowed = |name: &str| self.headers.iter().any(|allowed| allowed.eq_ignore_ascii_case(name));
        names.split(',').map(str::trim).all(is_allowed)
    }

    pub(crate) fn add_to(&self, headers: &mut HeaderMap, origin: &HeaderValue, method: &str) {
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
