//! SQL of the lists of storages.

use std::collections::HashMap;

use api::{Page, PageRequest, Total, list::containing, page::is_unreadable};
use ids::StorageId;
use serde::{Deserialize, Serialize};
use sqlx::{PgConnection, Postgres, QueryBuilder};

use super::{
    list::{Filter, OrderKey, StorageSort},
    model::Storage,
    store,
};

/// Position in a list: the name in lower case in the order of names, the size in that of sizes, and the id.
#[derive(Debug, Clone, Serialize, Deserialize, sqlx::FromRow)]
pub(super) struct Position {
    name_key: String,
    size_gib: i64,
    id: StorageId,
}

/// Returns a page of storages in this order: of one tenant in its transaction, or of all in an
/// administrator's. Rows that cannot be decoded are left out, and their ids returned.
pub(super) async fn page(
    conn: &mut PgConnection,
    filter: &Filter<'_>,
    sort: StorageSort,
    request: &PageRequest<(StorageSort, Position)>,
) -> sqlx::Result<Page<Storage>> {
    let after = request.after.as_ref().map(|(_, position)| position);
    let mut query = positions(filter, sort, after, request.rows());
    let positions: Vec<Position> = query.build_query_as().persistent(false).fetch_all(&mut *conn).await?;
    let (mut page, positions) = request.page(positions, |position| (sort, position.clone())).split();
    let ids: Vec<StorageId> = positions.into_iter().map(|position| position.id).collect();
    match store::read_all(conn, &ids).await {
        Err(error) if is_unreadable(&error) => {
            for id in ids {
                page.add(id, store::find_any(conn, id).await)?;
            }
        }
        rows => {
            let mut rows: HashMap<_, _> = rows?.into_iter().map(|storage| (storage.id, storage)).collect();
            page.items = ids.iter().filter_map(|id| rows.remove(id)).collect();
        }
    }
    Ok(page)
}

/// Counts the storages of a list.
pub(super) async fn total(conn: &mut PgConnection, filter: &Filter<'_>) -> sqlx::Result<Total> {
    let mut query = QueryBuilder::new("select count(*) from (select from storages where true");
    push_conditions(&mut query, filter);
    query.push(" limit ").push_bind(Total::ROWS).push(") counted");
    query.build_query_scalar().persistent(false).fetch_one(conn).await.map(Total::of)
}

/// The first positions after this one. A dynamic query: with the order as a parameter, Postgres would not
/// read them from an index.
fn positions(
    filter: &Filter<'_>,
    sort: StorageSort,
    after: Option<&Position>,
    limit: i64,
) -> QueryBuilder<Postgres> {
    let (direction, beyond) = if sort.is_descending() { (" desc", '<') } else { ("", '>') };
    let (name, size, order) = match sort.key() {
        OrderKey::Creation => ("''", "0::bigint", String::new()),
        OrderKey::Name => ("s.name_key", "0::bigint", format!("s.name_key{direction}, ")),
        OrderKey::Size => ("''", "s.size_gib", format!("s.size_gib{direction}, ")),
    };
    let mut query = QueryBuilder::new(format!(
        "select {name} as name_key, {size} as size_gib, s.id from storages s where true"
    ));
    push_conditions(&mut query, filter);
    if let Some(Position { name_key, size_gib, id }) = after {
        match sort.key() {
            OrderKey::Creation => query.push(format_args!(" and s.id {beyond} (")),
            OrderKey::Name => {
                query.push(format_args!(" and (s.name_key, s.id) {beyond} ("));
                query.push_bind(name_key.clone()).push(", ")
            }
            OrderKey::Size => {
                query.push(format_args!(" and (s.size_gib, s.id) {beyond} (")).push_bind(*size_gib).push(", ")
            }
        };
        query.push_bind(*id).push(")");
    }
    query.push(format_args!(" order by {order}s.id{direction} limit ")).push_bind(limit);
    query
}

fn push_conditions(query: &mut QueryBuilder<Postgres>, filter: &Filter<'_>) {
    if let Some(tenant) = filter.tenant {
        query.push(" and tenant_id = ").push_bind(tenant);
    }
    if !filter.states.is_empty() {
        let states: Vec<_> = filter.states.iter().map(|state| state.as_str()).collect();
        query.push(" and state = any(").push_bind(states).push(")");
    }
    if let Some(kind) = filter.kind {
        query.push(" and kind = ").push_bind(kind);
    }
    if let Some(name) = filter.name {
        query.push(" and name_key like lower(").push_bind(containing(name));
        query.push(r#" collate "und-x-icu") collate "C""#);
    }
}
