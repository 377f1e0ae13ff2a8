//! Storages over HTTP.

use api::{ETag, IdempotencyKey, IfMatch, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply};
use auth::Member;
use axum::{extract::State, http::StatusCode};
use ids::{StorageId, TenantId};
use serde::Deserialize;
use sqlx::{PgConnection, error::ErrorKind};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    model::{
        BucketAddress, NewStorage, Phase, Storage, StorageChange, StorageSpecRef, StorageState, StorageView,
        check_name, in_use,
    },
    store::{self, Narrow, Order},
};
use crate::{
    app::App,
    attachment,
    operation::{self, Kind as OperationKind},
    storage_spec::{self, Kind},
};

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_storages, create_storage)).routes(routes!(
        get_storage,
        update_storage,
        delete_storage
    ))
}

/// The storages as callers see them.
async fn views(
    app: &App,
    tx: &mut PgConnection,
    tenant: TenantId,
    storages: Vec<Storage>,
) -> Result<Vec<StorageView>, Problem> {
    let ids: Vec<_> = storages.iter().map(|storage| storage.id).collect();
    let mut held = attachment::of_storages(tx, tenant, &ids).await?;
    let mut view = |storage: Storage| {
        let (mine, others) = std::mem::take(&mut held).into_iter().partition(|(id, _)| *id == storage.id);
        held = others;
        let mine: Vec<_> = mine;
        let bucket = app.object_store.as_ref().filter(|_| storage.kind == Kind::Bucket);
        StorageView {
            bucket: bucket.map(|store| BucketAddress {
                name: storage.object_name(),
                endpoint: store.config.public().to_owned(),
                region: store.config.region.clone(),
            }),
            id: storage.id,
            name: storage.name,
            kind: storage.kind,
            storage_spec: StorageSpecRef { id: storage.spec_id, name: storage.spec_name },
            size_gib: storage.size_gib,
            capacity_gib: storage.capacity_gib,
            state: storage.phase.state(),
            reason: storage.phase.why().map(|why| why.reason.clone()),
            message: storage.phase.why().map(|why| why.message.clone()),
            datacenter: storage.datacenter,
            attachments: mine.into_iter().map(|(_, attachment)| attachment).collect(),
            operation_id: storage.operation_id,
            price_per_gib_month: storage.price_per_gib_month,
            currency: storage.currency,
            created_at: storage.created_at,
            updated_at: storage.updated_at,
        }
    };
    Ok(storages.into_iter().map(&mut view).collect())
}

/// The answer that shows a storage as it is in this transaction.
async fn reply(
    app: &App,
    tx: &mut PgConnection,
    tenant: TenantId,
    id: StorageId,
    status: StatusCode,
) -> Result<Reply, Problem> {
    let storage = store::find(tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
    let (generation, operation) = (storage.generation, storage.operation_id);
    let view = views(app, tx, tenant, vec![storage]).await?;
    let reply = Reply::json(status, &view.first())?.etag(generation);
    Ok(match status {
        StatusCode::ACCEPTED => reply.location(format!("/v1/storage-operations/{operation}")),
        _ => reply,
    })
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Filter {
    /// How many at most, 1 to 200 (default 50).
    limit: Option<u32>,
    /// Where the page before ended.
    cursor: Option<String>,
    /// Only those in this state.
    #[param(inline)]
    state: Option<StorageState>,
    /// Only those of this kind.
    #[param(inline)]
    kind: Option<Kind>,
}

/// The tenant's storages, newest first.
#[utoipa::path(
    get, path = "/v1/storages", operation_id = "list_storages", tag = "storages", params(Filter),
    responses(
        (status = 200, description = "A page", body = Page<StorageView>),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn list_storages(
    State(app): State<App>,
    member: Member,
    Query(filter): Query<Filter>,
) -> Result<Json<Page<StorageView>>, Problem> {
    let asked = PageParams { limit: filter.limit, cursor: filter.cursor }.request()?;
    let narrow = Narrow { state: filter.state, kind: filter.kind };
    let mut tx = app.db.tenant(member.tenant).await?;
    let rows = store::list(&mut tx, member.tenant, asked.after, narrow, asked.rows()).await?;
    let page = asked.page(rows, |storage| storage.id);
    let items = views(&app, &mut tx, member.tenant, page.items).await?;
    Ok(Json(Page { items, next_cursor: page.next_cursor }))
}

fn name_taken() -> Problem {
    Problem::new(ProblemType::NameTaken, "Another storage of the tenant has this name.")
}

/// Orders a storage. It is available when its operation has succeeded.
#[utoipa::path(
    post, path = "/v1/storages", operation_id = "create_storage", tag = "storages",
    params(("Idempotency-Key" = String, Header, description = "New for each write")),
    request_body = NewStorage,
    responses(
        (status = 202, description = "The storage as ordered; `Location` is the operation", body = StorageView),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn create_storage(
    State(app): State<App>,
    member: Member,
    key: IdempotencyKey,
    Json(new): Json<NewStorage>,
) -> Result<Reply, Problem> {
    member.writer()?;
    check_name(&new.name)?;
    let tenant = member.tenant;
    key.once(app.db.tenant(tenant).await?, tenant, &new, async |tx| {
        let spec = storage_spec::find_for_use(tx, &new.storage_spec).await?.ok_or_else(|| {
            Problem::invalid_field("/storage_spec", "there is no storage specification of this name or id")
        })?;
        let size_gib = new.size(&spec)?;
        let place = place(&app, spec.kind, new.datacenter.as_deref())?;
        let id = StorageId::new();
        let operation = operation::begin(tx, tenant, id, OperationKind::Create).await?;
        let order = Order { id, tenant, name: &new.name, spec: &spec, size_gib, place, operation };
        if !store::insert(tx, &order).await? {
            return Err(name_taken());
        }
        reply(&app, tx, tenant, id, StatusCode::ACCEPTED).await
    })
    .await
}

/// Datacenter and cluster for a volume, none for a bucket.
fn place(app: &App, kind: Kind, datacenter: Option<&str>) -> Result<Option<(String, String)>, Problem> {
    match kind {
        Kind::Volume => app.config.cluster_of(datacenter).map(Some).ok_or_else(|| {
            let detail = match datacenter {
                Some(_) => "volumes cannot be made there",
                None => "say where: volumes can be made in more than one place, or in none",
            };
            Problem::invalid_field("/datacenter", detail)
        }),
        Kind::Bucket if datacenter.is_some() => {
            Err(Problem::invalid_field("/datacenter", "is for volumes; buckets are not in a datacenter"))
        }
        Kind::Bucket if app.object_store.is_none() => Err(Problem::new(
            ProblemType::NoObjectStore,
            "This platform is configured without one, so buckets cannot be made.",
        )),
        Kind::Bucket => Ok(None),
    }
}

/// A storage.
#[utoipa::path(
    get, path = "/v1/storages/{id}", operation_id = "get_storage", tag = "storages",
    params(("id" = StorageId, Path, description = "The storage")),
    responses(
        (status = 200, description = "The storage", body = StorageView),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn get_storage(
    State(app): State<App>,
    member: Member,
    Path(id): Path<StorageId>,
) -> Result<(ETag, Json<StorageView>), Problem> {
    let mut tx = app.db.tenant(member.tenant).await?;
    let storage = store::find(&mut tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
    let etag = ETag(storage.generation);
    let view = views(&app, &mut tx, member.tenant, vec![storage]).await?.pop();
    view.map(|view| (etag, Json(view))).ok_or_else(Problem::not_found)
}

/// Renames a storage (200), or orders it to grow (202).
#[utoipa::path(
    patch, path = "/v1/storages/{id}", operation_id = "update_storage", tag = "storages",
    params(
        ("id" = StorageId, Path, description = "The storage"),
        ("If-Match" = String, Header, description = "ETag of the version the change is meant for"),
        ("Idempotency-Key" = String, Header, description = "New for each write"),
    ),
    request_body = StorageChange,
    responses(
        (status = 200, description = "The storage as it is now", body = StorageView),
        (status = 202, description = "The storage, growing; `Location` is the operation", body = StorageView),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn update_storage(
    State(app): State<App>,
    member: Member,
    Path(id): Path<StorageId>,
    key: IdempotencyKey,
    if_match: IfMatch,
    Json(change): Json<StorageChange>,
) -> Result<Reply, Problem> {
    member.writer()?;
    if let Some(name) = &change.name {
        check_name(name)?;
    }
    let tenant = member.tenant;
    key.once(app.db.tenant(tenant).await?, tenant, &change, async |tx| {
        let storage = store::lock(tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
        if_match.check(storage.generation)?;
        if let Phase::Deleting(_) = storage.phase {
            return Err(deleting());
        }
        if let Some(name) = &change.name {
            let renamed = store::rename(tx, id, name).await;
            renamed.map_err(Problem::violated(ErrorKind::UniqueViolation, name_taken))?;
        }
        let mut status = StatusCode::OK;
        if let Some(size) = change.size_gib
            && size != storage.size_gib
        {
            let spec = storage_spec::find(tx, storage.spec_id).await?.ok_or_else(Problem::not_found)?;
            storage.check_growth(size, &spec)?;
            operation::cancel_open(tx, id).await?;
            let operation = operation::begin(tx, tenant, id, OperationKind::Resize).await?;
            store::resize(tx, id, size, operation).await?;
            status = StatusCode::ACCEPTED;
        }
        reply(&app, tx, tenant, id, status).await
    })
    .await
}

fn deleting() -> Problem {
    Problem::new(ProblemType::StorageDeleting, "It cannot be changed any more.")
}

/// Orders a storage to be removed with all that is in it. Refused while instances use it.
#[utoipa::path(
    delete, path = "/v1/storages/{id}", operation_id = "delete_storage", tag = "storages",
    params(
        ("id" = StorageId, Path, description = "The storage"),
        ("Idempotency-Key" = String, Header, description = "New for each write"),
    ),
    responses(
        (status = 202, description = "The storage, being deleted; `Location` is the operation", body = StorageView),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn delete_storage(
    State(app): State<App>,
    member: Member,
    Path(id): Path<StorageId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    member.writer()?;
    let tenant = member.tenant;
    key.once(app.db.tenant(tenant).await?, tenant, &(), async |tx| {
        let storage = store::lock(tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
        // a second order changes nothing: the first is being carried out
        if !matches!(storage.phase, Phase::Deleting(_)) {
            let holders = store::holders(tx, tenant, id).await?;
            if !holders.is_empty() {
                return Err(in_use(&holders));
            }
            operation::cancel_open(tx, id).await?;
            let operation = operation::begin(tx, tenant, id, OperationKind::Delete).await?;
            store::delete(tx, id, operation).await?;
        }
        reply(&app, tx, tenant, id, StatusCode::ACCEPTED).await
    })
    .await
}
