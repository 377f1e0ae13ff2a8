//! SQL of makers.

use auth::Maker;
use ids::{ApiKeyId, TenantId, UserId};
use jiff::Timestamp;
use sqlx::PgConnection;

/// Returns since when each maker has had its rights without a break; none for those who lack one. Needs the worker role.
pub(super) async fn able_since(
    conn: &mut PgConnection,
    makers: &[Maker],
    now: Timestamp,
) -> sqlx::Result<Vec<Option<Timestamp>>> {
    let users: Vec<UserId> = makers.iter().map(|maker| maker.user_id).collect();
    let tenants: Vec<Option<TenantId>> = makers.iter().map(|maker| maker.tenant_id).collect();
    let keys: Vec<Option<ApiKeyId>> = makers.iter().map(|maker| maker.api_key_id).collect();
    let since = sqlx::query_scalar!(
        r#"select case
               when u.id is null or asked.tenant_id is not null and m.user_id is null
                   or asked.key_id is not null and k.id is null then null
               else greatest(coalesce(u.enabled_since, u.created_at), coalesce(m.writer_since, m.created_at))
           end as since
           from unnest($1::uuid[], $2::uuid[], $3::uuid[]) with ordinality as asked (user_id, tenant_id, key_id, position)
           left join users u on u.id = asked.user_id and not u.disabled
           left join members m on m.tenant_id = asked.tenant_id and m.user_id = asked.user_id and m.role <> 'viewer'
           left join api_keys k on k.id = asked.key_id and k.user_id = asked.user_id
               and k.tenant_id is not distinct from coalesce(asked.tenant_id, k.tenant_id)
               and (k.expires_at is null or k.expires_at > $4)
           order by asked.position"#,
        &users as &[UserId],
        &tenants as &[Option<TenantId>],
        &keys as &[Option<ApiKeyId>],
        jiff_sqlx::Timestamp::from(now),
    )
    .fetch_all(conn)
    .await?;
    Ok(since.into_iter().map(|since| since.map(jiff_sqlx::Timestamp::to_jiff)).collect())
}
