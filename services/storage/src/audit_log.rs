//! The audit log of this service: `/v1/storage-audit` and `/v1/platform-storage-audit`.

use api::{Json, Page, PageParams, Problem, Query};
use audit::{AuditEntry, AuditVerification, PlatformAuditQuery};
use auth::{Admin, Member};
use axum::extract::State;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::state::AppState;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_storage_audit_entries))
        .routes(routes!(list_platform_storage_audit_entries))
        .routes(routes!(get_platform_storage_audit_verification))
}

/// Lists who changed storages and credentials of the tenant, newest first. For owners.
#[utoipa::path(
    get, path = "/v1/storage-audit", operation_id = "list_storage_audit_entries", tag = "audit", params(PageParams),
    responses((status = 200, description = "A page of entries", body = Page<AuditEntry>)),
)]
async fn list_storage_audit_entries(
    State(state): State<AppState>,
    member: Member,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<AuditEntry>>, Problem> {
    member.owner()?;
    let mut tx = state.db.tenant(member.tenant).await?;
    Ok(Json(audit::entries(&mut tx, Some(member.tenant), &page).await?))
}

/// Lists who changed storages and credentials of a tenant, or of the platform, newest first. For administrators.
#[utoipa::path(
    get, path = "/v1/platform-storage-audit", operation_id = "list_platform_storage_audit_entries", tag = "audit", params(PlatformAuditQuery),
    responses((status = 200, description = "A page of entries", body = Page<AuditEntry>)),
)]
async fn list_platform_storage_audit_entries(
    State(state): State<AppState>,
    _admin: Admin,
    Query(query): Query<PlatformAuditQuery>,
) -> Result<Json<Page<AuditEntry>>, Problem> {
    let mut tx = state.db.admin().await?;
    Ok(Json(audit::entries(&mut tx, query.tenant_id, &query.page()).await?))
}

/// Verifies the hash chains of the audit log: reads all entries, and returns those that were changed. For
/// administrators.
#[utoipa::path(
    get, path = "/v1/platform-storage-audit/verification", operation_id = "get_platform_storage_audit_verification", tag = "audit",
    responses((status = 200, description = "The result", body = AuditVerification)),
)]
async fn get_platform_storage_audit_verification(
    State(state): State<AppState>,
    _admin: Admin,
) -> Result<Json<AuditVerification>, Problem> {
    let mut tx = state.db.admin().await?;
    Ok(Json(audit::verify(&mut tx).await?))
}
