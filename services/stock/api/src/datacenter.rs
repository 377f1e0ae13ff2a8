//! Datacenters.

use std::collections::BTreeMap;

use ids::DatacenterId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Whether a datacenter is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum DatacenterState {
    /// Units can be claimed and stock can be added.
    Active,
    /// No new claims and no new stock. Running instances keep their units until they stop; free stock can be removed.
    Draining,
}

/// A datacenter: a named site with one cluster.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Datacenter {
    /// Datacenter id.
    pub id: DatacenterId,
    /// Unique name.
    #[schema(example = "uk-1")]
    pub name: String,
    /// Region, for example a country.
    #[schema(example = "uk")]
    pub region: String,
    /// Its cluster, by name in the configuration of the service.
    pub cluster: String,
    /// Labels for administrators.
    pub labels: BTreeMap<String, String>,
    /// Whether units can be claimed and stock can be added.
    pub state: DatacenterState,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Counter of changes: the ETag.
    #[serde(skip)]
    pub generation: i64,
}

/// Id and name of a datacenter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DatacenterRef {
    /// Datacenter id.
    pub id: DatacenterId,
    /// Name.
    pub name: String,
}
