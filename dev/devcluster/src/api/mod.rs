//! The HTTP API: authenticates, authorizes and routes requests.

pub(crate) mod discovery;
pub(crate) mod exec;
pub(crate) mod logs;
pub(crate) mod objects;
pub(crate) mod portforward;
pub(crate) mod request;
pub(crate) mod subresources;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod tokens;
pub(crate) mod watch;

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderValue, Method, StatusCode, header};
use serde_json::Value;
use tower_http::catch_panic::CatchPanicLayer;

use crate::hub::Hub;
use ::objects::error::Failure;
use ::objects::rbac::{self, Access};
use request::{Query, Target};

/// The HTTP application. A handler that panics returns 500.
pub(crate) fn router(hub: Arc<Hub>) -> Router {
    Router::new().fallback(entry).with_state(hub).layer(CatchPanicLayer::custom(panicked))
}

#[expect(clippy::needless_pass_by_value, reason = "the signature is that of the layer")]
fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let cause = service::panic_message(&*panic);
    tracing::error!(cause, "request handler panicked");
    refuse(&Failure::internal("the request handler panicked"))
}

async fn entry(State(hub): State<Arc<Hub>>, request: Request) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    match Box::pin(serve(&hub, request)).await {
        Ok(response) => response,
        Err(failure) => {
            if failure.code >= 500 {
                tracing::error!(%method, path, error = %failure, "request failed");
            }
            refuse(&failure)
        }
    }
}

/// A failure as a response.
pub(crate) fn refuse(failure: &Failure) -> Response {
    let code = StatusCode::from_u16(failure.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    json_response(code, &failure.status())
}

/// A JSON response.
pub(crate) fn json_response(code: StatusCode, value: &Value) -> Response {
    bytes_response(code, value.to_string())
}

pub(crate) fn bytes_response(code: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = code;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

pub(crate) fn text_response(text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

async fn serve(hub: &Arc<Hub>, request: Request) -> Result<Response, Failure> {
    let path = request.uri().path().to_owned();
    if matches!(path.as_str(), "/healthz" | "/livez" | "/readyz") {
        return Ok(text_response("ok"));
    }
    let user = tokens::authenticate(hub, request.headers())?;
    let query = Query::parse(request.uri().query().unwrap_or(""));
    let Some(target) = request::target(hub, &path)? else {
        if let Some(rest) = path.strip_prefix("/devcluster/nodes/").filter(|_| user.is_admin()) {
            return subresources::switch_node(hub, request.method(), rest);
        }
        if request.method() != Method::GET {
            return Err(Failure::no_such_resource());
        }
        return discovery::serve(hub, &path);
    };
    let verb = verb_of(request.method(), &target, &query)?;
    let resource = target.qualified();
    let name = target.name.clone();
    let access = Access {
        verb,
        group: &target.group,
        resource: &resource,
        namespace: if target.plural == "namespaces" { &name } else { &target.namespace },
        name: &name,
    };
    if !rbac::allowed(&hub.store.lock(), &user, &access) {
        return Err(rbac::refusal(&user, &access));
    }
    Box::pin(route(hub, request, target, query, user, verb)).await
}

fn verb_of(method: &Method, target: &Target, query: &Query) -> Result<&'static str, Failure> {
    Ok(match *method {
        Method::GET | Method::HEAD if query.flag("watch") && target.subresource.is_empty() => "watch",
        Method::GET | Method::HEAD if !target.name.is_empty() => "get",
        Method::GET | Method::HEAD => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if target.name.is_empty() => "deletecollection",
        Method::DELETE => "delete",
        _ => return Err(Failure::method_not_allowed()),
    })
}

async fn route(
    hub: &Arc<Hub>,
    request: Request,
    target: Target,
    query: Query,
    user: rbac::User,
    verb: &str,
) -> Result<Response, Failure> {
    match (target.resource.id.as_str(), target.subresource.as_str(), verb) {
        ("pods", "log", "get") => return logs::serve(hub, &target, &query).await,
        ("pods", "exec", "get" | "create") => return exec::serve(hub, request, &target, &query).await,
        ("pods", "portforward", "get" | "create") => {
            return portforward::serve(hub, request, &target, &query).await;
        }
        ("nodes", "proxy", "get") => return summary::serve(hub, &target, request.uri().path()).await,
        ("pods", "attach" | "proxy" | "eviction" | "ephemeralcontainers" | "resize", _) => {
            let why = format!("the development cluster does not serve pods/{}", target.subresource);
            return Err(Failure::bad_request(why));
        }
        _ => {}
    }
    match (verb, target.subresource.as_str()) {
        ("watch", "") => watch::serve(hub, &request, &target, &query),
        ("list", "") => objects::list(hub, &request, &target, &query),
        ("get", "" | "status") => objects::get(hub, &request, &target),
        ("deletecollection", "") => {
            let body = request::body(request).await?;
            objects::delete_collection(hub, &target, &query, &user, &body)
        }
        ("create" | "update" | "patch" | "delete", _) => {
            let (parts, body) = request.into_parts();
            let content = request::content_type(&parts.headers);
            let manager = request::manager(&parts.headers, &query);
            let body = request::read(body).await?;
            let call = objects::Call {
                target: &target,
                query: &query,
                user: &user,
                manager: &manager,
                content: &content,
            };
            match (verb, target.subresource.as_str()) {
                ("create", "") => objects::create(hub, &call, &body),
                ("create", "token") if target.resource.id == "serviceaccounts" => {
                    subresources::create_token(hub, &call, &body)
                }
                ("create", "binding") if target.resource.id == "pods" => {
                    subresources::bind(hub, &call, &body)
                }
                ("update", "" | "status") => objects::update(hub, &call, &body),
                ("patch", "" | "status") => objects::patch(hub, &call, &body),
                ("delete", "") => objects::delete(hub, &call, &body),
                _ => Err(Failure::method_not_allowed()),
            }
        }
        _ => Err(Failure::method_not_allowed()),
    }
}
