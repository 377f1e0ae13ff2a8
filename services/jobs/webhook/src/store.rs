//! The table of webhooks.

use std::time::Duration;

use auth::{EndedMaker, Principal};
use encryption::{Cipher, Encrypted};
use ids::{ApiKeyId, TenantId, UserId, WebhookId};
use jiff::Timestamp;
use jobs_core::event::EventType;
use sqlx::PgConnection;

use super::model::{Webhook, WebhookProblem};

struct Row {
    id: WebhookId,
    url: String,
    events: Vec<EventType>,
    enabled: bool,
    problem: Option<WebhookProblem>,
    previous_until: Option<jiff_sqlx::Timestamp>,
    failing_since: Option<jiff_sqlx::Timestamp>,
    last_success_at: Option<jiff_sqlx::Timestamp>,
    created_by: Option<UserId>,
    created_by_key: Option<ApiKeyId>,
    generation: i64,
    created_at: Timestamp,
}

impl From<Row> for Webhook {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            url: row.url,
            events: row.events,
            enabled: row.enabled,
            problem: row.problem,
            previous_secret_until: row.previous_until.map(jiff_sqlx::Timestamp::to_jiff),
            failing_since: row.failing_since.map(jiff_sqlx::Timestamp::to_jiff),
            last_success_at: row.last_success_at.map(jiff_sqlx::Timestamp::to_jiff),
            created_by: row.created_by,
            created_by_key: row.created_by_key,
            generation: row.generation,
            created_at: row.created_at,
        }
    }
}

/// Selects webhooks. A macro, as the text of a checked query is a literal.
macro_rules! select_webhooks {
    ($rest:literal, $($arguments:tt)*) => {
        sqlx::query_as!(
            Row,
            r#"select id, url, events as "events: Vec<EventType>", enabled,
                      case when maker_ended and not enabled then 'maker_ended' else problem end as "problem: WebhookProblem",
                      case when previous_until > now() then previous_until end as previous_until, failing_since,
                      last_success_at, created_by, created_by_key, generation, created_at
               from webhooks "# + $rest,
            $($arguments)*
        )
    };
}

/// Returns webhooks of the tenant after `after`, oldest first.
pub(super) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    after: Option<WebhookId>,
    limit: i64,
) -> sqlx::Result<Vec<Webhook>> {
    let rows = select_webhooks!(
        "where tenant_id = $1 and ($2::uuid is null or id > $2) order by id limit $3",
        tenant as TenantId,
        after as Option<WebhookId>,
        limit
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(Webhook::from).collect())
}

/// Returns the tenant's webhook.
pub(super) async fn find(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: WebhookId,
) -> sqlx::Result<Option<Webhook>> {
    let row = select_webhooks!("where tenant_id = $1 and id = $2", tenant as TenantId, id as WebhookId);
    Ok(row.fetch_optional(conn).await?.map(Webhook::from))
}

/// As [`find`], locked until the end of the transaction.
pub(super) async fn lock(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: WebhookId,
) -> sqlx::Result<Option<Webhook>> {
    let row =
        select_webhooks!("where tenant_id = $1 and id = $2 for update", tenant as TenantId, id as WebhookId);
    Ok(row.fetch_optional(conn).await?.map(Webhook::from))
}

/// Serializes transactions that add webhooks of the tenant. Held until the transaction ends.
pub(super) async fn lock_webhooks_of(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<()> {
    sqlx::query!("select pg_advisory_xact_lock(hashtextextended('webhooks ' || $1, 0))", tenant.to_string())
        .execute(conn)
        .await
        .map(drop)
}

/// Counts the tenant's webhooks.
pub(super) async fn count(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"select count(*) as "count!" from webhooks where tenant_id = $1"#,
        tenant as TenantId
    )
    .fetch_one(conn)
    .await
}

pub(super) async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: WebhookId,
    url: &str,
    events: &[EventType],
    secret: &Encrypted,
    by: &Principal,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into webhooks (id, tenant_id, url, events, wrapped_by, secret, created_by, created_by_key, rights_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        id as WebhookId,
        tenant as TenantId,
        url,
        events as &[EventType],
        secret.key_id,
        secret.bytes,
        by.user as UserId,
        by.api_key as Option<ApiKeyId>,
        jiff_sqlx::Timestamp::from(by.issued_at) as _,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Makes the caller the maker of a webhook. One that had ended with its maker is enabled again. False if there is none.
pub(super) async fn take_over(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: WebhookId,
    by: &Principal,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update webhooks
         set created_by = $3, created_by_key = $4, rights_at = $5, enabled = enabled or maker_ended,
             maker_ended = false, generation = generation + 1
         where tenant_id = $1 and id = $2",
        tenant as TenantId,
        id as WebhookId,
        by.user as UserId,
        by.api_key as Option<ApiKeyId>,
        jiff_sqlx::Timestamp::from(by.issued_at) as _,
    );
    Ok(done.execute(conn).await?.rows_affected() == 1)
}

/// Disables the webhooks of a maker whose rights have ended. Returns the disabled ones.
pub async fn end(conn: &mut PgConnection, ended: &EndedMaker) -> sqlx::Result<Vec<WebhookId>> {
    let EndedMaker { maker, before } = ended;
    sqlx::query_scalar!(
        "update webhooks set enabled = false, maker_ended = true, generation = generation + 1
         where tenant_id = $1 and created_by = $2 and created_by_key is not distinct from $3 and enabled
           and ($4::timestamptz is null or rights_at < $4)
         returning id",
        maker.tenant_id as Option<TenantId>,
        maker.user_id as UserId,
        maker.api_key_id as Option<ApiKeyId>,
        before.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
    )
    .fetch_all(conn)
    .await
}

/// Changes a locked webhook. Enabling it resets its problem and its failures.
pub(super) async fn update(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: WebhookId,
    url: &str,
    events: &[EventType],
    enabled: bool,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update webhooks
         set url = $3, events = $4, enabled = $5, generation = generation + 1,
             problem = case when enabled = $5 then problem end,
             held_until = case when url = $3 and enabled = $5 then held_until end,
             maker_ended = maker_ended and not $5,
             failing_since = case when enabled = $5 then failing_since end
         where tenant_id = $1 and id = $2",
        tenant as TenantId,
        id as WebhookId,
        url,
        events as &[EventType],
        enabled,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Replaces the secret of a webhook. The previous one stays valid for this long. False if there is none.
pub(super) async fn rotate(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: WebhookId,
    secret: &Encrypted,
    overlap: Duration,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update webhooks
         set previous_wrapped_by = wrapped_by, previous_secret = secret,
             previous_until = now() + make_interval(secs => $5), wrapped_by = $3, secret = $4,
             generation = generation + 1
         where tenant_id = $1 and id = $2",
        tenant as TenantId,
        id as WebhookId,
        secret.key_id,
        secret.bytes,
        overlap.as_secs_f64(),
    );
    Ok(done.execute(conn).await?.rows_affected() == 1)
}

/// Deletes the tenant's webhook and its deliveries. False if there is none.
pub(super) async fn delete(conn: &mut PgConnection, tenant: TenantId, id: WebhookId) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "delete from webhooks where tenant_id = $1 and id = $2",
        tenant as TenantId,
        id as WebhookId
    );
    Ok(done.execute(conn).await?.rows_affected() == 1)
}

/// Deletes all webhooks of a tenant, and their deliveries.
pub async fn delete_of_tenant(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<()> {
    sqlx::query!("delete from webhooks where tenant_id = $1", tenant as TenantId)
        .execute(conn)
        .await
        .map(drop)
}

/// An endpoint for events of a tenant.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) id: WebhookId,
    pub(super) tenant: TenantId,
    /// All if empty.
    events: Vec<EventType>,
    /// Events before this time are not sent.
    since: Timestamp,
}

impl Target {
    pub(super) fn wants(&self, tenant: TenantId, kind: EventType, time: Timestamp) -> bool {
        self.tenant == tenant && (self.events.is_empty() || self.events.contains(&kind)) && time >= self.since
    }
}

/// Returns the enabled webhooks of these tenants. After a restore the feed is read from its beginning: events of which the
/// deliveries may have been deleted are not sent again.
pub(super) async fn targets(conn: &mut PgConnection, tenants: &[TenantId]) -> sqlx::Result<Vec<Target>> {
    sqlx::query_as!(
        Target,
        r#"select id, tenant_id as tenant, events as "events: Vec<EventType>",
                  greatest(created_at, now() - make_interval(days => $2)) as "since!: jiff_sqlx::Timestamp"
           from webhooks where enabled and tenant_id = any($1) order by id"#,
        tenants as &[TenantId],
        super::deliveries::KEPT_DAYS,
    )
    .fetch_all(conn)
    .await
}

/// Records that an endpoint has accepted a message. Not for each message, as all of them change the same row.
pub(super) async fn record_success(conn: &mut PgConnection, id: WebhookId) -> sqlx::Result<()> {
    sqlx::query!(
        "update webhooks set failing_since = null, last_success_at = now()
         where id = $1 and (failing_since is not null or last_success_at is null
                            or last_success_at < now() - interval '1 minute')",
        id as WebhookId,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Records that an endpoint has not accepted a message.
pub(super) async fn record_failure(conn: &mut PgConnection, id: WebhookId) -> sqlx::Result<()> {
    sqlx::query!(
        "update webhooks set failing_since = now() where id = $1 and failing_since is null",
        id as WebhookId
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Records how long an endpoint is to get no messages, unless the webhook has another endpoint by now.
pub(super) async fn hold(
    conn: &mut PgConnection,
    id: WebhookId,
    url: &str,
    hold: Duration,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update webhooks set held_until = greatest(held_until, now() + make_interval(secs => $3))
         where id = $1 and url = $2",
        id as WebhookId,
        url,
        hold.as_secs_f64(),
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Disables a webhook that has failed for this long. Returns whether it did.
pub(super) async fn disable_failing(
    conn: &mut PgConnection,
    id: WebhookId,
    limit: Duration,
) -> sqlx::Result<bool> {
    let disabled = sqlx::query!(
        "update webhooks set enabled = false, problem = 'failing', generation = generation + 1
         where id = $1 and enabled and failing_since < now() - make_interval(secs => $2)",
        id as WebhookId,
        limit.as_secs_f64(),
    );
    Ok(disabled.execute(conn).await?.rows_affected() == 1)
}

/// Disables a webhook whose endpoint is gone, unless it has another endpoint by now. Returns whether it did.
pub(super) async fn disable_gone(conn: &mut PgConnection, id: WebhookId, url: &str) -> sqlx::Result<bool> {
    let disabled = sqlx::query!(
        "update webhooks set enabled = false, problem = 'gone', generation = generation + 1
         where id = $1 and enabled and url = $2",
        id as WebhookId,
        url,
    );
    Ok(disabled.execute(conn).await?.rows_affected() == 1)
}

/// The context to which a secret is bound.
pub(super) fn context(id: WebhookId) -> String {
    format!("webhook {id}")
}

/// Encrypts the secrets of up to `limit` webhooks under the first key that are not. Returns how many.
///
/// # Errors
/// If one cannot be decrypted with the configured keys.
pub async fn reencrypt(conn: &mut PgConnection, cipher: &Cipher, limit: i64) -> anyhow::Result<u64> {
    let stale = sqlx::query!(
        "select id, wrapped_by, secret, previous_wrapped_by, previous_secret from webhooks
         where wrapped_by <> $1 or previous_wrapped_by <> $1 order by id limit $2 for update",
        cipher.current_key(),
        limit,
    )
    .fetch_all(&mut *conn)
    .await?;
    let count = u64::try_from(stale.len())?;
    for row in stale {
        let renew = |key_id, bytes| cipher.renew(&Encrypted { key_id, bytes }, &context(row.id));
        let new = renew(row.wrapped_by, row.secret)?;
        let previous = row.previous_wrapped_by.zip(row.previous_secret);
        let previous = previous.map(|(key_id, bytes)| renew(key_id, bytes)).transpose()?;
        let (previous_key, previous_secret) = previous.map(|secret| (secret.key_id, secret.bytes)).unzip();
        sqlx::query!(
            "update webhooks set wrapped_by = $2, secret = $3, previous_wrapped_by = $4, previous_secret = $5 where id = $1",
            row.id as WebhookId,
            new.key_id,
            new.bytes,
            previous_key,
            previous_secret,
        )
        .execute(&mut *conn)
        .await?;
    }
    Ok(count)
}
