//! The filters and the order of a list of storages. Pure.

use ids::TenantId;
use serde::{Deserialize, Serialize};
use storage_api::{StorageKind, StorageState};
use utoipa::ToSchema;

/// Order of a list of storages. Names are compared in lower case, by code points; storages with equal values are sorted
/// by creation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(super) enum StorageSort {
    /// Oldest first.
    #[serde(rename = "created_at")]
    Oldest,
    /// Newest first.
    #[default]
    #[serde(rename = "-created_at")]
    Newest,
    /// By name.
    #[serde(rename = "name")]
    Name,
    /// By name, from the end of the alphabet.
    #[serde(rename = "-name")]
    NameDescending,
    /// Smallest first.
    #[serde(rename = "size_gib")]
    Smallest,
    /// Largest first.
    #[serde(rename = "-size_gib")]
    Largest,
}

/// The sort keys of storages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OrderKey {
    Creation,
    Name,
    Size,
}

impl StorageSort {
    pub(super) fn key(self) -> OrderKey {
        match self {
            Self::Oldest | Self::Newest => OrderKey::Creation,
            Self::Name | Self::NameDescending => OrderKey::Name,
            Self::Smallest | Self::Largest => OrderKey::Size,
        }
    }

    pub(super) fn is_descending(self) -> bool {
        matches!(self, Self::Newest | Self::NameDescending | Self::Largest)
    }
}

/// Which storages a list contains: those that meet all conditions.
#[derive(Debug)]
pub(super) struct Filter<'a> {
    /// Only of this tenant.
    pub(super) tenant: Option<TenantId>,
    /// One of these states; any if empty.
    pub(super) states: &'a [StorageState],
    pub(super) kind: Option<StorageKind>,
    /// Only with a name that contains this, in any case.
    pub(super) name: Option<&'a str>,
}
