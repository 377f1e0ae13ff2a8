//! Records of the Operator API's operations, as `ConfigMap`s in the system namespace. They make calls idempotent across
//! restarts and replicas, for a week.

use std::collections::BTreeMap;
use std::time::Duration;

use api::{Problem, ProblemType};
use crds::names;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, PostParams, Preconditions};
use plans::object_names::digest;
use service::{Duty, Round, Task};

/// Label of the records.
const LABEL: &str = "atelier.dev/record";
/// Key of a completed operation.
const DONE: &str = "done";
/// Number of records in a page.
const PAGE: u32 = 200;
/// How long the records of completed operations are kept.
const KEPT: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Time between two deletions of old records.
const PERIOD: Duration = Duration::from_secs(60 * 60);

/// Why a record is not read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another call with the same id is in progress.
    #[error("the operation is in progress")]
    InProgress,
    /// The Kubernetes API failed.
    #[error("the Kubernetes API failed")]
    Kubernetes(#[from] kube::Error),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::InProgress => {
                Self::new(ProblemType::OperationInProgress, "Another call with the same id is in progress.")
            }
            Error::Kubernetes(cause) => Self::unavailable("The Kubernetes API", cause),
        }
    }
}

/// The task that deletes old records.
pub(crate) fn task(records: &Records, clock: fn() -> Timestamp) -> Task {
    Task::every("records", Duty::Retention, PERIOD, records, move |records| async move {
        records.delete_before(clock() - KEPT).await?;
        Ok(Round::Done)
    })
}

/// The record of one operation.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    map: ConfigMap,
}

impl Record {
    /// One of its values; empty if it is not set.
    pub(crate) fn get(&self, key: &str) -> &str {
        self.map.data.as_ref().and_then(|data| data.get(key)).map_or("", String::as_str)
    }

    /// One of its lists.
    pub(crate) fn list(&self, key: &str) -> Vec<String> {
        self.get(key).split(',').filter(|item| !item.is_empty()).map(str::to_owned).collect()
    }

    /// Whether the operation is complete.
    pub(crate) fn is_done(&self) -> bool {
        !self.get(DONE).is_empty()
    }
}

/// The records. Clones share their client.
#[derive(Clone)]
pub struct Records {
    api: Api<ConfigMap>,
}

impl Records {
    /// The records of a cluster.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { api: Api::namespaced(client, names::SYSTEM_NAMESPACE) }
    }

    /// The name of the record of an operation.
    pub(crate) fn name(kind: &str, id: &str) -> String {
        format!("{kind}-{}", digest(&[id]))
    }

    pub(crate) async fn get(&self, name: &str) -> Result<Option<Record>, Error> {
        Ok(self.api.get_opt(name).await?.map(|map| Record { map }))
    }

    /// Creates the record, or returns the existing one.
    pub(crate) async fn begin(&self, name: &str, data: &[(&str, String)]) -> Result<Record, Error> {
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
            Ok(map) => Ok(Record { map }),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                self.get(name).await?.ok_or(Error::InProgress)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Changes values of the record, unless another call has changed it since it was read.
    pub(crate) async fn update(&self, record: &Record, data: &[(&str, String)]) -> Result<Record, Error> {
        let mut map = record.map.clone();
        let values = map.data.get_or_insert_default();
        for (key, value) in data {
            values.insert((*key).to_owned(), value.clone());
        }
        let name = map.metadata.name.clone().unwrap_or_default();
        match self.api.replace(&name, &PostParams::default(), &map).await {
            Ok(map) => Ok(Record { map }),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Err(Error::InProgress),
            Err(error) => Err(error.into()),
        }
    }

    /// Marks the operation as complete, with its last values.
    pub(crate) async fn complete(&self, record: &Record, data: &[(&str, String)]) -> Result<Record, Error> {
        let done = [(DONE, "true".to_owned())];
        self.update(record, &[data, &done].concat()).await
    }

    /// Deletes the records of completed operations that started before `time`. Returns their number.
    ///
    /// # Errors
    /// If the Kubernetes API fails.
    pub async fn delete_before(&self, time: Timestamp) -> Result<usize, Error> {
        let mut page = ListParams::default().labels(LABEL).limit(PAGE);
        let mut deleted = 0;
        loop {
            let found = self.api.list(&page).await?;
            page.continue_token = found.metadata.continue_.filter(|token| !token.is_empty());
            for map in found.items {
                let started = map.metadata.creation_timestamp.as_ref().map(|time| time.0);
                let record = Record { map };
                if started.is_some_and(|started| started < time) && record.is_done() {
                    self.delete(&record).await?;
                    deleted += 1;
                }
            }
            if page.continue_token.is_none() {
                return Ok(deleted);
            }
        }
    }

    /// Deletes this very record.
    pub(crate) async fn delete(&self, record: &Record) -> Result<(), Error> {
        let name = record.map.metadata.name.clone().unwrap_or_default();
        let uid = record.map.metadata.uid.clone();
        let preconditions = Some(Preconditions { uid, resource_version: None });
        let params = DeleteParams { preconditions, ..DeleteParams::default() };
        match self.api.delete(&name, &params).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
