//! The audit log: who did what, from where, with which result. One chain of entries per tenant, and one for the platform.
//!
//! Each service's schema has the tables and the functions (`migrations/*/*_audit.sql`). [`api::audit`] appends the
//! entries; nothing changes them.

use api::{Page, PageParams, Problem};
use ids::{ApiKeyId, SessionId, TenantId, UserId};
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use serde::{Deserialize, Serialize};
use sqlx::{PgConnection, types::Json};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// Chain of the platform.
const PLATFORM: Uuid = Uuid::nil();

/// Who did it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuditActor {
    /// A person, also by an API key or through a service.
    Person,
    /// A service on its own, or a program of the platform's operators.
    Service,
}

/// Which entries of a log are read.
#[derive(Debug, Default)]
pub struct AuditFilter {
    user_id: Option<UserId>,
    by: Option<AuditActor>,
    operation: Option<String>,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
}

macro_rules! queries {
    ($($(#[$doc:meta])+ $name:ident { $($(#[$field_doc:meta])+ $field:ident: $type:ty,)* })+) => { $(
        $(#[$doc])+
        #[derive(Debug, Deserialize, IntoParams)]
        #[serde(deny_unknown_fields)]
        #[into_params(parameter_in = Query)]
        pub struct $name {
            $($(#[$field_doc])+ pub $field: $type,)*
            /// Only entries of this user.
            user_id: Option<UserId>,
            /// Only entries of users, or only entries of services acting on their own.
            #[param(inline)]
            by: Option<AuditActor>,
            /// Only this method and path template, such as `POST /v1/instances`.
            operation: Option<String>,
            /// Only entries from this time on.
            from: Option<Timestamp>,
            /// Only entries before this time.
            to: Option<Timestamp>,
            /// Maximum number of items.
            #[param(minimum = 1, maximum = 200, default = 50)]
            limit: Option<u32>,
            /// `next_cursor` of the previous page.
            cursor: Option<String>,
        }

        impl $name {
            /// Returns what is read, and the page.
            #[must_use]
            pub fn into_parts(self) -> (AuditFilter, PageParams) {
                let Self { user_id, by, operation, from, to, limit, cursor, .. } = self;
                (AuditFilter { user_id, by, operation, from, to }, PageParams { limit, cursor })
            }
        }
    )+ };
}

queries! {
    /// Which entries of its log a tenant reads.
    AuditQuery {}
    /// The entries that an administrator reads: their tenant and filters.
    PlatformAuditQuery {
        /// Only entries of this tenant; entries of the platform if absent.
        tenant_id: Option<TenantId>,
    }
}

/// A write by a user, or by a service on its own.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditEntry {
    /// Position in the log: 1, 2, 3 and so on, without gaps.
    number: i64,
    /// Time.
    at: Timestamp,
    /// The user; null for a service acting on its own, and for a program of the platform's operators.
    user_id: Option<UserId>,
    /// The session of the user's token.
    session_id: Option<SessionId>,
    /// The API key that the user sent, or null.
    api_key_id: Option<ApiKeyId>,
    /// Whether it was done as a platform administrator.
    is_admin: bool,
    /// The service that sent the request, for the user or on its own; null if the gateway forwarded it. `atelier-admin`
    /// for the program of the platform's operators.
    service: Option<String>,
    /// Method and path template, or a program and its command.
    #[schema(example = "POST /v1/instances/{id}/stop")]
    operation: String,
    /// Path of the request.
    path: String,
    /// URL of what was created.
    created: Option<String>,
    /// Names of the fields that were sent.
    fields: Vec<String>,
    /// Status of the response.
    #[schema(minimum = 200, maximum = 299)]
    status: u16,
    /// Id of the request.
    request_id: Option<String>,
    /// Address of the client.
    address: Option<String>,
    /// User agent of the client; of a program, who ran it.
    user_agent: Option<String>,
    /// SHA-256 of the hash of the entry before, followed by this entry; in hexadecimal.
    hash: String,
}

/// The result of verifying the audit log.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditVerification {
    /// Chains: one per tenant with entries, and one for the platform.
    chains: i64,
    /// Entries.
    entries: i64,
    /// Entries that were changed, inserted or deleted, at most 100.
    pub broken: Vec<BrokenEntry>,
}

/// An entry that does not fit its chain.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct BrokenEntry {
    /// The tenant; null for the platform.
    pub tenant_id: Option<TenantId>,
    /// Position in the log.
    pub number: i64,
}

/// The text of an entry.
#[derive(Debug, Deserialize)]
struct Text {
    user_id: Option<UserId>,
    session_id: Option<SessionId>,
    #[serde(default)]
    api_key_id: Option<ApiKeyId>,
    is_admin: bool,
    #[serde(default)]
    service: Option<String>,
    operation: String,
    path: String,
    created: Option<String>,
    fields: Vec<String>,
    status: u16,
    request_id: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Origin {
    address: Option<String>,
    user_agent: Option<String>,
}

/// Returns a page of those of a tenant's entries that match, or of those of the platform, newest first.
///
/// # Errors
/// If the page is not valid, or the database fails.
pub async fn entries(
    conn: &mut PgConnection,
    tenant: Option<TenantId>,
    (filter, page): (AuditFilter, PageParams),
) -> Result<Page<AuditEntry>, Problem> {
    let request = page.request::<i64>()?;
    let rows = sqlx::query!(
        r#"select e.number, e.at, e.entry, encode(e.hash, 'hex') as "hash!", o.origin as "origin?: Json<Origin>"
           from audit_entries e left join audit_origins o using (tenant_id, number)
           where e.tenant_id = $1 and ($2::bigint is null or e.number < $2)
             and ($4::text is null or e.entry::jsonb ->> 'user_id' = $4)
             and ($5::boolean is null or (e.entry::jsonb ->> 'user_id' is null) = $5)
             and ($6::text is null or e.entry::jsonb ->> 'operation' = $6)
             and ($7::timestamptz is null or e.at >= $7)
             and ($8::timestamptz is null or e.at < $8 and e.number <= (
                 select n.number from audit_entries n where n.tenant_id = $1 and n.at < $8
                 order by n.at desc, n.number desc limit 1))
           order by e.number desc limit $3"#,
        tenant.map_or(PLATFORM, TenantId::uuid),
        request.after,
        request.rows(),
        filter.user_id.map(|user| user.to_string()),
        filter.by.map(|by| by == AuditActor::Service),
        filter.operation,
        filter.from.map(|from| from.to_sqlx()) as _,
        filter.to.map(|to| to.to_sqlx()) as _,
    )
    .fetch_all(conn)
    .await?;
    let entries = rows.into_iter().map(|row| {
        let text: Text = serde_json::from_str(&row.entry).map_err(Problem::internal)?;
        let origin = row.origin.map(|origin| origin.0).unwrap_or_default();
        Ok(AuditEntry {
            number: row.number,
            at: row.at.to_jiff(),
            user_id: text.user_id,
            session_id: text.session_id,
            api_key_id: text.api_key_id,
            is_admin: text.is_admin,
            service: text.service,
            operation: text.operation,
            path: text.path,
            created: text.created,
            fields: text.fields,
            status: text.status,
            request_id: text.request_id,
            address: origin.address,
            user_agent: origin.user_agent,
            hash: row.hash,
        })
    });
    let entries = entries.collect::<Result<Vec<_>, Problem>>()?;
    Ok(request.page(entries, |entry| entry.number))
}

/// Verifies all chains, in an administrator's transaction: the hash of each entry, that none is missing, and that the
/// remaining origins are the recorded ones.
///
/// # Errors
/// If the database fails.
pub async fn verify(conn: &mut PgConnection) -> sqlx::Result<AuditVerification> {
    let broken = sqlx::query!(
        r#"with checked as (
               select e.tenant_id, e.number,
                   e.number = coalesce(lag(e.number) over chain, c.deleted_to) + 1
                   and e.hash = sha256(coalesce(lag(e.hash) over chain, c.deleted_hash)
                                       || convert_to(e.entry, 'UTF8')) as is_chained,
                   e.at, e.entry, o.salt, o.origin
               from audit_entries e join audit_chains c on c.tenant_id = e.tenant_id
               left join audit_origins o on o.tenant_id = e.tenant_id and o.number = e.number
               window chain as (partition by e.tenant_id order by e.number)
           )
           select tenant_id as "tenant_id!", number as "number!" from checked
           where not case when is_chained then
               at = (entry::jsonb ->> 'at')::timestamptz and number = (entry::jsonb ->> 'number')::bigint
               and (salt is null
                    or entry::jsonb ->> 'origin' = encode(sha256(salt || convert_to(origin::text, 'UTF8')), 'hex'))
               else false end
           union
           select c.tenant_id, c.last from audit_chains c
           left join lateral (select e.number, e.hash from audit_entries e
                              where e.tenant_id = c.tenant_id order by e.number desc limit 1) e on true
           where c.last <> coalesce(e.number, c.deleted_to) or c.hash <> coalesce(e.hash, c.deleted_hash)
           union
           select e.tenant_id, e.number from audit_entries e
           where not exists(select from audit_chains c where c.tenant_id = e.tenant_id)
           order by 1, 2 limit 100"#,
    )
    .fetch_all(&mut *conn)
    .await?;
    let counts = sqlx::query!(
        r#"select (select count(*) from audit_chains) as "chains!", (select count(*) from audit_entries) as "entries!""#
    )
    .fetch_one(conn)
    .await?;
    let tenant = |id: Uuid| (id != PLATFORM).then(|| TenantId::from_uuid(id));
    let broken =
        broken.into_iter().map(|row| BrokenEntry { tenant_id: tenant(row.tenant_id), number: row.number });
    Ok(AuditVerification { chains: counts.chains, entries: counts.entries, broken: broken.collect() })
}

/// Returns how many of the newest `most` entries do not fit the entry before in their chain. The cost does
/// not depend on the number of entries; [`verify`] checks all of them. For an administrator's transaction.
pub(crate) async fn broken_of_newest(conn: &mut PgConnection, most: i64) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"select count(*) as "broken!" from (
               select e.number, e.hash, e.entry,
                   lag(e.number) over chain as previous, lag(e.hash) over chain as previous_hash
               from (select tenant_id, number, hash, entry from audit_entries order by at desc limit $1) e
               window chain as (partition by e.tenant_id order by e.number)) compared
           where previous is not null
             and (number <> previous + 1 or hash <> sha256(previous_hash || convert_to(entry, 'UTF8')))"#,
        most
    )
    .fetch_one(conn)
    .await
}

/// Deletes up to `most` entries that are older than `days`, by the clock of the database. For workers.
pub(crate) async fn delete_old(conn: &mut PgConnection, days: i32, most: i32) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"select audit_delete(now() - make_interval(days => $1), $2) as "deleted!""#,
        days,
        most
    )
    .fetch_one(conn)
    .await
}
