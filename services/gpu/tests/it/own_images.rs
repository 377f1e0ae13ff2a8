//! Instances that run an image of the tenant's own.

use ids::{InstanceId, UnitId};
use serde_json::{Value, json};
use testkit::eventually;

use crate::{
    harness::{Fixture, OTHER_CLUSTER, Setup, start_cluster},
    neighbours::SPEC,
    operator::Operator,
};

const IMAGE: &str = "ghcr.io/team/painter:2.1";
const DIGEST: &str = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

fn order() -> Value {
    json!({ "gpu_spec": SPEC, "image": {
        "reference": IMAGE, "ports": [{ "port": 8080, "is_public": true, "base_url": "/up" }, { "port": 9000 }],
        "command": ["serve"], "args": ["--gpu"], "working_dir": "/srv", "storage_mount_path": "/data",
    } })
}

impl Fixture {
    pub(crate) async fn allow_own_images(&self, allowed: bool) {
        let path = format!("/v1/platform-quotas/{}?reason=trial", self.tenant);
        let limits = json!({ "own_images": allowed, "instances": 9 });
        let put = self.admin().header("if-match", "*").put(&path, limits).await.expect(200);
        assert_eq!(put.body["limits"]["own_images"], allowed);
        let own = self.member().get("/v1/quota").await.expect(200);
        assert_eq!(own.body["limits"]["own_images"], allowed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_runs_an_image_of_its_own_if_an_administrator_allows_it() {
    let fixture = Fixture::start().await;
    let member = fixture.member();
    for path in ["/v1/instances", "/v1/instances/quote"] {
        let refused = member.post(path, order()).await.expect_problem(403, "forbidden");
        assert!(refused.str("next").contains("own_images"), "{}", refused.text);
    }
    fixture.allow_own_images(true).await;
    assert_eq!(member.post("/v1/instances/quote", order()).await.expect(200).body["starts_now"], true);
    let storage = fixture.neighbours.add_storage(fixture.tenant);
    let mut new = order();
    new["storage_id"] = json!(storage);
    new["env"] = json!([{ "name": "LEVEL", "value": "2" }]);
    let made = member.post("/v1/instances", new).await.expect(202);
    assert_eq!((&made.body["service"], &made.body["version"]), (&Value::Null, &Value::Null));
    assert!(made.str("name").starts_with("painter-"), "{}", made.str("name"));
    let mut shown = order()["image"].clone();
    shown["ports"] = json!([
        { "port": 8080, "is_public": true, "is_probe": true, "base_url": "/up" },
        { "port": 9000, "is_public": false, "is_probe": false, "base_url": "" },
    ]);
    assert_eq!(made.body["image"], shown);

    let id: InstanceId = made.str("id").parse().unwrap();
    let unit = fixture.unit_of(id).await;
    let wanted = fixture.operator.unit(&unit).await.spec.instance.unwrap();
    assert_eq!(
        (wanted.image.as_str(), wanted.command, wanted.args),
        (IMAGE, vec!["serve".into()], vec!["--gpu".into()])
    );
    assert_eq!((wanted.root_inside, wanted.runtime_class_name), (false, None));
    assert_eq!(wanted.working_dir.as_deref(), Some("/srv"));
    assert!(wanted.env.iter().any(|variable| variable.name == "LEVEL"));
    let ports: Vec<_> = wanted.ports.iter().map(|port| (port.port, port.is_public, port.is_probe)).collect();
    assert_eq!(ports, [(8080, true, true), (9000, false, false)]);
    assert_eq!(wanted.volumes[0].mount_path, "/data");
    fixture.brought_up(id).await;
    let events = fixture.events(&format!("/v1/instances/{id}/events")).await;
    let created = events.iter().find(|event| event["type"] == "instance.created").unwrap();
    assert_eq!(
        (&created["data"]["service"], &created["data"]["version"]),
        (&json!("own image"), &json!(IMAGE))
    );

    let mut admin = fixture.db.admin().await;
    let stored = "select spec ->> 'service', spec ->> 'version', spec ? 'image_id' from gpu.instances";
    let stored: (String, String, bool) = sqlx::query_as(stored).fetch_one(&mut admin).await.unwrap();
    assert_eq!(stored, ("own image".into(), IMAGE.into(), true));
}

#[tokio::test(flavor = "multi_thread")]
async fn code_of_tenants_starts_only_where_the_operator_reports_a_runtime_for_it() {
    let fixture = Fixture::with(Setup { units: 1, ..Setup::default() }).await;
    fixture.allow_own_images(true).await;
    let (member, jobs) = (fixture.member(), fixture.jobs());
    let units = fixture.app.clusters().units();
    let unit = units[0].name.clone();
    let reports = async |isolates: bool| {
        fixture.operator.isolates(&unit, isolates).await;
        eventually("the report is known", async || {
            let known = fixture.app.clusters().units()[0].tenant_code.clone().unwrap();
            (known.met == isolates).then_some(())
        })
        .await;
    };
    reports(false).await;
    for datacenter in [Value::Null, json!("dev-1")] {
        let mut new = order();
        new["datacenter"] = datacenter;
        let refused = member.post("/v1/instances", new.clone()).await;
        let refused = refused.expect_problem(409, "isolation-unavailable");
        assert!(refused.str("detail").contains("the cluster has no isolated runtime"), "{}", refused.text);
        assert_eq!(refused.body["datacenters"], json!([]));
        let quote = member.post("/v1/instances/quote", new).await.expect(200);
        assert_eq!((&quote.body["starts_now"], quote.str("reason")), (&json!(false), "runtime_unavailable"));
    }
    // programs of a tenant in an image of the catalogue, too
    let mut managed = fixture.managed_order();
    managed["runs_tenant_code"] = json!(true);
    let path = crate::managed::managed_path(InstanceId::new());
    jobs.put(&path, managed.clone()).await.expect_problem(409, "isolation-unavailable");
    // what is created stopped may be started later
    let mut stopped = order();
    stopped["start"] = json!(false);
    let stopped = fixture.ordered(stopped).await;
    let start = format!("/v1/instances/{stopped}/start");
    member.post(&start, Value::Null).await.expect_problem(409, "isolation-unavailable");
    // the catalogue's images are not concerned
    let of_catalogue = fixture.ordered(Fixture::order()).await;
    assert_eq!(
        fixture.operator.unit(&fixture.unit_of(of_catalogue).await).await.spec.instance.unwrap().trust,
        crds::Trust::Platform
    );
    let _ = member.delete(&format!("/v1/instances/{of_catalogue}")).await.expect(202);
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 160).await;
    fixture.gone(of_catalogue).await;

    let seen = fixture.admin().get("/v1/platform-isolation").await.expect(200);
    assert_eq!(
        seen.body["datacenters"],
        json!([{ "datacenter": "dev-1", "running": 0, "refusing": 1, "reports": [
            { "reason": "NoIsolatedRuntime", "message": "the cluster has no isolated runtime", "units": 1 },
        ] }])
    );
    member.get("/v1/platform-isolation").await.expect_problem(403, "forbidden");

    reports(true).await;
    let id = fixture.managed(&managed).await;
    let wanted = fixture.operator.unit(&fixture.unit_of(id).await).await.spec.instance.unwrap();
    assert_eq!((wanted.trust, wanted.always_pull), (crds::Trust::Tenant, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn code_of_tenants_gets_a_unit_where_it_runs() {
    // without the workers of a replica that has one cluster only
    let mut fixture = Fixture::with(Setup { units: 1, workers: false, ..Setup::default() }).await;
    fixture.allow_own_images(true).await;
    let refusing = fixture.app.clusters().units()[0].name.clone();
    fixture.operator.isolates(&refusing, false).await;
    let folder = tempfile::tempdir().unwrap();
    let (other, kube) = start_cluster(folder.path()).await;
    let operator = Operator::new(kube.clone());
    let unit = UnitId::new();
    operator.make_unit_in(&unit.k8s_name(), "dev-2").await;
    fixture.neighbours.add_unit_in_other(unit);
    let kubeconfig = Some(other.kubeconfig_path().to_owned());
    let config = crds::ClusterConfig { kubeconfig, context: None };
    fixture.config.clusters.insert(OTHER_CLUSTER.to_owned(), config);
    let replica = fixture.replica().await;
    fixture.base.clone_from(&replica.base);
    eventually("the report is known", async || {
        let units = replica.app.clusters().units();
        let refused = units.iter().filter(|unit| unit.refuses_tenant_code().is_some()).count();
        (refused == 1).then_some(())
    })
    .await;

    // stock would give the unit of the other datacenter, if it could choose
    let id = fixture.ordered(order()).await;
    operator.ready(&Fixture::unit_in(&kube, id).await).await;
    fixture.in_state(id, "running").await;
    // nor does one wait for a unit on which it could not run
    let mut waits = order();
    waits["wait"] = json!(true);
    let waits = fixture.ordered(waits).await;
    eventually("it waits", async || (fixture.neighbours.waits() == 1).then_some(())).await;
    assert_eq!(fixture.neighbours.claim_of(waits), None);
    let mut first = order();
    first["wait"] = json!(false);
    let exhausted = fixture.ordered(first).await;
    assert_eq!(fixture.in_state(exhausted, "stopped").await.str("reason"), "stock_exhausted");
    // what is the platform's runs there as well
    let of_catalogue = fixture.ordered(Fixture::order()).await;
    fixture.brought_up(of_catalogue).await;
    replica.process.shutdown.begin();
}

/// The report may change, and stock chooses among the units of a datacenter: the claimed unit is looked at once more.
#[tokio::test(flavor = "multi_thread")]
async fn a_unit_that_runs_no_code_of_tenants_is_given_back() {
    let fixture = Fixture::with(Setup { units: 2, ..Setup::default() }).await;
    fixture.allow_own_images(true).await;
    for unit in fixture.app.clusters().units() {
        fixture.operator.isolates(&unit.name, false).await;
    }
    // one more unit, which stock does not offer
    fixture.operator.make_unit("unit-other").await;
    eventually("all reports are known", async || {
        let units = fixture.app.clusters().units();
        let met = units.iter().filter(|unit| unit.refuses_tenant_code().is_none()).count();
        (units.len() == 3 && met == 1).then_some(())
    })
    .await;
    let made = fixture.member().post("/v1/instances", order()).await.expect(202);
    let id: InstanceId = made.str("id").parse().unwrap();
    let failed = fixture.in_state(id, "stopped").await;
    assert_eq!(failed.str("reason"), "runtime_unavailable");
    assert!(failed.str("message").contains("It runs in: dev-1."), "{}", failed.text);
    eventually("the claim is released", async || (fixture.neighbours.claims() == 0).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_instance_changes_its_image_while_that_is_allowed() {
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    fixture.allow_own_images(true).await;
    let stopped = |mut order: Value| {
        order["start"] = json!(false);
        order
    };
    let own = fixture.ordered(stopped(order())).await;
    let of_catalogue = fixture.ordered(Fixture::stopped_order()).await;
    for (id, change, pointer) in [
        (of_catalogue, json!({ "image": order()["image"] }), "/image"),
        (own, json!({ "version": "2" }), "/version"),
        (
            own,
            json!({ "image": { "reference": "latest", "ports": [{ "port": 1, "is_public": true }] } }),
            "/image/reference",
        ),
    ] {
        let refused = fixture.change(id, change).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer);
    }
    let before = fixture.member().get(&format!("/v1/instances/{own}")).await.expect(200);
    let same = fixture.change(own, json!({ "image": order()["image"] })).await.expect(200);
    assert_eq!(same.header("etag"), before.header("etag"), "nothing changes");
    let mut image = order()["image"].clone();
    image["reference"] = json!(format!("ghcr.io/team/painter@{DIGEST}"));
    let changed = fixture.change(own, json!({ "image": image })).await.expect(200);
    assert_eq!(changed.body["image"]["reference"], image["reference"]);
    let events = fixture.events(&format!("/v1/instances/{own}/events")).await;
    let update = events.iter().find(|event| event["type"] == "instance.updated").unwrap();
    assert_eq!(
        (&update["data"]["changed"], &update["data"]["version"]),
        (&json!(["image"]), &image["reference"])
    );

    fixture.allow_own_images(false).await;
    fixture.change(own, json!({ "image": order()["image"] })).await.expect_problem(403, "forbidden");
    let start = format!("/v1/instances/{own}/start");
    fixture.member().post(&start, Value::Null).await.expect_problem(403, "forbidden");
    let _ =
        fixture.member().post(&format!("/v1/instances/{of_catalogue}/start"), Value::Null).await.expect(202);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_names_a_service_or_a_valid_image() {
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    fixture.allow_own_images(true).await;
    let with = |change: &dyn Fn(&mut Value)| {
        let mut order = order();
        change(&mut order);
        order
    };
    for (order, pointer) in [
        (json!({ "gpu_spec": SPEC }), "/service"),
        (with(&|order| order["service"] = json!("shell")), "/image"),
        (with(&|order| order["version"] = json!("1")), "/version"),
        (with(&|order| order["image"]["reference"] = json!("painter")), "/image/reference"),
        (with(&|order| order["image"]["reference"] = json!("https://ghcr.io/a:1")), "/image/reference"),
        (with(&|order| order["image"]["ports"][0]["is_public"] = json!(false)), "/image/ports"),
        (with(&|order| order["image"]["ports"][1]["port"] = json!(0)), "/image/ports/1/port"),
        (with(&|order| order["image"]["root_inside"] = json!(true)), "/image/root_inside"),
        (with(&|order| order["image"]["working_dir"] = json!("srv")), "/image/working_dir"),
    ] {
        for path in ["/v1/instances", "/v1/instances/quote"] {
            let refused =
                fixture.member().post(path, order.clone()).await.expect_problem(422, "invalid-field");
            assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{order} {}", refused.text);
        }
    }
}
