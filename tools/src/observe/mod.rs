//! What operators see and are woken by: the list of metrics, alert rules, runbooks, dashboards.

pub(crate) mod alerts;
pub(crate) mod metrics;
pub(crate) mod promql;
