//! The gpu service through its HTTP API, on a real database and the development cluster; and the pure state
//! machine in a simulation.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

mod bounds;
mod budget;
mod catalogue;
mod clusters;
mod crash;
mod dependencies;
mod event_streams;
mod events;
mod faults;
mod harness;
mod holds;
mod idle;
mod lifecycle;
mod lists;
mod log_stream;
mod logs;
mod makers;
mod managed;
mod metrics;
mod model;
mod model_events;
mod neighbours;
mod new_storage;
mod operator;
mod orders;
mod own_images;
mod pods;
mod ports;
mod prometheus;
mod queue;
mod quota;
mod recalls;
mod registry_credentials;
mod rights;
mod route_changes;
mod secrets;
mod series;
mod share_links;
mod sse;
mod ssh;
mod ssh_ends;
mod ssh_files;
mod ssh_keys;
mod ssh_packets;
mod ssh_paths;
mod ssh_streams;
mod streams;
mod tenants;
mod unreadable;
mod usage;
mod workers;
