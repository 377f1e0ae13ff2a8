//! The audit log of this service: `/v1/platform-stock-audit`.

use api::{Json, Page, Problem, Query};
use audit::{AuditEntry, AuditVerification, PlatformAuditQuery};
use auth::Admin;
use axum::extract::State;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::AppState;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_platform_stock_audit_entries))
        .routes(routes!(get_platform_stock_audit_verification))
}

/// Lists who changed the stock and its catalogue of a tenant, or of the platform, newest first. For administrators.
#[utoipa::path(
    get, path = "/v1/platform-stock-audit", operation_id = "list_platform_stock_audit_entries", tag = "audit", params(PlatformAuditQuery),
    responses((status = 200, description = "A page of entries", body = Page<AuditEntry>)),
)]
async fn list_platform_stock_audit_entries(
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
    get, path = "/v1/platform-stock-audit/verification", operation_id = "get_platform_stock_audit_verification", tag = "audit",
    responses((status = 200, description = "The result", body = AuditVerification)),
)]
async fn get_platform_stock_audit_verification(
    State(state): State<AppState>,
    _admin: Admin,
) -> Result<Json<AuditVerification>, Problem> {
    let mut tx = state.db.admin().await?;
    Ok(Json(audit::verify(&mut tx).await?))
}
