//! Request numbers: each permanently identifies one submission of its tenant, even after the job was deleted.

use std::collections::HashMap;

use ids::{JobId, TenantId};
use jobs_core::status::JobState;
use records::job::store::Submission;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sqlx::PgConnection;
use uuid::Uuid;

/// The job that the request number of a submission belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    /// Its own job.
    New,
    /// A job with the same content.
    Same(JobId),
    /// A job with other content, or one that was deleted.
    Other(JobId),
}

/// The holder of a number.
struct Holder {
    job: JobId,
    content: Vec<u8>,
    is_deleted: bool,
}

/// Takes the request numbers of submissions that are `ready`, unless another job has them; of submissions
/// with the same number, the first takes it. Waits for concurrent requests with the same numbers. Returns, by
/// the id of the submission, the job that its number belongs to; no entry for submissions without a number,
/// or with a free one.
pub(super) async fn take(
    conn: &mut PgConnection,
    tenant: TenantId,
    submissions: &[(&Submission<'_>, bool)],
) -> sqlx::Result<HashMap<JobId, Number>> {
    let numbered: Vec<(Uuid, JobId, Vec<u8>, bool)> = submissions
        .iter()
        .filter_map(|(submission, ready)| {
            Some((submission.req_no?, submission.id, content(submission), *ready))
        })
        .collect();
    if numbered.is_empty() {
        return Ok(HashMap::new());
    }
    let all: Vec<Uuid> = numbered.iter().map(|(req_no, ..)| *req_no).collect();
    let mut holders = find(conn, tenant, &all).await?;
    let mut wanted: HashMap<Uuid, Holder> = HashMap::new();
    for (req_no, job, content, _) in
        numbered.iter().filter(|(req_no, .., ready)| *ready && !holders.contains_key(req_no))
    {
        let new = || Holder { job: *job, content: content.clone(), is_deleted: false };
        wanted.entry(*req_no).or_insert_with(new);
    }
    let taken = insert(conn, tenant, &wanted).await?;
    if taken.len() < wanted.len() {
        let lost: Vec<Uuid> = wanted.keys().filter(|req_no| !taken.contains(req_no)).copied().collect();
        holders.extend(find(conn, tenant, &lost).await?);
        // a holder was rolled back just now; a repetition of the request resolves this
        if lost.iter().any(|req_no| !holders.contains_key(req_no)) {
            return Err(sqlx::Error::RowNotFound);
        }
        wanted.retain(|req_no, _| taken.contains(req_no));
    }
    holders.extend(wanted);
    let whose = |(req_no, job, content, _): &(Uuid, JobId, Vec<u8>, bool)| {
        let holder = holders.get(req_no)?;
        let number = if holder.job == *job {
            Number::New
        } else if holder.content == *content && !holder.is_deleted {
            Number::Same(holder.job)
        } else {
            Number::Other(holder.job)
        };
        Some((*job, number))
    };
    Ok(numbered.iter().filter_map(whose).collect())
}

/// The hash that identifies a repetition.
fn content(submission: &Submission<'_>) -> Vec<u8> {
    let Submission { application, method, level, priority, group, deadline, inputs, .. } = submission;
    let Submission { max_cost, pool, gang, report_progress, .. } = submission;
    let (parameters, level, priority) = (inputs.parameters.clone(), json!(level), json!(priority));
    let mut content = vec![json!(application), json!(method), parameters, level, priority, json!(deadline)];
    // without a group, the hash is the same as before groups existed
    content.extend(group.as_ref().map(|group| json!([group.name, group.mode])));
    content.extend(max_cost.map(|limit| json!({ "max_cost": limit })));
    content.extend(pool.map(|name| json!({ "pool": name })));
    content.extend(gang.map(|gang| json!({ "gang": gang })));
    content.extend(report_progress.then(|| json!({ "report_progress": true })));
    Sha256::digest(Value::from(content).to_string()).to_vec()
}

async fn find(
    conn: &mut PgConnection,
    tenant: TenantId,
    req_nos: &[Uuid],
) -> sqlx::Result<HashMap<Uuid, Holder>> {
    let rows = sqlx::query!(
        r#"select n.req_no, n.job_id, n.content, j.id is null as "is_deleted!"
           from request_numbers n left join jobs j on j.id = n.job_id where n.tenant_id = $1 and n.req_no = any($2)"#,
        tenant as TenantId,
        req_nos,
    );
    let holder = |job, content, is_deleted| Holder { job, content, is_deleted };
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().map(|row| (row.req_no, holder(row.job_id, row.content, row.is_deleted))).collect())
}

/// Inserts the free numbers and returns them. In order, so that concurrent batches lock them in the same
/// order.
async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    wanted: &HashMap<Uuid, Holder>,
) -> sqlx::Result<Vec<Uuid>> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let req_nos: Vec<Uuid> = wanted.keys().copied().collect();
    let jobs: Vec<JobId> = wanted.values().map(|holder| holder.job).collect();
    let contents: Vec<Vec<u8>> = wanted.values().map(|holder| holder.content.clone()).collect();
    sqlx::query_scalar!(
        "insert into request_numbers (tenant_id, req_no, job_id, content)
         select $1, req_no, job_id, content from unnest($2::uuid[], $3::uuid[], $4::bytea[]) as wanted(req_no, job_id, content)
         order by req_no on conflict do nothing returning req_no",
        tenant as TenantId,
        &req_nos,
        &jobs as &[JobId],
        &contents,
    )
    .fetch_all(conn)
    .await
}

/// Returns the jobs of request numbers of the tenant, and their states, except deleted jobs.
pub async fn numbered(
    conn: &mut PgConnection,
    tenant: TenantId,
    req_nos: &[Uuid],
) -> sqlx::Result<HashMap<Uuid, (JobId, Option<JobState>)>> {
    let rows = sqlx::query!(
        r#"select n.req_no, n.job_id, j.state as "state?: JobState"
           from request_numbers n left join jobs j on j.id = n.job_id where n.tenant_id = $1 and n.req_no = any($2)"#,
        tenant as TenantId,
        req_nos,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.req_no, (row.job_id, row.state))).collect())
}
