//! Pods of instances.

use std::collections::HashMap;

use crds::names;
use ids::InstanceId;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, ResourceExt};
use sqlx::PgConnection;

use super::{Finding, Pages, created, units::Occupants};

pub(super) async fn check(
    conn: &mut PgConnection,
    client: &kube::Client,
    cluster: &str,
    occupants: &Occupants,
    findings: &mut Vec<Finding>,
) -> anyhow::Result<()> {
    let selector = format!("{}={}", names::LABEL_ROLE, names::ROLE_INSTANCE);
    let mut pages = Pages::new(Api::<Pod>::all(client.clone()), Some(&selector));
    let mut running: HashMap<InstanceId, String> = HashMap::new();
    while let Some(page) = pages.next().await? {
        let pods: Vec<&Pod> = page.iter().filter(|pod| is_live(pod)).collect();
        let ids: Vec<InstanceId> = pods.iter().filter_map(|pod| instance(pod)).collect();
        let known: Vec<InstanceId> =
            sqlx::query_scalar("select id from gpu.instances where id = any($1) and state <> 'deleted'")
                .bind(&ids)
                .fetch_all(&mut *conn)
                .await?;
        for pod in pods {
            let label = |name: &str| pod.labels().get(name).cloned().unwrap_or_default();
            let (id, name, unit) = (instance(pod), label(names::LABEL_INSTANCE), label(names::LABEL_UNIT));
            let subject = format!("{cluster}/{}/{}", pod.namespace().unwrap_or_default(), pod.name_any());
            let mut report = |detail: String| {
                let (subject, since) = (subject.clone(), created(pod));
                findings.push(Finding { invariant: "instance-pods", subject, detail, since });
            };
            if let Some(other) = id.and_then(|id| running.insert(id, subject.clone())) {
                report(format!("runs {name}, as {other} does"));
            }
            match id.filter(|id| known.contains(id)) {
                None => report(format!("runs {name}, which does not exist")),
                Some(id) if !occupants.names(&format!("{cluster}/{unit}"), id) => {
                    report(format!("runs {name}, which {unit} does not name"));
                }
                Some(_) => {}
            }
        }
    }
    Ok(())
}

fn instance(pod: &Pod) -> Option<InstanceId> {
    InstanceId::from_k8s_name(pod.labels().get(names::LABEL_INSTANCE)?).ok()
}

/// Whether its containers may run, and are to.
fn is_live(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    pod.metadata.deletion_timestamp.is_none() && !matches!(phase, Some("Succeeded" | "Failed"))
}
