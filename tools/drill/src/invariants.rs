//! Invariants that always hold: no unit is granted twice, nothing is orphaned, and usage matches the actual
//! runs.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use serde_json::Value;
use sqlx::{PgConnection, Row};

use super::environment::Environment;

/// How long the platform may take until Postgres and the cluster agree again.
const AGREEMENT: Duration = Duration::from_secs(60);

const UNITS: &str = "/apis/atelier.dev/v1alpha1/gpuunits";
const PODS: &str = "/api/v1/pods?labelSelector=atelier.dev%2Frole%3Dinstance";

/// Violations that remain after the platform has had time to settle. Users continue meanwhile.
pub(super) async fn violations(environment: &Environment) -> anyhow::Result<Vec<String>> {
    let begun = Instant::now();
    let mut lasting: Option<BTreeSet<String>> = None;
    loop {
        let now: BTreeSet<String> = found(environment).await?.into_iter().collect();
        // differences caused by a start or a deletion in progress are not violations, only lasting ones
        let rest: BTreeSet<String> = match lasting {
            Some(before) => before.intersection(&now).cloned().collect(),
            None => now,
        };
        if rest.is_empty() || begun.elapsed() > AGREEMENT {
            return Ok(rest.into_iter().collect());
        }
        lasting = Some(rest);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

async fn found(environment: &Environment) -> anyhow::Result<Vec<String>> {
    let units = environment.cluster.list(UNITS).await?;
    let pods = environment.cluster.list(PODS).await?;
    let mut database = environment.database().await?;
    let mut found = twice(&units, &pods);
    found.extend(orphans(&mut database, &units, &pods).await?);
    found.extend(billed(&mut database, &units).await?);
    Ok(found)
}

/// A unit with two instances, or an instance in two units.
fn twice(units: &[Value], pods: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    let mut places: BTreeMap<&str, &str> = BTreeMap::new();
    for unit in units {
        let name = unit["metadata"]["name"].as_str().unwrap_or_default();
        let Some(instance) = unit["spec"]["instance"]["id"].as_str() else { continue };
        if let Some(other) = places.insert(instance, name) {
            found.push(format!("{instance} is in {other} and in {name}"));
        }
    }
    let (mut of_unit, mut of_instance) = (BTreeMap::new(), BTreeMap::new());
    for pod in pods.iter().filter(|pod| is_live(pod)) {
        let label = |name: &str| pod["metadata"]["labels"][name].as_str().unwrap_or_default();
        let (unit, instance) = (label("atelier.dev/unit"), label("atelier.dev/instance"));
        if let Some(other) = of_unit.insert(unit, instance).filter(|other| *other != instance) {
            found.push(format!("{unit} runs {other} and {instance}"));
        }
        if let Some(other) = of_instance.insert(instance, unit).filter(|other| *other != unit) {
            found.push(format!("{instance} runs in {other} and in {unit}"));
        }
    }
    found
}

fn is_live(pod: &Value) -> bool {
    !matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
}

/// Claims, pods and runs without an instance, and instances without their unit.
async fn orphans(
    database: &mut PgConnection,
    units: &[Value],
    pods: &[Value],
) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for (what, query) in [
        (
            "a claim without an instance",
            "select u.id::text from stock.units u where u.holder_instance is not null and not exists
             (select from gpu.instances i where i.id = u.holder_instance and i.state <> 'deleted')",
        ),
        (
            "a running instance without a unit",
            "select i.id::text from gpu.instances i where i.state = 'running' and not exists
             (select from stock.units u where u.holder_instance = i.id)",
        ),
        (
            "a stopped instance with a unit and no hold",
            "select i.id::text from gpu.instances i join stock.units u on u.holder_instance = i.id
             where i.state = 'stopped' and not exists
             (select from gpu.runs r where r.instance_id = i.id and r.kind = 'held' and r.ended_at is null)",
        ),
        (
            "an open run of an instance that does not run",
            "select i.id::text from gpu.runs r join gpu.instances i on i.id = r.instance_id
             where r.ended_at is null and r.kind = 'running' and i.state in ('stopped', 'deleted')",
        ),
        (
            "a unit with two open runs",
            "select unit_id::text from gpu.runs where ended_at is null group by unit_id having count(*) > 1",
        ),
    ] {
        for row in sqlx::query(query).fetch_all(&mut *database).await? {
            found.push(format!("{what}: {}", row.get::<String, _>(0)));
        }
    }
    let known: BTreeSet<String> =
        rows(database, "select id::text from gpu.instances where state <> 'deleted'").await?;
    for pod in pods.iter().filter(|pod| is_live(pod)) {
        let instance = pod["metadata"]["labels"]["atelier.dev/instance"].as_str().unwrap_or_default();
        if !known.contains(&hyphenated(instance)) {
            found.push(format!("a pod without an instance: {instance}"));
        }
    }
    let known: BTreeSet<String> = rows(database, "select id::text from stock.units").await?;
    for unit in units {
        let name = unit["metadata"]["name"].as_str().unwrap_or_default();
        if unit["metadata"]["labels"]["atelier.dev/managed-by"] == "stock"
            && !known.contains(&hyphenated(name))
        {
            found.push(format!("a unit that the stock does not know: {name}"));
        }
    }
    Ok(found)
}

async fn rows(database: &mut PgConnection, query: &'static str) -> anyhow::Result<BTreeSet<String>> {
    let rows = sqlx::query(query).fetch_all(database).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// The id in a name like `inst-…`, as Postgres writes it.
fn hyphenated(name: &str) -> String {
    let digits: String = name.chars().skip_while(|c| *c != '-').filter(char::is_ascii_alphanumeric).collect();
    match uuid::Uuid::parse_str(&digits) {
        Ok(id) => id.hyphenated().to_string(),
        Err(_) => name.to_owned(),
    }
}

/// Each run that the cluster reports as ended is billed with the same seconds.
async fn billed(database: &mut PgConnection, units: &[Value]) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    let query = "select instance_id::text, attempt, floor(extract(epoch from started_at))::bigint,
        floor(extract(epoch from ended_at))::bigint from gpu.runs where kind = 'running'";
    let billed: BTreeMap<(String, i64, i64), Option<i64>> = sqlx::query(query)
        .fetch_all(database)
        .await?
        .iter()
        .map(|row| ((row.get(0), row.get(1), row.get(2)), row.get(3)))
        .collect();
    for run in units.iter().flat_map(|unit| unit["status"]["recentRuns"].as_array().into_iter().flatten()) {
        let name = run["instanceId"].as_str().unwrap_or_default();
        let time = |field: &str| {
            let at: Option<jiff::Timestamp> = run[field].as_str().and_then(|text| text.parse().ok());
            at.map(jiff::Timestamp::as_second).unwrap_or_default()
        };
        let (from, to) = (time("runningSince"), time("endedAt"));
        let key = (hyphenated(name), run["attempt"].as_i64().unwrap_or_default(), from);
        match billed.get(&key) {
            None => found.push(format!("{name} ran from {from} to {to} and is not billed")),
            // an end that was not observed is billed up to the last confirmation
            Some(Some(end)) if run["endUnseen"] == true && *end <= to => {}
            Some(Some(end)) if *end == to => {}
            Some(end) => found.push(format!("{name} ran from {from} to {to} and is billed to {end:?}")),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn two_instances_in_one_unit_are_found() {
        let pod = |unit: &str, instance: &str, phase: &str| {
            json!({ "metadata": { "labels": { "atelier.dev/unit": unit, "atelier.dev/instance": instance } },
                "status": { "phase": phase } })
        };
        let fine = [pod("u1", "i1", "Running"), pod("u1", "i2", "Succeeded"), pod("u2", "i2", "Running")];
        assert!(twice(&[], &fine).is_empty());
        assert_eq!(
            twice(&[], &[pod("u1", "i1", "Running"), pod("u1", "i2", "Running")]),
            ["u1 runs i1 and i2"]
        );
        let unit =
            |name: &str| json!({ "metadata": { "name": name }, "spec": { "instance": { "id": "i1" } } });
        assert_eq!(twice(&[unit("a"), unit("b")], &[]), ["i1 is in a and in b"]);
    }

    #[test]
    fn names_carry_ids() {
        let id = "01980000-0000-7000-8000-000000000001";
        assert_eq!(hyphenated(&format!("inst-{}", id.replace('-', ""))), id);
        assert_eq!(hyphenated(&format!("inst-{id}")), id);
    }
}
