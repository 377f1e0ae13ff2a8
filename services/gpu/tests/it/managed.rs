//! Instances that the jobs service orders for a tenant, and manages.

use ids::{InstanceId, TenantId};
use serde_json::{Value, json};

use crate::{
    harness::Fixture,
    neighbours::{LARGE_SPEC, SPEC},
};

impl Fixture {
    /// An order of the jobs service.
    pub(crate) fn managed_order(&self) -> Value {
        json!({ "tenant_id": self.tenant, "gpu_spec": SPEC, "service": "shell", "version": "1" })
    }

    /// Has the jobs service order an instance.
    pub(crate) async fn managed(&self, order: &Value) -> InstanceId {
        let id = InstanceId::new();
        let created = self.jobs().put(&managed_path(id), order.clone()).await.expect(201);
        assert_eq!(created.str("id"), id.to_string());
        id
    }
}

pub(crate) fn managed_path(id: InstanceId) -> String {
    format!("/internal/v1/instances/{id}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_orders_runs_and_deletes_an_instance_for_a_tenant() {
    let fixture = Fixture::start().await;
    let mut order = fixture.managed_order();
    order["name"] = json!("worker-1");
    order["datacenter"] = json!("dev-1");
    order["reaches_peers"] = json!(true);
    // names that users may not choose
    order["env"] = json!([{ "name": "ATELIER_JOBS_URL", "value": "http://jobs" }]);
    order["secrets"] = json!([{ "name": "ATELIER_WORKER_TOKEN", "value": "hunter2" }]);
    let id = fixture.managed(&order).await;
    fixture.brought_up(id).await;

    let seen = fixture.jobs().get(&managed_path(id)).await.expect(200);
    assert_eq!(
        seen.body,
        json!({
            "id": id, "tenant_id": fixture.tenant, "state": "running", "reason": null, "message": null,
            "gpu_spec": SPEC, "datacenter": "dev-1", "node": "node-1", "attempt": 1, "recalled": null,
        })
    );
    let unit = fixture.unit_of(id).await;
    let wanted = fixture.operator.unit(&unit).await.spec.instance.unwrap();
    let of_order = |variable: &&crds::EnvVar| variable.name == "ATELIER_JOBS_URL";
    assert_eq!(wanted.env.iter().find(of_order).map(|variable| variable.value.as_str()), Some("http://jobs"));
    assert!(wanted.reaches_peers);
    // its users see it
    let shown = fixture.member().get(&format!("/v1/instances/{id}")).await.expect(200);
    assert_eq!((shown.str("managed_by"), shown.str("name")), ("jobs", "worker-1"));
    assert!(!shown.text.contains("hunter2"), "{}", shown.text);

    for _ in 0..2 {
        let _ = fixture.jobs().delete(&managed_path(id)).await.expect(204);
    }
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 160).await;
    fixture.gone(id).await;
    fixture.jobs().get(&managed_path(id)).await.expect_problem(404, "not-found");
    let _ = fixture.jobs().delete(&managed_path(id)).await.expect(204);
    // a delayed repetition creates nothing
    fixture.jobs().put(&managed_path(id), order).await.expect_problem(404, "not-found");
    assert_eq!(fixture.neighbours.claims(), 0);

    let history = ["created service", "unit_claimed system", "started system", "deletion_requested service"];
    let lines = fixture.history(id).await;
    assert_eq!(lines[..4], history);
    assert_eq!(lines.last().unwrap(), "deleted system");
    let created = &fixture.events(&format!("/v1/instances/{id}/events")).await[0];
    assert_eq!(created["actor"], json!({ "kind": "service", "name": "jobs" }));
    let mut admin = fixture.db.admin().await;
    let audited: Vec<(String, Option<String>)> = sqlx::query_as(
        "select entry::jsonb ->> 'operation', entry::jsonb ->> 'service' from gpu.audit_entries
         where entry::jsonb ->> 'path' like '/internal/%' order by number",
    )
    .fetch_all(&mut admin)
    .await
    .unwrap();
    let by_jobs = |method: &str| (format!("{method} /internal/v1/instances/{{id}}"), Some("jobs".to_owned()));
    assert_eq!(audited, [by_jobs("PUT"), by_jobs("DELETE")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_of_a_service_counts_once() {
    let fixture = Fixture::start().await;
    let mut order = fixture.managed_order();
    order["secrets"] = json!([{ "name": "WORKER_TOKEN", "value": "hunter2" }]);
    let (id, jobs) = (InstanceId::new(), fixture.jobs());
    let at_once = futures::future::join_all((0..8).map(|_| {
        let (jobs, order) = (jobs.clone(), order.clone());
        async move { jobs.put(&managed_path(id), order).await }
    }));
    let statuses: Vec<u16> = at_once.await.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| [200, 201].contains(status)), "{statuses:?}");
    let list = fixture.member().get("/v1/instances").await.expect(200);
    assert_eq!(list.body["items"].as_array().unwrap().len(), 1);

    // another order with this id
    for (field, value) in [
        ("gpu_spec", json!(LARGE_SPEC)),
        ("secrets", json!([{ "name": "WORKER_TOKEN", "value": "hunter3" }])),
        ("tenant_id", json!(TenantId::new())),
    ] {
        let mut other = order.clone();
        other[field] = value;
        jobs.put(&managed_path(id), other).await.expect_problem(409, "instance-exists");
    }
    // a repetition does not need the stock service
    fixture.neighbours.be(crate::neighbours::Condition::Away);
    let _ = jobs.put(&managed_path(id), order).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_service_that_manages_an_instance_has_it() {
    let fixture = Fixture::start().await;
    let id = fixture.managed(&fixture.managed_order()).await;
    for other in [fixture.gateway(), fixture.identity(), fixture.member(), fixture.admin()] {
        let status = other.put(&managed_path(InstanceId::new()), fixture.managed_order()).await.status;
        assert!([401, 403].contains(&status), "{status}");
        let status = other.delete(&managed_path(id)).await.status;
        assert!([401, 403].contains(&status), "{status}");
    }
    // an instance of a user is none of the service's
    let own = fixture.ordered(Fixture::order()).await;
    let jobs = fixture.jobs();
    jobs.get(&managed_path(own)).await.expect_problem(404, "not-found");
    jobs.delete(&managed_path(own)).await.expect_problem(404, "not-found");
    jobs.put(&managed_path(own), fixture.managed_order()).await.expect_problem(409, "instance-exists");
    let shown = fixture.in_state(own, "starting").await;
    assert_eq!(shown.body["managed_by"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn users_do_not_change_a_managed_instance_and_administrators_stop_it() {
    let fixture = Fixture::start().await;
    let id = fixture.managed(&fixture.managed_order()).await;
    fixture.brought_up(id).await;
    let (member, path) = (fixture.member(), format!("/v1/instances/{id}"));
    for what in ["start", "stop", "restart"] {
        let refused = member.post(&format!("{path}/{what}"), Value::Null).await;
        assert_eq!(refused.expect_problem(409, "instance-managed").str("managed_by"), "jobs");
    }
    member.get(&format!("{path}/terminal")).await.expect_problem(409, "instance-managed");
    member.delete(&path).await.expect_problem(409, "instance-managed");
    member.delete(&format!("{path}/hold")).await.expect_problem(409, "instance-managed");
    fixture.change(id, json!({ "name": "mine" })).await.expect_problem(409, "instance-managed");

    let unit = fixture.unit_of(id).await;
    let stop = format!("/v1/platform-instances/{id}/stop?reason=maintenance");
    let _ = fixture.admin().post(&stop, Value::Null).await.expect(202);
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 160).await;
    let stopped = fixture.in_state(id, "stopped").await;
    assert_eq!(stopped.str("reason"), "stopped_by_administrator");
    let seen = fixture.jobs().get(&managed_path(id)).await.expect(200);
    assert_eq!((seen.str("state"), seen.str("reason")), ("stopped", "stopped_by_administrator"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_of_a_service_is_checked_as_one_of_a_user() {
    let fixture = Fixture::start().await;
    let jobs = fixture.jobs();
    let put = async |field: &str, value: Value| {
        let mut order = fixture.managed_order();
        order[field] = value;
        jobs.put(&managed_path(InstanceId::new()), order).await
    };
    for (field, value, pointer) in [
        ("gpu_spec", json!("unheard-of"), "/gpu_spec"),
        ("gpu_spec", json!("retired"), "/gpu_spec"),
        ("version", json!("9"), "/version"),
        ("datacenter", json!("nowhere"), "/datacenter"),
        ("name", json!(""), "/name"),
        ("secrets", json!([{ "name": "A" }]), "/secrets/0/value"),
    ] {
        let refused = put(field, value).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer);
    }
    let limits = format!("/v1/platform-quotas/{}?reason=trial", fixture.tenant);
    let one = json!({ "instances": 1 });
    let _ = fixture.admin().header("if-match", "*").put(&limits, one).await.expect(200);
    let id = fixture.managed(&fixture.managed_order()).await;
    let refused = put("name", json!("second")).await.expect_problem(409, "quota-exceeded");
    assert_eq!(refused.body["quota"], "instances");
    // the limits of its tenant count, of no other
    let other = TenantId::new();
    let _ = put("tenant_id", json!(other)).await.expect(201);
    let _ = fixture.jobs().get(&managed_path(id)).await.expect(200);
    fixture.put_tenant(1, "suspended", false).await;
    put("name", json!("third")).await.expect_problem(403, "tenant-suspended");
}
