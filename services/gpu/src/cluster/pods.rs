//! Reading an instance's log and running a command beside it, through the cluster's API.

use crds::names::CONTAINER;
use futures::{AsyncReadExt, Stream, stream};
use ids::InstanceId;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{AttachParams, AttachedProcess, LogParams},
};

use super::{Cluster, Seen};

/// Bytes that are read from a log at a time.
const CHUNK: usize = 16 * 1024;

/// A command under way in a pod.
pub type Exec = AttachedProcess;

/// The pod of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodRef {
    namespace: String,
    name: String,
}

impl Cluster {
    /// The pod that the instance has in a unit now.
    #[must_use]
    pub fn pod(&self, unit: &str, instance: InstanceId) -> Option<PodRef> {
        let Seen::Unit(unit) = self.seen(unit) else { return None };
        let name = instance.k8s_name();
        unit.instance
            .as_ref()
            .filter(|present| present.id == name)
            .map(|present| PodRef { namespace: present.namespace.clone(), name: present.pod_name.clone() })
    }

    /// The pod's log as it comes: the last `tail` lines, and with `follow` all further ones.
    ///
    /// # Errors
    /// The cluster's: there is no such pod, or its container has not begun.
    pub async fn log(
        &self,
        pod: &PodRef,
        tail: i64,
        follow: bool,
    ) -> kube::Result<impl Stream<Item = std::io::Result<Vec<u8>>> + Send + use<>> {
        let params = LogParams {
            container: Some(CONTAINER.to_owned()),
            follow,
            tail_lines: Some(tail),
            ..LogParams::default()
        };
        let pods: Api<Pod> = Api::namespaced(self.streams.clone(), &pod.namespace);
        let reader = Box::pin(pods.log_stream(&pod.name, &params).await?);
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
    /// The cluster's.
    pub async fn exec(&self, pod: &PodRef, command: &[String]) -> kube::Result<Exec> {
        let pods: Api<Pod> = Api::namespaced(self.streams.clone(), &pod.namespace);
        let params = AttachParams::interactive_tty().container(CONTAINER);
        pods.exec(&pod.name, command.to_vec(), &params).await
    }
}
