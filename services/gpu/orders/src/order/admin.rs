//! `/v1/platform-instances`: the instances of all tenants, for administrators. What they do is recorded with its reason.

use api::{
    CountedPage, ETag, Fields, IdempotencyKey, Include, Json, Page, PageParams, Path, Problem, ProblemType,
    Query, Reply, Several, list::Item, openapi::OpenApiRouter, text,
};
use audit::{AdminAction, NewAction, Why};
use auth::{Admin, HasAuth, SubjectToken};
use axum::{
    extract::{FromRef, State},
    response::IntoResponse,
};
use gpu_core::{
    event::By,
    instance::{Instance, InstanceState},
};
use http::StatusCode;
use ids::{InstanceId, TenantId};
use instances::instance::{
    InstanceView, end,
    list::{Filter, InstanceSort},
    list_store, store,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{Parts, queue};

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_platform_instances))
        .routes(routes!(get_platform_instance, delete_platform_instance))
        .routes(routes!(stop_platform_instance))
        .routes(routes!(list_platform_instance_actions))
}

/// Filters and page of the list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Only instances of this tenant.
    tenant_id: Option<TenantId>,
    /// Only instances in one of these states, separated by commas.
    #[param(inline, style = Form, explode = false, value_type = Option<Vec<InstanceState>>)]
    state: Option<Several<InstanceState>>,
    /// Only instances whose name contains this text, ignoring case.
    #[serde(default, deserialize_with = "text::optional_nfc")]
    name: Option<String>,
    /// Order of the list, the same for all its pages: by name or time of creation. A leading `-` reverses it.
    /// `-created_at` if absent.
    #[param(inline)]
    sort: Option<InstanceSort>,
    /// Only these fields of each item, separated by commas; always `id`. All if absent.
    #[param(value_type = Option<String>, example = "name,state")]
    fields: Option<Several<String>>,
    /// Additional data to return: `total` is the number of items on all pages.
    #[param(inline, style = Form, explode = false, value_type = Option<Vec<Include>>)]
    include: Option<Several<Include>>,
    /// Maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// An instance of any tenant.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PlatformInstance)]
pub(crate) struct PlatformInstanceView {
    /// Owner of the instance.
    tenant_id: TenantId,
    /// The instance.
    #[serde(flatten)]
    instance: InstanceView,
}

impl PlatformInstanceView {
    fn of(instance: &Instance, app: &Parts) -> Self {
        Self { tenant_id: instance.tenant, instance: InstanceView::of(instance, &app.config.apps) }
    }
}

/// Lists the instances of all tenants, newest first unless `sort` says otherwise. For administrators.
#[utoipa::path(
    get, path = "/v1/platform-instances", operation_id = "list_platform_instances", tag = "platform",
    params(ListQuery),
    responses((status = 200, description = "A page of instances", body = CountedPage<PlatformInstanceView>)),
)]
async fn list_platform_instances(
    State(app): State<Parts>,
    _admin: Admin,
    SubjectToken(subject): SubjectToken,
    Query(query): Query<ListQuery>,
) -> Result<Json<CountedPage<Item<PlatformInstanceView>>>, Problem> {
    let sort = query.sort.unwrap_or_default();
    let request = PageParams { limit: query.limit, cursor: query.cursor }.sorted(sort)?;
    let fields = Fields::of::<PlatformInstanceView>(query.fields.as_ref())?;
    let states = query.state.as_deref().unwrap_or_default();
    let filter = Filter { tenant: query.tenant_id, states, name: query.name.as_deref() };
    let mut tx = app.db.admin().await?;
    let page = list_store::page(&mut tx, &filter, sort, &request).await?;
    let total = if query.include.is_some() { Some(list_store::total(&mut tx, &filter).await?) } else { None };
    drop(tx);
    let mut page = page.map(|instance| PlatformInstanceView::of(&instance, &app));
    if InstanceView::has_place(&fields) {
        queue::add_places(&app, &subject, page.items.iter_mut().map(|view| &mut view.instance)).await;
    }
    Ok(Json(CountedPage::new(page.map(|view| fields.select(view)), total)))
}

/// Returns an instance of any tenant. For administrators.
#[utoipa::path(
    get, path = "/v1/platform-instances/{id}", operation_id = "get_platform_instance", tag = "platform",
    params(("id" = InstanceId, Path, description = "Instance id")),
    responses((status = 200, description = "The instance", body = PlatformInstanceView)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn get_platform_instance(
    State(app): State<Parts>,
    _admin: Admin,
    SubjectToken(subject): SubjectToken,
    Path(id): Path<InstanceId>,
) -> Result<impl IntoResponse, Problem> {
    let mut tx = app.db.admin().await?;
    let instance = store::read(&mut tx, id).await?.filter(|instance| !instance.is_deleted());
    let instance = instance.ok_or_else(Problem::not_found)?;
    drop(tx);
    let mut view = PlatformInstanceView::of(&instance, &app);
    queue::add_places(&app, &subject, [&mut view.instance]).await;
    Ok((ETag(instance.generation), Json(view)))
}

/// An action of an administrator on an instance.
#[derive(Debug, Clone, Copy)]
enum Action {
    Stop,
    Delete,
}

async fn act(
    app: &Parts,
    admin: &Admin,
    key: &IdempotencyKey,
    id: InstanceId,
    action: Action,
    why: &Why,
) -> Result<Reply, Problem> {
    why.check()?;
    key.once(app.db.admin().await?, admin.0.user, why, async |tx| {
        let found = store::read(tx, id).await?.ok_or_else(Problem::not_found)?;
        db::act_for(tx, found.tenant).await?;
        let mut instance = store::lock(tx, found.tenant, id).await?.ok_or_else(Problem::not_found)?;
        let by = By::administrator(&why.reason);
        let name = match action {
            Action::Stop => {
                end::stop_as_admin(tx, &mut instance, &why.reason, &by, (app.clock)()).await?;
                "stop_instance"
            }
            Action::Delete => {
                end::delete(tx, &mut instance, &by, (app.clock)()).await?;
                "delete_instance"
            }
        };
        let record = NewAction {
            tenant: found.tenant,
            target: id.to_string(),
            action: name,
            reason: &why.reason,
            user: admin.0.user,
        };
        record.insert(tx).await?;
        let view = PlatformInstanceView::of(&instance, app);
        let location = format!("/v1/platform-instances/{id}");
        Ok(Reply::json(StatusCode::ACCEPTED, &view)?.etag(instance.generation).location(location))
    })
    .await
}

/// Stops an instance of any tenant. The tenant sees the reason. The action is recorded. For administrators.
#[utoipa::path(
    post, path = "/v1/platform-instances/{id}/stop", operation_id = "stop_platform_instance", tag = "platform",
    params(("id" = InstanceId, Path, description = "Instance id"), Why, IdempotencyKey),
    responses((status = 202, description = "The instance, which is stopping or stopped", body = PlatformInstanceView)),
    extensions(("x-problems" = json!([ProblemType::NotFound, ProblemType::InstanceState]))),
)]
async fn stop_platform_instance(
    State(app): State<Parts>,
    admin: Admin,
    key: IdempotencyKey,
    Path(id): Path<InstanceId>,
    Query(why): Query<Why>,
) -> Result<Reply, Problem> {
    act(&app, &admin, &key, id, Action::Stop, &why).await
}

/// Deletes an instance of any tenant. The action is recorded. For administrators.
#[utoipa::path(
    delete, path = "/v1/platform-instances/{id}", operation_id = "delete_platform_instance", tag = "platform",
    params(("id" = InstanceId, Path, description = "Instance id"), Why, IdempotencyKey),
    responses((status = 202, description = "The instance, which is being deleted", body = PlatformInstanceView)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn delete_platform_instance(
    State(app): State<Parts>,
    admin: Admin,
    key: IdempotencyKey,
    Path(id): Path<InstanceId>,
    Query(why): Query<Why>,
) -> Result<Reply, Problem> {
    act(&app, &admin, &key, id, Action::Delete, &why).await
}

/// Lists the actions of administrators on an instance, newest first. Also for deleted instances. For administrators.
#[utoipa::path(
    get, path = "/v1/platform-instances/{id}/actions", operation_id = "list_platform_instance_actions",
    tag = "platform",
    params(("id" = InstanceId, Path, description = "Instance id"), PageParams),
    responses((status = 200, description = "A page of actions", body = Page<AdminAction>)),
)]
async fn list_platform_instance_actions(
    State(app): State<Parts>,
    _admin: Admin,
    Path(id): Path<InstanceId>,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<AdminAction>>, Problem> {
    let request = params.request()?;
    let mut tx = app.db.admin().await?;
    let rows = audit::list(&mut tx, &id.to_string(), request.after, request.rows()).await?;
    Ok(Json(request.page(rows, |action| action.id)))
}
