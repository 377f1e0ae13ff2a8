//! The jobs service over HTTP. Each test has a database of its own.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

mod arrivals;
mod artifacts;
mod attempts;
mod capacity;
mod costs;
mod database;
mod deliveries;
mod deployments;
mod endpoint;
mod event_feed;
mod events;
mod fleet;
mod fleets;
mod flood;
mod gangs;
mod gathered;
mod gpu;
mod groups;
mod img2img;
mod intake;
mod isolation;
mod jobs;
mod lending;
mod memory;
mod metrics;
mod moves;
mod mq;
mod mq_faults;
mod mq_tenant;
mod nodes;
mod open_jobs;
mod personal;
mod pools;
mod programs;
mod runner;
mod shares;
mod streams;
mod tenants;
mod training;
mod unreadable;
mod uploads;
mod webhooks;
mod workers;
mod world;
