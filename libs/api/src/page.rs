//! Lists: a bounded page and a cursor to the next, in a stable order.

use std::{
    fmt::Display,
    sync::atomic::{AtomicU64, Ordering},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use utoipa::{IntoParams, ToSchema};

use crate::{error_chain::ErrorChain, problem::Problem};

const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 200;

/// Rows of this process that lists left out.
static UNREADABLE: AtomicU64 = AtomicU64::new(0);

/// One page of a list.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    /// Items in the order of the list.
    pub items: Vec<T>,
    /// Send it as `cursor` to get the next page; null at the end.
    pub next_cursor: Option<String>,
    /// Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
    /// platform.
    #[serde(default)]
    pub unreadable: Vec<String>,
}

impl<T> Page<T> {
    /// A page that is not followed by another.
    #[must_use]
    pub fn last(items: Vec<T>) -> Self {
        Self { items, next_cursor: None, unreadable: Vec::new() }
    }

    /// Converts the items.
    pub fn map<U>(self, f: impl FnMut(T) -> U) -> Page<U> {
        let Self { items, next_cursor, unreadable } = self;
        Page { items: items.into_iter().map(f).collect(), next_cursor, unreadable }
    }

    /// Returns the page without its items, and the items: ids whose rows are read one by one with [`Self::add`],
    /// because one of them cannot be decoded ([`is_unreadable`]) and would hide the others.
    #[must_use]
    pub fn split<U>(self) -> (Page<U>, Vec<T>) {
        let Self { items, next_cursor, unreadable } = self;
        (Page { items: Vec::new(), next_cursor, unreadable }, items)
    }

    /// Adds the row with this id. A row that cannot be decoded is left out, its id returned, logged and
    /// counted.
    ///
    /// # Errors
    /// If the database fails.
    pub fn add(&mut self, id: impl Display, row: sqlx::Result<Option<T>>) -> sqlx::Result<()> {
        match row {
            Err(error) if is_unreadable(&error) => {
                tracing::error!(%id, cause = %ErrorChain(&error), "stored record cannot be read");
                UNREADABLE.fetch_add(1, Ordering::Relaxed);
                self.unreadable.push(id.to_string());
            }
            // a row may be deleted between the two reads
            row => self.items.extend(row?),
        }
        Ok(())
    }
}

/// Returns whether a stored row cannot be decoded: it was written by a later release, or by hand.
#[must_use]
pub fn is_unreadable(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_))
}

/// Returns how many rows lists of this process have left out.
#[must_use]
pub fn unreadable_rows() -> u64 {
    UNREADABLE.load(Ordering::Relaxed)
}

/// The query parameters `limit` and `cursor` of every list.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageParams {
    /// Maximum number of items.
    #[serde(default, deserialize_with = "from_text")]
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub limit: Option<u32>,
    /// `next_cursor` of the previous page.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// A number in a query string that is flattened into another struct arrives as text.
fn from_text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let text = Option::<std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
    text.map(|t| t.parse().map_err(serde::de::Error::custom)).transpose()
}

impl PageParams {
    /// Returns the requested page of a list with positions of type `K`.
    ///
    /// # Errors
    /// Returns 422 if the limit is not within 1 and 200, or the cursor is not from this list.
    pub fn request<K: DeserializeOwned>(&self) -> Result<PageRequest<K>, Problem> {
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(Problem::invalid_field("limit", format!("must be between 1 and {MAX_LIMIT}")));
        }
        let after = self.cursor.as_deref().map(Cursor::decode).transpose()?;
        Ok(PageRequest { limit, after })
    }

    /// Like [`Self::request`], for positions of two texts that are compared in Postgres.
    ///
    /// # Errors
    /// As well if the cursor has a NUL, which Postgres refuses.
    pub fn texts(&self) -> Result<PageRequest<(String, String)>, Problem> {
        let request = self.request::<(String, String)>()?;
        match &request.after {
            Some((first, second)) if first.contains('\0') || second.contains('\0') => Err(Cursor::foreign()),
            _ => Ok(request),
        }
    }

    /// Like [`Self::request`], for a list in one of several orders: its cursors contain the order, and are valid for
    /// that order only.
    ///
    /// # Errors
    /// As [`Self::request`], and if the cursor is of another order.
    pub fn sorted<S, K>(&self, sort: S) -> Result<PageRequest<(S, K)>, Problem>
    where
        S: DeserializeOwned + PartialEq + Copy,
        K: DeserializeOwned,
    {
        let request = self.request::<(S, K)>()?;
        match &request.after {
            Some((other, _)) if *other != sort => {
                let detail =
                    "is of another order of this list; send the same `sort`, or begin without a cursor";
                Err(Problem::invalid_field("cursor", detail))
            }
            _ => Ok(request),
        }
    }
}

/// The requested page of a list.
#[derive(Debug, Clone)]
pub struct PageRequest<K> {
    limit: u32,
    /// The position after which the page begins.
    pub after: Option<K>,
}

impl<K: Serialize> PageRequest<K> {
    /// Returns the number of rows to read: one more than the page has, to detect whether there is a next page.
    #[must_use]
    pub fn rows(&self) -> i64 {
        i64::from(self.limit) + 1
    }

    /// Returns the page from the rows that were read; `key` returns the position of a row.
    pub fn page<T>(&self, mut rows: Vec<T>, key: impl Fn(&T) -> K) -> Page<T> {
        let limit = self.limit as usize;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next_cursor = if more { rows.last().map(|row| Cursor::encode(&key(row))) } else { None };
        Page { items: rows, next_cursor, unreadable: Vec::new() }
    }
}

/// A position in a list, opaque to callers.
#[derive(Debug)]
pub struct Cursor;

impl Cursor {
    /// Returns the cursor of the position `key`.
    pub fn encode<K: Serialize>(key: &K) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(key).unwrap_or_default())
    }

    /// Returns the position of a cursor.
    ///
    /// # Errors
    /// Returns 422 if the text is not a cursor of this list.
    pub fn decode<K: DeserializeOwned>(text: &str) -> Result<K, Problem> {
        let position =
            URL_SAFE_NO_PAD.decode(text).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        position.ok_or_else(Self::foreign)
    }

    fn foreign() -> Problem {
        Problem::invalid_field("cursor", "is not a cursor of this list; begin without one")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn params(query: serde_json::Value) -> PageParams {
        serde_json::from_value(query).unwrap()
    }

    #[test]
    fn a_cursor_leads_from_page_to_page_until_the_end() {
        let read = |request: &PageRequest<i64>| {
            let rows = request.after.map_or(1, |after| after + 1)..=5;
            let rows: Vec<_> = rows.take(usize::try_from(request.rows()).unwrap()).collect();
            request.page(rows, |row| *row).map(|row| row * 10)
        };
        let first = read(&params(json!({"limit": "2"})).request().unwrap());
        assert_eq!(first.items, [10, 20]);
        let second = read(&params(json!({"limit": "3", "cursor": first.next_cursor})).request().unwrap());
        assert_eq!((second.items, second.next_cursor), (vec![30, 40, 50], None), "no row is left");
    }

    #[test]
    fn a_cursor_is_of_one_order() {
        let request = |query, sort| params(query).sorted::<char, i64>(sort);
        let first = request(json!({ "limit": "1" }), 'a').unwrap();
        let cursor = first.page(vec![1, 2], |row| ('a', *row)).next_cursor;
        let next = request(json!({ "cursor": cursor }), 'a').unwrap();
        assert_eq!(next.after, Some(('a', 1)));
        let other = request(json!({ "cursor": cursor }), 'b').unwrap_err();
        assert_eq!(other.errors[0].pointer, "cursor");
        assert!(other.errors[0].detail.contains("order"), "{}", other.errors[0].detail);
    }

    #[test]
    fn limits_and_cursors_are_checked() {
        let rows = |query| params(query).request::<i64>().map(|request| request.rows());
        assert_eq!(rows(json!({})).unwrap(), 51);
        assert_eq!(rows(json!({"limit": "200"})).unwrap(), 201);
        for (query, field) in [
            (json!({"limit": "0"}), "limit"),
            (json!({"limit": "201"}), "limit"),
            (json!({"cursor": "?"}), "cursor"),
            (json!({"cursor": Cursor::encode(&"of another list")}), "cursor"),
        ] {
            assert_eq!(rows(query).unwrap_err().errors[0].pointer, field);
        }
    }
}
