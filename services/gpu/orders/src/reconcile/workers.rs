//! The tasks: the queue of instances, and the watches that wake it.

use std::sync::Arc;

use api::ErrorChain;
use db::queue::Queue;
use ids::InstanceId;
use service::{Duty, Task};

use super::Reconciler;

impl Reconciler {
    /// The tasks of the queue of instances.
    pub fn tasks(&self, queue: &Queue<InstanceId>) -> [Task; 2] {
        let reconciler = self.clone();
        queue.tasks("instances", move |leased| {
            let reconciler = reconciler.clone();
            async move { Box::pin(reconciler.reconcile(leased)).await }
        })
    }

    /// The tasks that observe the clusters and wake the queue, one for each.
    pub fn watches(&self, queue: &Queue<InstanceId>) -> impl Iterator<Item = Task> {
        self.clusters.iter().map(|cluster| {
            let parts = (Arc::clone(cluster), self.clone(), queue.clone());
            Task::new("units", Duty::Follow, &parts, |(cluster, reconciler, queue)| async move {
                cluster.watch(|instances| reconciler.wake_affected(&queue, instances)).await;
                Ok(())
            })
            .of_cluster(cluster.name())
        })
    }

    /// Wakes the instances that have something to do. Every replica observes every event, and most events need no
    /// reconcile: these cost one read and no write.
    async fn wake_affected(&self, queue: &Queue<InstanceId>, instances: Vec<InstanceId>) {
        let affected = self.affected(&instances).await.unwrap_or_else(|error| {
            tracing::warn!(error = %ErrorChain(&error), "cannot read observed instances, all are reconciled");
            instances
        });
        affected.into_iter().for_each(|instance| queue.wake(instance));
    }
}
