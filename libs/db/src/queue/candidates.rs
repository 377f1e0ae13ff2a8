//! The rows to lease next: those that are due, soon due or woken, each lane within its limit.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    time::Duration,
};

use sqlx::{AssertSqlSafe, postgres::PgRow};

use super::{Key, Queue, ROWS_PER_SLOT, Table, leased::Leased, running::Running};

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

    fn is_due(&self) -> bool {
        self.due_in <= 0.0
    }
}

/// Rows to reconcile even if they are not due, oldest first, each once.
pub(super) struct Woken<K> {
    order: VecDeque<K>,
    keys: HashSet<K>,
}

impl<K> Default for Woken<K> {
    fn default() -> Self {
        Self { order: VecDeque::new(), keys: HashSet::new() }
    }
}

impl<K: Key> Woken<K> {
    pub(super) fn push(&mut self, key: K) {
        if self.keys.insert(key) {
            self.order.push_back(key);
        }
    }

    /// Takes up to `most` rows that are not being reconciled here; those that are will be reconciled once
    /// more.
    pub(super) fn take(&mut self, most: usize, running: &mut Running<K>) -> HashSet<K> {
        let mut taken = HashSet::new();
        while taken.len() != most {
            let Some(key) = self.order.pop_front() else { break };
            self.keys.remove(&key);
            if running.lanes.contains_key(&key) {
                running.again.insert(key);
            } else {
                taken.insert(key);
            }
        }
        taken
    }

    pub(super) fn extend(&mut self, keys: impl IntoIterator<Item = K>) {
        keys.into_iter().for_each(|key| self.push(key));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

/// The result of a read of the queue.
pub(super) struct Selected<K> {
    /// Rows of full lanes were not read.
    pub(super) some_unread: bool,
    /// The read returned its maximum number of rows, and their lanes left slots free: rows of other lanes may
    /// wait behind them.
    pub(super) room_left: bool,
    pub(super) candidates: Vec<Candidate<K>>,
    /// The candidates that fit into the free slots.
    pub(super) chosen: Vec<Candidate<K>>,
    /// The chosen rows that could be leased.
    pub(super) leased: Vec<Leased<K>>,
}

impl<K: Key> Selected<K> {
    /// Whether more rows may be due than there were slots for.
    pub(super) fn is_limited(&self) -> bool {
        self.some_unread || self.candidates.iter().filter(|row| row.is_due()).count() != self.chosen.len()
    }

    /// When to check for due rows again: at least every `poll`.
    pub(super) fn next(&self, poll: Duration) -> Duration {
        if self.room_left && self.leased.len() == self.chosen.len() {
            return Duration::ZERO;
        }
        let due_in = self.candidates.iter().filter(|row| !row.is_due()).map(|row| row.due_in);
        // rows that could not be leased are locked for a moment, or taken by another replica
        let soon = (self.leased.len() != self.chosen.len()).then_some(0.05);
        due_in.chain(soon).map(Duration::from_secs_f64).fold(poll, Duration::min)
    }
}

impl<K: Key> Queue<K> {
    /// Reads candidates and leases those that fit into the free slots.
    pub(super) async fn select(
        &self,
        running: &Running<K>,
        free: usize,
        woken: &HashSet<K>,
    ) -> sqlx::Result<Selected<K>> {
        let full = running.full_lanes(self.0.settings.lane_concurrency);
        let most = free.saturating_mul(ROWS_PER_SLOT);
        let candidates = self.candidates(&full, most, woken).await?;
        let is_cut_off = candidates.len() >= most;
        let due = candidates.iter().filter(|row| row.is_due());
        let chosen = choose(due, running, free, self.0.settings.lane_concurrency);
        let leased = self.take(&chosen, woken).await?;
        let due = candidates.iter().filter(|row| row.is_due()).count();
        let room_left = is_cut_off && due > chosen.len() && chosen.len() < free;
        Ok(Selected { some_unread: !full.is_empty(), room_left, candidates, chosen, leased })
    }

    /// Up to `most` rows that are due or soon due, of lanes that are not full, and woken ones.
    async fn candidates(
        &self,
        full: &[String],
        most: usize,
        woken: &HashSet<K>,
    ) -> sqlx::Result<Vec<Candidate<K>>> {
        let Table { name, lane, .. } = self.0.table;
        let settings = &self.0.settings;
        let due_in = "extract(epoch from coalesce(q.lease_until, q.wake_at) - now())::float8 as due_in";
        let sql = format!(
            "select q.id, {lane} as lane, {due_in} from {name} q
             where coalesce(q.lease_until, q.wake_at) <= now() + make_interval(secs => $1)
               and {lane} <> all($2)
             order by coalesce(q.lease_until, q.wake_at) limit $3"
        );
        let mut rows = sqlx::query(AssertSqlSafe(sql))
            .bind(settings.poll.as_secs_f64())
            .bind(full)
            .bind(i64::try_from(most).unwrap_or(i64::MAX))
            .fetch_all(&self.0.db.0.worker)
            .await?;
        if !woken.is_empty() {
            let sql = format!(
                "select q.id, {lane} as lane, 0::float8 as due_in from {name} q
                 where q.id = any($1) and (q.lease_until is null or q.lease_until <= now())"
            );
            let keys: Vec<K> = woken.iter().copied().collect();
            let found = sqlx::query(AssertSqlSafe(sql)).bind(keys).fetch_all(&self.0.db.0.worker).await?;
            rows.splice(0..0, found);
        }
        rows.iter().map(Candidate::read).collect()
    }

    pub(super) async fn take(
        &self,
        chosen: &[Candidate<K>],
        woken: &HashSet<K>,
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
            .bind(woken.iter().copied().collect::<Vec<_>>())
            .bind(self.0.owner)
            .bind(self.0.settings.lease.as_secs_f64())
            .fetch_all(&self.0.db.0.worker)
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

#[cfg(test)]
mod tests {
    use ids::InstanceId;
    use tokio::task::JoinSet;
    use uuid::Uuid;

    use super::*;

    const POLL: Duration = Duration::from_secs(2);

    fn row(lane: &str, due_in: f64) -> Candidate<InstanceId> {
        Candidate { key: InstanceId::new(), lane: lane.to_owned(), due_in }
    }

    fn running(rows: &[Candidate<InstanceId>]) -> Running<InstanceId> {
        let lanes = rows.iter().map(|row| (row.key, row.lane.clone())).collect();
        Running { tasks: JoinSet::new(), lanes, again: HashSet::new() }
    }

    fn lanes(names: &[&str]) -> HashSet<String> {
        names.iter().map(ToString::to_string).collect()
    }

    fn keys(rows: &[Candidate<InstanceId>]) -> Vec<InstanceId> {
        rows.iter().map(|row| row.key).collect()
    }

    #[test]
    fn a_lane_gets_its_part_of_the_free_slots() {
        let [a, b, c, d, e] = ["full", "uk", "uk", "fr", "fr"].map(|lane| row(lane, 0.0));
        let running = running(&[row("full", 0.0), row("full", 0.0), row("uk", 0.0), b.clone()]);
        let due = [a, b, c, d.clone(), e.clone(), d.clone()];
        let chosen = |free| keys(&choose(due.iter(), &running, free, 2));
        assert_eq!(running.full_lanes(2).into_iter().collect::<HashSet<_>>(), lanes(&["full", "uk"]));
        assert_eq!(running.full_lanes(3), [""; 0]);
        assert_eq!(chosen(9), [d.key, e.key]);
        assert_eq!(chosen(1), [d.key]);
        let room = keys(&choose(due.iter(), &running, 9, 9));
        assert_eq!(room, [due[0].key, due[2].key, d.key, e.key], "each once, and none that runs");
        let fewer = Running { lanes: HashMap::new(), ..running };
        assert_eq!(keys(&choose(due.iter(), &fewer, 9, 1)), [due[0].key, due[1].key, d.key]);
    }

    #[test]
    fn the_queue_is_read_again_when_the_next_row_is_due_or_may_be_free() {
        let rows = [row("uk", -1.0), row("uk", 0.0), row("uk", 1.5), row("uk", 1.0)];
        let table = Table { name: "jobs", channel: "jobs", lane: "q.lane" };
        let selected = |candidates: &[Candidate<InstanceId>], chosen: usize, leased: usize| {
            let chosen = candidates[..chosen].to_vec();
            let lease = |row: &Candidate<InstanceId>| Leased {
                key: row.key,
                failures: 0,
                due: true,
                table,
                owner: Uuid::nil(),
            };
            let leased = chosen[..leased].iter().map(lease).collect();
            let (some_unread, room_left) = (false, false);
            Selected { some_unread, room_left, candidates: candidates.to_vec(), chosen, leased }
        };
        assert_eq!(selected(&[], 0, 0).next(POLL), POLL);
        assert_eq!(selected(&rows[..2], 2, 2).next(POLL), POLL);
        assert_eq!(selected(&rows, 2, 2).next(POLL), Duration::from_secs(1));
        assert_eq!(selected(&rows, 2, 1).next(POLL), Duration::from_millis(50));
        assert!(!selected(&rows, 2, 1).is_limited());
        assert!(selected(&rows, 1, 1).is_limited());
        assert!(Selected { some_unread: true, ..selected(&rows, 2, 2) }.is_limited());
        assert_eq!(Selected { room_left: true, ..selected(&rows, 1, 1) }.next(POLL), Duration::ZERO);
        let locked = Selected { room_left: true, ..selected(&rows, 1, 0) };
        assert_eq!(locked.next(POLL), Duration::from_millis(50));
    }

    #[test]
    fn woken_rows_are_taken_in_order_and_running_ones_once_more_afterwards() {
        let rows = [row("uk", 0.0), row("uk", 0.0), row("uk", 0.0), row("uk", 0.0)];
        let mut running = running(&rows[..1]);
        let mut woken = Woken::default();
        woken.extend(keys(&rows));
        woken.extend(keys(&rows));
        assert_eq!(woken.take(2, &mut running), HashSet::from([rows[1].key, rows[2].key]));
        assert_eq!(running.again, HashSet::from([rows[0].key]));
        assert!(!woken.is_empty());
        woken.push(rows[1].key);
        assert_eq!(woken.take(9, &mut running), HashSet::from([rows[3].key, rows[1].key]));
        assert!(woken.is_empty());
    }
}
