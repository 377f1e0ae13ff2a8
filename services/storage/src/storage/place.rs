//! The place of a storage: a datacenter or the object store.

use storage_api::StorageKind;

use super::error::Error;
use crate::{config::Config, object_store::NotConfigured};

/// Where a volume is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) datacenter: String,
    pub(crate) cluster: String,
}

impl Place {
    /// The place of a new storage, in the requested datacenter if there is one; none for a bucket.
    ///
    /// # Errors
    /// If storages of the kind cannot be created there.
    pub(crate) fn choose(
        config: &Config,
        kind: StorageKind,
        datacenter: Option<&str>,
    ) -> Result<Option<Self>, Error> {
        match (kind, datacenter) {
            (StorageKind::Volume, Some(name)) => {
                Self::in_datacenter(config, name).map(Some).ok_or_else(|| {
                    Error::invalid_field("/datacenter", "volumes cannot be created in this datacenter")
                })
            }
            (StorageKind::Volume, None) => Self::only(config).map(Some).ok_or_else(|| {
                Error::invalid_field("/datacenter", "is required: there is not exactly one datacenter")
            }),
            (StorageKind::Bucket, Some(_)) => {
                Err(Error::invalid_field("/datacenter", "is for volumes; buckets are not in a datacenter"))
            }
            (StorageKind::Bucket, None) if config.object_store.is_none() => Err(NotConfigured.into()),
            (StorageKind::Bucket, None) => Ok(None),
        }
    }

    fn in_datacenter(config: &Config, datacenter: &str) -> Option<Self> {
        let cluster = config.datacenters.get(datacenter).map_or(datacenter, String::as_str);
        let place = Self { datacenter: datacenter.to_owned(), cluster: cluster.to_owned() };
        config.clusters.contains_key(cluster).then_some(place)
    }

    /// The place in the only cluster. Its datacenter has the cluster's name unless exactly one datacenter names the
    /// cluster.
    fn only(config: &Config) -> Option<Self> {
        let mut clusters = config.clusters.keys();
        let (Some(cluster), None) = (clusters.next(), clusters.next()) else { return None };
        let mut datacenters = config.datacenters.iter().filter(|(_, named)| *named == cluster);
        let datacenter = match (datacenters.next(), datacenters.next()) {
            (Some((datacenter, _)), None) => datacenter,
            _ => cluster,
        };
        Some(Self { datacenter: datacenter.clone(), cluster: cluster.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::config;

    fn place(config: &Config, datacenter: Option<&str>) -> Option<(String, String)> {
        let place = Place::choose(config, StorageKind::Volume, datacenter).ok()??;
        Some((place.datacenter, place.cluster))
    }

    fn pair(datacenter: &str, cluster: &str) -> Option<(String, String)> {
        Some((datacenter.to_owned(), cluster.to_owned()))
    }

    #[test]
    fn a_volume_is_in_the_cluster_of_its_datacenter() {
        let config = config(&["uk-1", "east"], &[("de-1", "east")], false);
        assert_eq!(place(&config, Some("uk-1")), pair("uk-1", "uk-1"));
        assert_eq!(place(&config, Some("de-1")), pair("de-1", "east"));
        assert_eq!(place(&config, Some("mars-1")), None);
        assert_eq!(place(&config, None), None, "there are two");
    }

    #[test]
    fn the_only_datacenter_is_the_default() {
        assert_eq!(place(&config(&["uk-1"], &[], false), None), pair("uk-1", "uk-1"));
        assert_eq!(place(&config(&["east"], &[("de-1", "east")], false), None), pair("de-1", "east"));
        let two_names = config(&["east"], &[("de-1", "east"), ("de-2", "east")], false);
        assert_eq!(place(&two_names, None), pair("east", "east"));
        assert_eq!(place(&config(&[], &[], false), None), None);
    }

    #[test]
    fn a_bucket_is_in_the_object_store() {
        let with = config(&["uk-1"], &[], true);
        assert!(matches!(Place::choose(&with, StorageKind::Bucket, None), Ok(None)));
        assert!(matches!(Place::choose(&with, StorageKind::Bucket, Some("uk-1")), Err(Error::Invalid(_))));
        assert!(matches!(
            Place::choose(&config(&[], &[], false), StorageKind::Bucket, None),
            Err(Error::NoObjectStore(_))
        ));
    }
}
