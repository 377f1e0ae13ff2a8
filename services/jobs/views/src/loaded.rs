//! A pool as it is in the database, and its additional data.

use std::collections::{BTreeMap, BTreeSet};

use feed::Cursor;
use ids::{JobId, PoolId, TenantId, WorkerId};
use jobs_core::kind;
use records::{base_model, share};
use schedule::{
    Entry, Group, GroupId, GroupMode, Millis, Pool, Settings, Share, Slice, Snapshot, Spec, SpecId, State,
    Tenant, Tenure,
};
use sqlx::PgConnection;

use super::{
    estimates::Estimates,
    rows::{self, millis, tenant_key, worker_key},
    specs::Specs,
    store, worker_store,
};

/// Successful attempts that estimates are learned from.
const DURATIONS: i64 = 10_000;

/// What tenants have used, and what of their running attempts is charged.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    pub uses: Vec<store::UseRow>,
    pub slices: Vec<store::SliceRow>,
}

/// A pool, kept by changes of its rows.
pub struct LoadedPool {
    pub id: PoolId,
    pub pool: Pool,
    pub specs: Specs,
    /// It must be loaded again, as jobs accept other workers.
    pub is_stale: bool,
    /// Sessions of the workers in the pool.
    pub sessions: BTreeMap<WorkerId, i64>,
    pub estimates: Estimates,
    /// Workers that get no jobs because they are silent, drained, or on a failing node.
    pub closed: BTreeSet<WorkerId>,
    /// Nodes that get no jobs because workers were lost there.
    pub failing_nodes: BTreeSet<String>,
    /// The stored order in which lent workers are recalled.
    pub ranks: BTreeMap<WorkerId, i16>,
    /// Waiting jobs for which it must be stored whether they may start.
    pub unmarked: BTreeSet<JobId>,
    /// The stored values.
    pub stored: Accounts,
    /// The position up to which changes were read.
    pub cursor: Cursor,
    /// Number of jobs in the pool when it was loaded.
    pub jobs: usize,
}

impl LoadedPool {
    /// Reads a pool, in a transaction of its own kind: [`store::begin_snapshot`]. None if it is gone. A lent worker is returned
    /// when it has been idle for `keep_warm`.
    pub async fn load(
        conn: &mut PgConnection,
        id: PoolId,
        now: jiff::Timestamp,
        keep_warm: Millis,
    ) -> sqlx::Result<Option<Self>> {
        store::begin_snapshot(conn).await?;
        let cursor = store::position(conn).await?;
        let Some(names) = store::gpu_specs(conn, id).await? else { return Ok(None) };
        let estimates = Estimates::of(store::durations(conn, DURATIONS).await?);
        let uses = store::uses(conn, id).await?;
        let shares = share::of_pool(conn, id).await?;
        let group_nodes = store::group_nodes(conn, id).await?;
        let job_rows = store::open_jobs(conn, id).await?;
        let worker_rows = worker_store::ready_workers(conn, id).await?;
        let specs = Specs::new(names, &worker_rows, base_model::of_pool(conn, id).await?);
        let now = millis(now);
        let worker_specs: BTreeMap<WorkerId, SpecId> =
            worker_rows.iter().filter_map(|row| Some((row.id, specs.of(row)?))).collect();
        let jobs: Vec<_> = job_rows
            .iter()
            .filter_map(|row| {
                let job = rows::job(row, &specs, &estimates);
                rows::entry(row, job, |worker| worker_specs.get(&worker).copied(), now)
            })
            .collect();
        let snapshot = Snapshot {
            settings: Settings {
                keep_warm,
                specs: specs.ids().map(|spec| (spec, Spec::default())).collect(),
                ..Settings::default()
            },
            tenants: tenants(&uses, &shares),
            workers: worker_rows.iter().filter_map(|row| Some(rows::worker(row, specs.of(row)?))).collect(),
            epoch: uses.iter().filter_map(|row| u64::try_from(row.epoch).ok()).max().unwrap_or_default(),
            groups: groups(&group_nodes, &jobs, &worker_rows, now),
            holds: job_rows
                .iter()
                .filter_map(|row| Some((tenant_key(row.tenant_id), rows::hold(row.held?)?)))
                .collect(),
            jobs,
            ..Snapshot::default()
        };
        let jobs = snapshot.jobs.len();
        Ok(Some(Self {
            id,
            pool: Pool::restore(snapshot),
            specs,
            is_stale: false,
            sessions: worker_rows.iter().map(|row| (row.id, row.session)).collect(),
            estimates,
            closed: BTreeSet::new(),
            failing_nodes: BTreeSet::new(),
            ranks: worker_rows.iter().map(|row| (row.id, row.recall_rank)).collect(),
            unmarked: job_rows.iter().filter(|row| row.is_unmarked()).map(|row| row.id).collect(),
            stored: Accounts::default(),
            cursor,
            jobs,
        }))
    }

    /// How many workers of the preferred specification the queue needs.
    pub fn wanted(&self) -> u32 {
        self.specs.preferred().map(|spec| self.pool.wanted(spec)).sum()
    }

    /// Changes of the order in which lent workers are recalled, compared with the stored one.
    pub fn changed_ranks(&self, now: Millis) -> Vec<(WorkerId, i16)> {
        let rank = |(id, stored): (&WorkerId, &i16)| {
            let worker = self.pool.worker(worker_key(*id)).filter(|worker| worker.tenure == Tenure::Lent)?;
            let rank = i16::from(self.pool.recall_rank(worker, now));
            (rank != *stored).then_some((*id, rank))
        };
        self.ranks.iter().filter_map(rank).collect()
    }

    /// Use and slices in their stored form.
    pub fn accounts(&self) -> Accounts {
        let Snapshot { tenants, jobs, epoch, .. } = self.pool.snapshot();
        let epoch = i64::try_from(epoch).unwrap_or(i64::MAX);
        let used = |tenant: Tenant| store::UseRow {
            tenant_id: rows::tenant_id(tenant.id),
            used: tenant.usage.to_string(),
            epoch,
        };
        let running = jobs.into_iter().filter_map(|entry| match entry.state {
            State::Running(attempt) => Some((entry.job.id, attempt.slice)),
            _ => None,
        });
        let row = |(job, slice): (_, Slice)| store::SliceRow {
            job: rows::job_id(job),
            from: rows::timestamp(slice.from),
            until: rows::timestamp(slice.until),
            charge: slice.charge.to_string(),
        };
        Accounts { uses: tenants.into_iter().map(used).collect(), slices: running.map(row).collect() }
    }
}

/// The groups of open jobs, and those that hold a node. One without jobs has not used its node since its last job ended.
fn groups(
    held: &[store::GroupNodeRow],
    jobs: &[Entry],
    workers: &[worker_store::WorkerRow],
    now: Millis,
) -> BTreeMap<GroupId, Group> {
    let of_job = |entry: &Entry| {
        let (id, mode) = entry.job.shape.group?;
        Some((id, unbound(mode)))
    };
    let mut groups: BTreeMap<_, _> = jobs.iter().filter_map(of_job).collect();
    for row in held {
        let id = rows::group_key(row.tenant_id, &row.group_name, kind::GroupMode::Strict);
        let idle = Group { idle_since: Some(millis(row.used_at)), ..unbound(GroupMode::Strict) };
        let group = groups.entry(id).or_insert(idle);
        (group.node, group.bound) = (Some(rows::node_key(&row.node)), millis(row.bound_at));
        group.lost_since = workers.iter().all(|worker| worker.node != row.node).then_some(now);
    }
    groups
}

fn unbound(mode: GroupMode) -> Group {
    Group { mode, node: None, bound: 0, yields: false, idle_since: None, lost_since: None }
}

fn tenants(uses: &[store::UseRow], shares: &[share::Stored]) -> Vec<Tenant> {
    let shares = shares.iter().map(|row| (row.tenant, (rows::share(row.share), 0)));
    let mut tenants: BTreeMap<TenantId, (Share, u128)> = shares.collect();
    let latest = uses.iter().map(|row| row.epoch).max().unwrap_or_default();
    // all rows of a pool are stored together; one of an earlier epoch has decayed to nothing
    for row in uses.iter().filter(|row| row.epoch == latest) {
        tenants.entry(row.tenant_id).or_default().1 = row.used.parse().unwrap_or_default();
    }
    let tenant = |(id, (share, usage))| Tenant { id: tenant_key(id), share, usage };
    tenants.into_iter().map(tenant).collect()
}
