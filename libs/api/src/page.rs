//! Lists: a bounded page and a cursor to the next, in a stable order.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use utoipa::{IntoParams, ToSchema};

use crate::problem::Problem;

const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 200;

/// One page of a list.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    /// The things, in the list's order.
    pub items: Vec<T>,
    /// Send it as `cursor` to get the next page; null at the end.
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// The same page of other things.
    pub fn map<U>(self, f: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(f).collect(), next_cursor: self.next_cursor }
    }
}

/// `?limit=&cursor=` of every list.
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
    /// The page that is asked for, of a list in which a row's position is a `K`.
    ///
    /// # Errors
    /// 422 when the limit is not within 1 and 200, or the cursor none that this list gave.
    pub fn request<K: DeserializeOwned>(&self) -> Result<PageRequest<K>, Problem> {
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(Problem::invalid_field("limit", format!("must be between 1 and {MAX_LIMIT}")));
        }
        let after = self.cursor.as_deref().map(Cursor::decode).transpose()?;
        Ok(PageRequest { limit, after })
    }
}

/// Which page of a list is asked for.
#[derive(Debug, Clone)]
pub struct PageRequest<K> {
    limit: u32,
    /// The position after which the page begins.
    pub after: Option<K>,
}

impl<K: Serialize> PageRequest<K> {
    /// How many rows to read: one more than are shown, which only tells that there is a next page.
    #[must_use]
    pub fn rows(&self) -> i64 {
        i64::from(self.limit) + 1
    }

    /// The page, of the rows that were read; `key` gives the position of a row.
    pub fn page<T>(&self, mut rows: Vec<T>, key: impl Fn(&T) -> K) -> Page<T> {
        let limit = self.limit as usize;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next_cursor = if more { rows.last().map(|row| Cursor::encode(&key(row))) } else { None };
        Page { items: rows, next_cursor }
    }
}

/// A position in a list, opaque to callers.
#[derive(Debug)]
pub struct Cursor;

impl Cursor {
    /// The position `key` as text.
    pub fn encode<K: Serialize>(key: &K) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(key).unwrap_or_default())
    }

    /// The position that the text stands for.
    ///
    /// # Errors
    /// 422 when it is none.
    pub fn decode<K: DeserializeOwned>(text: &str) -> Result<K, Problem> {
        URL_SAFE_NO_PAD.decode(text).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).ok_or_else(
            || Problem::invalid_field("cursor", "is not a cursor of this list; begin without one"),
        )
    }
}
