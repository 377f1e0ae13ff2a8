//! What tenants request: submit, change and cancel. Each runs in the transaction of its request.

use std::collections::HashMap;

use api::{Checks, Problem};
use ids::{JobId, PoolId, TenantId};
use jiff::{SignedDuration, Timestamp};
use jobs_core::{
    application::Method,
    cost::Amount,
    job::Job,
    kind::{Gang, Group, GroupMode, Level},
    needs::Needs,
};
use records::{
    base_model, cost,
    job::store::{self, Submission},
    pool::{self, ForJobs},
};
use results::{
    artifact::{self, CHECKPOINTS},
    upload,
};
use sqlx::PgConnection;
use views::estimates::estimate;

use super::{
    cost_range,
    error::{Refused, of_status},
    inputs::Found,
    number::{self, Number},
    open::OpenJobs,
    request::{JobChange, NewJob},
};

/// Maximum number of characters of the name of a group.
const MAX_GROUP: usize = 128;
/// Priority of a job that names none.
const DEFAULT_PRIORITY: u8 = 5;
/// Furthest deadline.
const MAX_DEADLINE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The result of a submission.
#[derive(Debug, Clone)]
pub enum Submitted {
    New(Box<Job>),
    /// A job already has its request number and the same content.
    Known(JobId),
}

/// Submits jobs independently. Returns the job or the refusal of each; for a repeated request number, the job
/// that has it.
pub(super) async fn submit_each(
    conn: &mut PgConnection,
    open: &OpenJobs,
    owner: TenantId,
    all: &[&NewJob],
    now: Timestamp,
) -> Result<Vec<Result<Job, Problem>>, tenants::Error> {
    let results = submit_all(conn, open, owner, all, now).await?;
    let known = results.iter().filter_map(|result| match result {
        Ok(Submitted::Known(id)) => Some(*id),
        _ => None,
    });
    let known: Vec<JobId> = known.collect();
    let known = match known[..] {
        [] => HashMap::new(),
        _ => store::find_all(conn, owner, &known).await?,
    };
    let job = |submitted| match submitted {
        Submitted::New(job) => Ok(*job),
        Submitted::Known(id) => known.get(&id).cloned().ok_or_else(Problem::not_found),
    };
    Ok(results.into_iter().map(|result| result.map_err(Problem::from).and_then(job)).collect())
}

/// Submits jobs independently. Returns one result for each.
///
/// # Errors
/// If the tenant cannot submit any.
pub async fn submit_all(
    conn: &mut PgConnection,
    open: &OpenJobs,
    owner: TenantId,
    all: &[&NewJob],
    now: Timestamp,
) -> Result<Vec<Result<Submitted, Refused>>, tenants::Error> {
    tenants::check_active(conn, owner).await?;
    let mut open = open.of(conn, owner).await?;
    let mut pools = Pools { owner, known: HashMap::new(), costs: HashMap::new() };
    let read: Vec<Result<Submission<'_>, Refused>> = all.iter().map(|new| read(new)).collect();
    let named: Vec<_> = read.iter().flatten().map(|job| &job.inputs).collect();
    let found = Found::of(conn, owner, &named).await?;
    let mut checked = Vec::with_capacity(all.len());
    for one in read {
        checked.push(match one {
            Ok(submission) => {
                let mut pool = check(conn, &mut pools, &found, &submission, now).await?;
                if pool.is_ok() && !open.take() {
                    pool = Err(Refused::TooManyJobs(open.limit));
                }
                Ok((submission, pool))
            }
            Err(error) => Err(error),
        });
    }
    let numbered: Vec<_> = checked.iter().flatten().map(|(job, pool)| (job, pool.is_ok())).collect();
    let numbers = number::take(conn, owner, &numbered).await?;
    let (mut results, mut accepted) = (Vec::with_capacity(checked.len()), Vec::new());
    for checked in checked {
        let result = checked.and_then(|(submission, pool)| {
            let id = submission.id;
            // a repetition may come after the deadline, when its inputs are gone
            match numbers.get(&id) {
                Some(Number::Same(job)) => return Ok(*job),
                Some(Number::Other(job)) => return Err(Refused::ReqNoReused(*job)),
                Some(Number::New) | None => {}
            }
            accepted.push((submission, pool?));
            Ok(id)
        });
        results.push(result);
    }
    let mut inserted = HashMap::new();
    if !accepted.is_empty() {
        inserted = store::insert(conn, owner, &accepted).await?;
        open.add(inserted.len());
        let uses =
            accepted.iter().flat_map(|(job, _)| job.inputs.uploads.iter().map(|upload| (job.id, *upload)));
        let (jobs, uploads): (Vec<_>, Vec<_>) = uses.unzip();
        upload::record_uses(conn, owner, &jobs, &uploads).await?;
    }
    let mut submitted =
        |id| inserted.remove(&id).map_or(Submitted::Known(id), |job| Submitted::New(Box::new(job)));
    Ok(results.into_iter().map(|result| result.map(&mut submitted)).collect())
}

/// Checks whether a job can be submitted now. Returns its pool.
async fn check(
    conn: &mut PgConnection,
    pools: &mut Pools,
    found: &Found,
    submission: &Submission<'_>,
    now: Timestamp,
) -> sqlx::Result<Result<PoolId, Refused>> {
    if let Err(late) = check_deadline(submission.deadline, now) {
        return Ok(Err(late));
    }
    if let Err(missing) = found.check(&submission.inputs) {
        return Ok(Err(missing));
    }
    let pool = match pools.find(conn, submission).await? {
        Ok(pool) => pool,
        Err(none) => return Ok(Err(none)),
    };
    if let Some(limit) = submission.max_cost {
        if let Err(refused) = cost::check_limit(conn, pool, limit).await? {
            return Ok(Err(Refused::Invalid(vec![refused])));
        }
        let workers = submission.gang.map_or(1, |gang| gang.size);
        let asked = (pool, submission.level, workers, submission.inputs.class.clone());
        let least = pools.least_cost(conn, asked).await?;
        if let Some((least, currency)) = least.filter(|(least, _)| limit.amount < *least) {
            return Ok(Err(below_quote("/max_cost/amount", least, &currency)));
        }
    }
    Ok(Ok(pool))
}

/// The refusal of a cost limit at which half of such jobs would be stopped, on any specification.
fn below_quote(pointer: &str, least: Amount, currency: &str) -> Refused {
    let least = least.0.normalize();
    let detail = format!(
        "half of such jobs cost {least} {currency} or more; see POST /v1/jobs/quote for what the job costs"
    );
    Refused::invalid_field(pointer, detail)
}

/// The maximum cost of half of such jobs on the cheapest specification, with its currency.
type LeastCost = Option<(Amount, String)>;

/// The criteria for the pool of a job: its application, the name of the pool, and the needed base model.
type Wish = (String, Option<String>, Option<Needs>);

/// The pools that run jobs of a tenant, and their costs, by level, workers and class.
struct Pools {
    owner: TenantId,
    known: HashMap<Wish, Choice>,
    costs: HashMap<(PoolId, Level, u8, String), LeastCost>,
}

impl Pools {
    async fn find(
        &mut self,
        conn: &mut PgConnection,
        submission: &Submission<'_>,
    ) -> sqlx::Result<Result<PoolId, Refused>> {
        let pool = submission.pool.map(str::to_owned);
        let key = (submission.application.to_owned(), pool, submission.inputs.needs.clone());
        if let Some(known) = self.known.get(&key) {
            return Ok(known.pool_of(submission));
        }
        let found = choose(conn, self.owner, submission).await?;
        let pool = found.pool_of(submission);
        self.known.insert(key, found);
        Ok(pool)
    }

    async fn least_cost(
        &mut self,
        conn: &mut PgConnection,
        asked: (PoolId, Level, u8, String),
    ) -> sqlx::Result<LeastCost> {
        if let Some(known) = self.costs.get(&asked) {
            return Ok(known.clone());
        }
        let (pool, level, workers, class) = &asked;
        let least = least_cost(conn, (self.owner, *pool), *level, *workers, class).await?;
        self.costs.insert(asked, least.clone());
        Ok(least)
    }
}

async fn least_cost(
    conn: &mut PgConnection,
    (owner, pool): (TenantId, PoolId),
    level: Level,
    workers: u8,
    class: &str,
) -> sqlx::Result<LeastCost> {
    let rates = cost::rates(conn, (owner, pool), level, workers).await?;
    let run = estimate(conn, class).await?;
    Ok(cost_range::least(&rates, run).map(|(amount, currency)| (amount, currency.to_owned())))
}

/// The pool of a job.
pub(super) enum Choice {
    Pool(ForJobs),
    /// No pool runs the application.
    None,
    /// The pools that run the application are known to lack the base model. They have these models.
    Lacking(Needs, Vec<String>),
}

/// Finds the pool of a job.
pub(super) async fn choose(
    conn: &mut PgConnection,
    owner: TenantId,
    submission: &Submission<'_>,
) -> sqlx::Result<Choice> {
    let (application, name, needs) =
        (submission.application, submission.pool, submission.inputs.needs.as_ref());
    if let Some(pool) = pool::find_for_jobs(conn, owner, application, name, needs).await? {
        return Ok(Choice::Pool(pool));
    }
    let Some(needs) = needs else { return Ok(Choice::None) };
    Ok(match pool::find_for_jobs(conn, owner, application, name, None).await? {
        Some(_) => {
            let known = base_model::known(conn, owner, application, name, needs.kind).await?;
            Choice::Lacking(needs.clone(), known)
        }
        None => Choice::None,
    })
}

impl Choice {
    /// Returns the pool, if it can run the job.
    pub(super) fn pool_of(&self, submission: &Submission<'_>) -> Result<PoolId, Refused> {
        let pool = match self {
            Self::Pool(pool) => pool,
            Self::None => {
                let detail = "no pool of this name runs the application for the tenant";
                return Err(submission
                    .pool
                    .map_or(Refused::NoPool, |_| Refused::invalid_field("/pool", detail)));
            }
            Self::Lacking(needs, known) => return Err(Refused::ModelMissing(needs.clone(), known.clone())),
        };
        match submission.gang {
            Some(gang) if i64::from(gang.size) > pool.max_workers => {
                let detail = format!("the pool has at most {} workers", pool.max_workers);
                Err(Refused::invalid_field("/gang/size", detail))
            }
            _ => Ok(pool.id),
        }
    }
}

/// Checks everything that does not depend on the time.
pub(super) fn read(new: &NewJob) -> Result<Submission<'_>, Refused> {
    let method = Method::find(&new.application, &new.method).ok_or_else(|| {
        Refused::invalid_field(
            "/method",
            "no application has this method; there are stable-diffusion.txt2img, stable-diffusion.img2img, \
             dreambooth.train and command.run",
        )
    })?;
    let mut checks = Checks::default();
    let priority = new.priority.unwrap_or(DEFAULT_PRIORITY);
    checks.within("/priority", priority, 0, 9);
    // also for messages
    let group = new.group.as_deref().map(api::text::composed);
    if let Some(group) = &group {
        checks.display_name("/group", group, MAX_GROUP);
    }
    let has_group = new.group.is_some() || new.group_mode.is_none();
    checks.require(has_group, "/group_mode", "must be absent without `group`");
    if let Some(limit) = &new.max_cost {
        limit.check("/max_cost", &mut checks);
    }
    if let Some(pool) = &new.pool {
        checks.name("/pool", pool);
    }
    if let Some(gang) = new.gang {
        checks.within("/gang/size", gang.size, Gang::SIZES.0, Gang::SIZES.1);
        checks.require(method == Method::Run, "/gang", "only jobs of command.run have several workers");
    }
    let inputs = match method.read(&new.parameters) {
        Ok(inputs) => inputs,
        Err(errors) => {
            checks.extend(errors);
            return Err(Refused::Invalid(checks.into_errors()));
        }
    };
    let errors = checks.into_errors();
    if !errors.is_empty() {
        return Err(Refused::Invalid(errors));
    }
    Ok(Submission {
        id: JobId::new(),
        application: &new.application,
        method: &new.method,
        kind: method.kind(),
        level: new.level.unwrap_or_else(|| Level::of_priority(priority)),
        priority,
        group: group.map(|name| Group { name, mode: new.group_mode.unwrap_or(GroupMode::Strict) }),
        deadline: new.deadline,
        req_no: new.req_no,
        max_cost: new.max_cost.as_ref(),
        pool: new.pool.as_deref(),
        gang: new.gang,
        report_progress: new.report_progress,
        inputs,
    })
}

fn check_deadline(deadline: Option<Timestamp>, now: Timestamp) -> Result<(), Refused> {
    let ahead = deadline.map(|deadline| deadline.duration_since(now));
    let valid = ahead.is_none_or(|ahead| ahead > SignedDuration::ZERO && ahead <= MAX_DEADLINE);
    let refused = || Refused::invalid_field("/deadline", "must be in the future, at most 30 days ahead");
    valid.then_some(()).ok_or_else(refused)
}

/// Changes a locked waiting job.
pub(super) async fn update(
    conn: &mut PgConnection,
    job: &Job,
    change: &JobChange,
    now: Timestamp,
) -> Result<(), Problem> {
    job.status.expect_queued().map_err(of_status)?;
    let mut checks = Checks::default();
    checks.within("/priority", change.priority.unwrap_or_default(), 0, 9);
    checks.finish()?;
    check_deadline(change.deadline, now)?;
    let (priority, level) = (change.priority.unwrap_or(job.priority), change.level.unwrap_or(job.level));
    let deadline = change.deadline.or(job.deadline);
    if let Some(limit) = job.max_cost.as_ref().filter(|_| level != job.level) {
        let workers = job.gang.map_or(1, |gang| gang.size);
        let class = store::class(conn, job.id).await?;
        let least = least_cost(conn, (job.tenant, job.pool), level, workers, &class).await?;
        if let Some((least, currency)) = least.filter(|(least, _)| limit.amount < *least) {
            return Err(below_quote("/level", least, &currency).into());
        }
    }
    if (priority, level, deadline) != (job.priority, job.level, job.deadline) {
        store::update(conn, job, priority, level, deadline).await?;
    }
    Ok(())
}

/// Cancels a locked job: at once if it waits; otherwise its worker is told to stop.
pub(super) async fn cancel(conn: &mut PgConnection, job: &Job) -> Result<(), Problem> {
    let status = job.status.cancel().map_err(of_status)?;
    if status != job.status {
        store::record(conn, job, &status).await?;
    }
    if status.is_ended() {
        artifact::discard(conn, job.id, CHECKPOINTS).await?;
    }
    Ok(())
}

/// Cancels up to `limit` open jobs of a tenant.
pub async fn cancel_open(conn: &mut PgConnection, tenant: TenantId, limit: i64) -> Result<(), Problem> {
    for job in store::lock_uncancelled(conn, tenant, limit).await? {
        cancel(conn, &job).await?;
    }
    Ok(())
}
