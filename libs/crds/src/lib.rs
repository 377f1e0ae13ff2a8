//! The custom resources that carry desired state to a cluster and actual state back.
//!
//! `GpuUnit` is one unit of stock: the stock service owns its size, the gpu service `spec.instance` (the desired
//! instance), the operator `status`. `GpuStorage` is one volume of a tenant. Both are cluster-scoped. This crate holds
//! types, names, reasons, quantities and clients of the clusters, but no decisions.

mod cluster;
pub mod names;
mod quantity;
mod storage;
mod unit;

pub use cluster::{ClusterConfig, ClusterError, Clusters};
pub use quantity::{InvalidQuantity, Quantity};
pub use storage::{
    AccessMode, Download, DownloadPhase, DownloadStatus, GpuStorage, GpuStorageSpec, GpuStorageStatus,
    StoragePhase,
};
pub use unit::{
    Allocation, EnvVar, Gpu, GpuUnit, GpuUnitSpec, GpuUnitStatus, Instance, Port, Resources, Volume,
};
pub use units::{
    DownloadFailure, DownloadReason, FailureReason, HeldReason, InstanceReason, InstanceStatus, LastFailure,
    Protocol, Run, RunEndReason, StorageReason, TenantCodeReason, Trust, UnitState,
};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt as _;

/// Returns the definitions that a cluster needs, in the order to apply them.
#[must_use]
pub fn definitions() -> Vec<CustomResourceDefinition> {
    let mut definitions = vec![GpuUnit::crd(), GpuStorage::crd()];
    for version in definitions.iter_mut().flat_map(|definition| &mut definition.spec.versions) {
        if let Some(schema) = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut()) {
            forbid_null(schema);
        }
    }
    definitions
}

/// Makes no field nullable: a null in a patch removes the field and is never stored. So rules can rely on `has(…)`.
fn forbid_null(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    for child in schema.properties.iter_mut().flat_map(|properties| properties.values_mut()) {
        forbid_null(child);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(child)) = &mut schema.items {
        forbid_null(child);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(child)) = &mut schema.additional_properties {
        forbid_null(child);
    }
}
