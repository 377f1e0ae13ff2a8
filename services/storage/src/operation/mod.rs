//! Operations: the records of long-running actions on storages. They outlive their storage.

mod http;

use ids::{OperationId, StorageId, TenantId};
use operations::NewOperation;
use sqlx::PgConnection;

pub(crate) use http::routes;

/// A long-running action on a storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Create it.
    Create,
    /// Make it grow.
    Resize,
    /// Delete it with its data.
    Delete,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create_storage",
            Self::Resize => "resize_storage",
            Self::Delete => "delete_storage",
        }
    }
}

/// Records an operation on a storage and returns its id.
pub(crate) async fn start(
    conn: &mut PgConnection,
    tenant: TenantId,
    storage: StorageId,
    kind: Kind,
) -> sqlx::Result<OperationId> {
    let operation = NewOperation::new(Some(tenant), storage, kind.as_str());
    let operation = operation.insert(&mut *conn).await?;
    operations::record_trace(conn, operation.id).await?;
    Ok(operation.id)
}

/// Like [`start`], and cancels the open operations on the storage.
pub(crate) async fn supersede(
    conn: &mut PgConnection,
    tenant: TenantId,
    storage: StorageId,
    kind: Kind,
) -> sqlx::Result<OperationId> {
    operations::cancel_open(conn, &storage.to_string()).await?;
    start(conn, tenant, storage, kind).await
}
