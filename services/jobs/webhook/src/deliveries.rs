//! The table of deliveries, and the position up to which the feed of events was turned into them.

use std::time::Duration;

use db::queue::Table;
use encryption::Encrypted;
use feed::Cursor;
use ids::{DeliveryId, TenantId, WebhookId};
use jiff::Timestamp;
use sqlx::{PgConnection, types::Json};

use super::model::{Delivery, DeliveryAttempt, DeliveryState, TEST};

/// Deliveries that are due. Slow endpoints of a tenant do not block those of others.
pub(super) const QUEUE: Table =
    Table { name: "webhook_deliveries", channel: "webhook_deliveries", lane: "q.tenant_id::text" };

/// Days for which deliveries are kept that have ended.
pub(super) const KEPT_DAYS: i32 = 7;

/// A message for an endpoint.
pub(super) struct NewDelivery {
    pub(super) id: DeliveryId,
    pub(super) webhook: WebhookId,
    pub(super) tenant: TenantId,
    pub(super) message: String,
    pub(super) kind: &'static str,
    pub(super) body: String,
}

/// Inserts deliveries, unless the webhook has one of the message already. They are due when the webhook is not held; a test at once.
pub(super) async fn insert(conn: &mut PgConnection, new: &[NewDelivery]) -> sqlx::Result<()> {
    let ids: Vec<DeliveryId> = new.iter().map(|one| one.id).collect();
    let webhooks: Vec<WebhookId> = new.iter().map(|one| one.webhook).collect();
    let tenants: Vec<TenantId> = new.iter().map(|one| one.tenant).collect();
    let messages: Vec<String> = new.iter().map(|one| one.message.clone()).collect();
    let kinds: Vec<String> = new.iter().map(|one| one.kind.to_owned()).collect();
    let bodies: Vec<String> = new.iter().map(|one| one.body.clone()).collect();
    sqlx::query!(
        "insert into webhook_deliveries (id, webhook_id, tenant_id, message_id, type, body, wake_at)
         select new.*, greatest(now(), case when new.type <> $7 then w.held_until end)
         from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[])
                  as new (id, webhook_id, tenant_id, message_id, type, body)
              join webhooks w on w.id = new.webhook_id
         on conflict (webhook_id, message_id) do nothing",
        &ids as &[DeliveryId],
        &webhooks as &[WebhookId],
        &tenants as &[TenantId],
        &messages,
        &kinds,
        &bodies,
        TEST,
    )
    .execute(&mut *conn)
    .await?;
    QUEUE.notify(conn).await
}

/// Makes the waiting deliveries of a webhook due.
pub(super) async fn wake(conn: &mut PgConnection, tenant: TenantId, webhook: WebhookId) -> sqlx::Result<()> {
    sqlx::query!(
        "update webhook_deliveries set wake_at = now()
         where tenant_id = $1 and webhook_id = $2 and state = 'pending' and wake_at > now()",
        tenant as TenantId,
        webhook as WebhookId,
    )
    .execute(&mut *conn)
    .await?;
    QUEUE.notify(conn).await
}

struct Row {
    id: DeliveryId,
    webhook_id: WebhookId,
    message_id: String,
    kind: String,
    state: DeliveryState,
    attempts: Json<Vec<DeliveryAttempt>>,
    wake_at: Option<jiff_sqlx::Timestamp>,
    created_at: Timestamp,
    ended_at: Option<jiff_sqlx::Timestamp>,
}

impl From<Row> for Delivery {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            webhook_id: row.webhook_id,
            message_id: row.message_id,
            kind: row.kind,
            state: row.state,
            attempts: row.attempts.0,
            next_attempt_at: row.wake_at.map(jiff_sqlx::Timestamp::to_jiff),
            created_at: row.created_at,
            ended_at: row.ended_at.map(jiff_sqlx::Timestamp::to_jiff),
        }
    }
}

/// Selects deliveries. A macro, as the text of a checked query is a literal.
macro_rules! select_deliveries {
    ($rest:literal, $($arguments:tt)*) => {
        sqlx::query_as!(
            Row,
            r#"select id, webhook_id, message_id, type as kind, state, attempts as "attempts: Json<Vec<DeliveryAttempt>>",
                      wake_at, created_at, ended_at
               from webhook_deliveries "# + $rest,
            $($arguments)*
        )
    };
}

/// Returns deliveries of a webhook before `before`, newest first.
pub(super) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    webhook: WebhookId,
    state: Option<DeliveryState>,
    before: Option<DeliveryId>,
    limit: i64,
) -> sqlx::Result<Vec<Delivery>> {
    let rows = select_deliveries!(
        "where tenant_id = $1 and webhook_id = $2 and ($3::text is null or state = $3) and ($4::uuid is null or id < $4)
         order by id desc limit $5",
        tenant as TenantId,
        webhook as WebhookId,
        state as Option<DeliveryState>,
        before as Option<DeliveryId>,
        limit
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(Delivery::from).collect())
}

/// Returns a delivery of the tenant.
pub(super) async fn find(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: DeliveryId,
) -> sqlx::Result<Option<Delivery>> {
    let row = select_deliveries!("where tenant_id = $1 and id = $2", tenant as TenantId, id as DeliveryId);
    Ok(row.fetch_optional(conn).await?.map(Delivery::from))
}

/// A delivery to send.
pub(super) struct Due {
    pub(super) webhook: WebhookId,
    pub(super) message: String,
    pub(super) kind: String,
    pub(super) body: String,
    /// Attempts that have failed.
    pub(super) failed: usize,
    pub(super) url: String,
    pub(super) enabled: bool,
    /// How long the endpoint gets no messages.
    pub(super) held_for: Option<Duration>,
    /// The secret, and the previous one while it is valid.
    pub(super) secrets: Vec<Encrypted>,
}

/// Returns a pending delivery.
pub(super) async fn due(conn: &mut PgConnection, id: DeliveryId) -> sqlx::Result<Option<Due>> {
    let row = sqlx::query!(
        r#"select d.webhook_id, d.message_id, d.type as kind, d.body, jsonb_array_length(d.attempts) as "failed!",
                  w.url, w.enabled, w.wrapped_by, w.secret,
                  extract(epoch from w.held_until - now())::float8 as held_for,
                  case when w.previous_until > now() then w.previous_wrapped_by end as previous_wrapped_by,
                  w.previous_secret
           from webhook_deliveries d join webhooks w on w.id = d.webhook_id
           where d.id = $1 and d.state = 'pending'"#,
        id as DeliveryId,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| {
        let mut secrets = vec![Encrypted { key_id: row.wrapped_by, bytes: row.secret }];
        if let (Some(key_id), Some(bytes)) = (row.previous_wrapped_by, row.previous_secret) {
            secrets.push(Encrypted { key_id, bytes });
        }
        Due {
            webhook: row.webhook_id,
            message: row.message_id,
            kind: row.kind,
            body: row.body,
            failed: usize::try_from(row.failed).unwrap_or(0),
            url: row.url,
            enabled: row.enabled,
            held_for: row.held_for.filter(|seconds| *seconds > 0.0).map(Duration::from_secs_f64),
            secrets,
        }
    }))
}

/// Records an attempt, if there was one, and the state of the delivery after it.
pub(super) async fn record(
    conn: &mut PgConnection,
    id: DeliveryId,
    state: DeliveryState,
    attempt: Option<&DeliveryAttempt>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update webhook_deliveries
         set state = $2, attempts = attempts || coalesce($3::jsonb, '[]'),
             ended_at = case when $2 <> 'pending' then now() end
         where id = $1 and state = 'pending'",
        id as DeliveryId,
        state as DeliveryState,
        attempt.map(|attempt| Json([attempt])) as _,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Deletes up to `limit` deliveries that ended [`KEPT_DAYS`] ago. Returns their number.
pub async fn delete_ended(conn: &mut PgConnection, limit: i64) -> sqlx::Result<u64> {
    sqlx::query!(
        "delete from webhook_deliveries where id in (
             select id from webhook_deliveries where ended_at < now() - make_interval(days => $1)
             order by ended_at limit $2)",
        KEPT_DAYS,
        limit,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected())
}

/// Returns the position up to which the feed was read.
pub(super) async fn position(conn: &mut PgConnection) -> sqlx::Result<String> {
    sqlx::query_scalar!("select cursor from webhook_position").fetch_one(conn).await
}

/// Stores the first position, if there is none.
pub(super) async fn begin(conn: &mut PgConnection, position: &Cursor) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into webhook_position (cursor) values ($1) on conflict do nothing",
        position.to_string()
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Moves the position. False if it is not at `from` any more.
pub(super) async fn advance(conn: &mut PgConnection, from: &str, to: &str) -> sqlx::Result<bool> {
    let done = sqlx::query!("update webhook_position set cursor = $2 where cursor = $1", from, to);
    Ok(done.execute(conn).await?.rows_affected() == 1)
}
