//! Topics, and the services that publish their events.

use std::str::FromStr;

use serde::Serialize;
use url::Url;
use utoipa::ToSchema;

use crate::services::Services;

/// A topic that clients follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Topic {
    /// `instance.*`: the tenant's instances.
    Instances,
    /// `budget.*`: the tenant's budget.
    Budgets,
    /// `job.*`: the tenant's jobs.
    Jobs,
    /// `storage.*`: the tenant's storages.
    Storages,
    /// `stock.changed`; for administrators `unit.*` instead, which include the unit.
    Stock,
    /// `unit.*`: the units of the stock, for administrators.
    Units,
    /// `operation.changed`: operations on the tenant's storages; for administrators those on the stock, too.
    Operations,
}

impl Topic {
    pub(super) const ALL: [Self; 7] = [
        Self::Instances,
        Self::Budgets,
        Self::Jobs,
        Self::Storages,
        Self::Stock,
        Self::Units,
        Self::Operations,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Instances => "instances",
            Self::Budgets => "budgets",
            Self::Jobs => "jobs",
            Self::Storages => "storages",
            Self::Stock => "stock",
            Self::Units => "units",
            Self::Operations => "operations",
        }
    }

    /// The topics of events of this type, such as `instance.started`.
    pub(super) fn of_event(kind: &str) -> &'static [Self] {
        match kind.split_once('.').map(|(about, _)| about) {
            Some("instance") => &[Self::Instances],
            Some("budget") => &[Self::Budgets],
            Some("job") => &[Self::Jobs],
            Some("storage") => &[Self::Storages],
            Some("stock") => &[Self::Stock],
            Some("unit") => &[Self::Stock, Self::Units],
            Some("operation") => &[Self::Operations],
            _ => &[],
        }
    }
}

/// The text names no topic.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoTopic;

impl FromStr for Topic {
    type Err = NoTopic;

    fn from_str(text: &str) -> Result<Self, NoTopic> {
        Self::ALL.into_iter().find(|topic| topic.name() == text).ok_or(NoTopic)
    }
}

/// A service with a stream of events. Positions name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    Gpu,
    Jobs,
    Storage,
    Stock,
}

impl Source {
    pub(super) const ALL: [Self; 4] = [Self::Gpu, Self::Jobs, Self::Storage, Self::Stock];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Jobs => "jobs",
            Self::Storage => "storage",
            Self::Stock => "stock",
        }
    }

    /// Its topics, for administrators or others.
    pub(super) fn topics(self, is_admin: bool) -> &'static [Topic] {
        match self {
            Self::Gpu => &[Topic::Instances, Topic::Budgets],
            Self::Jobs => &[Topic::Jobs],
            Self::Storage => &[Topic::Storages, Topic::Operations],
            Self::Stock if is_admin => &[Topic::Stock, Topic::Units, Topic::Operations],
            Self::Stock => &[Topic::Stock],
        }
    }

    /// The service and the path of its stream.
    pub(super) fn address(self, services: &Services) -> (&Url, &'static str) {
        match self {
            Self::Gpu => (&services["gpu"], "/v1/events"),
            Self::Jobs => (&services["jobs"], "/v1/job-events"),
            Self::Storage => (&services["storage"], "/v1/storage-events"),
            Self::Stock => (&services["stock"], "/v1/stock-events"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_service_with_events_is_a_source() {
        let services = Services::new(|_| "http://127.0.0.1:1".parse().unwrap());
        let mut sources: Vec<_> =
            Source::ALL.iter().map(|one| (one.name(), one.address(&services).1.to_owned())).collect();
        sources.sort_unstable();
        let mut listed: Vec<_> = platform::routed()
            .flat_map(|service| service.collections().into_iter().map(|one| (&*service.name, one)))
            .filter(|(_, collection)| collection.ends_with("events"))
            .map(|(name, collection)| (name, format!("/v1/{collection}")))
            .collect();
        listed.sort_unstable();
        assert_eq!(sources, listed, "the collections of events in platform.toml");
    }

    #[test]
    fn each_topic_has_one_name_and_a_source() {
        for topic in Topic::ALL {
            assert_eq!(topic.name().parse(), Ok(topic));
            assert_eq!(json!(topic), topic.name());
            assert!(Source::ALL.iter().any(|source| source.topics(true).contains(&topic)), "{topic:?}");
        }
        assert_eq!("instance".parse::<Topic>(), Err(NoTopic));
        assert_eq!(Topic::of_event("instance.started"), [Topic::Instances]);
        assert_eq!(Topic::of_event("weather.changed"), []);
        assert!(!Source::ALL.iter().any(|source| source.topics(false).contains(&Topic::Units)));
    }
}
