//! Drift between the records and the cluster, and its repair in both directions.

use ids::UnitId;
use kube::{
    ResourceExt,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;
use testkit::eventually;

use crate::{
    fixture::{Fixture, Replica, instance},
    operator::{Cluster, unit_id},
};

async fn start(cluster: &Cluster) -> (Fixture, Replica) {
    let mut fixture = Fixture::with_cluster(Some(cluster.kubeconfig())).await;
    fixture.config.compare_every_seconds = 1;
    let replica = fixture.replica().await;
    (fixture, replica)
}

async fn repaired(replica: &Replica, kind: &str) -> serde_json::Value {
    eventually("the repair is recorded", async || {
        let page = replica.admin.get("/v1/stock-repairs").await.expect(200);
        page.body["items"].as_array().unwrap().iter().find(|repair| repair["kind"] == kind).cloned()
    })
    .await
}

#[tokio::test]
async fn a_deleted_object_is_created_again() {
    let cluster = Cluster::start().await;
    let (fixture, replica) = start(&cluster).await;
    let _ = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    let operation = replica.add("a", "uk-1", 2).await;
    let objects = cluster.until(2).await;
    cluster.hold(&objects).await;
    assert_eq!(replica.ended(&operation).await["state"], "succeeded");
    cluster.delete(&objects[0].name_any()).await;
    let repair = repaired(&replica, "object_missing").await;
    assert_eq!(repair["unit_id"], unit_id(&objects[0]));
    let again = eventually("the object is there again", async || {
        let all = cluster.all().await;
        all.into_iter().find(|o| o.name_any() == objects[0].name_any() && o.uid() != objects[0].uid())
    })
    .await;
    replica.until_numbers([1, 1, 0, 2]).await;
    cluster.hold(&[again]).await;
    replica.until_numbers([2, 0, 0, 2]).await;
    fixture.assert_sound().await;
}

#[tokio::test]
async fn a_comparison_finds_what_changed_while_nobody_watched() {
    let cluster = Cluster::start().await;
    let (fixture, first) = start(&cluster).await;
    let spec_id = first.spec("a", "1").await;
    let _ = first.datacenter("uk-1").await;
    let operation = first.add("a", "uk-1", 3).await;
    let objects = cluster.until(3).await;
    cluster.hold(&objects).await;
    assert_eq!(first.ended(&operation).await["state"], "succeeded");
    let claim = first.claim(&instance(), &spec_id).await.expect(201);
    first.process.shutdown.begin();
    first.process.shutdown.finish().await;
    // a used one and a free one go; one that stays is altered
    let used = claim.str("unit_name").to_owned();
    let mut free = objects.iter().map(ResourceExt::name_any).filter(|name| *name != used);
    let (gone, altered) = (free.next().unwrap(), free.next().unwrap());
    cluster.delete(&used).await;
    cluster.delete(&gone).await;
    let patch = Patch::Merge(json!({ "spec": { "resources": { "cpu": "1" } } }));
    cluster.units.patch(&altered, &PatchParams::default(), &patch).await.unwrap();

    let second = fixture.replica().await;
    repaired(&second, "object_missing").await;
    let objects = cluster.until(3).await;
    eventually("the altered object is as it should be", async || {
        let object = cluster.units.get(&altered).await.unwrap();
        (object.spec.resources.cpu == "4000m").then_some(())
    })
    .await;
    repaired(&second, "object_altered").await;
    // nobody lost its unit
    let found =
        second.service.get(&format!("/internal/v1/claims/{}", claim.str("instance_id"))).await.expect(200);
    assert_eq!(found.str("unit_id"), claim.str("unit_id"));
    cluster.hold(&objects).await;
    second.until_numbers([2, 0, 1, 3]).await;
    fixture.assert_sound().await;
}

#[tokio::test]
async fn an_object_without_a_unit_is_deleted_unless_it_is_occupied() {
    let cluster = Cluster::start().await;
    let (fixture, replica) = start(&cluster).await;
    let _ = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    let operation = replica.add("a", "uk-1", 1).await;
    let objects = cluster.until(1).await;
    cluster.hold(&objects).await;
    assert_eq!(replica.ended(&operation).await["state"], "succeeded");

    // three objects without a unit: idle, occupied, and one that is not ours
    let stray = |name: String, managed_by: &str| {
        let mut object = objects[0].clone();
        object.metadata = kube::core::ObjectMeta { name: Some(name), ..Default::default() };
        object.labels_mut().insert("atelier.dev/managed-by".into(), managed_by.into());
        object.status = None;
        object
    };
    let names: Vec<String> = (0..3).map(|_| ids::UnitId::new().k8s_name()).collect();
    let foreign = stray(names[2].clone(), "operator-api");
    let mut occupied = stray(names[1].clone(), "stock");
    occupied.spec.instance = Some(
        serde_json::from_value(json!({
            "id": "inst-01939f0a7c3d7e6b8a1f4f0d5c2b1a00", "attempt": 1,
            "tenantId": "ten-01939f0a7c3d7e6b8a1f4f0d5c2b1a00", "image": "x",
        }))
        .unwrap(),
    );
    for object in [stray(names[0].clone(), "stock"), occupied, foreign] {
        cluster.units.create(&PostParams::default(), &object).await.unwrap();
    }
    cluster.say(&names[1], true, "Claimed").await;
    repaired(&replica, "object_orphaned").await;
    let adopted = repaired(&replica, "object_adopted").await;
    let left: Vec<String> = cluster.until(3).await.iter().map(ResourceExt::name_any).collect();
    assert!(!left.contains(&names[0]) && left.contains(&names[1]) && left.contains(&names[2]), "{left:?}");
    // it is not given out while somebody is in it, and is when they have gone
    let path = format!("/v1/stock-units/{}", adopted["unit_id"].as_str().unwrap());
    eventually("the adopted unit says why it is inactive", async || {
        let page = replica.admin.get(&path).await.expect(200);
        (page.str("state") == "inactive" && page.body["reason"] == "occupied").then_some(())
    })
    .await;
    assert_eq!(replica.numbers().await, [1, 1, 0, 2]);
    cluster.occupy(&names[1], false).await;
    replica.until_numbers([2, 0, 0, 2]).await;
    fixture.assert_sound().await;
}

#[tokio::test]
async fn an_object_that_cannot_be_deleted_does_not_stop_other_repairs() {
    let cluster = Cluster::start().await;
    let kubeconfig = cluster.kubeconfig_with(&["get", "list", "watch", "create", "patch"]).await;
    let mut fixture = Fixture::with_cluster(Some(kubeconfig)).await;
    fixture.config.compare_every_seconds = 1;
    let replica = fixture.replica().await;
    let _ = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    let stray = serde_json::from_value(json!({
        "metadata": { "name": ids::UnitId::new().k8s_name(), "labels": { "atelier.dev/managed-by": "stock" } },
        "spec": {
            "gpuSpec": "a", "resources": { "cpu": "1", "memory": "1Gi" },
            "gpu": { "model": "x", "count": 1, "allocation": { "kind": "device", "resource": "nvidia.com/gpu" } },
        },
    }));
    cluster.units.create(&PostParams::default(), &stray.unwrap()).await.unwrap();
    fixture.units("a", "uk-1", 1).await;
    repaired(&replica, "object_missing").await;
    let begun =
        "select extract(epoch from until)::bigint from stock.leases where name = 'comparison of main'";
    let before = fixture.count(begun).await;
    eventually("the next comparison begins", async || (fixture.count(begun).await > before).then_some(()))
        .await;
    assert_eq!(fixture.count("select count(*) from stock.repairs where kind = 'object_orphaned'").await, 0);
    assert_eq!(cluster.until(2).await.len(), 2);
}

#[tokio::test]
async fn wrong_counts_are_corrected_and_recorded() {
    let cluster = Cluster::start().await;
    let (fixture, replica) = start(&cluster).await;
    let _ = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 3).await;
    fixture.sql("update stock.stock_counts set available = available + 5, used = used - 1").await;
    let repair = repaired(&replica, "counts").await;
    assert!(repair["detail"].as_str().unwrap().contains("-5 available"), "{repair}");
    fixture.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_replicas_correct_a_count_once() {
    let cluster = Cluster::start().await;
    let (fixture, first) = start(&cluster).await;
    let _second = fixture.replica().await;
    let _ = first.spec("a", "1").await;
    let _ = first.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 3).await;
    // both are held up between seeing what is off and putting it right
    fixture.sql("update stock.stock_counts set shard = 0").await;
    let mut blocker = fixture.db.admin().await;
    let hold = "begin; update stock.stock_counts set used = used";
    sqlx::raw_sql(hold).execute(&mut blocker).await.unwrap();
    fixture
        .sql(
            "insert into stock.stock_counts (gpu_spec_id, datacenter_id, shard, available)
             select distinct gpu_spec_id, datacenter_id, 1, 5 from stock.units",
        )
        .await;
    let at_it = "select count(*) from pg_stat_activity
         where datname = current_database() and usename = 'atelier_stock_worker' and wait_event_type = 'Lock'";
    eventually("both repair", async || (fixture.count(at_it).await == 2).then_some(())).await;
    sqlx::raw_sql("commit").execute(&mut blocker).await.unwrap();
    eventually("both are done", async || (fixture.count(at_it).await == 0).then_some(())).await;
    let _ = repaired(&first, "counts").await;
    fixture.assert_sound().await;
    assert_eq!(fixture.count("select count(*) from stock.repairs where kind = 'counts'").await, 1);
}

/// The statement that writes up what the cluster says, and the rules in `UnitState`, are the same rules:
/// whatever happens in whatever order, each unit is where the rules say it is.
#[tokio::test]
async fn the_records_follow_the_rules_in_any_order_of_events() {
    use atelier_stock::unit::{UnitState, UnitStatus};

    let cluster = Cluster::start().await;
    let mut fixture = Fixture::with_cluster(Some(cluster.kubeconfig())).await;
    fixture.config.compare_every_seconds = 3600;
    let replicas = [fixture.replica().await, fixture.replica().await];
    let spec_id = replicas[0].spec("a", "1").await;
    let _ = replicas[0].datacenter("uk-1").await;
    let _ = replicas[0].add("a", "uk-1", 4).await;
    let objects = cluster.until(4).await;
    struct Model {
        name: String,
        state: UnitState,
        status: UnitStatus,
        /// Whether the operator has spoken of it. An object of which it has not says nothing.
        reported: bool,
        holder: Option<String>,
    }
    let fresh = UnitStatus { held: false, occupied: false, undecided: true };
    let mut units: Vec<Model> = objects
        .iter()
        .map(|o| Model {
            name: o.name_any(),
            state: UnitState::Making,
            status: fresh,
            reported: false,
            holder: None,
        })
        .collect();
    let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
    let mut roll = |sides: u64| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        dice % sides
    };
    let mut conn = fixture.db.admin().await;
    for step in 0..120 {
        let replica = &replicas[usize::try_from(roll(2)).unwrap()];
        let at = usize::try_from(roll(4)).unwrap();
        match roll(10) {
            0..=4 => {
                let unit = &mut units[at];
                let (held, reason) =
                    [(true, "Holding"), (true, "Claimed"), (false, "NodeLost"), (false, "Scheduling")]
                        [usize::try_from(roll(4)).unwrap()];
                unit.status = UnitStatus { held, undecided: reason == "Scheduling", ..unit.status };
                unit.reported = true;
                unit.state = unit.state.observed(unit.status);
                cluster.say(&unit.name, held, reason).await;
            }
            5 => {
                let unit = &mut units[at];
                unit.status.occupied = !unit.status.occupied;
                cluster.occupy(&unit.name, unit.status.occupied).await;
                if unit.reported {
                    unit.state = unit.state.observed(unit.status);
                }
            }
            6 | 7 => {
                let free = units.iter().any(|unit| unit.state.can_be_claimed());
                let holder = instance();
                let claim = replica.claim(&holder, &spec_id).await;
                assert_eq!(claim.status, if free { 201 } else { 409 }, "step {step}: {}", claim.text);
                if free {
                    let unit = units.iter_mut().find(|unit| unit.name == claim.str("unit_name")).unwrap();
                    assert!(unit.state.can_be_claimed(), "step {step}: {} was {:?}", unit.name, unit.state);
                    (unit.state, unit.holder) = (UnitState::Used, Some(holder));
                }
            }
            _ => {
                let unit = &mut units[at];
                // as the gpu service does it: the unit of an instance is released when its object is empty
                if unit.holder.is_some() && unit.status.occupied {
                    unit.status.occupied = false;
                    cluster.occupy(&unit.name, false).await;
                } else if let Some(holder) = unit.holder.take() {
                    replica.release(&holder).await;
                    unit.state = unit.state.released(unit.status.held);
                }
            }
        }
        eventually("the records are as the rules say", async || {
            // the next step must not overtake what this one tells of a used unit
            let recorded: Vec<(UnitId, bool, bool)> =
                sqlx::query_as("select id, held, occupied from stock.units")
                    .fetch_all(&mut conn)
                    .await
                    .unwrap();
            let is_recorded = |unit: &Model| {
                let status = if unit.reported { unit.status } else { fresh };
                let id = UnitId::from_k8s_name(&unit.name).unwrap();
                recorded.contains(&(id, status.held, status.occupied))
            };
            let page = replica.admin.get("/v1/stock-units").await.expect(200);
            let items = page.body["items"].as_array().unwrap();
            units
                .iter()
                .all(|unit| {
                    is_recorded(unit)
                        && items.iter().any(|item| {
                            item["name"] == unit.name
                                && item["state"] == json!(unit.state)
                                && item["holder"]["instance_id"] == json!(unit.holder)
                        })
                })
                .then_some(())
        })
        .await;
    }
    fixture.assert_sound().await;
}
