//! Which rows to lease next: those that are due, soon due or poked, each lane within its limit.

use std::collections::{HashMap, HashSet, VecDeque};

use sqlx::{AssertSqlSafe, postgres::PgRow};

use super::{Key, Queue, Table, leased::Leased, running::Running};

/// A row that may be taken.
#[derive(Debug, Clone)]
pub(super) struct Candidate<K> {
    pub(super) key: K,
    pub(super) lane: String,
    /// Seconds until it is due; not above 0 for a row that is.
    pub(super) due_in: f64,
}

impl<K: Key> Candidate<K> {
    fn read(row: &PgRow) -> sqlx::Result<Self> {
        use sqlx::Row;
        Ok(Self { key: row.try_get("id")?, lane: row.try_get("lane")?, due_in: row.try_get("due_in")? })
    }
}

/// Rows to reconcile though they may not be due, oldest first, each once.
pub(super) struct Poked<K> {
    order: VecDeque<K>,
    keys: HashSet<K>,
}

impl<K> Default for Poked<K> {
    fn default() -> Self {
        Self { order: VecDeque::new(), keys: HashSet::new() }
    }
}

impl<K: Key> Poked<K> {
    pub(super) fn push(&mut self, key: K) {
        if self.keys.insert(key) {
            self.order.push_back(key);
        }
    }

    pub(super) fn pop(&mut self) -> Option<K> {
        let key = self.order.pop_front()?;
        self.keys.remove(&key);
        Some(key)
    }

    pub(super) fn extend(&mut self, keys: impl IntoIterator<Item = K>) {
        keys.into_iter().for_each(|key| self.push(key));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

/// What a read of the queue has found.
pub(super) struct Selected<K> {
    pub(super) candidates: Vec<Candidate<K>>,
    /// The candidates that fit into the free slots.
    pub(super) chosen: Vec<Candidate<K>>,
    /// The chosen rows that could be leased.
    pub(super) leased: Vec<Leased<K>>,
}

impl<K: Key> Queue<K> {
    /// Reads candidates and leases those that fit into the free slots.
    pub(super) async fn select(
        &self,
        running: &Running<K>,
        free: usize,
        poked: &HashSet<K>,
    ) -> sqlx::Result<Selected<K>> {
        let candidates = self.candidates(running, free, poked).await?;
        let due = candidates.iter().filter(|row| row.due_in <= 0.0);
        let chosen = choose(due, running, free, self.0.settings.lane_concurrency);
        let leased = self.take(&chosen, poked).await?;
        Ok(Selected { candidates, chosen, leased })
    }

    /// Rows that are due, soon due, or poked, of lanes that have room.
    async fn candidates(
        &self,
        running: &Running<K>,
        free: usize,
        poked: &HashSet<K>,
    ) -> sqlx::Result<Vec<Candidate<K>>> {
        let Table { name, lane, .. } = self.0.table;
        let settings = &self.0.settings;
        let full: HashSet<&String> = running
            .lanes
            .values()
            .filter(|lane| running.in_lane(lane) >= settings.lane_concurrency)
            .collect();
        let full: Vec<String> = full.into_iter().cloned().collect();
        let due_in = "extract(epoch from coalesce(q.lease_until, q.wake_at) - now())::float8 as due_in";
        let sql = format!(
            "select q.id, {lane} as lane, {due_in} from {name} q
             where coalesce(q.lease_until, q.wake_at) <= now() + make_interval(secs => $1)
               and {lane} <> all($2)
             order by coalesce(q.lease_until, q.wake_at) limit $3"
        );
        let mut rows = sqlx::query(AssertSqlSafe(sql))
            .bind(settings.poll.as_secs_f64())
            .bind(&full)
            .bind(i64::try_from(4 * free).unwrap_or(i64::MAX))
            .fetch_all(&self.0.db.worker)
            .await?;
        if !poked.is_empty() {
            let sql = format!(
                "select q.id, {lane} as lane, 0::float8 as due_in from {name} q
                 where q.id = any($1) and (q.lease_until is null or q.lease_until <= now())"
            );
            let keys: Vec<K> = poked.iter().copied().collect();
            let found = sqlx::query(AssertSqlSafe(sql)).bind(keys).fetch_all(&self.0.db.worker).await?;
            rows.splice(0..0, found);
        }
        rows.iter().map(Candidate::read).collect()
    }

    pub(super) async fn take(
        &self,
        chosen: &[Candidate<K>],
        poked: &HashSet<K>,
    ) -> sqlx::Result<Vec<Leased<K>>> {
        if chosen.is_empty() {
            return Ok(Vec::new());
        }
        let Table { name, .. } = self.0.table;
        let sql = format!(
            "with free as (
                 select id, coalesce(coalesce(lease_until, wake_at) <= now(), false) as due from {name}
                 where id = any($1) and (lease_until is null or lease_until <= now())
                   and (id = any($2) or coalesce(lease_until, wake_at) <= now())
                 order by id for update skip locked)
             update {name} q set lease_owner = $3, lease_until = now() + make_interval(secs => $4), wake_at = null
             from free where q.id = free.id
             returning q.id, q.failures, free.due"
        );
        let rows: Vec<(K, i32, bool)> = sqlx::query_as(AssertSqlSafe(sql))
            .bind(chosen.iter().map(|row| row.key).collect::<Vec<_>>())
            .bind(poked.iter().copied().collect::<Vec<_>>())
            .bind(self.0.owner)
            .bind(self.0.settings.lease.as_secs_f64())
            .fetch_all(&self.0.db.worker)
            .await?;
        let leased =
            |(key, failures, due)| Leased { key, failures, due, table: self.0.table, owner: self.0.owner };
        Ok(rows.into_iter().map(leased).collect())
    }
}

/// The first rows that fit into the free slots, each lane within its limit.
fn choose<'c, K: Key>(
    due: impl Iterator<Item = &'c Candidate<K>>,
    running: &Running<K>,
    free: usize,
    lane_limit: usize,
) -> Vec<Candidate<K>> {
    let mut lanes: HashMap<String, usize> = HashMap::new();
    let mut seen = HashSet::new();
    due.filter(|row| seen.insert(row.key) && !running.lanes.contains_key(&row.key))
        .filter(|row| {
            let used = lanes.entry(row.lane.clone()).or_insert_with(|| running.in_lane(&row.lane));
            *used += 1;
            *used <= lane_limit
        })
        .take(free)
        .cloned()
        .collect()
}
