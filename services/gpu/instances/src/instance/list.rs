//! What a list of instances contains, and in which order. Pure.

use api::list::containing;
use gpu_core::instance::InstanceState;
use ids::TenantId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Order of a list of instances. Names are compared in lower case, by code points; instances with the same name are
/// sorted by creation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum InstanceSort {
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
    pub(crate) fn is_by_name(self) -> bool {
        matches!(self, Self::Name | Self::NameDescending)
    }

    pub(crate) fn is_descending(self) -> bool {
        matches!(self, Self::Newest | Self::NameDescending)
    }
}

/// Which instances a list contains.
#[derive(Debug)]
pub struct Filter<'a> {
    /// Only of this tenant.
    pub tenant: Option<TenantId>,
    /// Only in these states; in any state if empty.
    pub states: &'a [InstanceState],
    /// Only with a name that contains this, in any case.
    pub name: Option<&'a str>,
}

impl Filter<'_> {
    /// Returns the states of listed instances.
    pub fn states(&self) -> impl Iterator<Item = InstanceState> {
        InstanceState::ALL.into_iter().filter(|state| self.states.is_empty() || self.states.contains(state))
    }

    /// Returns the pattern that names match, for `like`.
    pub(crate) fn name_pattern(&self) -> Option<String> {
        self.name.map(containing)
    }
}
