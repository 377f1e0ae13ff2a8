//! The order of another service, and what it sees of its instance.

use api::{Checks, Problem};
use encryption::Cipher;
use gpu_api::Recall;
use gpu_core::{
    catalogue::EnvVar,
    instance::{
        Instance, InstanceState, OnNodeLoss, State,
        secret::{self, NewSecret},
    },
    reason::ReasonCode,
};
use ids::{InstanceId, TenantId};
use instances::{instance::secret_values, ticket::hash};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::create::{NewInstance, Owner};

/// An order of an instance that the calling service manages, for a tenant.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ManagedOrder {
    /// Owner of the instance, whose quota and budget apply.
    pub(super) tenant_id: TenantId,
    /// Name, 1 to 63 characters. Generated if absent.
    #[serde(default)]
    name: Option<String>,
    /// GPU specification, by id or name.
    gpu_spec: String,
    /// Service of the catalogue.
    service: String,
    /// Version of the service. The recommended one if absent.
    #[serde(default)]
    version: Option<String>,
    /// Required datacenter, by id or name; any if absent.
    #[serde(default)]
    datacenter: Option<String>,
    /// Environment variables, added to those of the service.
    #[serde(default)]
    env: Vec<EnvVar>,
    /// Secrets: environment variables whose values only the container gets. At most 100.
    #[serde(default, deserialize_with = "secret::list", skip_serializing_if = "Vec::is_empty")]
    secrets: Vec<NewSecret>,
    /// Whether the instance waits in the queue if no unit is free. Otherwise the start fails at once.
    #[serde(default)]
    wait: bool,
    /// Whether another instance that finds no free unit may take the unit of this one, which then has some seconds to
    /// leave it. An interruptible instance only starts in a unit that nobody waits for, beyond those that are held
    /// back. Not with `wait`.
    #[serde(default)]
    interruptible: bool,
    /// Whether the instance can connect to other instances of the tenant with this setting, and they to it. Other
    /// instances cannot.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    reaches_peers: bool,
    /// Whether programs of the tenant run in the instance. It needs a datacenter whose policy for code of tenants allows that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    runs_tenant_code: bool,
}

impl ManagedOrder {
    /// Returns the hash that identifies the order, with keyed fingerprints of the values of secrets.
    pub(super) fn hash(&self, cipher: &Cipher) -> Result<Vec<u8>, Problem> {
        let identity = secret_values::Identity::new(self, &self.secrets, cipher);
        serde_json::to_string(&identity).map(|text| hash(&text)).map_err(Problem::internal)
    }

    /// Checks what an order of a user does not have.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let mut checks = Checks::default();
        checks.require(
            !self.wait || !self.interruptible,
            "/wait",
            "must be false if `interruptible` is true",
        );
        Ok(checks.finish()?)
    }

    /// The owner of the instance.
    pub(super) fn owner(&self, id: InstanceId, manager: &str) -> Owner {
        Owner {
            id,
            tenant: self.tenant_id,
            managed_by: Some(manager.to_owned()),
            interruptible: self.interruptible,
            reaches_peers: self.reaches_peers,
            runs_tenant_code: self.runs_tenant_code,
        }
    }

    /// The order in the form of a user's order. The managing service decides what happens when its node is
    /// lost.
    pub(super) fn into_new_instance(self) -> NewInstance {
        NewInstance {
            name: self.name,
            gpu_spec: self.gpu_spec,
            service: Some(self.service),
            image: None,
            version: self.version,
            storage_id: None,
            storages: Vec::new(),
            new_storage: None,
            datacenter: self.datacenter,
            env: self.env,
            secrets: self.secrets,
            ssh_keys: Vec::new(),
            wait: self.wait,
            on_node_loss: OnNodeLoss::Stop,
            public_ports: None,
            idle_stop: None,
            start: true,
        }
    }
}

/// An instance, as the service that manages it sees it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ManagedInstance)]
pub(super) struct ManagedView {
    /// Instance id.
    id: InstanceId,
    /// Owner of the instance.
    tenant_id: TenantId,
    /// Current state.
    state: InstanceState,
    /// Machine-readable reason of the state, or null.
    reason: Option<ReasonCode>,
    /// The reason in a sentence for a person, or null.
    message: Option<String>,
    /// Name of the GPU specification.
    gpu_spec: String,
    /// Name of the datacenter of the current or last unit, or null.
    datacenter: Option<String>,
    /// Node of the instance; null if it has no unit.
    node: Option<String>,
    /// Number of the start; grows with each.
    attempt: i64,
    /// Set once it has lost its unit to another instance, or null. It is not started again.
    recalled: Option<Recall>,
}

impl From<&Instance> for ManagedView {
    fn from(instance: &Instance) -> Self {
        let reason = instance.state.reason();
        let node = match &instance.state {
            State::Running { pod, .. } => pod.node.clone(),
            state => state.claim().and_then(|claim| claim.place.node.clone()),
        };
        Self {
            id: instance.id,
            tenant_id: instance.tenant,
            state: (&instance.state).into(),
            reason: reason.map(|reason| reason.code),
            message: reason.map(|reason| reason.message.clone()),
            gpu_spec: instance.order.gpu_spec_name.clone(),
            datacenter: instance.last_place.as_ref().map(|place| place.datacenter_name.clone()),
            node,
            attempt: instance.attempt,
            recalled: instance.leave_by.map(|leave_by| Recall { leave_by }),
        }
    }
}
