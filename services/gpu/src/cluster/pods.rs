//! The log of an instance's pod, and commands run in it.

use std::time::Duration;

use crds::{ClusterError, names::CONTAINER};
use futures::{AsyncReadExt, Stream, stream};
use ids::InstanceId;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{AttachParams, AttachedProcess, LogParams},
};

use super::{Cluster, Observation};

/// How long the cluster may take to begin a log or a terminal.
const OPEN: Duration = Duration::from_secs(5);
/// Bytes of a log read at a time.
const CHUNK: usize = 16 * 1024;

/// A command that runs in a pod.
pub type Exec = AttachedProcess;

/// The pod of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodRef {
    pub(super) namespace: String,
    pub(super) name: String,
}

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

impl Cluster {
    /// Returns the pod that the instance has in a unit now.
    #[must_use]
    pub fn pod(&self, unit: &str, instance: InstanceId) -> Option<PodRef> {
        let Observation::Unit(unit) = self.observation(unit) else { return None };
        let name = instance.k8s_name();
        let present =
            unit.instance.as_ref().filter(|present| present.id == name && !present.pod_name.is_empty())?;
        Some(PodRef { namespace: present.namespace.clone(), name: present.pod_name.clone() })
    }

    /// Streams the pod's log: the last `tail` lines and, with `follow`, all later ones.
    ///
    /// # Errors
    /// If the container does not run or the cluster does not answer.
    pub async fn log(
        &self,
        pod: &PodRef,
        tail: i64,
        follow: bool,
    ) -> Result<impl Stream<Item = std::io::Result<Vec<u8>>> + Send + use<>, PodError> {
        let params = LogParams {
            container: Some(CONTAINER.to_owned()),
            follow,
            tail_lines: Some(tail),
            ..LogParams::default()
        };
        let pods = self.pods(pod).await?;
        let reader = Box::pin(answer(pods.log_stream(&pod.name, &params)).await?);
        Ok(stream::try_unfold(reader, |mut reader| async move {
            let mut chunk = vec![0; CHUNK];
            let read = reader.read(&mut chunk).await?;
            chunk.truncate(read);
            Ok((read > 0).then_some((chunk, reader)))
        }))
    }

    /// Runs a command with a terminal in the pod.
    ///
    /// # Errors
    /// If the container does not run or the cluster does not answer.
    pub async fn exec(&self, pod: &PodRef, command: &[String]) -> Result<Exec, PodError> {
        let params = AttachParams::interactive_tty().container(CONTAINER);
        let pods = self.pods(pod).await?;
        answer(pods.exec(&pod.name, command.to_vec(), &params)).await
    }

    pub(super) async fn pods(&self, pod: &PodRef) -> Result<Api<Pod>, ClusterError> {
        Ok(Api::namespaced(self.clients.client_for_streams(&self.name).await?, &pod.namespace))
    }
}

/// The cluster's answer, if it comes in time.
pub(super) async fn answer<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, PodError> {
    let answer = tokio::time::timeout(OPEN, request).await;
    Ok(answer.unwrap_or_else(|elapsed| Err(kube::Error::Service(elapsed.into())))?)
}
