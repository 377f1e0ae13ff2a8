//! What can be ordered, and what a stopped instance may change.

use serde_json::{Value, json};
use testkit::Response;

use crate::{
    harness::{Fixture, Setup},
    neighbours::{LARGE_SPEC, PRICE, SPEC},
};

impl Fixture {
    /// Changes an instance of any generation.
    pub(crate) async fn change(&self, id: ids::InstanceId, change: Value) -> Response {
        self.member().patch(&format!("/v1/instances/{id}"), "*", change).await
    }

    /// An order of an instance that is created stopped.
    pub(crate) fn stopped_order() -> Value {
        let mut order = Self::order();
        order["start"] = json!(false);
        order
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_can_be_created_stopped_and_started_later() {
    let fixture = Fixture::start().await;
    let member = fixture.member();
    let made = member.post("/v1/instances", Fixture::stopped_order()).await.expect(202);
    assert_eq!((made.str("state"), made.str("price_per_hour")), ("stopped", PRICE));
    let operation = fixture.ended(made.str("operation_id")).await;
    assert_eq!((&operation["kind"], &operation["state"]), (&json!("create_instance"), &json!("succeeded")));
    let id = made.str("id").parse().unwrap();
    assert_eq!(fixture.neighbours.claims(), 0);
    // it uses nothing but a name
    let used = member.get("/v1/quota").await.expect(200).body["used"].clone();
    assert_eq!(used, json!({ "instances": 1, "gpus": {}, "cost_per_hour": {} }));

    fixture.act(id, "start").await;
    fixture.brought_up(id).await;
    let unit = fixture.unit_of(id).await;
    assert_eq!(fixture.operator.unit(&unit).await.spec.instance.unwrap().attempt, 1, "its first start");
    let history = ["created user", "start_requested user", "unit_claimed system", "started system"];
    assert_eq!(fixture.history(id).await, history);

    let mut order = Fixture::stopped_order();
    order["wait"] = json!(true);
    let refused = member.post("/v1/instances", order.clone()).await.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/wait");
    order["wait"] = json!(false);
    let quote = member.post("/v1/instances/quote", order).await.expect(200);
    assert_eq!((&quote.body["price_per_hour"], &quote.body["starts_now"]), (&json!(PRICE), &json!(true)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_of_gpus_does_not_concern_what_is_created_stopped() {
    let fixture = Fixture::start().await;
    let path = format!("/v1/platform-quotas/{}?reason=trial", fixture.tenant);
    let limits = json!({ "gpus": 0, "instances": 1 });
    let _ = fixture.admin().header("if-match", "*").put(&path, limits).await.expect(200);
    let id = fixture.ordered(Fixture::stopped_order()).await;
    let member = fixture.member();
    let start = member.post(&format!("/v1/instances/{id}/start"), Value::Null).await;
    assert_eq!(start.expect_problem(409, "quota-exceeded").body["quota"], "gpus");
    let second = member.post("/v1/instances", Fixture::stopped_order()).await;
    assert_eq!(second.expect_problem(409, "quota-exceeded").body["quota"], "instances");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_instance_changes_what_was_ordered_and_a_running_one_its_name_only() {
    let fixture = Fixture::start().await;
    let id = fixture.running().await;
    for change in [json!({ "gpu_spec": LARGE_SPEC }), json!({ "version": "2" }), json!({ "env": [] })] {
        let refused = fixture.change(id, change).await.expect_problem(409, "instance-state");
        assert_eq!(refused.body["state"], "running");
    }
    let renamed = fixture.change(id, json!({ "name": "ke\u{301}pt" })).await.expect(200);
    assert_eq!(renamed.str("name"), "k\u{e9}pt");

    let unit = fixture.unit_of(id).await;
    fixture.act(id, "stop").await;
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 160).await;
    fixture.in_state(id, "stopped").await;
    let mut second = crate::harness::service();
    second["version"] = json!("2");
    second["template"]["image"] = json!("shell:2");
    let _ = fixture.admin().post("/v1/services", second).await.expect(201);
    let env = json!([{ "name": "LEVEL", "value": "9" }]);
    let change = json!({ "gpu_spec": LARGE_SPEC, "version": "2", "env": env });
    let changed = fixture.change(id, change.clone()).await.expect(200);
    assert_eq!((&changed.body["gpu_spec"]["name"], changed.str("version")), (&json!(LARGE_SPEC), "2"));
    assert_eq!(changed.str("price_per_hour"), "0.72", "the price follows");
    // nothing changes, so nothing is written
    let again = fixture.change(id, change).await.expect(200);
    assert_eq!(again.header("etag"), changed.header("etag"));
    let events = fixture.events(&format!("/v1/instances/{id}/events")).await;
    assert_eq!(events.iter().filter(|event| event["type"] == "instance.updated").count(), 2);
    let data = events.iter().map(|event| &event["data"]).find(|data| data["version"] == "2").unwrap();
    assert_eq!(data["changed"], json!(["gpu_spec", "version", "env"]));
    assert!(!data.to_string().contains("LEVEL"), "a variable is in the log of events: {data}");

    // what ran is reported as the specification with which it ran
    fixture.act(id, "start").await;
    let unit = fixture.unit_of(id).await;
    let wanted = fixture.operator.unit(&unit).await.spec.instance.unwrap();
    assert_eq!((wanted.image.as_str(), wanted.attempt), ("shell:2", 2));
    assert!(wanted.env.iter().any(|variable| variable.name == "LEVEL" && variable.value == "9"));
    fixture.operator.ready_since(&unit, 200).await;
    fixture.in_state(id, "running").await;
    let mut admin = fixture.db.admin().await;
    let specs: Vec<(i64, String)> = sqlx::query_as("select attempt, gpu_spec from gpu.runs order by attempt")
        .fetch_all(&mut admin)
        .await
        .unwrap();
    assert_eq!(specs, [(1, SPEC.to_owned()), (2, LARGE_SPEC.to_owned())]);
    let records: Vec<String> = sqlx::query_scalar(
        "select payload ->> 'gpu_spec' from gpu.usage_records where payload ->> 'to' is not null",
    )
    .fetch_all(&mut admin)
    .await
    .unwrap();
    assert_eq!(records, [SPEC]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_checked_like_an_order() {
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    let id = fixture.ordered(Fixture::stopped_order()).await;
    let token = json!([{ "name": "9", "value": "x" }]);
    for (change, pointer) in [
        (json!({ "gpu_spec": "none" }), "/gpu_spec"),
        (json!({ "gpu_spec": "retired" }), "/gpu_spec"),
        (json!({ "gpu_spec": "" }), "/gpu_spec"),
        (json!({ "version": "none" }), "/version"),
        (json!({ "env": token }), "/env/0/name"),
    ] {
        let refused = fixture.change(id, change).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer);
    }
    let path = format!("/v1/instances/{id}");
    fixture
        .member()
        .patch(&path, "\"9\"", json!({ "env": [] }))
        .await
        .expect_problem(412, "changed-meanwhile");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_unit_keeps_its_specification() {
    let fixture = Fixture::start().await;
    let id = fixture.running().await;
    let unit = fixture.unit_of(id).await;
    let _ = fixture.stop_and_hold(id, json!({ "for_seconds": 600 })).await.expect(202);
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 160).await;
    fixture.in_state(id, "stopped").await;
    let change = json!({ "gpu_spec": LARGE_SPEC });
    let refused = fixture.change(id, change.clone()).await.expect_problem(409, "instance-state");
    assert!(refused.body["next"].as_str().unwrap().contains("/hold"), "{}", refused.text);
    // what does not concern the unit can be changed
    let _ = fixture
        .change(id, json!({ "env": [{ "name": "A", "value": "1" }], "gpu_spec": SPEC }))
        .await
        .expect(200);
    let _ = fixture.member().delete(&format!("/v1/instances/{id}/hold")).await.expect(202);
    testkit::eventually("the hold is given up", async || {
        (fixture.change(id, change.clone()).await.status == 200).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_storages_are_mounted_where_the_order_says() {
    let fixture = Fixture::start().await;
    let [home, models, data] = [(); 3].map(|()| fixture.neighbours.add_storage(fixture.tenant));
    let mut order = Fixture::order();
    order["storages"] = json!([
        { "storage_id": models, "mount_path": "/models", "read_only": true },
        { "storage_id": home },
    ]);
    let made = fixture.member().post("/v1/instances", order).await.expect(202);
    let mount =
        |id, path: &str, read_only| json!({ "storage_id": id, "mount_path": path, "read_only": read_only });
    assert_eq!(
        made.body["storages"],
        json!([mount(models, "/models", true), mount(home, "/workspace/storage", false)])
    );
    assert_eq!(made.body["storage_id"], json!(home), "the one at the path of the service");
    let id = made.str("id").parse().unwrap();
    let unit = fixture.unit_of(id).await;
    let volumes = async || {
        let wanted = fixture.operator.unit(&fixture.unit_of(id).await).await.spec.instance.unwrap();
        let volume = |v: crds::Volume| (v.name, v.storage.unwrap(), v.mount_path, v.read_only);
        wanted.volumes.into_iter().map(volume).collect::<Vec<_>>()
    };
    let expected = [
        ("storage".to_owned(), models.k8s_name(), "/models".to_owned(), true),
        ("storage-1".to_owned(), home.k8s_name(), "/workspace/storage".to_owned(), false),
    ];
    assert_eq!(volumes().await, expected);
    let modes = [models, home].map(|storage| fixture.neighbours.attachment(storage, id).unwrap());
    assert_eq!(modes, ["read_only", "read_write"]);

    // they stay attached while it is stopped; a removed one is detached
    fixture.brought_up(id).await;
    fixture.act(id, "stop").await;
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 160).await;
    fixture.in_state(id, "stopped").await;
    assert_eq!(fixture.neighbours.attachments(), 2);
    let storages = json!([{ "storage_id": models }, { "storage_id": data, "mount_path": "/data" }]);
    let changed = fixture.change(id, json!({ "storages": storages })).await.expect(200);
    assert_eq!(changed.body["storages"][0], mount(models, "/workspace/storage", false));
    testkit::eventually("the removed storage is detached", async || {
        fixture.neighbours.attachment(home, id).is_none().then_some(())
    })
    .await;
    fixture.act(id, "start").await;
    let volumes = volumes().await;
    assert_eq!((volumes[0].1.as_str(), volumes[1].2.as_str()), (models.k8s_name().as_str(), "/data"));
    assert_eq!(fixture.neighbours.attachment(models, id).unwrap(), "read_write");
    let unit = fixture.unit_of(id).await;
    let _ = fixture.member().delete(&format!("/v1/instances/{id}")).await.expect(202);
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 300).await;
    fixture.gone(id).await;
    assert_eq!(fixture.neighbours.attachments(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn storages_are_checked_before_the_order() {
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    let mine = fixture.neighbours.add_storage(fixture.tenant);
    let foreign = fixture.neighbours.add_storage(ids::TenantId::new());
    let (elsewhere, bucket) = (
        fixture.neighbours.add_storage_in_other(fixture.tenant),
        fixture.neighbours.add_bucket(fixture.tenant),
    );
    let at = |id, path: &str| json!({ "storage_id": id, "mount_path": path });
    for (storages, pointer) in [
        (json!([at(mine, "/a"), at(foreign, "/b")]), "/storages/1/storage_id"),
        (json!([at(bucket, "/a")]), "/storages/0/storage_id"),
        (json!([at(mine, "/a"), at(elsewhere, "/b")]), "/storages/1/storage_id"),
        (json!([at(mine, "/a"), at(mine, "/b")]), "/storages/1/storage_id"),
        (json!([at(mine, "/etc")]), "/storages/0/mount_path"),
        (json!([at(mine, "a")]), "/storages/0/mount_path"),
        (json!([at(mine, "/workspace")]), "/storages/0/mount_path"),
    ] {
        let mut order = Fixture::order();
        order["storages"] = storages.clone();
        for path in ["/v1/instances", "/v1/instances/quote"] {
            let refused =
                fixture.member().post(path, order.clone()).await.expect_problem(422, "invalid-field");
            assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{storages}");
        }
    }
    let mut both = Fixture::order();
    (both["storage_id"], both["storages"]) = (json!(mine), json!([at(mine, "/a")]));
    let refused = fixture.member().post("/v1/instances", both).await.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/storage_id");
    // the same in a change
    let id = fixture.ordered(Fixture::stopped_order()).await;
    let change = json!({ "storages": [at(mine, "/a"), at(elsewhere, "/b")] });
    let refused = fixture.change(id, change).await.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/storages/1/storage_id");
}
