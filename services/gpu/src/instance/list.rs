//! What a list of instances contains, and in which order. Pure.

use api::list::containing;
use ids::TenantId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::state::InstanceState;

/// Order of a list of instances. Names are compared in lower case, by code points; instances of one name are in the order of their
/// creation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(super) enum InstanceSort {
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
}

impl InstanceSort {
    pub(super) fn is_by_name(self) -> bool {
        matches!(self, Self::Name | Self::NameDescending)
    }

    pub(super) fn is_descending(self) -> bool {
        matches!(self, Self::Newest | Self::NameDescending)
    }
}

/// Which instances a list contains.
#[derive(Debug)]
pub(super) struct Filter<'a> {
    /// Only of this tenant.
    pub(super) tenant: Option<TenantId>,
    /// Only in these states; in any state if empty.
    pub(super) states: &'a [InstanceState],
    /// Only with a name that contains this, in any case.
    pub(super) name: Option<&'a str>,
}

impl Filter<'_> {
    pub(super) fn states(&self) -> impl Iterator<Item = InstanceState> {
        InstanceState::ALL.into_iter().filter(|state| self.states.is_empty() || self.states.contains(state))
    }

    /// Returns the pattern that names match, for `like`.
    pub(super) fn name_pattern(&self) -> Option<String> {
        self.name.map(containing)
    }
}
