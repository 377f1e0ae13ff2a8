//! Each query of a dashboard, each recorded rule and each selector of an alert finds series on a platform that is used.

use std::time::{Duration, Instant};

use anyhow::ensure;
use generated::observe::{alerts, promql};

use super::prometheus::Prometheus;

/// How long series may take to appear: objectives are recorded every 15 s, workers measure every few.
const LIMIT: Duration = Duration::from_secs(180);

/// Queries and selectors without series on a platform that works, and why.
const EMPTY: [(&str, &str); 11] = [
    ("sum by (alertname, severity) (ALERTS{alertstate=\"firing\"})", "no alert is firing"),
    ("sum by (job, worker, cause) (increase(worker_failures_total[5m])) > 0", "no worker has failed"),
    (
        "topk(10, sum by (route, status) (rate(http_server_request_duration_seconds_count{job=\"atelier-gateway\", status=~\"5..\"}[5m])))",
        "no request has failed",
    ),
    (
        "sum by (job) (rate(http_server_request_duration_seconds_count{status=~\"5..\"}[$__rate_interval]))",
        "no request has failed",
    ),
    ("worker_failures_total{job=~\"atelier-.+\"}", "no worker has failed"),
    (
        "sum(rate(gateway_shared_limits_failures_total[$__rate_interval]))",
        "the gateways of a drill share no limits",
    ),
    ("gateway_shared_limits_failures_total", "the gateways of a drill share no limits"),
    ("sum by (result) (rate(ssh_log_ins_total[$__rate_interval]))", "no user logs in by SSH"),
    ("sum by (kind) (rate(operator_refused_writes_total[$__rate_interval]))", "no write was refused"),
    ("sum by (kind) (increase(operator_watch_failures_total[5m]))", "no watch has failed"),
    ("operator_reconciles_total{outcome!=\"ok\"}", "no reconcile has failed"),
];

pub(super) async fn check(prometheus: &Prometheus) -> anyhow::Result<()> {
    let mut open: Vec<(String, String)> = alerts::dashboard_queries()?;
    let dashboards = open.len();
    for rule in alerts::rules()? {
        match (rule.record, rule.alert) {
            (Some(record), _) => open.push((record, rule.expr)),
            (None, alert) => {
                // what compares finds nothing as long as all is well
                let name = alert.unwrap_or_default();
                open.extend(
                    promql::selectors(&rule.expr).into_iter().map(|selector| (name.clone(), selector)),
                );
            }
        }
    }
    let all = open.len();
    let begun = Instant::now();
    loop {
        let mut rest = Vec::new();
        for (at, query) in open {
            let concrete = query
                .replace("$__rate_interval", "1m")
                .replace("$__interval", "1m")
                .replace("$__range", "1h");
            if prometheus.query(&concrete).await?.is_empty() {
                rest.push((at, query));
            }
        }
        open = rest;
        if open.iter().all(|(_, query)| reason(query).is_some()) || begun.elapsed() > LIMIT {
            break;
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    println!("{all} queries ({dashboards} of dashboards), {} without series:", open.len());
    let mut unexpected = 0;
    for (at, query) in &open {
        let why = reason(query).unwrap_or("UNEXPECTED");
        unexpected += usize::from(reason(query).is_none());
        println!("  {at}: {query}: {why}");
    }
    ensure!(unexpected == 0, "{unexpected} queries find no series");
    Ok(())
}

fn reason(query: &str) -> Option<&'static str> {
    EMPTY.iter().find(|(known, _)| *known == query).map(|(_, why)| *why)
}
