//! Progress of attempts: reports that are written at once (for others see [`records::progress::Reports`]).
//! For jobs with `report_progress`, every tenth of the steps is sent by message and to webhooks.

use ids::{JobId, TenantId};
use jiff::Timestamp;
use jobs_core::{
    event::Advance,
    progress::{Phase, Progress},
};
use records::outbox;
use sqlx::PgConnection;

/// Stores the progress of an attempt, and publishes it if required.
pub(super) async fn put(
    conn: &mut PgConnection,
    job: JobId,
    progress: Progress,
    now: Timestamp,
) -> sqlx::Result<()> {
    if let Some((tenant, event)) = store(conn, job, progress).await? {
        let advance = Advance { tenant, job, event, progress };
        outbox::tell_progress(conn, &advance).await?;
        webhook::tell_progress(conn, &advance, now).await?;
    }
    Ok(())
}

/// Returns the tenant, and the number of the latest event, of a job that reports progress, if another tenth of the steps is done.
async fn store(
    conn: &mut PgConnection,
    job: JobId,
    Progress { attempt, phase, step, steps }: Progress,
) -> sqlx::Result<Option<(TenantId, i64)>> {
    let told = sqlx::query!(
        r#"with job as (select id, tenant_id, generation, report_progress from jobs where id = $1),
         before as (select step, steps from progress where job_id = $1 and attempt = $2),
         put as (
             insert into progress (job_id, tenant_id, attempt, phase, step, steps)
             select id, tenant_id, $2, $3, $4, $5 from job
             on conflict (job_id) do update set attempt = excluded.attempt, phase = excluded.phase,
                 step = excluded.step, steps = excluded.steps, updated_at = now())
         select tenant_id as "tenant: TenantId", generation from job left join before on true
         where report_progress
           and $4::bigint * 10 / nullif($5, 0) > coalesce(before.step::bigint * 10 / nullif(before.steps, 0), 0)"#,
        job as JobId,
        attempt,
        phase as Phase,
        step,
        steps,
    );
    Ok(told.fetch_optional(conn).await?.map(|told| (told.tenant, told.generation)))
}
