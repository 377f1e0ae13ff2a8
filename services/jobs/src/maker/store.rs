//! SQL of makers.

use auth::{MadeBy, Maker, Whom};
use ids::{ApiKeyId, UserId};
use sqlx::PgConnection;

/// Returns the makers of credentials and enabled webhooks.
pub(super) async fn makers(conn: &mut PgConnection, whom: &Whom) -> sqlx::Result<Vec<MadeBy>> {
    let rows = sqlx::query!(
        r#"select tenant_id as "tenant_id!: ids::TenantId", created_by as "user_id!: UserId",
                  created_by_key as "api_key_id: ApiKeyId", min(rights_at) as "rights_at!"
           from (select tenant_id, created_by, created_by_key, rights_at from mq_credentials where deleted_at is null
                 union all
                 select tenant_id, created_by, created_by_key, rights_at from webhooks where enabled) made
           where created_by is not null and ($1 or created_by = any($2) or created_by_key = any($3))
           group by 1, 2, 3"#,
        whom.all,
        &whom.users as &[UserId],
        &whom.api_keys as &[ApiKeyId],
    )
    .fetch_all(conn)
    .await?;
    let made = rows.into_iter().map(|row| MadeBy {
        maker: Maker { user_id: row.user_id, tenant_id: Some(row.tenant_id), api_key_id: row.api_key_id },
        rights_at: jiff_sqlx::Timestamp::to_jiff(row.rights_at),
    });
    Ok(made.collect())
}
