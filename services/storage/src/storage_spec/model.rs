//! Storage specifications, and their validation.

use api::{Checks, checks::is_dns_subdomain};
use ids::StorageSpecId;
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use storage_api::StorageKind;
use utoipa::ToSchema;

use super::error::Error;

/// The largest storage, in GiB.
pub(crate) const LARGEST_GIB: i64 = 1_048_576;

/// Whether new storages can be created from a specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[schema(as = StorageSpecState)]
pub(crate) enum SpecState {
    /// New storages can be created.
    Active,
    /// No new storages can be created; existing ones stay.
    Retired,
}

/// How many nodes can mount a volume at a time.
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
    /// Specification id.
    pub(crate) id: StorageSpecId,
    /// Unique name.
    pub(crate) name: String,
    /// Kind of its storages.
    pub(crate) kind: StorageKind,
    /// Smallest size in GiB.
    pub(crate) min_size_gib: i64,
    /// Largest size in GiB. Equal to the smallest one if the size is fixed.
    pub(crate) max_size_gib: i64,
    /// Price of one GiB for one month, as a decimal string.
    #[schema(value_type = String, example = "0.05")]
    pub(crate) price_per_gib_month: Decimal,
    /// Currency of the price (ISO 4217).
    pub(crate) currency: String,
    /// Storage class of the cluster (volumes). Null for the default class.
    pub(crate) storage_class: Option<String>,
    /// How many nodes can mount a volume.
    pub(crate) access_mode: AccessMode,
    /// Whether new storages can be created.
    pub(crate) state: SpecState,
    #[serde(skip)]
    pub(crate) generation: i64,
    /// Time of creation.
    pub(crate) created_at: Timestamp,
    /// Time of the last change.
    pub(crate) updated_at: Timestamp,
}

impl StorageSpec {
    /// Checks that new storages can be created.
    ///
    /// # Errors
    /// If the specification is retired.
    pub(crate) fn check_active(&self) -> Result<(), Error> {
        match self.state {
            SpecState::Active => Ok(()),
            SpecState::Retired => Err(Error::Retired(self.name.clone())),
        }
    }
}

/// A new storage specification. Sizes: either `size_gib` (fixed), or both `min_size_gib` and `max_size_gib`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewStorageSpec {
    /// 1 to 63 of a-z, 0-9 and `-`, beginning and ending with a letter or digit.
    pub(crate) name: String,
    /// Kind of its storages.
    pub(crate) kind: StorageKind,
    /// The only size in GiB.
    #[serde(default)]
    pub(crate) size_gib: Option<i64>,
    /// Smallest size in GiB.
    #[serde(default)]
    pub(crate) min_size_gib: Option<i64>,
    /// Largest size in GiB.
    #[serde(default)]
    pub(crate) max_size_gib: Option<i64>,
    /// Price of one GiB for one month, as a decimal string.
    #[schema(value_type = String, example = "0.05")]
    #[serde(with = "rust_decimal::serde::str")]
    pub(crate) price_per_gib_month: Decimal,
    /// Currency of the price: three capital letters (ISO 4217).
    pub(crate) currency: String,
    /// Storage class of the cluster (volumes only). Absent or null for the default class.
    #[serde(default)]
    pub(crate) storage_class: Option<String>,
    /// How many nodes can mount a volume. The default is `read_write_many`.
    #[serde(default)]
    pub(crate) access_mode: AccessMode,
}

/// A change of a storage specification. Absent members stay as they are. Existing storages keep their price.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StorageSpecChange {
    /// Largest size in GiB; at least the smallest size.
    #[serde(default)]
    pub(crate) max_size_gib: Option<i64>,
    /// Price of one GiB for one month, as a decimal string.
    #[schema(value_type = Option<String>)]
    #[serde(default, with = "rust_decimal::serde::str_option")]
    pub(crate) price_per_gib_month: Option<Decimal>,
    /// Retires or reactivates the specification.
    #[serde(default)]
    pub(crate) state: Option<SpecState>,
}

/// The sizes of a specification in GiB, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SizeRange {
    pub(crate) min: i64,
    pub(crate) max: i64,
}

impl NewStorageSpec {
    /// Checks all fields and returns the sizes.
    ///
    /// # Errors
    /// Names every field that is not valid.
    pub(crate) fn check(&self) -> Result<SizeRange, Error> {
        let mut checks = Checks::default();
        checks.name("/name", &self.name);
        let sizes = match (self.size_gib, self.min_size_gib, self.max_size_gib) {
            (Some(size), None, None) => Some(SizeRange { min: size, max: size }),
            (None, Some(min), Some(max)) => Some(SizeRange { min, max }),
            _ => None,
        };
        match sizes {
            None => {
                checks.refuse("/size_gib", "send either size_gib, or both min_size_gib and max_size_gib");
            }
            Some(SizeRange { min, max }) => checks.require(
                1 <= min && min <= max && max <= LARGEST_GIB,
                "/min_size_gib",
                format!("sizes must be 1 ≤ smallest ≤ largest ≤ {LARGEST_GIB}"),
            ),
        }
        check_price(&mut checks, self.price_per_gib_month);
        checks.currency("/currency", &self.currency);
        if let Some(class) = &self.storage_class {
            checks.require(self.kind == StorageKind::Volume, "/storage_class", "is for volumes only");
            checks.require(
                is_dns_subdomain(class),
                "/storage_class",
                "must be the name of a Kubernetes object",
            );
        }
        finish(checks, sizes)
    }
}

impl StorageSpecChange {
    /// Checks the fields that do not depend on the specification.
    ///
    /// # Errors
    /// Names the field that is not valid.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let mut checks = Checks::default();
        if let Some(price) = self.price_per_gib_month {
            check_price(&mut checks, price);
        }
        finish(checks, Some(()))
    }

    /// Checks the fields that depend on the specification.
    ///
    /// # Errors
    /// Names the field that is not valid.
    pub(crate) fn check_for(&self, spec: &StorageSpec) -> Result<(), Error> {
        let mut checks = Checks::default();
        if let Some(max) = self.max_size_gib {
            checks.within("/max_size_gib", max, spec.min_size_gib, LARGEST_GIB);
        }
        finish(checks, Some(()))
    }
}

fn finish<T>(checks: Checks, checked: Option<T>) -> Result<T, Error> {
    let errors = checks.into_errors();
    match checked {
        Some(checked) if errors.is_empty() => Ok(checked),
        _ => Err(Error::Invalid(errors)),
    }
}

fn check_price(checks: &mut Checks, price: Decimal) {
    checks.require(
        !price.is_sign_negative() && price.scale() <= 8 && price < Decimal::from(1_000_000),
        "/price_per_gib_month",
        "must be at least 0, below 1000000, with at most 8 decimal places",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new() -> NewStorageSpec {
        NewStorageSpec {
            name: "ssd".into(),
            kind: StorageKind::Volume,
            size_gib: None,
            min_size_gib: Some(1),
            max_size_gib: Some(100),
            price_per_gib_month: "0.10".parse().unwrap(),
            currency: "USD".into(),
            storage_class: None,
            access_mode: AccessMode::default(),
        }
    }

    fn pointers<T>(checked: Result<T, Error>) -> Vec<String> {
        match checked {
            Ok(_) => Vec::new(),
            Err(Error::Invalid(errors)) => errors.into_iter().map(|error| error.pointer).collect(),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn sizes_are_fixed_or_a_range() {
        let with = |size_gib, min_size_gib, max_size_gib| {
            NewStorageSpec { size_gib, min_size_gib, max_size_gib, ..new() }.check()
        };
        assert_eq!(with(Some(5), None, None).unwrap(), SizeRange { min: 5, max: 5 });
        assert_eq!(with(None, Some(1), Some(LARGEST_GIB)).unwrap(), SizeRange { min: 1, max: LARGEST_GIB });
        assert_eq!(with(None, Some(7), Some(7)).unwrap(), SizeRange { min: 7, max: 7 });
        for (size, min, max) in
            [(None, None, None), (Some(1), Some(1), None), (Some(1), None, Some(1)), (None, Some(1), None)]
        {
            assert_eq!(pointers(with(size, min, max)), ["/size_gib"], "{size:?} {min:?} {max:?}");
        }
        for (min, max) in [(0, 1), (2, 1), (1, LARGEST_GIB + 1)] {
            assert_eq!(pointers(with(None, Some(min), Some(max))), ["/min_size_gib"], "{min} {max}");
        }
    }

    #[test]
    fn prices_have_bounds() {
        let with = |price: &str| {
            pointers(NewStorageSpec { price_per_gib_month: price.parse().unwrap(), ..new() }.check())
        };
        for good in ["0", "0.00000001", "999999.99999999"] {
            assert!(with(good).is_empty(), "{good}");
        }
        for bad in ["-0.01", "0.000000001", "1000000"] {
            assert_eq!(with(bad), ["/price_per_gib_month"], "{bad}");
        }
    }

    #[test]
    fn a_storage_class_is_for_volumes() {
        let with = |kind, class: &str| {
            pointers(NewStorageSpec { kind, storage_class: Some(class.into()), ..new() }.check())
        };
        assert!(with(StorageKind::Volume, "ceph.block").is_empty());
        assert_eq!(with(StorageKind::Volume, "../x"), ["/storage_class"]);
        assert_eq!(with(StorageKind::Bucket, "ceph.block"), ["/storage_class"]);
    }

    #[test]
    fn all_errors_are_reported() {
        let bad = NewStorageSpec { name: "X".into(), currency: "usd".into(), size_gib: Some(1), ..new() };
        assert_eq!(pointers(bad.check()), ["/name", "/size_gib", "/currency"]);
    }

    #[test]
    fn the_largest_size_is_never_below_the_smallest() {
        let spec = StorageSpec {
            id: StorageSpecId::new(),
            name: "ssd".into(),
            kind: StorageKind::Volume,
            min_size_gib: 10,
            max_size_gib: 20,
            price_per_gib_month: Decimal::ONE,
            currency: "USD".into(),
            storage_class: None,
            access_mode: AccessMode::default(),
            state: SpecState::Active,
            generation: 1,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        let to = |max| {
            let change =
                StorageSpecChange { max_size_gib: Some(max), price_per_gib_month: None, state: None };
            pointers(change.check_for(&spec))
        };
        assert!(to(10).is_empty() && to(LARGEST_GIB).is_empty());
        assert_eq!(
            (to(9), to(LARGEST_GIB + 1)),
            (vec!["/max_size_gib".into()], vec!["/max_size_gib".into()])
        );
        assert!(spec.check_active().is_ok());
        let retired = StorageSpec { state: SpecState::Retired, ..spec };
        assert!(matches!(retired.check_active(), Err(Error::Retired(name)) if name == "ssd"));
    }
}
