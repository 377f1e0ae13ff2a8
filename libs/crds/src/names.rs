//! Names shared by the services, the operator and the clusters.

/// API group of the custom resources.
pub const GROUP: &str = "atelier.dev";
/// API version of the custom resources.
pub const VERSION: &str = "v1alpha1";

/// Field manager of the stock service: a unit's `spec` except `instance`.
pub const MANAGER_STOCK: &str = "atelier-stock";
/// Field manager of the gpu service: `spec.instance`.
pub const MANAGER_GPU: &str = "atelier-gpu";
/// Field manager of the storage service: a `GpuStorage`'s `spec`.
pub const MANAGER_STORAGE: &str = "atelier-storage";
/// Field manager of the operator: `status`, pods, claims, namespaces and policies.
pub const MANAGER_OPERATOR: &str = "atelier-operator";

/// Namespace of placeholder pods and of the operator's records. A unit with claimed devices has a separate
/// namespace, named after the unit, for its placeholder and its instance's pod.
pub const SYSTEM_NAMESPACE: &str = "atelier-system";

/// Priority class of placeholder pods: they hold a place and never preempt other pods.
pub const CLASS_PLACEHOLDER: &str = "atelier-placeholder";
/// Priority class of every pod that takes over a place of its unit.
pub const CLASS_INSTANCE: &str = "atelier-instance";

/// Topology key of pods that the operator binds: no node has this label, so that no scheduler binds them.
pub const TOPOLOGY_BOUND: &str = "atelier.dev/bound-by-operator";

/// Label on pods, resource claims, namespaces and volumes: the name of the unit that they belong to.
pub const LABEL_UNIT: &str = "atelier.dev/unit";
/// Label on guards and barriers: the name of the unit that has the place.
pub const LABEL_GUARDS: &str = "atelier.dev/guards";
/// Label on pods: the instance's name (`inst-…`).
pub const LABEL_INSTANCE: &str = "atelier.dev/instance";
/// Label on pods, claims and namespaces: the tenant's name (`ten-…`).
pub const LABEL_TENANT: &str = "atelier.dev/tenant";
/// Label on instance pods that can open connections to each other, if they belong to one tenant; its value is `true`.
pub const LABEL_PEERS: &str = "atelier.dev/peers";
/// Label on pods: [`ROLE_PLACEHOLDER`], [`ROLE_INSTANCE`], [`ROLE_GUARD`], [`ROLE_BARRIER`] or [`ROLE_DOWNLOAD`].
pub const LABEL_ROLE: &str = "atelier.dev/role";
/// Label on volume claims and pods of downloads: the name of the `GpuStorage` that they belong to.
pub const LABEL_STORAGE: &str = "atelier.dev/storage";
/// Label on units: the name of the GPU specification, for selection.
pub const LABEL_GPU_SPEC: &str = "atelier.dev/gpu-spec";
/// Label on units: who created them (`stock`, or `operator-api` for the Operator API, whose units the stock service
/// ignores).
pub const LABEL_MANAGED_BY: &str = "atelier.dev/managed-by";
/// Value of [`LABEL_MANAGED_BY`] on units of the stock service.
pub const MANAGED_BY_STOCK: &str = "stock";
/// Value of [`LABEL_MANAGED_BY`] on units created through the Operator API.
pub const MANAGED_BY_OPERATOR_API: &str = "operator-api";

/// Value of [`LABEL_ROLE`] on placeholder pods.
pub const ROLE_PLACEHOLDER: &str = "placeholder";
/// Value of [`LABEL_ROLE`] on instance pods.
pub const ROLE_INSTANCE: &str = "instance";
/// Value of [`LABEL_ROLE`] on pods that are never bound, whose nomination keeps a place while it is handed over.
pub const ROLE_GUARD: &str = "guard";
/// Value of [`LABEL_ROLE`] on pods that are never bound: once the scheduler has tried one, it has seen everything that was
/// written before.
pub const ROLE_BARRIER: &str = "barrier";
/// Value of [`LABEL_ROLE`] on pods that download files onto volumes.
pub const ROLE_DOWNLOAD: &str = "download";

/// Label on pods of downloads: the name of the download.
pub const LABEL_DOWNLOAD: &str = "atelier.dev/download";
/// Key of the address in the Secret of a download.
pub const KEY_URL: &str = "url";

/// Annotation of units: the position of the request that the gpu service carried out last in its trace, if that is
/// recorded (W3C `traceparent`).
pub const ANNOTATION_TRACEPARENT: &str = "atelier.dev/traceparent";

/// Condition of a unit: whether it holds its resources, by a placeholder or an instance.
pub const CONDITION_HELD: &str = "Held";
/// Condition of a unit: whether the readiness probe of the instance's pod passes.
pub const CONDITION_INSTANCE_READY: &str = "InstanceReady";
/// Condition of a unit: whether it runs code of tenants, by the cluster's policy and its runtimes.
pub const CONDITION_TENANT_CODE: &str = "TenantCode";
/// Condition of a storage: whether its volume can be mounted.
pub const CONDITION_BOUND: &str = "Bound";

/// Finalizer of a unit: removed once its pods have ended and its run is recorded.
pub const FINALIZER_UNIT: &str = "atelier.dev/unit";
/// Finalizer of an instance pod: removed once the end of its run is recorded in the unit's status.
pub const FINALIZER_RUN: &str = "atelier.dev/run";
/// Finalizer of a storage: removed once its volume claim is deleted.
pub const FINALIZER_VOLUME: &str = "atelier.dev/volume";

/// Name of the only container of an instance pod.
pub const CONTAINER: &str = "main";
