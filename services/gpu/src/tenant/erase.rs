//! SQL of the end of a tenant without instances: the rest of its data is deleted, or made anonymous if
//! billing needs it. The data that is kept is listed, with the reasons, in
//! `tests/isolation/tests/it/tenant_end.rs`.

use ids::TenantId;
use sqlx::PgConnection;

/// Deletes what the tenant has; of the index of logs only if `deletes_logs`. Instances that have run are kept,
/// anonymous. Returns how many logs are left.
pub(super) async fn erase(
    conn: &mut PgConnection,
    tenant: TenantId,
    deletes_logs: bool,
) -> sqlx::Result<i64> {
    let deleted = [
        sqlx::query!(
            "delete from instance_logs where tenant_id = $1 and $2",
            tenant as TenantId,
            deletes_logs
        ),
        sqlx::query!("delete from share_links where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from tickets where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from instance_ssh_keys where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from instance_secrets where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from registry_credentials where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from instance_samples where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from instance_sample_averages where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from idle_watches where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from ssh_sessions where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from events where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from event_logs where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from operations where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from quotas where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from budgets where id = $1", tenant as TenantId),
        sqlx::query!("delete from allowances where tenant_id = $1", tenant as TenantId),
        sqlx::query!(
            "delete from instances i
             where i.tenant_id = $1 and i.state = 'deleted'
               and not exists (select from runs r where r.instance_id = i.id)
               and not exists (select from usage_days d where d.instance_id = i.id)
               and not exists (select from usage_totals t where t.instance_id = i.id)
               and not exists (select from instance_logs l where l.instance_id = i.id)",
            tenant as TenantId
        ),
        // the order must stay readable
        sqlx::query!(
            r#"update instances
               set name = 'deleted', attached = '{}', public_ports = '[]', idle_stop = null, last_place = null,
                   request_hash = null,
                   spec = (spec - 'pull')
                       || '{"env": [], "storages": [], "template": {"image": "deleted", "ports": []}}'::jsonb
               where tenant_id = $1 and state = 'deleted' and name <> 'deleted'"#,
            tenant as TenantId
        ),
        sqlx::query!(
            "delete from idempotency_keys where scope = 'ten_' || replace($1::uuid::text, '-', '')",
            tenant as TenantId
        ),
    ];
    for statement in deleted {
        statement.execute(&mut *conn).await?;
    }
    sqlx::query_scalar!(
        r#"select count(*) as "count!" from instance_logs where tenant_id = $1"#,
        tenant as TenantId
    )
    .fetch_one(conn)
    .await
}
