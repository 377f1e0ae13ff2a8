//! Further parameters of lists with many items: several values of a filter, a selection of fields, the total.

use std::collections::BTreeSet;

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, IntoDeserializer},
};
use serde_json::{Map, Value};
use utoipa::{
    ToSchema,
    openapi::{RefOr, Schema},
};

use crate::{page::Page, problem::Problem};

/// Values of a query parameter, separated by commas. In a document: `style = Form, explode = false`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Several<T>(Vec<T>);

impl<T> std::ops::Deref for Several<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Several<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.split(',')
            .map(|value| T::deserialize(value.into_deserializer()))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// Additional data of a list, requested with the parameter `include`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ListInclude)]
pub enum Include {
    /// How many items all pages have.
    Total,
}

/// Number of items on all pages of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ListTotal)]
pub struct Total {
    /// Number of items, up to 10,000.
    #[schema(minimum = 0, maximum = 10_000)]
    count: i64,
    /// False if there are more than `count`.
    is_exact: bool,
}

impl Total {
    const MAX: i64 = 10_000;
    /// How many rows to count at most.
    pub const ROWS: i64 = Self::MAX + 1;

    /// Returns the total of a list, from a count of rows that stops at [`Self::ROWS`].
    #[must_use]
    pub fn of(rows: i64) -> Self {
        Self { count: rows.min(Self::MAX), is_exact: rows <= Self::MAX }
    }
}

/// One page of a list, with the number of all items.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct CountedPage<T> {
    /// Items in the order of the list.
    pub items: Vec<T>,
    /// Send it as `cursor` to get the next page; null at the end.
    pub next_cursor: Option<String>,
    /// Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
    /// platform.
    pub unreadable: Vec<String>,
    /// Number of items on all pages; null unless `include` has `total`.
    pub total: Option<Total>,
}

impl<T> CountedPage<T> {
    /// Returns the page with the total.
    #[must_use]
    pub fn new(page: Page<T>, total: Option<Total>) -> Self {
        let Page { items, next_cursor, unreadable } = page;
        Self { items, next_cursor, unreadable, total }
    }
}

/// Which fields the items of a response have: the parameter `fields`.
#[derive(Debug)]
pub struct Fields(Option<BTreeSet<String>>);

impl Fields {
    /// Returns the requested fields of items of the type `T`: all if none are named, and always `id`.
    ///
    /// # Errors
    /// Returns 422 if `T` has no field of a name.
    pub fn of<T: ToSchema>(names: Option<&Several<String>>) -> Result<Self, Problem> {
        let Some(names) = names else { return Ok(Self(None)) };
        let mut defined = Vec::new();
        T::schemas(&mut defined);
        let mut known = BTreeSet::new();
        collect_properties(&T::schema(), &defined, &mut known);
        if let Some(name) = names.iter().find(|name| !known.contains(*name)) {
            let known = known.into_iter().collect::<Vec<_>>().join(", ");
            return Err(Problem::invalid_field("fields", format!("no field `{name}`, but {known}")));
        }
        Ok(Self(Some(names.iter().cloned().chain(["id".to_owned()]).collect())))
    }

    /// Returns whether the field was requested. Other fields need not be computed.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|names| names.contains(name))
    }

    /// Returns the item with these fields.
    pub fn select<T: Serialize>(&self, item: T) -> Item<T> {
        let Some(names) = &self.0 else { return Item::Whole(item) };
        match serde_json::to_value(&item) {
            Ok(Value::Object(mut members)) => {
                members.retain(|name, _| names.contains(name));
                Item::Part(members)
            }
            _ => Item::Whole(item),
        }
    }
}

/// Returns the pattern of texts that contain this one, for `like`.
#[must_use]
pub fn containing(text: &str) -> String {
    let escaped = text.replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_");
    format!("%{escaped}%")
}

/// An item of a list, with all its fields or with those that were requested.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Item<T> {
    /// All fields.
    Whole(T),
    /// The requested fields.
    Part(Map<String, Value>),
}

/// Adds the names of an object's properties.
fn collect_properties(
    schema: &RefOr<Schema>,
    defined: &[(String, RefOr<Schema>)],
    names: &mut BTreeSet<String>,
) {
    match schema {
        RefOr::Ref(reference) => {
            let name = reference.ref_location.rsplit('/').next();
            if let Some((_, schema)) = defined.iter().find(|(defined, _)| Some(&**defined) == name) {
                collect_properties(schema, defined, names);
            }
        }
        RefOr::T(Schema::Object(object)) => names.extend(object.properties.keys().cloned()),
        RefOr::T(Schema::AllOf(all)) => {
            for part in &all.items {
                collect_properties(part, defined, names);
            }
        }
        RefOr::T(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::FieldError;

    #[derive(Serialize, ToSchema)]
    struct Inner {
        id: u8,
        name: &'static str,
    }

    #[derive(Serialize, ToSchema)]
    struct Outer {
        owner: &'static str,
        #[serde(flatten)]
        inner: Inner,
    }

    fn several<T: DeserializeOwned>(text: &str) -> Result<Several<T>, serde_json::Error> {
        serde_json::from_value(json!(text))
    }

    #[test]
    fn values_are_separated_by_commas() {
        assert_eq!(*several::<Include>("total,total").unwrap(), [Include::Total, Include::Total]);
        for wrong in ["", "total,", "Total", "total;total"] {
            let refused = several::<Include>(wrong).unwrap_err().to_string();
            assert!(refused.contains("expected `total`"), "{wrong}: {refused}");
        }
    }

    #[test]
    fn items_have_the_named_fields_and_their_id() {
        let item = || Outer { owner: "a", inner: Inner { id: 1, name: "b" } };
        let selected = |names: Option<&str>| {
            let names = names.map(|names| several(names).unwrap());
            let fields = Fields::of::<Outer>(names.as_ref()).map_err(|refused| refused.errors)?;
            Ok::<_, Vec<FieldError>>(serde_json::to_value(fields.select(item())).unwrap())
        };
        assert_eq!(selected(None), Ok(json!({ "owner": "a", "id": 1, "name": "b" })));
        assert_eq!(selected(Some("name")), Ok(json!({ "id": 1, "name": "b" })), "of what is flattened");
        assert_eq!(selected(Some("owner,id,owner")), Ok(json!({ "id": 1, "owner": "a" })));
        for wrong in ["size", "", "name,inner", "name, id"] {
            let errors = selected(Some(wrong)).unwrap_err();
            assert_eq!(errors[0].pointer, "fields", "{wrong}");
            assert!(errors[0].detail.ends_with("but id, name, owner"), "{}", errors[0].detail);
        }
        assert!(Fields::of::<Outer>(None).unwrap().has("name"));
        let name = Fields::of::<Outer>(Some(&several("name").unwrap())).unwrap();
        assert!(name.has("name") && name.has("id") && !name.has("owner"));
    }

    #[test]
    fn a_total_is_exact_up_to_its_limit() {
        let total = |rows| serde_json::to_value(Total::of(rows)).unwrap();
        assert_eq!(total(0), json!({ "count": 0, "is_exact": true }));
        assert_eq!(total(10_000), json!({ "count": 10_000, "is_exact": true }));
        assert_eq!(total(Total::ROWS), json!({ "count": 10_000, "is_exact": false }));
    }
}
