//! `/v1/instances`: requests record what is wanted; the reconcilers make it so.

use api::{ETag, IdempotencyKey, IfMatch, Json, Page, PageParams, Path, Problem, Query, Reply};
use auth::Member;
use axum::{extract::State, http::HeaderMap, response::IntoResponse};
use http::{StatusCode, header};
use ids::{InstanceId, OperationId};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    create::{NewInstance, check_name},
    model::{Commanded, Effects, Illegal, Instance},
    store,
    view::{InstanceState, InstanceView},
};
use crate::{app::AppState, error::Error};

/// A change; what is absent stays.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InstanceChange {
    /// Its new name, 1 to 63 characters.
    #[serde(default)]
    name: Option<String>,
}

/// Which instances.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Only in this state.
    #[param(inline)]
    state: Option<InstanceState>,
    /// Only those whose name begins so, in whatever case.
    name: Option<String>,
    /// How many at most, 1 to 200 (default 50).
    limit: Option<u32>,
    /// Where the page before ended.
    cursor: Option<String>,
}

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_instances, create_instance))
        .routes(routes!(get_instance, update_instance, delete_instance))
        .routes(routes!(start_instance))
        .routes(routes!(stop_instance))
        .routes(routes!(restart_instance))
}

fn accepted(app: &AppState, instance: &Instance) -> Result<Reply, Problem> {
    let location = format!("/v1/instance-operations/{}", instance.operation.0);
    let view = InstanceView::of(instance, &app.config.apps);
    Ok(Reply::json(StatusCode::ACCEPTED, &view)?.etag(instance.generation).location(location))
}

/// Lists the tenant's instances, the newest first.
#[utoipa::path(get, path = "/v1/instances", tag = "instances", operation_id = "list_instances",
    params(ListQuery),
    responses((status = 200, description = "A page of instances", body = Page<InstanceView>),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json")))]
async fn list_instances(
    State(app): State<AppState>,
    member: Member,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<InstanceView>>, Problem> {
    let asked = PageParams { limit: query.limit, cursor: query.cursor }.request()?;
    let state = query.state.map(InstanceState::as_str);
    let mut tx = app.db.tenant(member.tenant).await?;
    let rows =
        store::list(&mut tx, member.tenant, state, query.name.as_deref(), asked.after, asked.rows()).await?;
    let page = asked.page(rows, |instance| instance.id);
    Ok(Json(page.map(|instance| InstanceView::of(&instance, &app.config.apps))))
}

/// Orders an instance and starts it.
#[utoipa::path(post, path = "/v1/instances", tag = "instances", operation_id = "create_instance",
    params(("Idempotency-Key" = String, Header, description = "One for each write")),
    request_body = NewInstance,
    responses((status = 202, description = "Accepted; the operation follows", body = InstanceView),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json")))]
async fn create_instance(
    State(app): State<AppState>,
    member: Member,
    key: IdempotencyKey,
    headers: HeaderMap,
    Json(new): Json<NewInstance>,
) -> Result<Reply, Problem> {
    member.writer()?;
    new.check()?;
    let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let token = token.split_once(' ').map_or("", |(_, token)| token.trim());
    // asked before the transaction; a request that comes again gets its stored answer whatever they say now
    let asked = new.ask(&app, token).await;
    let mut made = None;
    let reply = key
        .once(app.db.tenant(member.tenant).await?, member.tenant, &new, async |tx| {
            let instance = new.insert(tx, member.tenant, &asked?).await?;
            made = Some(instance.id);
            accepted(&app, &instance)
        })
        .await?;
    if let Some(id) = made {
        app.wakes.wake(id);
    }
    Ok(reply)
}

/// Reads an instance.
#[utoipa::path(get, path = "/v1/instances/{id}", tag = "instances", operation_id = "get_instance",
    params(("id" = InstanceId, Path)),
    responses((status = 200, description = "The instance", body = InstanceView),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json")))]
async fn get_instance(
    State(app): State<AppState>,
    member: Member,
    Path(id): Path<InstanceId>,
) -> Result<impl IntoResponse, Problem> {
    let mut tx = app.db.tenant(member.tenant).await?;
    let instance = store::find(&mut tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
    Ok((ETag(instance.generation), Json(InstanceView::of(&instance, &app.config.apps))))
}

/// Renames an instance.
#[utoipa::path(patch, path = "/v1/instances/{id}", tag = "instances", operation_id = "update_instance",
    params(("id" = InstanceId, Path), ("Idempotency-Key" = String, Header, description = "One for each write"),
        ("If-Match" = String, Header, description = "The ETag of what is changed")),
    request_body = InstanceChange,
    responses((status = 200, description = "Changed", body = InstanceView),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json")))]
async fn update_instance(
    State(app): State<AppState>,
    member: Member,
    key: IdempotencyKey,
    seen: IfMatch,
    Path(id): Path<InstanceId>,
    Json(change): Json<InstanceChange>,
) -> Result<Reply, Problem> {
    member.writer()?;
    if let Some(error) = change.name.as_deref().and_then(check_name) {
        return Err(Problem::invalid(vec![error]));
    }
    key.once(app.db.tenant(member.tenant).await?, member.tenant, &change, async |tx| {
        let mut instance = store::lock(tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
        seen.check(instance.generation)?;
        if let Some(name) = &change.name {
            instance.name.clone_from(name);
            if !store::rename(tx, &mut instance).await? {
                return Err(Problem::internal("a locked row changed"));
            }
        }
        let view = InstanceView::of(&instance, &app.config.apps);
        Ok(Reply::json(StatusCode::OK, &view)?.etag(instance.generation))
    })
    .await
}

/// A command of [`Instance`].
type Act = fn(&mut Instance, OperationId) -> Result<(Commanded, Effects), Illegal>;

/// Carries out a user's command on an instance.
async fn command(
    app: &AppState,
    member: &Member,
    key: &IdempotencyKey,
    id: InstanceId,
    act: Act,
) -> Result<Reply, Problem> {
    member.writer()?;
    let reply = key
        .once(app.db.tenant(member.tenant).await?, member.tenant, &(), async |tx| {
            let mut instance = store::lock(tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
            let (commanded, effects) = act(&mut instance, OperationId::new()).map_err(Error::from)?;
            if commanded == Commanded::New && !store::command(tx, &mut instance, &effects).await? {
                return Err(Problem::internal("a locked row changed"));
            }
            accepted(app, &instance)
        })
        .await?;
    app.wakes.wake(id);
    Ok(reply)
}

/// Starts a stopped instance: the same id, URL and storage, on whatever unit of its specification is free.
#[utoipa::path(post, path = "/v1/instances/{id}/start", tag = "instances", operation_id = "start_instance",
    params(("id" = InstanceId, Path), ("Idempotency-Key" = String, Header, description = "One for each write")),
    responses((status = 202, description = "Accepted; the operation follows", body = InstanceView),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json")))]
async fn start_instance(
    State(app): State<AppState>,
    member: Member,
    key: IdempotencyKey,
    Path(id): Path<InstanceId>,
) -> Result<Reply, Problem> {
    command(&app, &member, &key, id, Instance::start).await
}

/// Stops an instance and gives its unit back. A start under way is cancelled.
#[utoipa::path(post, path = "/v1/instances/{id}/stop", tag = "instances", operation_id = "stop_instance",
    params(("id" = InstanceId, Path), ("Idempotency-Key" = String, Header, description = "One for each write")),
    responses((status = 202, description = "Accepted; the operation follows", body = InstanceView),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json")))]
async fn stop_instance(
    State(app): State<AppState>,
    member: Member,
    key: IdempotencyKey,
    Path(id): Path<InstanceId>,
) -> Result<Reply, Problem> {
    command(&app, &member, &key, id, Instance::stop).await
}

/// Restarts a running instance in its place.
#[utoipa::path(post, path = "/v1/instances/{id}/restart", tag = "instances",
    operation_id = "restart_instance",
    params(("id" = InstanceId, Path), ("Idempotency-Key" = String, Header, description = "One for each write")),
    responses((status = 202, description = "Accepted; the operation follows", body = InstanceView),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json")))]
async fn restart_instance(
    State(app): State<AppState>,
    member: Member,
    key: IdempotencyKey,
    Path(id): Path<InstanceId>,
) -> Result<Reply, Problem> {
    command(&app, &member, &key, id, Instance::restart).await
}

/// Deletes an instance, stopping it first. Its storage stays.
#[utoipa::path(delete, path = "/v1/instances/{id}", tag = "instances", operation_id = "delete_instance",
    params(("id" = InstanceId, Path), ("Idempotency-Key" = String, Header, description = "One for each write")),
    responses((status = 202, description = "Accepted; the operation follows", body = InstanceView),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json")))]
async fn delete_instance(
    State(app): State<AppState>,
    member: Member,
    key: IdempotencyKey,
    Path(id): Path<InstanceId>,
) -> Result<Reply, Problem> {
    command(&app, &member, &key, id, Instance::delete).await
}
