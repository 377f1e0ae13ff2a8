//! What a storage specification is.

use api::{FieldError, Problem};
use ids::StorageSpecId;
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The largest storage, in GiB.
pub(crate) const LARGEST_GIB: i64 = 1_048_576;

/// What a storage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[schema(as = StorageKind)]
pub(crate) enum Kind {
    /// A file system that instances mount.
    Volume,
    /// A bucket of an S3 object store.
    Bucket,
}

impl Kind {
    /// As it stands on the wire.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Volume => "volume",
            Self::Bucket => "bucket",
        }
    }
}

/// Whether it can be picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[schema(as = StorageSpecState)]
pub(crate) enum SpecState {
    /// It can.
    Active,
    /// No new storages of it; those that exist stay.
    Retired,
}

/// How many nodes may mount a volume at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[schema(as = VolumeAccessMode)]
pub(crate) enum AccessMode {
    /// Read and write from one node.
    ReadWriteOnce,
    /// Read and write from many nodes.
    #[default]
    ReadWriteMany,
}

/// A storage specification.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct StorageSpec {
    /// Its id.
    pub(crate) id: StorageSpecId,
    /// Its name, unique.
    pub(crate) name: String,
    /// What a storage of it is.
    pub(crate) kind: Kind,
    /// The smallest size, in GiB.
    pub(crate) min_size_gib: i64,
    /// The largest size, in GiB; equal to the smallest when the size is fixed.
    pub(crate) max_size_gib: i64,
    /// Price of a GiB for a month.
    #[schema(value_type = String, example = "0.05")]
    pub(crate) price_per_gib_month: Decimal,
    /// ISO 4217.
    pub(crate) currency: String,
    /// Storage class of the clusters (volumes); their default when null.
    pub(crate) storage_class: Option<String>,
    /// How many nodes may mount it (volumes).
    pub(crate) access_mode: AccessMode,
    /// Whether it can be picked.
    pub(crate) state: SpecState,
    #[serde(skip)]
    pub(crate) generation: i64,
    /// When it was made.
    pub(crate) created_at: Timestamp,
    /// When it last changed.
    pub(crate) updated_at: Timestamp,
}

/// A storage specification to be made. Sizes: either `size_gib` (fixed) or both `min_size_gib` and
/// `max_size_gib`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewStorageSpec {
    /// 1 to 63 of a–z, 0–9 and `-`, beginning and ending with a letter or digit.
    pub(crate) name: String,
    /// What a storage of it is.
    pub(crate) kind: Kind,
    /// The one size there is, in GiB.
    #[serde(default)]
    pub(crate) size_gib: Option<i64>,
    /// The smallest size, in GiB.
    #[serde(default)]
    pub(crate) min_size_gib: Option<i64>,
    /// The largest size, in GiB.
    #[serde(default)]
    pub(crate) max_size_gib: Option<i64>,
    /// Price of a GiB for a month, as a decimal string.
    #[schema(value_type = String, example = "0.05")]
    #[serde(with = "rust_decimal::serde::str")]
    pub(crate) price_per_gib_month: Decimal,
    /// ISO 4217: three capital letters.
    pub(crate) currency: String,
    /// Storage class of the clusters (volumes only).
    #[serde(default)]
    pub(crate) storage_class: Option<String>,
    /// How many nodes may mount it (volumes; default `read_write_many`).
    #[serde(default)]
    pub(crate) access_mode: AccessMode,
}

/// What changes of a storage specification; what is absent stays. Storages that exist keep their price.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StorageSpecChange {
    /// The largest size, in GiB; not smaller than the smallest.
    #[serde(default)]
    pub(crate) max_size_gib: Option<i64>,
    /// Price of a GiB for a month.
    #[schema(value_type = Option<String>)]
    #[serde(default, with = "rust_decimal::serde::str_option")]
    pub(crate) price_per_gib_month: Option<Decimal>,
    /// Retires it, or lets it be picked again.
    #[serde(default)]
    pub(crate) state: Option<SpecState>,
}

/// Sizes in GiB: smallest and largest.
pub(crate) type Sizes = (i64, i64);

impl NewStorageSpec {
    /// Checks it whole and gives its sizes.
    ///
    /// # Errors
    /// 422 naming every field that is wrong.
    pub(crate) fn check(&self) -> Result<Sizes, Problem> {
        let mut errors = Vec::new();
        let mut wrong = |pointer: &str, detail: String| {
            errors.push(FieldError { pointer: pointer.to_owned(), detail });
        };
        if !is_label(&self.name) {
            wrong("/name", "must be 1 to 63 of a–z, 0–9 and -, with a letter or digit at both ends".into());
        }
        let sizes = match (self.size_gib, self.min_size_gib, self.max_size_gib) {
            (Some(fixed), None, None) => Some((fixed, fixed)),
            (None, Some(min), Some(max)) => Some((min, max)),
            _ => {
                wrong("/size_gib", "give either size_gib, or min_size_gib and max_size_gib".into());
                None
            }
        };
        if let Some((min, max)) = sizes
            && !(1 <= min && min <= max && max <= LARGEST_GIB)
        {
            wrong("/min_size_gib", format!("sizes must be 1 ≤ smallest ≤ largest ≤ {LARGEST_GIB}"));
        }
        if let Err(detail) = check_price(self.price_per_gib_month) {
            wrong("/price_per_gib_month", detail);
        }
        if self.currency.len() != 3 || !self.currency.bytes().all(|b| b.is_ascii_uppercase()) {
            wrong("/currency", "must be three capital letters (ISO 4217)".into());
        }
        if let Some(class) = &self.storage_class {
            if self.kind == Kind::Bucket {
                wrong("/storage_class", "is for volumes only".into());
            } else if !class.split('.').all(is_label) || class.len() > 253 {
                wrong("/storage_class", "is not a name of a Kubernetes object".into());
            }
        }
        match sizes {
            Some(sizes) if errors.is_empty() => Ok(sizes),
            _ => Err(Problem::invalid(errors)),
        }
    }
}

/// # Errors
/// Says what is wrong with it.
pub(crate) fn check_price(price: Decimal) -> Result<(), String> {
    if price.is_sign_negative() || price.scale() > 8 || price >= Decimal::from(1_000_000) {
        return Err("must be from 0 up, below 1000000, with at most 8 decimal places".to_owned());
    }
    Ok(())
}

/// A DNS label.
fn is_label(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}
