//! `/v1/storage-quota` of the tenant, `/v1/platform-storage-quotas` for administrators.

use api::{
    ETag, IdempotencyKey, IfMatch, IfSet, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use audit::{NewAction, Why};
use auth::{Admin, HasAuth, Member};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use db::Db;
use ids::TenantId;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    model::{EffectiveLimits, Limits, Usage},
    store::{self, Quota},
};
use crate::config::LimitsConfig;

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
    LimitsConfig: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(get_storage_quota))
        .routes(routes!(list_platform_storage_quotas))
        .routes(routes!(
            get_platform_storage_quota,
            put_platform_storage_quota,
            delete_platform_storage_quota
        ))
}

/// The limits of a tenant, and its current usage.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StorageQuota)]
pub(crate) struct QuotaView {
    /// The limits.
    limits: EffectiveLimits,
    /// Current usage.
    used: Usage,
}

/// The limits of a tenant.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PlatformStorageQuota)]
pub(crate) struct PlatformQuotaView {
    /// The tenant.
    tenant_id: TenantId,
    /// Its limits.
    limits: Limits,
}

impl From<Quota> for PlatformQuotaView {
    fn from(quota: Quota) -> Self {
        Self { tenant_id: quota.tenant, limits: quota.limits }
    }
}

/// Returns the limits of the tenant and its current usage.
#[utoipa::path(
    get, path = "/v1/storage-quota", operation_id = "get_storage_quota", tag = "storages",
    responses((status = 200, description = "The quota", body = QuotaView)),
)]
async fn get_storage_quota(
    State(db): State<Db>,
    State(defaults): State<LimitsConfig>,
    member: Member,
) -> Result<Json<QuotaView>, Problem> {
    let mut tx = db.tenant(member.tenant).await?;
    let limits = store::find(&mut tx, member.tenant).await?.map(|quota| quota.limits).unwrap_or_default();
    let used = store::usage(&mut tx, member.tenant).await?;
    Ok(Json(QuotaView { limits: limits.effective(&defaults), used }))
}

/// Lists the tenants that have limits of their own, by id. For administrators.
#[utoipa::path(
    get, path = "/v1/platform-storage-quotas", operation_id = "list_platform_storage_quotas", tag = "platform",
    params(PageParams),
    responses((status = 200, description = "A page of quotas", body = Page<PlatformQuotaView>)),
)]
async fn list_platform_storage_quotas(
    State(db): State<Db>,
    _admin: Admin,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<PlatformQuotaView>>, Problem> {
    let request = params.request()?;
    let mut tx = db.admin().await?;
    let rows = store::list(&mut tx, request.after, request.rows()).await?;
    Ok(Json(request.page(rows, |quota| quota.tenant).map(PlatformQuotaView::from)))
}

/// Returns the limits that a tenant has of its own. For administrators.
#[utoipa::path(
    get, path = "/v1/platform-storage-quotas/{tenant_id}", operation_id = "get_platform_storage_quota",
    tag = "platform",
    params(("tenant_id" = TenantId, Path, description = "Tenant id")),
    responses(
        (status = 200, description = "The limits", body = PlatformQuotaView),
        (status = 204, description = "The tenant has none of its own")
    ),
)]
async fn get_platform_storage_quota(
    State(db): State<Db>,
    _admin: Admin,
    Path(tenant): Path<TenantId>,
) -> Result<IfSet<(ETag, Json<PlatformQuotaView>)>, Problem> {
    let mut tx = db.admin().await?;
    let view = |quota: Quota| (ETag(quota.generation), Json(PlatformQuotaView::from(quota)));
    Ok(IfSet(store::find(&mut tx, tenant).await?.map(view)))
}

/// Sets the limits of a tenant; send `If-Match: *` for a tenant without limits of its own. Existing storages stay. The
/// action is recorded. For administrators.
#[utoipa::path(
    put, path = "/v1/platform-storage-quotas/{tenant_id}", operation_id = "put_platform_storage_quota",
    tag = "platform",
    params(("tenant_id" = TenantId, Path, description = "Tenant id"), Why, IdempotencyKey, IfMatch),
    request_body = Limits,
    responses((status = 200, description = "The limits", body = PlatformQuotaView)),
    extensions(("x-problems" = json!([ProblemType::InvalidField]))),
)]
async fn put_platform_storage_quota(
    State(db): State<Db>,
    admin: Admin,
    key: IdempotencyKey,
    if_match: IfMatch,
    Path(tenant): Path<TenantId>,
    Query(why): Query<Why>,
    Json(limits): Json<Limits>,
) -> Result<Reply, Problem> {
    why.check()?;
    let mut checks = api::Checks::default();
    limits.check(&mut checks);
    checks.finish()?;
    key.once(db.admin().await?, admin.0.user, &(&why, &limits), async |tx| {
        // before the row: a request that has read the old limits ends first
        store::lock_usage(tx, tenant).await?;
        if let Some(quota) = store::find(tx, tenant).await? {
            if_match.check(quota.generation)?;
        }
        let generation = store::put(tx, tenant, limits).await?;
        NewAction::on_tenant(tenant, "put_storage_quota", &why, admin.0.user).insert(tx).await?;
        Ok(Reply::json(StatusCode::OK, &PlatformQuotaView { tenant_id: tenant, limits })?.etag(generation))
    })
    .await
}

/// Removes the limits that a tenant has of its own. The action is recorded. For administrators.
#[utoipa::path(
    delete, path = "/v1/platform-storage-quotas/{tenant_id}", operation_id = "delete_platform_storage_quota",
    tag = "platform",
    params(("tenant_id" = TenantId, Path, description = "Tenant id"), Why, IdempotencyKey),
    responses((status = 204, description = "Deleted")),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn delete_platform_storage_quota(
    State(db): State<Db>,
    admin: Admin,
    key: IdempotencyKey,
    Path(tenant): Path<TenantId>,
    Query(why): Query<Why>,
) -> Result<Reply, Problem> {
    why.check()?;
    key.once(db.admin().await?, admin.0.user, &why, async |tx| {
        if !store::delete(tx, tenant).await? {
            return Err(Problem::not_found());
        }
        NewAction::on_tenant(tenant, "delete_storage_quota", &why, admin.0.user).insert(tx).await?;
        Ok(Reply::no_content())
    })
    .await
}
