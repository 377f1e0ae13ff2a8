//! SQL of makers.

use auth::{EndedMaker, MadeBy, Maker, Whom};
use ids::{ApiKeyId, InstanceId, ShareLinkId, SshKeyId, TenantId, UserId};
use sqlx::PgConnection;

/// Returns the makers of keys, links and credentials.
pub(super) async fn makers(conn: &mut PgConnection, whom: &Whom) -> sqlx::Result<Vec<MadeBy>> {
    let rows = sqlx::query!(
        r#"select tenant_id as "tenant_id: TenantId", user_id as "user_id!: UserId",
                  created_by_key as "api_key_id: ApiKeyId", min(rights_at) as "rights_at!"
           from (select tenant_id, added_by as user_id, created_by_key, rights_at
                 from instance_ssh_keys
                 union all
                 select tenant_id, created_by, created_by_key, rights_at from share_links
                 union all
                 select tenant_id, created_by, created_by_key, rights_at from registry_credentials
                 union all
                 select null, user_id, created_by_key, rights_at from ssh_keys
                 where created_by_key is not null) made
           where $1 or user_id = any($2) or created_by_key = any($3)
           group by 1, 2, 3"#,
        whom.all,
        &whom.users as &[UserId],
        &whom.api_keys as &[ApiKeyId],
    )
    .fetch_all(conn)
    .await?;
    let made = rows.into_iter().map(|row| MadeBy {
        maker: Maker { user_id: row.user_id, tenant_id: row.tenant_id, api_key_id: row.api_key_id },
        rights_at: row.rights_at.to_jiff(),
    });
    Ok(made.collect())
}

/// Deletes the SSH keys of instances that a maker has added, and notifies the replicas. Returns the deleted
/// keys with their instances.
pub(super) async fn end_instance_keys(
    conn: &mut PgConnection,
    ended: &EndedMaker,
) -> sqlx::Result<Vec<(InstanceId, SshKeyId)>> {
    let EndedMaker { maker, before } = ended;
    let rows = sqlx::query!(
        r#"delete from instance_ssh_keys
           where tenant_id = $1 and added_by = $2 and created_by_key is not distinct from $3
             and ($4::timestamptz is null or rights_at < $4)
           returning instance_id as "instance: InstanceId", id as "id: SshKeyId""#,
        maker.tenant_id as Option<TenantId>,
        maker.user_id as UserId,
        maker.api_key_id as Option<ApiKeyId>,
        before.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
    )
    .fetch_all(&mut *conn)
    .await?;
    keys::notify(conn).await?;
    Ok(rows.into_iter().map(|row| (row.instance, row.id)).collect())
}

/// Deletes the SSH keys that were added to a user with an API key, and notifies the replicas.
pub(super) async fn end_user_keys(conn: &mut PgConnection, ended: &EndedMaker) -> sqlx::Result<()> {
    let EndedMaker { maker, before } = ended;
    sqlx::query!(
        "delete from ssh_keys
         where user_id = $1 and created_by_key = $2
           and ($3::timestamptz is null or rights_at < $3)",
        maker.user_id as UserId,
        maker.api_key_id as Option<ApiKeyId>,
        before.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
    )
    .execute(&mut *conn)
    .await?;
    keys::notify(conn).await
}

/// Deletes the share links of a maker. Returns the deleted links with their instances.
pub(super) async fn end_share_links(
    conn: &mut PgConnection,
    ended: &EndedMaker,
) -> sqlx::Result<Vec<(InstanceId, ShareLinkId)>> {
    let EndedMaker { maker, before } = ended;
    let rows = sqlx::query!(
        r#"delete from share_links
           where tenant_id = $1 and created_by = $2 and created_by_key is not distinct from $3
             and ($4::timestamptz is null or rights_at < $4)
           returning instance_id as "instance: InstanceId", id as "id: ShareLinkId""#,
        maker.tenant_id as Option<TenantId>,
        maker.user_id as UserId,
        maker.api_key_id as Option<ApiKeyId>,
        before.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.instance, row.id)).collect())
}
