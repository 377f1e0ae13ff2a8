//! Thieves: pods that take every GPU that is free for a moment.

#![expect(clippy::disallowed_methods, reason = "tests run on the real clock")]

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use serde_json::{Value, json};

use crate::lab::{IMAGE, Lab, NODE_LABEL};

const LABEL: &str = "atelier.test/thief";

impl Lab {
    /// Thieves for the lab's nodes: pods of a class between placeholders and instances, which request one GPU each.
    pub(crate) async fn thieves(&self, count: usize) {
        self.create_thieves(count, json!({(NODE_LABEL): self.id})).await;
    }

    /// Thieves for the node that runs processes.
    pub(crate) async fn real_thieves(&self, count: usize) {
        self.create_thieves(count, json!({"atelier.dev/real": "true"})).await;
    }

    /// Waits until the thieves may be tried at any moment: until then, the scheduler's backoff keeps them from a place
    /// that becomes free.
    pub(crate) async fn thieves_are_alert(&self) {
        let backoff = jiff::SignedDuration::from_secs(if self.is_dev() { 2 } else { 12 });
        testkit::eventually("the backoff of the thieves is over", async || {
            let all = self.thief_pods().list(&self.of_thieves()).await.ok()?;
            let waited = |pod: &Pod| {
                let created = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
                created.is_some_and(|created| jiff::Timestamp::now().duration_since(created) > backoff)
            };
            all.iter().all(waited).then_some(())
        })
        .await;
    }

    async fn create_thieves(&self, count: usize, selector: Value) {
        let classes: Api<PriorityClass> = Api::all(self.client.clone());
        let class: PriorityClass = serde_json::from_value(json!({
            "metadata": {"name": "atelier-test-middle"}, "value": 1000, "preemptionPolicy": "Never",
        }))
        .unwrap();
        classes.create(&PostParams::default(), &class).await.ok();
        for n in 0..count {
            let pod: Pod = serde_json::from_value(json!({
                "metadata": {"name": format!("thief-{}-{n}", self.id), "labels": {(LABEL): self.id}},
                "spec": {
                    "priorityClassName": "atelier-test-middle", "preemptionPolicy": "Never", "terminationGracePeriodSeconds": 0,
                    "nodeSelector": selector,
                    "containers": [{
                        "name": "main", "image": IMAGE, "command": ["sh", "-c", "sleep 1000000"],
                        "resources": {"limits": {"nvidia.com/gpu": "1", "cpu": "10m", "memory": "1Mi"}},
                    }],
                },
            }))
            .unwrap();
            self.thief_pods().create(&PostParams::default(), &pod).await.unwrap();
        }
        testkit::eventually("the scheduler has tried every thief", async || {
            let all = self.thief_pods().list(&self.of_thieves()).await.ok()?;
            let tried = |pod: &Pod| {
                let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
                conditions.is_some_and(|all| all.iter().any(|condition| condition.type_ == "PodScheduled"))
            };
            all.iter().all(tried).then_some(())
        })
        .await;
    }

    /// Deletes the thieves that earlier tests may have left.
    pub(crate) async fn clean_thieves(&self) {
        let at_once = DeleteParams::default().grace_period(0);
        self.thief_pods().delete_collection(&at_once, &ListParams::default().labels(LABEL)).await.unwrap();
    }

    fn thief_pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), "default")
    }

    fn of_thieves(&self) -> ListParams {
        ListParams::default().labels(&format!("{LABEL}={}", self.id))
    }

    /// Number of thieves that are bound to nodes.
    pub(crate) async fn stolen(&self) -> usize {
        let all = self.thief_pods().list(&self.of_thieves()).await.unwrap();
        all.iter().filter(|pod| pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some())).count()
    }

    pub(crate) async fn remove_thieves(&self) {
        let at_once = DeleteParams::default().grace_period(0);
        self.thief_pods().delete_collection(&at_once, &self.of_thieves()).await.ok();
    }
}
