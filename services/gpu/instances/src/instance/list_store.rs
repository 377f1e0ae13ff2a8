//! SQL of the lists of instances.

use std::collections::HashMap;

use api::{Page, PageRequest, Total, page::is_unreadable};
use gpu_core::instance::Instance;
use ids::{InstanceId, TenantId};
use sqlx::{PgConnection, Postgres, QueryBuilder};

use super::{
    list::{Filter, InstanceSort},
    store,
};

/// Position in a list: the name in lower case, empty in the order of creation, and the id.
pub type Position = (String, InstanceId);

/// Returns a page of instances in this order: of one tenant in its transaction, or of all in an
/// administrator's. Rows that cannot be decoded are left out, and their ids returned.
pub async fn page(
    conn: &mut PgConnection,
    filter: &Filter<'_>,
    sort: InstanceSort,
    request: &PageRequest<(InstanceSort, Position)>,
) -> sqlx::Result<Page<Instance>> {
    let after = request.after.as_ref().map(|(_, position)| position);
    let mut query = positions(filter, sort, after, request.rows());
    let positions: Vec<Position> = query.build_query_as().persistent(false).fetch_all(&mut *conn).await?;
    let (mut page, positions) = request.page(positions, |position| (sort, position.clone())).split();
    let ids: Vec<InstanceId> = positions.into_iter().map(|(_, id)| id).collect();
    match store::read_all(&mut *conn, &ids).await {
        Err(error) if is_unreadable(&error) => {
            for id in ids {
                let row = store::read(&mut *conn, id).await;
                page.add(id, row.map(|row| row.filter(|instance| !instance.is_deleted())))?;
            }
        }
        rows => {
            let mut rows: HashMap<_, _> = rows?.into_iter().map(|instance| (instance.id, instance)).collect();
            let rows = ids.iter().filter_map(|id| rows.remove(id));
            page.items = rows.filter(|instance| !instance.is_deleted()).collect();
        }
    }
    Ok(page)
}

/// Counts the instances of a list.
pub async fn total(conn: &mut PgConnection, filter: &Filter<'_>) -> sqlx::Result<Total> {
    let mut query = QueryBuilder::new("select count(*) from (select from (");
    for_each_state(&mut query, filter, "select id from instances", |_| {});
    query.push(") listed limit ").push_bind(Total::ROWS).push(") counted");
    query.build_query_scalar().persistent(false).fetch_one(conn).await.map(Total::of)
}

/// The first positions after this one. A dynamic query: with the order, state or tenant as a parameter,
/// Postgres would not read exactly the rows of a page from an index.
fn positions(
    filter: &Filter<'_>,
    sort: InstanceSort,
    after: Option<&Position>,
    limit: i64,
) -> QueryBuilder<Postgres> {
    let (direction, beyond) = if sort.is_descending() { (" desc", '<') } else { ("", '>') };
    let (select, order) = if sort.is_by_name() {
        ("select name_key, id from instances", format!(" order by name_key{direction}, id{direction} limit "))
    } else {
        ("select '' as name_key, id from instances", format!(" order by id{direction} limit "))
    };
    let mut query = QueryBuilder::new("select name_key, id from (");
    for_each_state(&mut query, filter, select, |query| {
        match after {
            Some((name, id)) if sort.is_by_name() => {
                query.push(format_args!(" and (name_key, id) {beyond} (")).push_bind(name.clone());
                query.push(", ").push_bind(*id).push(")");
            }
            Some((_, id)) => {
                query.push(format_args!(" and id {beyond} ")).push_bind(*id);
            }
            None => {}
        }
        query.push(&order).push_bind(limit);
    });
    query.push(") listed").push(&order).push_bind(limit);
    query
}

/// Adds the union of one query per state of the filter: the state is a part of the index. `end` adds the end
/// of each.
fn for_each_state(
    query: &mut QueryBuilder<Postgres>,
    filter: &Filter<'_>,
    select: &str,
    end: impl Fn(&mut QueryBuilder<Postgres>),
) {
    let pattern = filter.name_pattern();
    for (n, state) in filter.states().enumerate() {
        let union = if n == 0 { "" } else { " union all " };
        query.push(format_args!("{union}({select} where state = '{}'", state.as_str()));
        if let Some(tenant) = filter.tenant {
            query.push(" and tenant_id = ").push_bind::<TenantId>(tenant);
        }
        if let Some(pattern) = &pattern {
            query.push(" and name_key like lower(").push_bind(pattern.clone());
            query.push(r#" collate "und-x-icu") collate "C""#);
        }
        end(query);
        query.push(")");
    }
}
