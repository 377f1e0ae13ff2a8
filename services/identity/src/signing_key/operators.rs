//! Functions of the operators' program for signing keys. It generates no keys: the task of any replica
//! carries out its request, as for the API.

use api::audit;
use axum::http::StatusCode;
use ids::SigningKeyId;
use jiff::Timestamp;
use sqlx::{Connection, PgConnection};

use super::store;
use crate::OPERATORS_PROGRAM;

/// When a signing key begins to sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SigningKeyStart {
    /// `kid` of the tokens that it signs.
    pub id: SigningKeyId,
    /// When it began, or begins, to sign. It signs until the next one begins.
    pub active_from: Timestamp,
}

/// Returns the keys that are published, in the order in which they sign. For an administrator of the
/// database, with this service's schema as the search path.
///
/// # Errors
/// If the database fails.
pub async fn signing_keys(conn: &mut PgConnection) -> sqlx::Result<Vec<SigningKeyStart>> {
    let keys = store::public(conn).await?.into_iter();
    Ok(keys.map(|key| SigningKeyStart { id: key.id, active_from: key.active_from }).collect())
}

/// Requests the next signing key, and records it in the platform's audit log; `by` is the person who runs the
/// program. None while the next one is requested or published already. For an administrator of the database,
/// with this service's schema as the search path.
///
/// # Errors
/// If the database fails.
pub async fn request_signing_key(
    conn: &mut PgConnection,
    by: &str,
    now: Timestamp,
) -> sqlx::Result<Option<SigningKeyId>> {
    let mut tx = conn.begin().await?;
    store::lock(&mut tx).await?;
    let is_published = store::public(&mut tx).await?.last().is_some_and(|newest| newest.active_from > now);
    if is_published || store::requested(&mut tx).await?.is_some() {
        return Ok(None);
    }
    let requested = store::request(&mut tx, SigningKeyId::new()).await?;
    audit::Request::of_program(
        OPERATORS_PROGRAM,
        "rotate-keys",
        format!("/v1/signing-keys/{}", requested.id),
        Some(by),
    )
    .record(&mut tx, StatusCode::ACCEPTED, None, &())
    .await?;
    tx.commit().await?;
    Ok(Some(requested.id))
}
