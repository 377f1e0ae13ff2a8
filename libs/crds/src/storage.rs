//! `GpuStorage`: one volume of a tenant, independent of the instances that mount it.

#![expect(unreachable_pub, reason = "the schema derive repeats the struct inside a function")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// Desired state of a volume, written by the storage service.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "atelier.dev",
    version = "v1alpha1",
    kind = "GpuStorage",
    plural = "gpustorages",
    shortname = "gs",
    category = "atelier",
    status = "GpuStorageStatus",
    derive = "PartialEq",
    doc = "One volume of a tenant. The operator creates a claim of the same name in the tenant's namespace.",
    validation = Rule::new("size(self.metadata.name) <= 63").message("the name must fit a label: at most 63 characters"),
    printcolumn(name = "Tenant", type_ = "string", json_path = ".spec.tenantId"),
    printcolumn(name = "Size", type_ = "integer", json_path = ".spec.sizeGib"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.sizeGib >= oldSelf.sizeGib").message("a volume can grow but not shrink"))]
#[x_kube(validation = Rule::new("has(self.storageClass) == has(oldSelf.storageClass) && (!has(self.storageClass) || self.storageClass == oldSelf.storageClass)").message("storageClass is immutable"))]
pub struct GpuStorageSpec {
    /// Name of the tenant that owns it (`ten-<32 hex>`); also its namespace.
    #[schemars(regex(pattern = r"^ten-[0-9a-f]{32}$"), length(max = 36))]
    #[x_kube(validation = Rule::new("self == oldSelf").message("tenantId is immutable"))]
    pub tenant_id: String,
    /// Size in GiB.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub size_gib: i64,
    /// Storage class of the cluster; its default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub storage_class: Option<String>,
    /// How nodes may mount it.
    #[serde(default)]
    #[x_kube(validation = Rule::new("self == oldSelf").message("accessMode is immutable"))]
    pub access_mode: AccessMode,
    /// Files to download onto the volume.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["id"]))]
    pub downloads: Vec<Download>,
}

/// A file to download onto a volume: written beside its path, verified, then renamed. An element leaves the list when its
/// end is recorded elsewhere.
#[derive(Serialize, Deserialize, schemars::JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Download {
    /// Name of the download (`dpl-<32 hex>`).
    #[schemars(regex(pattern = r"^[a-z]+-[0-9a-f]{32}$"), length(max = 52))]
    pub id: String,
    /// Number of the attempt. The operator makes one pod of each.
    #[schemars(range(min = 1, max = 1000))]
    pub attempt: i64,
    /// Path of the file below the root of the volume.
    #[schemars(length(min = 1, max = 512))]
    pub path: String,
    /// Size of the file.
    #[schemars(range(min = 0))]
    pub bytes: i64,
    /// SHA-256 of the file, in hexadecimal.
    #[schemars(regex(pattern = r"^[0-9a-f]{64}$"), length(max = 64))]
    pub sha256: String,
    /// Name of the Secret, in the tenant's namespace, whose key `url` is the address of the file.
    #[schemars(length(min = 1, max = 253))]
    pub secret_name: String,
}

/// Progress of an attempt at a download.
#[derive(Serialize, Deserialize, schemars::JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct DownloadStatus {
    /// Name of the download.
    pub id: String,
    /// Number of the attempt.
    pub attempt: i64,
    /// Phase of the attempt.
    #[serde(default)]
    pub phase: DownloadPhase,
    /// Machine-readable reason; absent once it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The reason in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Phase of an attempt at a download.
#[derive(Serialize, Deserialize, schemars::JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DownloadPhase {
    /// Not ended yet.
    #[default]
    Pending,
    /// The file is there, complete and verified.
    Done,
    /// The attempt has ended without the file.
    Failed,
}

/// How nodes may mount a volume.
#[derive(Serialize, Deserialize, schemars::JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessMode {
    /// Read and write from one node.
    ReadWriteOnce,
    /// Read and write from many nodes.
    #[default]
    ReadWriteMany,
    /// Read from many nodes.
    ReadOnlyMany,
}

impl AccessMode {
    /// Returns the access mode of a `PersistentVolumeClaim`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadWriteOnce => "ReadWriteOnce",
            Self::ReadWriteMany => "ReadWriteMany",
            Self::ReadOnlyMany => "ReadOnlyMany",
        }
    }
}

/// Actual state of a volume, reported by the operator.
#[derive(Serialize, Deserialize, schemars::JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct GpuStorageStatus {
    /// Phase of the volume.
    #[serde(default)]
    pub phase: StoragePhase,
    /// Namespace of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_name: Option<String>,
    /// Actual capacity in GiB, rounded down; absent until bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_gib: Option<i64>,
    /// The condition `Bound`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Generation of the spec that the operator reconciled last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The downloads of the spec.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub downloads: Vec<DownloadStatus>,
}

/// Phase of a volume.
#[derive(Serialize, Deserialize, schemars::JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoragePhase {
    /// Not bound yet.
    #[default]
    Pending,
    /// Can be mounted.
    Bound,
    /// The claim was rejected or lost its volume.
    Failed,
}
