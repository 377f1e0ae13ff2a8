//! Files for operators: the list of metrics, alert rules, runbooks, dashboards.

pub mod alerts;
pub mod metrics;
pub mod promql;
