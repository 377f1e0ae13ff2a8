//! The storage service over HTTP. Each test has a database of its own; volumes are in a development cluster with a
//! stand-in for the operator, buckets in the embedded object store, or in a real Ceph RGW if `RGW_ENDPOINT`,
//! `RGW_ACCESS_KEY` and `RGW_SECRET_KEY` are set.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

mod bad_input;
mod buckets;
mod budgets;
mod deliveries;
mod downloads;
mod events;
mod fixture;
mod isolation;
mod kills;
mod lists;
mod makers;
mod objects;
mod quotas;
mod specs;
mod subjects;
mod tenants;
mod unreadable;
mod volumes;
mod workers;
