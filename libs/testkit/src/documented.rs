//! A stand-in for a service that answers by its OpenAPI document.

use std::sync::{Arc, Mutex, PoisonError};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use serde_json::Value;

/// A service that answers every call with the example of its OpenAPI document, and records the calls that do
/// not match the document.
pub struct Documented {
    /// Address of the listener: `http://127.0.0.1:<port>`.
    pub url: String,
    document: Arc<Document>,
}

struct Document {
    text: Value,
    wrong: Mutex<Vec<String>>,
}

impl Documented {
    /// Starts the service with this document, in JSON.
    ///
    /// # Panics
    /// If the document is not one.
    pub async fn start(document: &str) -> Self {
        let text: Value = serde_json::from_str(document).unwrap();
        assert!(text["paths"].is_object(), "the document has no paths");
        let document = Arc::new(Document { text, wrong: Mutex::default() });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&document));
        Self { url: crate::serve(router).await, document }
    }

    /// Checks the calls until now: their operations, parameters and the members of their bodies.
    ///
    /// # Panics
    /// Names those that the document does not know.
    pub fn check(&self) {
        let wrong = self.document.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(wrong.is_empty(), "not as documented: {wrong:#?}");
    }
}

async fn answer(State(document): State<Arc<Document>>, method: Method, uri: Uri, body: Bytes) -> Response {
    let answered = document.operation(&method, uri.path()).and_then(|operation| {
        document.check_query(operation, uri.query().unwrap_or_default())?;
        document.check_body(operation, &body)?;
        example(operation)
    });
    answered.unwrap_or_else(|why| {
        let wrong = format!("{method} {uri}: {why}");
        document.wrong.lock().unwrap_or_else(PoisonError::into_inner).push(wrong.clone());
        not_documented(&wrong)
    })
}

impl Document {
    fn operation(&self, method: &Method, path: &str) -> Result<&Value, String> {
        let paths = self.text["paths"].as_object().into_iter().flatten();
        let method = method.as_str().to_lowercase();
        let mut operations =
            paths.filter(|(template, _)| is_of(path, template)).map(|(_, path)| &path[&method]);
        operations.find(|operation| operation.is_object()).ok_or_else(|| "no such operation".to_owned())
    }

    fn check_query(&self, operation: &Value, query: &str) -> Result<(), String> {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let known: Vec<_> = parameters.filter_map(|one| self.resolved(one)["name"].as_str()).collect();
        for (name, _) in query.split('&').filter_map(|one| one.split_once('=')) {
            if !known.contains(&name) {
                return Err(format!("no parameter {name}"));
            }
        }
        Ok(())
    }

    fn check_body(&self, operation: &Value, body: &[u8]) -> Result<(), String> {
        let schema = self.resolved(&operation["requestBody"]["content"]["application/json"]["schema"]);
        let body: Value = match body {
            [] => Value::Null,
            body => serde_json::from_slice(body).map_err(|error| error.to_string())?,
        };
        if schema.is_object() != body.is_object() {
            return Err(format!("a body of {body}"));
        }
        for name in body.as_object().into_iter().flat_map(|body| body.keys()) {
            if schema["properties"].get(name).is_none() {
                return Err(format!("no member {name}"));
            }
        }
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let missing: Vec<_> = required.filter(|name| body.get(name).is_none()).collect();
        if missing.is_empty() { Ok(()) } else { Err(format!("without {missing:?}")) }
    }

    fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        let reference = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        reference.and_then(|pointer| self.text.pointer(pointer)).unwrap_or(value)
    }
}

/// A problem with the missing part of the document in its detail, which the caller's error then contains.
fn not_documented(why: &str) -> Response {
    let problem = serde_json::json!({
        "type": "about:blank", "title": "Not documented", "status": 501, "detail": format!("not as documented: {why}"),
    });
    let headers = [(header::CONTENT_TYPE, "application/problem+json")];
    (StatusCode::NOT_IMPLEMENTED, headers, problem.to_string()).into_response()
}

/// The first successful answer of the document.
fn example(operation: &Value) -> Result<Response, String> {
    let answers = operation["responses"].as_object().into_iter().flatten();
    let (status, answer) =
        answers.into_iter().find(|(status, _)| status.starts_with('2')).ok_or("no answer is documented")?;
    let status = status.parse::<StatusCode>().map_err(|error| error.to_string())?;
    match answer["content"].get("application/json") {
        None => Ok(status.into_response()),
        Some(content) => match content.get("example") {
            Some(example) => Ok((status, axum::Json(example)).into_response()),
            None => Err("no example is documented".to_owned()),
        },
    }
}

/// Whether the path is one of `/things/{id}`.
fn is_of(path: &str, template: &str) -> bool {
    let (segments, expected): (Vec<&str>, Vec<&str>) =
        (path.split('/').collect(), template.split('/').collect());
    let is_same = |(segment, expected): (&&str, &str)| expected.starts_with('{') || *segment == expected;
    segments.len() == expected.len() && segments.iter().zip(expected).all(is_same)
}
