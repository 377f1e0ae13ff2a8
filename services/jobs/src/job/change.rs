//! What tenants request: submit and cancel. Each runs in the transaction of its request.

use api::Checks;
use ids::{JobId, TenantId};
use jiff::{SignedDuration, Timestamp};
use sqlx::PgConnection;

use super::{
    model::{Job, Level},
    store::{self, Submission},
    view::NewJob,
};
use crate::{application::Method, error::Error, pool, tenant};

/// Furthest deadline.
const MAX_DEADLINE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Submits a job.
pub(super) async fn submit(
    conn: &mut PgConnection,
    owner: TenantId,
    new: &NewJob,
    now: Timestamp,
) -> Result<JobId, Error> {
    let method = Method::find(&new.application, &new.method).ok_or_else(|| {
        Error::invalid_field("/method", "no application has this method; there is stable-diffusion.txt2img")
    })?;
    let mut checks = Checks::default();
    checks.within("/priority", new.priority, 0, 9);
    if let Some(deadline) = new.deadline {
        let ahead = deadline.duration_since(now);
        let valid = ahead > SignedDuration::ZERO && ahead <= MAX_DEADLINE;
        checks.require(valid, "/deadline", "must be in the future, at most 30 days ahead");
    }
    let inputs = method.read(&new.parameters);
    let inputs = match inputs {
        Ok(inputs) => inputs,
        Err(errors) => {
            checks.extend(errors);
            return Err(Error::Invalid(checks.into_errors()));
        }
    };
    let errors = checks.into_errors();
    if !errors.is_empty() {
        return Err(Error::Invalid(errors));
    }
    tenant::check_active(conn, owner).await?;
    let pool = pool::find_for_jobs(conn).await?.ok_or(Error::NoPool)?;
    let id = JobId::new();
    let submission = Submission {
        id,
        tenant: owner,
        pool,
        application: &new.application,
        method: &new.method,
        kind: method.kind(),
        level: new.level.unwrap_or_else(|| Level::of_priority(new.priority)),
        priority: new.priority,
        deadline: new.deadline,
        inputs: &inputs,
    };
    store::insert(conn, &submission).await?;
    Ok(id)
}

/// Cancels a locked job: at once if it waits, else its worker is told.
pub(super) async fn cancel(conn: &mut PgConnection, job: &Job) -> Result<(), Error> {
    let status = job.status.cancel()?;
    if status != job.status {
        store::record(conn, job, &status).await?;
    }
    Ok(())
}

/// Cancels up to `limit` open jobs of a tenant.
pub(crate) async fn cancel_open(conn: &mut PgConnection, tenant: TenantId, limit: i64) -> Result<(), Error> {
    for job in store::lock_uncancelled(conn, tenant, limit).await? {
        cancel(conn, &job).await?;
    }
    Ok(())
}
