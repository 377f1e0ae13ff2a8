//! Datacenters: their fields, and how a change affects units.

use std::collections::BTreeMap;

use api::Checks;
use serde::{Deserialize, Serialize};
use stock_api::{Datacenter, DatacenterState};
use utoipa::ToSchema;

/// A datacenter to create.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDatacenter {
    /// Unique name: a DNS label.
    #[schema(example = "uk-1")]
    pub name: String,
    /// Region, for example a country.
    #[schema(example = "uk")]
    pub region: String,
    /// Its cluster, by name in the configuration of the service.
    pub cluster: String,
    /// Labels for administrators, at most 16.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

/// Changes of a datacenter; absent fields stay unchanged.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DatacenterPatch {
    /// New name; only while the datacenter has no units.
    #[serde(default)]
    pub name: Option<String>,
    /// New region.
    #[serde(default)]
    pub region: Option<String>,
    /// New cluster; only while the datacenter has no units.
    #[serde(default)]
    pub cluster: Option<String>,
    /// New labels; they replace all previous ones.
    #[serde(default)]
    pub labels: Option<BTreeMap<String, String>>,
    /// `draining` to take the datacenter out of use, `active` to use it again.
    #[serde(default)]
    pub state: Option<DatacenterState>,
}

impl NewDatacenter {
    /// Checks all fields.
    pub(crate) fn check(&self) -> Checks {
        let mut checks = Checks::default();
        checks.name("/name", &self.name);
        checks.label_value("/region", &self.region);
        checks.labels("/labels", &self.labels);
        checks
    }
}

impl DatacenterPatch {
    /// Checks all fields.
    pub(crate) fn check(&self) -> Checks {
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
        checks
    }

    /// Returns the changed datacenter.
    pub(crate) fn apply(self, mut to: Datacenter) -> Datacenter {
        to.name = self.name.unwrap_or(to.name);
        to.region = self.region.unwrap_or(to.region);
        to.cluster = self.cluster.unwrap_or(to.cluster);
        to.labels = self.labels.unwrap_or(to.labels);
        to.state = self.state.unwrap_or(to.state);
        to
    }
}

/// Whether stock may be added.
pub(crate) fn takes_stock(datacenter: &Datacenter) -> bool {
    datacenter.state == DatacenterState::Active
}

/// Whether units in `datacenter` and `other` would have different objects, or objects in different clusters.
pub(crate) fn reshapes(datacenter: &Datacenter, other: &Datacenter) -> bool {
    datacenter.name != other.name || datacenter.cluster != other.cluster
}

#[cfg(test)]
mod tests {
    use ids::DatacenterId;
    use jiff::Timestamp;

    use super::*;

    fn existing() -> Datacenter {
        Datacenter {
            id: DatacenterId::new(),
            name: "uk-1".into(),
            region: "uk".into(),
            cluster: "main".into(),
            labels: BTreeMap::new(),
            state: DatacenterState::Active,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            generation: 1,
        }
    }

    fn unchanged() -> DatacenterPatch {
        DatacenterPatch { name: None, region: None, cluster: None, labels: None, state: None }
    }

    #[test]
    fn only_name_and_cluster_are_in_the_objects() {
        let labels = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
        for (patch, reshapes) in [
            (unchanged(), false),
            (DatacenterPatch { name: Some("uk-2".into()), ..unchanged() }, true),
            (DatacenterPatch { cluster: Some("other".into()), ..unchanged() }, true),
            (DatacenterPatch { region: Some("de".into()), labels: Some(labels), ..unchanged() }, false),
            (DatacenterPatch { state: Some(DatacenterState::Draining), ..unchanged() }, false),
        ] {
            let drains = patch.state.is_some();
            let after = patch.clone().apply(existing());
            assert_eq!(super::reshapes(&after, &existing()), reshapes, "{patch:?}");
            assert_eq!(takes_stock(&after), !drains);
        }
    }

    #[test]
    fn a_patch_is_checked_as_a_new_datacenter_is() {
        let labels = BTreeMap::from([("-".to_owned(), String::new())]);
        let patch = DatacenterPatch {
            name: Some("UK".into()),
            region: Some(String::new()),
            labels: Some(labels.clone()),
            ..unchanged()
        };
        let new = NewDatacenter { name: "UK".into(), region: String::new(), cluster: "main".into(), labels };
        let pointers = |checks: Checks| -> Vec<String> {
            checks.into_errors().into_iter().map(|error| error.pointer).collect()
        };
        let expected = ["/name", "/region", "/labels/-"];
        assert_eq!(pointers(patch.check()), expected);
        assert_eq!(pointers(new.check()), expected);
        assert!(pointers(unchanged().check()).is_empty());
    }
}
