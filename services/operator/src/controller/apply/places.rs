//! Whether a unit fits on a node, from the API server and not from the cache.

use crds::GpuUnit;
use crds::names::LABEL_UNIT;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod, PodSpec};
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use plans::observation::why_no_room;
use plans::unit::pods::{Placement, placeholder};
use plans::unit::resources::template_hash;
use plans::unit::snapshot::PlaceCheck;

use super::{Applier, WriteError};

impl Applier {
    /// Checks whether the unit fits on the node, and puts the answer into the cache. The pods of others on the node
    /// count, and of the units that wait for a place there too, those that have waited for longer: the scheduler keeps
    /// room for each of them, and so would give it to none.
    pub(crate) async fn check_place(
        &self,
        unit: &GpuUnit,
        node: &str,
        now: Timestamp,
    ) -> Result<(), WriteError> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let pods: Api<Pod> = Api::all(self.client.clone());
        let on_node = format!("spec.nodeName={node},status.phase!=Succeeded,status.phase!=Failed");
        let on_node = ListParams::default().fields(&on_node);
        let found = nodes.get_opt(node).await.map_err(WriteError::Api)?;
        let pods = pods.list(&on_node).await.map_err(WriteError::Api)?;
        let name = unit.name_any();
        let rivals = self.cache.rivals(&name, node);
        let is_other = |pod: &&Pod| {
            let unit = pod.labels().get(LABEL_UNIT);
            unit.is_none_or(|unit| *unit != name && !rivals.contains_key(unit))
        };
        let waiting: Vec<_> = rivals.values().map(|rival| self.placeholder_spec(rival)).collect();
        let others = pods.iter().filter(is_other).filter_map(|pod| pod.spec.as_ref()).chain(&waiting);
        let refusal = match found {
            Some(found) => why_no_room(&found, others, &self.placeholder_spec(unit)),
            None => Some("it does not exist".to_owned()),
        };
        tracing::info!(unit = name, node, refusal, "checked whether the unit still fits on its node");
        let template = template_hash(&unit.spec, &self.settings);
        self.cache.put_place_check(&name, PlaceCheck { node: node.to_owned(), template, at: now, refusal });
        Ok(())
    }

    fn placeholder_spec(&self, unit: &GpuUnit) -> PodSpec {
        placeholder(unit, "", Placement::Anywhere, None, &self.settings).spec.unwrap_or_default()
    }
}
