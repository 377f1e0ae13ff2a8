//! SQL of the list of jobs.

use api::{Page, PageRequest, Total, page::is_unreadable};
use ids::{JobId, TenantId};
use jiff::Timestamp;
use jiff_sqlx::ToSqlx as _;
use jobs_core::job::Job;
use sqlx::{PgConnection, Postgres, QueryBuilder};

use super::{
    list::{Filter, JobSort, OrderKey, Part},
    store,
};

/// Position in a list: what jobs are ordered by, which is 0 in the order of creation, and the id.
pub type Position = (i64, JobId);

/// The end of jobs that have not ended, in microseconds: after all others.
const NEVER: i64 = i64::MAX;
const END: &str = "(extract(epoch from ended_at) * 1000000)::bigint";
/// Like `cost_key`, which only ended jobs have.
const COST: &str = "(least(coalesce(cost, 0), 9000000000) * 1000000000)::bigint";

/// A list of the tenant's jobs, in its transaction.
#[derive(Debug, Clone, Copy)]
pub struct List<'a> {
    pub tenant: TenantId,
    pub filter: &'a Filter<'a>,
    pub sort: JobSort,
}

impl List<'_> {
    /// Returns a page. Rows that cannot be decoded are left out, and their ids returned.
    pub async fn page(
        self,
        conn: &mut PgConnection,
        request: &PageRequest<(JobSort, Position)>,
    ) -> sqlx::Result<Page<Job>> {
        let after = request.after.map(|(_, position)| position);
        let mut query = self.positions(after, request.rows());
        let positions: Vec<Position> = query.build_query_as().persistent(false).fetch_all(&mut *conn).await?;
        let (mut page, positions) = request.page(positions, |position| (self.sort, *position)).split();
        let ids: Vec<JobId> = positions.into_iter().map(|(_, id)| id).collect();
        match store::find_all(conn, self.tenant, &ids).await {
            Err(error) if is_unreadable(&error) => {
                for id in ids {
                    page.add(id, store::find(conn, self.tenant, id).await)?;
                }
            }
            rows => {
                let mut rows = rows?;
                page.items = ids.iter().filter_map(|id| rows.remove(id)).collect();
            }
        }
        Ok(page)
    }

    /// Counts the jobs of the list.
    pub async fn total(self, conn: &mut PgConnection) -> sqlx::Result<Total> {
        let mut query = QueryBuilder::new("select count(*) from (select from (");
        for (n, part) in self.filter.parts(self.sort.key()).into_iter().enumerate() {
            query.push(if n == 0 { "(select id" } else { " union all (select id" });
            self.push_from(&mut query, part);
            query.push(")");
        }
        query.push(") listed limit ").push_bind(Total::ROWS).push(") counted");
        query.build_query_scalar().persistent(false).fetch_one(conn).await.map(Total::of)
    }

    /// The first positions after this one. A dynamic query: with the order or state as a parameter, Postgres
    /// would not read exactly the rows of a page from an index.
    fn positions(self, after: Option<Position>, limit: i64) -> QueryBuilder<Postgres> {
        let direction = if self.sort.is_descending() { " desc" } else { "" };
        let mut query = QueryBuilder::new("select key, id from (");
        for (n, part) in self.filter.parts(self.sort.key()).into_iter().enumerate() {
            let Order { key, column } = self.order(part);
            let union = if n == 0 { "" } else { " union all " };
            query.push(format_args!("{union}(select {key} as key, id"));
            self.push_from(&mut query, part);
            if let Some(position) = after {
                self.push_after(&mut query, part, position);
            }
            let column = column.map(|column| format!("{column}{direction}, ")).unwrap_or_default();
            query.push(format_args!(" order by {column}id{direction} limit ")).push_bind(limit).push(")");
        }
        query.push(format_args!(") listed order by key{direction}, id{direction} limit ")).push_bind(limit);
        query
    }

    fn order(self, part: Part) -> Order {
        let of = |key: &str| Order { key: key.to_owned(), column: Some(key.to_owned()) };
        match (self.sort.key(), part) {
            (OrderKey::Creation, _) => Order { key: "0::bigint".to_owned(), column: None },
            (OrderKey::End, Part::Open) => Order { key: format!("{NEVER}::bigint"), column: None },
            (OrderKey::End, Part::Ended(..)) => {
                Order { key: END.to_owned(), column: Some("ended_at".to_owned()) }
            }
            (OrderKey::End, Part::All | Part::Named) => of(&format!("coalesce({END}, {NEVER})")),
            (OrderKey::Cost, Part::Ended(..)) => of("cost_key"),
            (OrderKey::Cost, Part::Open | Part::All | Part::Named) => of(COST),
        }
    }

    /// Adds the table and the conditions of a part.
    fn push_from(self, query: &mut QueryBuilder<Postgres>, part: Part) {
        let filter = self.filter;
        query.push(" from jobs where tenant_id = ").push_bind(self.tenant);
        match part {
            Part::Ended(kind, state) => {
                let (kind, state) = (kind.as_str(), state.as_str());
                query.push(format_args!(" and kind = '{kind}' and end_state = '{state}'"));
            }
            Part::All => {}
            Part::Open | Part::Named => {
                if part == Part::Open {
                    query.push(" and ended_at is null");
                }
                if !filter.states.is_empty() {
                    let states: Vec<_> = filter.states.iter().map(|state| state.as_str()).collect();
                    query.push(" and state = any(").push_bind(states).push(")");
                }
                if let Some(kind) = filter.kind {
                    query.push(" and kind = ").push_bind(kind);
                }
            }
        }
        if let Some(level) = filter.level {
            query.push(" and level = ").push_bind(level);
        }
        if let Some(application) = filter.application {
            query.push(" and application = ").push_bind(application.to_owned());
        }
        if let Some(group) = filter.group {
            query.push(" and group_name = ").push_bind(group.to_owned());
        }
        if let Some(req_no) = filter.req_no {
            query
                .push(" and id = (select job_id from request_numbers where tenant_id = ")
                .push_bind(self.tenant);
            query.push(" and req_no = ").push_bind(req_no).push(")");
        }
    }

    /// Adds the condition that a job is after this position.
    fn push_after(self, query: &mut QueryBuilder<Postgres>, part: Part, (key, id): Position) {
        let is_descending = self.sort.is_descending();
        let beyond = if is_descending { '<' } else { '>' };
        let is_after_ends = key == NEVER;
        match (self.sort.key(), part) {
            (OrderKey::End, Part::Open) if !is_after_ends => {
                query.push(if is_descending { " and false" } else { "" });
            }
            (OrderKey::End, Part::Ended(..)) if is_after_ends => {
                query.push(if is_descending { "" } else { " and false" });
            }
            (OrderKey::Creation, _) | (OrderKey::End, Part::Open) => {
                query.push(format_args!(" and id {beyond} ")).push_bind(id);
            }
            (OrderKey::End, Part::Ended(..)) => {
                query.push(format_args!(" and (ended_at, id) {beyond} ("));
                query.push_bind(time(key).to_sqlx()).push(", ").push_bind(id).push(")");
            }
            (OrderKey::End | OrderKey::Cost, _) => {
                let key_of_row = self.order(part).key;
                query.push(format_args!(" and ({key_of_row}, id) {beyond} (")).push_bind(key);
                query.push(", ").push_bind(id).push(")");
            }
        }
    }
}

/// What the jobs of a part are ordered by.
struct Order {
    /// As a bigint.
    key: String,
    /// As an index has it; none if only by the id.
    column: Option<String>,
}

/// Returns the time of a position, which callers may choose freely.
fn time(micros: i64) -> Timestamp {
    let time = Timestamp::from_microsecond(micros).unwrap_or(Timestamp::UNIX_EPOCH);
    time.max(Timestamp::UNIX_EPOCH)
}
