//! Storages over HTTP.

use api::{
    CountedPage, ETag, Fields, IdempotencyKey, IfMatch, Include, Json, PageParams, Path, Problem,
    ProblemType, Query, Reply, Several, list::Item, openapi::OpenApiRouter, text,
};
use auth::{HasAuth, Member};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use ids::{StorageId, TenantId};
use serde::Deserialize;
use sqlx::PgConnection;
use storage_api::{NewStorage, StorageKind, StorageState};
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::{
    Storages,
    change::{self, Changed},
    list::{Filter, StorageSort},
    list_store,
    model::Storage,
    store,
    view::{StorageChange, StorageView},
};

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Storages: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_storages, create_storage)).routes(routes!(
        get_storage,
        update_storage,
        delete_storage
    ))
}

async fn view(tx: &mut PgConnection, storages: &Storages, storage: Storage) -> sqlx::Result<StorageView> {
    let mut attachments = store::attachments(tx, storage.tenant, &[storage.id]).await?;
    Ok(StorageView::new(storage, &mut attachments, storages.objects()))
}

/// The storage as it is in this transaction.
async fn reply(
    tx: &mut PgConnection,
    storages: &Storages,
    tenant: TenantId,
    id: StorageId,
    status: StatusCode,
) -> Result<Reply, Problem> {
    let storage = store::find(tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
    let (generation, operation) = (storage.generation, storage.operation_id);
    let reply = Reply::json(status, &view(tx, storages, storage).await?)?.etag(generation);
    Ok(match status {
        StatusCode::ACCEPTED => reply.location(format!("/v1/storage-operations/{operation}")),
        _ => reply,
    })
}

/// Filters and page of the list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListParams {
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

/// Lists the storages of the tenant, newest first unless `sort` says otherwise.
#[utoipa::path(
    get, path = "/v1/storages", operation_id = "list_storages", tag = "storages", params(ListParams),
    responses((status = 200, description = "A page", body = CountedPage<StorageView>))
)]
async fn list_storages(
    State(storages): State<Storages>,
    member: Member,
    Query(params): Query<ListParams>,
) -> Result<Json<CountedPage<Item<StorageView>>>, Problem> {
    let sort = params.sort.unwrap_or_default();
    let request = PageParams { limit: params.limit, cursor: params.cursor }.sorted(sort)?;
    let fields = Fields::of::<StorageView>(params.fields.as_ref())?;
    let filter = Filter {
        tenant: Some(member.tenant),
        states: params.state.as_deref().unwrap_or_default(),
        kind: params.kind,
        name: params.name.as_deref(),
    };
    let mut tx = storages.db.tenant(member.tenant).await?;
    let found = list_store::page(&mut tx, &filter, sort, &request).await?;
    let total =
        if params.include.is_some() { Some(list_store::total(&mut tx, &filter).await?) } else { None };
    let ids: Vec<_> = found.items.iter().map(|storage| storage.id).collect();
    let mut attachments = store::attachments(&mut tx, member.tenant, &ids).await?;
    let views =
        found.map(|storage| fields.select(StorageView::new(storage, &mut attachments, storages.objects())));
    Ok(Json(CountedPage::new(views, total)))
}

/// Creates a storage. It is available when its operation has succeeded.
#[utoipa::path(
    post, path = "/v1/storages", operation_id = "create_storage", tag = "storages",
    params(IdempotencyKey),
    request_body = NewStorage,
    responses(
        (status = 202, description = "The new storage; `Location` is the operation", body = StorageView),
    ),
    extensions(("x-problems" = json!([
        ProblemType::NameTaken,
        ProblemType::StorageSpecRetired,
        ProblemType::NoObjectStore,
        ProblemType::QuotaExceeded,
        ProblemType::BudgetExhausted,
        ProblemType::AllowanceExpired,
    ])))
)]
async fn create_storage(
    State(storages): State<Storages>,
    member: Member,
    key: IdempotencyKey,
    Json(new): Json<NewStorage>,
) -> Result<Reply, Problem> {
    member.writer()?;
    let tenant = member.tenant;
    let budget = storages.budgets.check(tenant).await;
    key.once(storages.db.tenant(tenant).await?, tenant, &new, async |tx| {
        budget?;
        let id = change::create(tx, &storages.config, tenant, &new).await?;
        reply(tx, &storages, tenant, id, StatusCode::ACCEPTED).await
    })
    .await
}

/// Returns a storage.
#[utoipa::path(
    get, path = "/v1/storages/{id}", operation_id = "get_storage", tag = "storages",
    params(("id" = StorageId, Path, description = "Storage id")),
    responses((status = 200, description = "The storage", body = StorageView))
)]
async fn get_storage(
    State(storages): State<Storages>,
    member: Member,
    Path(id): Path<StorageId>,
) -> Result<(ETag, Json<StorageView>), Problem> {
    let mut tx = storages.db.tenant(member.tenant).await?;
    let storage = store::find(&mut tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
    Ok((ETag(storage.generation), Json(view(&mut tx, &storages, storage).await?)))
}

/// Renames a storage (200), or enlarges it (202).
#[utoipa::path(
    patch, path = "/v1/storages/{id}", operation_id = "update_storage", tag = "storages",
    params(
        ("id" = StorageId, Path, description = "Storage id"),
        IfMatch,
        IdempotencyKey,
    ),
    request_body = StorageChange,
    responses(
        (status = 200, description = "The changed storage", body = StorageView),
        (status = 202, description = "The storage, being enlarged; `Location` is the operation", body = StorageView),
    ),
    extensions(("x-problems" = json!([
        ProblemType::NameTaken,
        ProblemType::StorageNotAvailable,
        ProblemType::StorageDeleting,
        ProblemType::QuotaExceeded,
        ProblemType::BudgetExhausted,
        ProblemType::AllowanceExpired,
    ])))
)]
async fn update_storage(
    State(storages): State<Storages>,
    member: Member,
    Path(id): Path<StorageId>,
    key: IdempotencyKey,
    if_match: IfMatch,
    Json(change): Json<StorageChange>,
) -> Result<Reply, Problem> {
    member.writer()?;
    let tenant = member.tenant;
    let budget = match change.size_gib {
        Some(_) => storages.budgets.check(tenant).await,
        None => Ok(()),
    };
    key.once(storages.db.tenant(tenant).await?, tenant, &change, async |tx| {
        let storage = store::lock(tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
        if_match.check(storage.generation)?;
        if change.size_gib.is_some_and(|size_gib| size_gib > storage.size_gib) {
            budget?;
        }
        let status = match change::update(tx, &storages.config, &storage, &change).await? {
            Changed::Done => StatusCode::OK,
            Changed::Started => StatusCode::ACCEPTED,
        };
        reply(tx, &storages, tenant, id, status).await
    })
    .await
}

/// Deletes a storage with its data. Refused while instances use it.
#[utoipa::path(
    delete, path = "/v1/storages/{id}", operation_id = "delete_storage", tag = "storages",
    params(("id" = StorageId, Path, description = "Storage id"), IdempotencyKey),
    responses(
        (status = 202, description = "The storage, being deleted; `Location` is the operation", body = StorageView),
    ),
    extensions(("x-problems" = json!([ProblemType::StorageInUse])))
)]
async fn delete_storage(
    State(storages): State<Storages>,
    member: Member,
    Path(id): Path<StorageId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    member.writer()?;
    let tenant = member.tenant;
    key.once(storages.db.tenant(tenant).await?, tenant, &(), async |tx| {
        change::delete(tx, tenant, id).await?;
        reply(tx, &storages, tenant, id, StatusCode::ACCEPTED).await
    })
    .await
}
