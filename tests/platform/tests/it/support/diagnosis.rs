//! What the platform looks like when a test waits for too long.

use std::{future::pending, time::Duration};

use crds::GpuUnit;
use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client, ResourceExt as _, api::ListParams};
use testkit::TestDb;

/// Rows that tell who waits for whom, each as JSON.
const ROWS: &str = "
    select concat('instance ', row_to_json(t)) from (select id, state, phase, attempt, leave_by, wake_at, lease_until, updated_at, failures
                                               from gpu.instances) t
    union all select concat('worker ', row_to_json(t)) from (select id, instance_id, stage, state, node, check_at, current_job, last_seen_at
                                                       from jobs.workers) t
    union all select concat('job ', row_to_json(t)) from (select id, state, attempt, worker_id, reason, not_before from jobs.jobs) t
    union all select concat('transaction ', row_to_json(t)) from (select application_name, state, wait_event, xact_start, query
                                                            from pg_stat_activity where xact_start < now() - interval '1 second') t";

/// Waits for a condition, and prints the state of the platform shortly before `time` is over.
pub(crate) async fn watched<T>(
    db: &TestDb,
    kube: &Client,
    time: Duration,
    wait: impl Future<Output = T>,
) -> T {
    let told = async {
        tokio::time::sleep(time.mul_f32(0.9)).await;
        eprintln!("{}", describe(db, kube).await);
        pending::<()>().await;
    };
    tokio::select! {
        result = wait => result,
        () = told => unreachable!("it is pending"),
    }
}

async fn describe(db: &TestDb, kube: &Client) -> String {
    let mut conn = db.admin().await;
    let mut lines: Vec<String> = sqlx::query_scalar(ROWS).fetch_all(&mut conn).await.unwrap();
    let units = Api::<GpuUnit>::all(kube.clone()).list(&ListParams::default()).await.unwrap();
    lines.extend(
        units
            .items
            .iter()
            .map(|unit| format!("unit {} {}", unit.name_any(), serde_json::to_string(&unit.status).unwrap())),
    );
    let nodes = Api::<Node>::all(kube.clone()).list(&ListParams::default()).await.unwrap();
    lines.extend(nodes.items.iter().map(|node| {
        let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
        format!("node {} {}", node.name_any(), serde_json::to_string(&conditions).unwrap())
    }));
    lines.join("\n")
}
