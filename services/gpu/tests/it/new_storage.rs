//! An order that creates its volume, and the datacenter that follows from the storages.

use serde_json::{Value, json};
use testkit::eventually;

use crate::{
    harness::{Fixture, OTHER_CLUSTER, Setup, start_cluster},
    neighbours::Condition,
    operator::Operator,
};

fn order() -> Value {
    let mut order = Fixture::order();
    order["new_storage"] = json!({ "name": "pictures", "storage_spec": "ssd", "size_gib": 20 });
    order
}

#[tokio::test(flavor = "multi_thread")]
async fn a_volume_is_created_once_with_the_instance() {
    let fixture = Fixture::start().await;
    let member = fixture.member().key("once");
    let made = member.post("/v1/instances", order()).await.expect(202);
    let again = member.post("/v1/instances", order()).await.expect(202);
    assert_eq!((again.str("id"), fixture.neighbours.storages()), (made.str("id"), 1));
    let mounted = &made.body["storages"][0];
    assert_eq!(mounted["mount_path"], "/workspace/storage");
    let storage = mounted["storage_id"].as_str().unwrap().parse().unwrap();
    let id = made.str("id").parse().unwrap();
    fixture.brought_up(id).await;
    assert_eq!(fixture.neighbours.attachment(storage, id).as_deref(), Some("read_write"));

    // beside another one, at a path of its own
    let existing = fixture.neighbours.add_storage(fixture.tenant);
    let mut both = order();
    both["storages"] = json!([{ "storage_id": existing, "read_only": true }]);
    let clash =
        fixture.member().post("/v1/instances", both.clone()).await.expect_problem(422, "invalid-field");
    assert_eq!(clash.body["errors"][0]["pointer"], "/new_storage/mount_path");
    assert_eq!(fixture.neighbours.storages(), 2, "nothing is created for it");
    both["new_storage"]["mount_path"] = json!("/pictures");
    let made = fixture.member().post("/v1/instances", both).await.expect(202);
    assert_eq!(made.body["storages"][1]["mount_path"], "/pictures");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_order_creates_no_volume() {
    let fixture = Fixture::start().await;
    let member = fixture.member();
    let changed = |pointer: &str, value: Value| {
        let mut order = order();
        *order.pointer_mut(pointer).unwrap() = value;
        order
    };
    for (pointer, order) in [
        ("/version", changed("/version", json!("9"))),
        ("/new_storage/storage_spec", changed("/new_storage/storage_spec", json!("objects"))),
        ("/new_storage/storage_spec", changed("/new_storage/storage_spec", json!("unknown"))),
        ("/new_storage/storage_spec", changed("/new_storage/storage_spec", json!(""))),
        ("/new_storage/size_gib", changed("/new_storage/size_gib", json!(101))),
    ] {
        let refused = member.post("/v1/instances", order).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{}", refused.text);
    }
    let path = format!("/v1/platform-quotas/{}?reason=trial", fixture.tenant);
    let none = json!({ "instances": 0 });
    let _ = fixture.admin().header("if-match", "*").put(&path, none).await.expect(200);
    member.post("/v1/instances", order()).await.expect_problem(409, "quota-exceeded");
    let _ = member.post("/v1/instances/quote", order()).await.expect(200);
    fixture.neighbours.be(Condition::Away);
    member.post("/v1/instances", order()).await.expect_problem(503, "unavailable");
    fixture.neighbours.be(Condition::Well);
    assert_eq!(fixture.neighbours.storages(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_starts_where_its_storages_are() {
    // without the workers of a replica that has one cluster only
    let mut fixture = Fixture::with(Setup { workers: false, ..Setup::default() }).await;
    let folder = tempfile::tempdir().unwrap();
    let (other, kube) = start_cluster(folder.path()).await;
    let operator = Operator::new(kube.clone());
    let unit = ids::UnitId::new();
    operator.make_unit(&unit.k8s_name()).await;
    fixture.neighbours.add_unit_in_other(unit);
    let kubeconfig = Some(other.kubeconfig_path().to_owned());
    let config = crds::ClusterConfig { kubeconfig, context: None };
    fixture.config.clusters.insert(OTHER_CLUSTER.to_owned(), config);
    let replica = fixture.replica().await;
    fixture.base.clone_from(&replica.base);

    let storage = fixture.neighbours.add_storage_in_other(fixture.tenant);
    let mut order = Fixture::order();
    order["storage_id"] = json!(storage);
    order["datacenter"] = json!("dev-1");
    let refused = fixture.member().post("/v1/instances", order.clone()).await;
    assert_eq!(refused.expect_problem(422, "invalid-field").body["errors"][0]["pointer"], "/datacenter");
    // units of the first datacenter are free too, and would be taken first
    order.as_object_mut().unwrap().remove("datacenter");
    order["start"] = json!(false);
    let id = fixture.ordered(order).await;
    fixture.act(id, "start").await;
    operator.ready(&Fixture::unit_in(&kube, id).await).await;
    fixture.in_state(id, "running").await;

    // with a storage of the first datacenter it starts there
    fixture.act(id, "stop").await;
    eventually("the unit is emptied", async || {
        operator.unit(&unit.k8s_name()).await.spec.instance.is_none().then_some(())
    })
    .await;
    operator.ended(&unit.k8s_name(), 160).await;
    fixture.in_state(id, "stopped").await;
    let here = fixture.neighbours.add_storage(fixture.tenant);
    let _ = fixture.change(id, json!({ "storages": [{ "storage_id": here }] })).await.expect(200);
    fixture.act(id, "start").await;
    fixture.brought_up(id).await;
    replica.process.shutdown.begin();
}
