//! The log of an instance's pod, and commands run in it.

use std::time::Duration;

use api::{Problem, ProblemType};
use crds::{ClusterError, names::CONTAINER};
use futures::{AsyncReadExt, Stream, stream};
use gpu_core::unit::{Observation, PodRef, Unit};
use ids::InstanceId;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{AttachParams, AttachedProcess, LogParams},
};

use super::Cluster;

/// How long the cluster may take to begin a log or a terminal.
const OPEN: Duration = Duration::from_secs(5);
/// Bytes of a log read at a time.
const CHUNK: usize = 16 * 1024;

/// A command that runs in a pod.
pub type Exec = AttachedProcess;

/// Why a pod's log or terminal is not available.
#[derive(Debug, thiserror::Error)]
pub enum PodError {
    /// The pod does not exist, or its container has not started.
    #[error("the container does not run: {0}")]
    NotRunning(String),
    /// The cluster's credentials are not usable.
    #[error(transparent)]
    Credentials(#[from] ClusterError),
    /// The cluster does not answer.
    #[error("the cluster does not answer")]
    Unreachable(#[source] Box<kube::Error>),
}

impl From<kube::Error> for PodError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.is_not_found() || status.code == 400 => {
                Self::NotRunning(status.message.clone())
            }
            other => Self::Unreachable(Box::new(other)),
        }
    }
}

impl From<PodError> for Problem {
    fn from(error: PodError) -> Self {
        match error {
            PodError::NotRunning(message) => {
                Self::new(ProblemType::InstanceNotRunning, "The instance has no running container.")
                    .with("message", message)
            }
            cause => Self::unavailable("The cluster", cause),
        }
    }
}

/// Which part of a container's log.
#[derive(Debug, Clone, Default)]
pub struct LogPart {
    /// Only lines from this time on, to the second.
    pub since: Option<Timestamp>,
    /// Only this many last lines.
    pub tail: Option<i64>,
    /// Whether later lines come as well, until the container ends.
    pub follow: bool,
    /// The container before the last restart of the container, instead of the present one.
    pub previous: bool,
}

/// The container of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// The instance.
    pub instance: InstanceId,
    /// Number of its start.
    pub attempt: i64,
    /// Its pod.
    pub pod: PodRef,
    /// Whether it is ready and should stay: neither starting nor ending.
    pub settled: bool,
}

fn container(unit: &Unit) -> Option<Container> {
    let present = unit.instance.as_ref()?;
    let stays = unit.desired.as_ref().is_some_and(|desired| {
        (desired.name.as_str(), desired.attempt, desired.restart)
            == (present.id.as_str(), present.attempt, present.restart)
    });
    Some(Container {
        instance: InstanceId::from_k8s_name(&present.id).ok()?,
        attempt: present.attempt,
        pod: PodRef::of(present)?,
        settled: stays && present.running_since.is_some(),
    })
}

impl Cluster {
    /// Returns the pod that the instance has in a unit now.
    #[must_use]
    pub fn pod(&self, unit: &str, instance: InstanceId) -> Option<PodRef> {
        let Observation::Unit(unit) = self.observation(unit) else { return None };
        let name = instance.k8s_name();
        unit.instance.as_ref().filter(|present| present.id == name).and_then(PodRef::of)
    }

    /// Streams a container's log, each line after its time.
    ///
    /// # Errors
    /// If the container does not run or the cluster does not answer.
    pub async fn log(
        &self,
        pod: &PodRef,
        part: &LogPart,
    ) -> Result<impl Stream<Item = std::io::Result<Vec<u8>>> + Send + use<>, PodError> {
        let params = LogParams {
            container: Some(CONTAINER.to_owned()),
            follow: part.follow,
            previous: part.previous,
            since_time: part.since,
            tail_lines: part.tail,
            timestamps: true,
            ..LogParams::default()
        };
        let (pods, name) = (self.pods(pod).await?, pod.name().to_owned());
        let mut opening = Box::pin(async move { pods.log_stream(&name, &params).await });
        let opened = match tokio::time::timeout(OPEN, &mut opening).await {
            Ok(opened) => Some(Box::pin(opened?)),
            // the cluster begins its answer with the first line, which may come late
            Err(_) if part.follow => None,
            Err(elapsed) => return Err(kube::Error::Service(elapsed.into()).into()),
        };
        Ok(stream::try_unfold((Some(opening), opened), |(opening, opened)| async move {
            let mut reader = match (opened, opening) {
                (Some(reader), _) => reader,
                (None, Some(opening)) => Box::pin(opening.await.map_err(std::io::Error::other)?),
                (None, None) => return Ok(None),
            };
            let mut chunk = vec![0; CHUNK];
            let read = reader.read(&mut chunk).await?;
            chunk.truncate(read);
            Ok((read > 0).then_some((chunk, (None, Some(reader)))))
        }))
    }

    /// Returns the containers that the instances in this cluster's units have now.
    #[must_use]
    pub fn containers(&self) -> Vec<Container> {
        self.read(|cache| cache.units.values().filter_map(|unit| container(unit)).collect())
    }

    /// Runs a command with a terminal in the pod.
    ///
    /// # Errors
    /// If the container does not run or the cluster does not answer.
    pub async fn exec(&self, pod: &PodRef, command: &[String]) -> Result<Exec, PodError> {
        let params = AttachParams::interactive_tty().container(CONTAINER);
        let pods = self.pods(pod).await?;
        answer(pods.exec(pod.name(), command.to_vec(), &params)).await
    }

    pub(super) async fn pods(&self, pod: &PodRef) -> Result<Api<Pod>, ClusterError> {
        Ok(Api::namespaced(self.clients.client_for_streams(&self.name).await?, pod.namespace()))
    }
}

/// The cluster's answer, if it comes in time.
pub(super) async fn answer<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, PodError> {
    let answer = tokio::time::timeout(OPEN, request).await;
    Ok(answer.unwrap_or_else(|elapsed| Err(kube::Error::Service(elapsed.into())))?)
}
