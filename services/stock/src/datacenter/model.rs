//! What a datacenter is.

use std::collections::BTreeMap;

use api::Problem;
use ids::DatacenterId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use api::Checks;

/// Whether a datacenter gives out units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum DatacenterState {
    /// Units can be claimed and stock added.
    Active,
    /// No new claims and no new stock. Instances that run there keep their units until they stop, and stock
    /// can be removed.
    Draining,
}

/// A named site.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Datacenter {
    /// Its id.
    pub id: DatacenterId,
    /// Its name, unique.
    #[schema(example = "uk-1")]
    pub name: String,
    /// The region it is in.
    #[schema(example = "uk")]
    pub region: String,
    /// The cluster it is, by its name in the service's configuration, where the credentials are.
    pub cluster: String,
    /// Labels of the administrator's.
    pub labels: BTreeMap<String, String>,
    /// Whether it gives out units.
    pub state: DatacenterState,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Its version, the entity tag.
    #[serde(skip)]
    pub generation: i64,
}

/// A datacenter to make.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDatacenter {
    /// Its name: a DNS label, unique.
    #[schema(example = "uk-1")]
    pub name: String,
    /// The region it is in.
    #[schema(example = "uk")]
    pub region: String,
    /// A cluster of the service's configuration.
    pub cluster: String,
    /// Labels, at most 16.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

/// What to change of a datacenter; what is absent stays.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DatacenterPatch {
    /// Another name; only while there are no units.
    #[serde(default)]
    pub name: Option<String>,
    /// Another region.
    #[serde(default)]
    pub region: Option<String>,
    /// Another cluster; only while there are no units.
    #[serde(default)]
    pub cluster: Option<String>,
    /// All labels anew.
    #[serde(default)]
    pub labels: Option<BTreeMap<String, String>>,
    /// `draining` to empty it, `active` to use it again.
    #[serde(default)]
    pub state: Option<DatacenterState>,
}

impl NewDatacenter {
    pub(crate) fn check(&self) -> Result<(), Problem> {
        let mut checks = Checks::default();
        checks.name("/name", &self.name);
        checks.label_value("/region", &self.region);
        checks.labels("/labels", &self.labels);
        checks.finish()
    }
}

impl DatacenterPatch {
    pub(crate) fn check(&self) -> Result<(), Problem> {
        let mut checks = Checks::default();
        if let Some(name) = &self.name {
            checks.name("/name", name);
        }
        if let Some(region) = &self.region {
            checks.label_value("/region", region);
        }
        if let Some(labels) = &self.labels {
            checks.labels("/labels", labels);
        }
        checks.finish()
    }

    /// The datacenter as it will be, and whether its units' objects would have to change with it.
    pub(crate) fn apply(self, mut to: Datacenter) -> (Datacenter, bool) {
        let (name, cluster) = (to.name.clone(), to.cluster.clone());
        to.name = self.name.unwrap_or(to.name);
        to.region = self.region.unwrap_or(to.region);
        to.cluster = self.cluster.unwrap_or(to.cluster);
        to.labels = self.labels.unwrap_or(to.labels);
        to.state = self.state.unwrap_or(to.state);
        let reshaped = name != to.name || cluster != to.cluster;
        (to, reshaped)
    }
}
