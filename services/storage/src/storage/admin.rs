//! `/v1/platform-storages`: the storages of all tenants, for administrators. What they do is recorded with its reason.

use api::{
    CountedPage, ETag, Fields, IdempotencyKey, Include, Json, Page, PageParams, Path, Problem, ProblemType,
    Query, Reply, Several, list::Item, openapi::OpenApiRouter, text,
};
use audit::{AdminAction, NewAction, Why};
use auth::{Admin, HasAuth};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use ids::{StorageId, TenantId};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use storage_api::{StorageKind, StorageState};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{
    Storages, change,
    list::{Filter, StorageSort},
    list_store,
    model::Storage,
    store,
    view::{Attachments, StorageView},
};

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Storages: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_platform_storages))
        .routes(routes!(get_platform_storage, delete_platform_storage))
        .routes(routes!(list_platform_storage_actions))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListParams {
    /// Only storages of this tenant.
    tenant_id: Option<TenantId>,
    /// Only storages in one of these states, separated by commas.
    #[param(inline, style = Form, explode = false, value_type = Option<Vec<StorageState>>)]
    state: Option<Several<StorageState>>,
    /// Only storages of this kind.
    kind: Option<StorageKind>,
    /// Only storages whose name contains this text, ignoring case.
    #[serde(default, deserialize_with = "text::optional_nfc")]
    name: Option<String>,
    /// Order of the list, the same for all its pages: by time of creation, name or size. A leading `-` reverses it.
    /// `-created_at` if absent.
    #[param(inline)]
    sort: Option<StorageSort>,
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

/// A storage of any tenant.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PlatformStorage)]
struct PlatformStorageView {
    /// Owner of the storage.
    tenant_id: TenantId,
    /// The storage.
    #[serde(flatten)]
    storage: StorageView,
}

impl PlatformStorageView {
    fn new(storage: Storage, attachments: &mut Attachments, storages: &Storages) -> Self {
        let tenant_id = storage.tenant;
        let objects = storages.objects();
        Self { tenant_id, storage: StorageView::new(storage, attachments, objects) }
    }
}

/// Returns a storage of any tenant, with its generation.
async fn find(
    tx: &mut PgConnection,
    storages: &Storages,
    id: StorageId,
) -> Result<(i64, PlatformStorageView), Problem> {
    let storage = store::find_any(tx, id).await?.ok_or_else(Problem::not_found)?;
    let mut attachments = store::attachments(tx, storage.tenant, &[id]).await?;
    Ok((storage.generation, PlatformStorageView::new(storage, &mut attachments, storages)))
}

/// Lists the storages of all tenants, newest first unless `sort` says otherwise. For administrators.
#[utoipa::path(
    get, path = "/v1/platform-storages", operation_id = "list_platform_storages", tag = "platform",
    params(ListParams),
    responses((status = 200, description = "A page", body = CountedPage<PlatformStorageView>))
)]
async fn list_platform_storages(
    State(storages): State<Storages>,
    _admin: Admin,
    Query(params): Query<ListParams>,
) -> Result<Json<CountedPage<Item<PlatformStorageView>>>, Problem> {
    let sort = params.sort.unwrap_or_default();
    let request = PageParams { limit: params.limit, cursor: params.cursor }.sorted(sort)?;
    let fields = Fields::of::<PlatformStorageView>(params.fields.as_ref())?;
    let filter = Filter {
        tenant: params.tenant_id,
        states: params.state.as_deref().unwrap_or_default(),
        kind: params.kind,
        name: params.name.as_deref(),
    };
    let mut tx = storages.db.admin().await?;
    let found = list_store::page(&mut tx, &filter, sort, &request).await?;
    let total =
        if params.include.is_some() { Some(list_store::total(&mut tx, &filter).await?) } else { None };
    let ids: Vec<_> = found.items.iter().map(|storage| storage.id).collect();
    let mut attachments = store::attachments_of_all(&mut tx, &ids).await?;
    let views =
        found.map(|storage| fields.select(PlatformStorageView::new(storage, &mut attachments, &storages)));
    Ok(Json(CountedPage::new(views, total)))
}

/// Returns a storage of any tenant. For administrators.
#[utoipa::path(
    get, path = "/v1/platform-storages/{id}", operation_id = "get_platform_storage", tag = "platform",
    params(("id" = StorageId, Path, description = "Storage id")),
    responses((status = 200, description = "The storage", body = PlatformStorageView))
)]
async fn get_platform_storage(
    State(storages): State<Storages>,
    _admin: Admin,
    Path(id): Path<StorageId>,
) -> Result<(ETag, Json<PlatformStorageView>), Problem> {
    let mut tx = storages.db.admin().await?;
    let (generation, view) = find(&mut tx, &storages, id).await?;
    Ok((ETag(generation), Json(view)))
}

/// Deletes a storage of any tenant with its data. Refused while instances use it. The action is recorded. For
/// administrators.
#[utoipa::path(
    delete, path = "/v1/platform-storages/{id}", operation_id = "delete_platform_storage", tag = "platform",
    params(("id" = StorageId, Path, description = "Storage id"), Why, IdempotencyKey),
    responses((status = 202, description = "The storage, being deleted", body = PlatformStorageView)),
    extensions(("x-problems" = json!([ProblemType::StorageInUse])))
)]
async fn delete_platform_storage(
    State(storages): State<Storages>,
    Admin(principal): Admin,
    key: IdempotencyKey,
    Path(id): Path<StorageId>,
    Query(why): Query<Why>,
) -> Result<Reply, Problem> {
    why.check()?;
    key.once(storages.db.admin().await?, principal.user, &why, async |tx| {
        let tenant = store::find_any(tx, id).await?.ok_or_else(Problem::not_found)?.tenant;
        db::act_for(tx, tenant).await?;
        change::delete(tx, tenant, id).await?;
        let (target, action) = (id.to_string(), "delete_storage");
        NewAction { tenant, target, action, reason: &why.reason, user: principal.user }.insert(tx).await?;
        let (generation, view) = find(tx, &storages, id).await?;
        let location = format!("/v1/platform-storages/{id}");
        Ok(Reply::json(StatusCode::ACCEPTED, &view)?.etag(generation).location(location))
    })
    .await
}

/// Lists the actions of administrators on a storage, newest first. Also for deleted storages. For administrators.
#[utoipa::path(
    get, path = "/v1/platform-storages/{id}/actions", operation_id = "list_platform_storage_actions",
    tag = "platform",
    params(("id" = StorageId, Path, description = "Storage id"), PageParams),
    responses((status = 200, description = "A page of actions", body = Page<AdminAction>)),
)]
async fn list_platform_storage_actions(
    State(storages): State<Storages>,
    _admin: Admin,
    Path(id): Path<StorageId>,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<AdminAction>>, Problem> {
    let page = params.request()?;
    let mut tx = storages.db.admin().await?;
    let rows = audit::list(&mut tx, &id.to_string(), page.after, page.rows()).await?;
    Ok(Json(page.page(rows, |action| action.id)))
}
