//! Records of the Operator API's operations, as ConfigMaps in the system namespace: what makes a call
//! idempotent across restarts and replicas. One that is done is forgotten after a week.

use std::collections::BTreeMap;
use std::time::Duration;

use api::{Problem, ProblemType};
use crds::names;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, PostParams, Preconditions};

use service::{Round, Workers};

use super::names::digest;

/// Label that marks them.
const LABEL: &str = "atelier.dev/record";
/// For so long a repeated call is known.
const KEPT: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Time between two deletions of old records.
const PERIOD: Duration = Duration::from_secs(60 * 60);
/// How many are read at a time.
const PAGE: u32 = 200;

/// What is remembered of one call.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    map: ConfigMap,
}

impl Record {
    /// One of its values; empty when it was not set.
    pub(crate) fn get(&self, key: &str) -> &str {
        self.map.data.as_ref().and_then(|data| data.get(key)).map_or("", String::as_str)
    }

    /// One of its lists.
    pub(crate) fn list(&self, key: &str) -> Vec<String> {
        self.get(key).split(',').filter(|item| !item.is_empty()).map(str::to_owned).collect()
    }
}

/// The records.
#[derive(Clone)]
pub(crate) struct Records {
    api: Api<ConfigMap>,
}

impl Records {
    pub(crate) fn new(client: Client) -> Self {
        Self { api: Api::namespaced(client, names::SYSTEM_NAMESPACE) }
    }

    /// The name of the record of something.
    pub(crate) fn name(kind: &str, id: &str) -> String {
        format!("{kind}-{}", digest(&[id]))
    }

    pub(crate) async fn get(&self, name: &str) -> Result<Option<Record>, Problem> {
        self.api.get_opt(name).await.map(|map| map.map(|map| Record { map })).map_err(away)
    }

    /// Makes the record, or gives the one that exists: true when it was made now.
    pub(crate) async fn begin(&self, name: &str, data: &[(&str, String)]) -> Result<(Record, bool), Problem> {
        let map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                labels: Some(BTreeMap::from([(LABEL.to_owned(), "operation".to_owned())])),
                ..ObjectMeta::default()
            },
            data: Some(data.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()),
            ..ConfigMap::default()
        };
        match self.api.create(&PostParams::default(), &map).await {
            Ok(map) => Ok((Record { map }, true)),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                let found = self.get(name).await?.ok_or_else(busy)?;
                Ok((found, false))
            }
            Err(error) => Err(away(error)),
        }
    }

    /// Changes values of the record, unless another replica was faster (409).
    pub(crate) async fn update(&self, record: &Record, data: &[(&str, String)]) -> Result<Record, Problem> {
        let mut map = record.map.clone();
        let values = map.data.get_or_insert_default();
        for (key, value) in data {
            values.insert((*key).to_owned(), value.clone());
        }
        let name = map.metadata.name.clone().unwrap_or_default();
        match self.api.replace(&name, &PostParams::default(), &map).await {
            Ok(map) => Ok(Record { map }),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Err(busy()),
            Err(error) => Err(away(error)),
        }
    }

    /// Starts the worker that deletes old records of completed operations.
    pub(crate) fn start_workers(&self, workers: &Workers, clock: fn() -> Timestamp) {
        let records = self.clone();
        workers.spawn_periodic("operator.records", PERIOD, move || {
            let records = records.clone();
            async move {
                records.forget_before(clock() - KEPT).await?;
                Ok(Round::Done)
            }
        });
    }

    /// Forgets the records of operations that are done and were begun before `time`; gives how many.
    pub(crate) async fn forget_before(&self, time: Timestamp) -> Result<usize, Problem> {
        let mut page = ListParams::default().labels(LABEL).limit(PAGE);
        let mut forgotten = 0;
        loop {
            let found = self.api.list(&page).await.map_err(away)?;
            page.continue_token = found.metadata.continue_.filter(|token| !token.is_empty());
            for map in found.items {
                let begun = map.metadata.creation_timestamp.as_ref().map(|time| time.0);
                let record = Record { map };
                if begun.is_some_and(|begun| begun < time) && !record.get("done").is_empty() {
                    self.forget(&record).await?;
                    forgotten += 1;
                }
            }
            if page.continue_token.is_none() {
                return Ok(forgotten);
            }
        }
    }

    /// Forgets this very record.
    pub(crate) async fn forget(&self, record: &Record) -> Result<(), Problem> {
        let name = record.map.metadata.name.clone().unwrap_or_default();
        let very = Preconditions { uid: record.map.metadata.uid.clone(), resource_version: None };
        let params = DeleteParams { preconditions: Some(very), ..DeleteParams::default() };
        match self.api.delete(&name, &params).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            Err(error) => Err(away(error)),
        }
    }
}

/// The same call is being carried out elsewhere at this moment.
pub(crate) fn busy() -> Problem {
    Problem::new(ProblemType::OperationInProgress, "Another call with the same id is being carried out.")
}

/// The Kubernetes API did not do what was asked, and it is not the caller's fault.
pub(crate) fn away(error: kube::Error) -> Problem {
    Problem::unavailable("The Kubernetes API", error)
}
