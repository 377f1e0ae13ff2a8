//! The fields of the tables that a progress report needs, and the rows of reports.

use std::{collections::HashSet, time::Duration};

use ids::{JobId, TenantId, WorkerId};
use jiff::Timestamp;
use jobs_core::{
    progress::{Phase, Progress, Report},
    status::JobState,
};
use serde::Serialize;
use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

/// The reporting worker.
pub(super) struct Reporter {
    pub(super) worker: WorkerId,
    pub(super) session: i64,
    /// How long a worker counts as present after it has been seen.
    pub(super) present: Duration,
    /// How old a row may become, unless it is the newest report.
    pub(super) longest: Duration,
}

/// The attempt of a report that changes nothing but the progress.
pub(super) struct Found {
    pub(super) tenant: TenantId,
    pub(super) state: JobState,
    pub(super) leave_by: Option<Timestamp>,
    /// Time of the transaction.
    pub(super) at: Timestamp,
}

/// Returns the job, if its attempt runs in this session, its worker has reported lately, its row is of this
/// phase and not too old, and no tenth of the steps has to be published.
pub(super) async fn find(
    conn: &mut PgConnection,
    reporter: &Reporter,
    job: JobId,
    &Progress { attempt, phase, step, steps }: &Progress,
) -> sqlx::Result<Option<Found>> {
    let row = sqlx::query!(
        r#"select j.tenant_id as tenant, j.state, j.leave_by,
                  now() as "at!: jiff_sqlx::Timestamp"
           from workers w
           join jobs j on j.id = w.current_job and j.attempt = w.current_attempt and j.worker_id = w.id
           join progress p on p.job_id = j.id and p.attempt = j.attempt
           where w.id = $1 and w.session = $2 and w.state = 'ready' and w.current_job = $3 and w.current_attempt = $4
             and w.last_seen_at > now() - make_interval(secs => $5)
             and j.state in ('running', 'cancelling')
             and p.phase = $6 and p.step <= $7 and p.steps = $8
             and p.updated_at > now() - make_interval(secs => $9)
             and not (j.report_progress
                      and coalesce($7::bigint * 10 / nullif($8, 0), 0) > coalesce(p.step::bigint * 10 / nullif(p.steps, 0), 0))"#,
        reporter.worker as WorkerId,
        reporter.session,
        job as JobId,
        attempt,
        reporter.present.as_secs_f64(),
        phase as Phase,
        step,
        steps,
        reporter.longest.as_secs_f64(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Found {
        tenant: row.tenant,
        state: row.state,
        leave_by: row.leave_by.map(jiff_sqlx::Timestamp::to_jiff),
        at: row.at.to_jiff(),
    }))
}

#[derive(Serialize)]
struct Row {
    job_id: Uuid,
    attempt: i32,
    phase: Phase,
    step: i32,
    steps: i32,
    at: Timestamp,
}

/// Writes reports over the older rows of their attempts. It waits for no lock, so it takes part in no deadlock. Returns the jobs whose
/// rows were written.
pub(super) async fn write(
    conn: &mut PgConnection,
    reports: impl Iterator<Item = (JobId, &Report)>,
) -> sqlx::Result<HashSet<JobId>> {
    let rows = reports.map(|(job, report)| Row {
        job_id: job.uuid(),
        attempt: report.attempt,
        phase: report.progress.phase,
        step: report.progress.step,
        steps: report.progress.steps,
        at: report.at,
    });
    let rows: Value =
        serde_json::to_value(rows.collect::<Vec<_>>()).map_err(|error| sqlx::Error::Encode(error.into()))?;
    let written = sqlx::query_scalar!(
        r#"with newer as (
             select p.job_id, r.phase, r.step, r.steps, r.at
             from progress p
             join jsonb_to_recordset($1) as r(job_id uuid, attempt int, phase text, step int, steps int, at timestamptz)
               on r.job_id = p.job_id and r.attempt = p.attempt and r.at > p.updated_at
             for update of p skip locked)
           update progress p set phase = n.phase, step = n.step, steps = n.steps, updated_at = n.at
           from newer n where p.job_id = n.job_id
           returning p.job_id"#,
        rows,
    );
    Ok(written.fetch_all(conn).await?.into_iter().collect())
}
