//! Operations: the records of long-running actions, in a table that each service's schema has.
//!
//! ```sql
//! create table operations (
//!     id          uuid        primary key,
//!     tenant_id   uuid,                               -- null: an operation of the platform
//!     target      text        not null,               -- id of the object that it acts on
//!     kind        text        not null,
//!     state       text        not null,               -- api::OperationState
//!     progress    jsonb       not null default '{}',
//!     problem     jsonb,
//!     created_at  timestamptz not null default now(),
//!     updated_at  timestamptz not null default now(),
//!     finished_at timestamptz,
//!     traceparent text                                -- only where a reconciler continues the trace of the request
//! );
//! create index operations_of_tenant on operations (tenant_id, id desc);
//! create index operations_of_target on operations (target, id desc);
//! create index operations_finished on operations (finished_at) where finished_at is not null;
//! ```
//!
//! An operation outlives its target. One that has finished does not change. The service decides what an
//! operation does and when it has finished.

mod store;

use std::fmt::Display;

use api::{Operation, OperationProgress, problem::ProblemDetails};
use ids::{OperationId, TenantId};
use sqlx::PgConnection;

pub use store::{Requests, cancel_open, find, finish, list, prune, record_trace, report, requests};

/// An operation to record.
#[derive(Debug, Clone)]
pub struct NewOperation<'a> {
    /// Operation id.
    pub id: OperationId,
    /// Owner; none for an operation of the platform.
    pub tenant: Option<TenantId>,
    /// Id of the object that it acts on.
    pub target: String,
    /// Kind, for example `start_instance`.
    pub kind: &'a str,
    /// First progress.
    pub progress: OperationProgress,
}

impl<'a> NewOperation<'a> {
    /// A new operation of `kind` on `target`, without progress.
    #[must_use]
    pub fn new(tenant: Option<TenantId>, target: impl Display, kind: &'a str) -> Self {
        let progress = OperationProgress::default();
        Self { id: OperationId::new(), tenant, target: target.to_string(), kind, progress }
    }

    /// Records it as pending.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn insert(&self, conn: &mut PgConnection) -> sqlx::Result<Operation> {
        store::insert(conn, self).await
    }
}

/// How an operation ends.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// As requested.
    Succeeded,
    /// With a problem.
    Failed(Box<ProblemDetails>),
    /// Superseded by a later operation on the same target.
    Cancelled,
}

/// Which operations a list shows.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only of this tenant; none for the operations of the platform.
    pub tenant: Option<TenantId>,
    /// Only on this object.
    pub target: Option<String>,
}
