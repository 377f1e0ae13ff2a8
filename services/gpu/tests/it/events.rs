//! The history of instances: what happened, who caused it and why; lists, isolation, retention, the feed for services.

use auth::Role;
use ids::{InstanceId, TenantId};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Client, eventually};

use crate::{
    harness::{Fixture, Setup},
    neighbours::{PRICE, SPEC},
    operator::at,
};

impl Fixture {
    /// The tenant's or an instance's events, oldest first.
    pub(crate) async fn events(&self, path: &str) -> Vec<Value> {
        let (mut events, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self.member().get(&format!("{path}?limit=200{cursor}")).await.expect(200).body;
            events.extend(page["items"].as_array().unwrap().iter().cloned());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        events.reverse();
        events
    }

    /// The instance's history, one line each: type, actor, reason.
    pub(crate) async fn history(&self, id: InstanceId) -> Vec<String> {
        self.events(&format!("/v1/instances/{id}/events")).await.iter().map(line).collect()
    }
}

fn line(event: &Value) -> String {
    let kind = event["type"].as_str().unwrap().strip_prefix("instance.").unwrap();
    let actor = event["actor"]["kind"].as_str().unwrap();
    let reason = event["reason"].as_str().map(|reason| format!(" {reason}")).unwrap_or_default();
    format!("{kind} {actor}{reason}")
}

fn types(lines: &[String]) -> Vec<&str> {
    lines.iter().map(|line| line.split(' ').next().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_life_leaves_its_history_with_who_and_why() {
    let fixture = Fixture::start().await;
    let storage = fixture.neighbours.add_storage(fixture.tenant);
    let mut order = Fixture::order();
    order["name"] = json!("drawing");
    order["storage_id"] = json!(storage);
    order["env"] = json!([{ "name": "PHRASE", "value": "hunter2" }]);
    let user = fixture.issuer.claims(Some((fixture.tenant, Role::Member)), false);
    let client = Client::new(&fixture.base).token(&fixture.issuer.sign(&user));
    let made = client.key("order-1").post("/v1/instances", order.clone()).await.expect(202);
    let _ = client.key("order-1").post("/v1/instances", order).await.expect(202);
    let id: InstanceId = made.str("id").parse().unwrap();
    let path = format!("/v1/instances/{id}");
    fixture.brought_up(id).await;
    let unit = fixture.unit_of(id).await;
    // the same name again changes nothing
    let _ = client.patch(&path, "*", json!({ "name": "drawing" })).await.expect(200);
    let _ = client.patch(&path, "*", json!({ "name": "painting" })).await.expect(200);
    let stop = client.post(&format!("{path}/stop"), Value::Null).await.expect(202);
    let again = client.post(&format!("{path}/stop"), Value::Null).await.expect(202);
    assert_eq!(stop.str("operation_id"), again.str("operation_id"));
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 160).await;
    fixture.in_state(id, "stopped").await;
    let _ = client.post(&format!("{path}/start"), Value::Null).await.expect(202);
    let unit = fixture.unit_of(id).await;
    fixture.operator.ready_since(&unit, 200).await;
    fixture.in_state(id, "running").await;
    let _ = client.post(&format!("{path}/restart"), Value::Null).await.expect(202);
    eventually("the restart is asked of the unit", async || {
        (fixture.operator.unit(&unit).await.spec.instance.unwrap().restart == 1).then_some(())
    })
    .await;
    fixture.operator.crashed(&unit, 230).await;
    fixture.operator.ready_since(&unit, 240).await;
    fixture.in_state(id, "running").await;
    let _ = client.delete(&path).await.expect(202);
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 300).await;
    fixture.gone(id).await;

    let history = fixture.history(id).await;
    assert_eq!(
        history,
        [
            "created user",
            "storage_attached system",
            "unit_claimed system",
            "started system",
            "updated user",
            "stop_requested user",
            "run_ended system",
            "stopped system",
            "start_requested user",
            "storage_attached system",
            "unit_claimed system",
            "started system",
            "restart_requested user",
            "run_ended system",
            "started system",
            "deletion_requested user",
            "run_ended system",
            "storage_detached system",
            "deleted system",
        ]
    );
    let events = fixture.events("/v1/events").await;
    assert_eq!(events, fixture.events(&format!("{path}/events")).await, "there is no other instance");
    for (n, event) in events.iter().enumerate() {
        assert_eq!(event["sequence"], n + 1);
        assert_eq!((&event["tenant_id"], &event["instance_id"]), (&json!(fixture.tenant), &json!(id)));
        let parsed: gpu_core::event::Event = serde_json::from_value(event.clone()).unwrap();
        assert_eq!(serde_json::to_value(parsed).unwrap(), *event, "as documented");
    }
    let times: Vec<jiff::Timestamp> =
        events.iter().map(|event| event["time"].as_str().unwrap().parse().unwrap()).collect();
    assert!(times.is_sorted());
    assert_eq!(events[0]["actor"], json!({ "kind": "user", "user_id": user.sub }));
    assert_eq!(events[0]["data"]["operation_id"], made.body["operation_id"]);
    assert_eq!(events[0]["data"]["name"], "drawing");
    assert!(!events[0].to_string().contains("hunter2"), "an environment's value is shown");
    assert_eq!(events[1]["data"]["storage_id"], json!(storage));
    assert_eq!(events[2]["data"]["datacenter"], "dev-1");
    assert_eq!(events[3]["data"], json!({ "attempt": 1, "started_at": at(100), "node": "node-1" }));
    let updated = json!({
        "name": "painting", "previous_name": "drawing", "changed": ["name"], "gpu_spec": SPEC, "version": "1",
        "price_per_hour": PRICE, "currency": "EUR",
    });
    assert_eq!(events[4]["data"], updated);
    assert_eq!(events[5]["data"]["operation_id"], stop.body["operation_id"]);
    assert_eq!(
        events[6]["data"],
        json!({ "attempt": 1, "started_at": at(100), "ended_at": at(160), "end_reason": "stopped" })
    );
    assert_eq!(events[7]["data"], json!({ "cause": "user" }));
    assert_eq!(events[18]["data"], json!({ "name": "painting" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_leave_their_reason() {
    let fixture = Fixture::with(Setup { units: 1, ..Setup::default() }).await;
    // the container does not start
    let id = fixture.ordered(Fixture::order()).await;
    let unit = fixture.unit_of(id).await;
    fixture.operator.begun(&unit).await;
    fixture.operator.failed(&unit).await;
    fixture.emptied(&unit).await;
    fixture.operator.status(&unit, json!({})).await;
    fixture.in_state(id, "stopped").await;
    let expected = [
        "created user",
        "unit_claimed system",
        "start_failed system container_exited",
        "stopped system container_exited",
    ];
    assert_eq!(fixture.history(id).await, expected);
    let events = fixture.events(&format!("/v1/instances/{id}/events")).await;
    assert!(events[2]["message"].as_str().unwrap().contains("exit code 3"));
    assert_eq!(events[3]["data"]["cause"], "failure");
    let seen = expected.len();

    // it runs, its container restarts, its node is lost
    fixture.act(id, "start").await;
    fixture.brought_up(id).await;
    fixture.operator.crashed(&unit, 160).await;
    fixture.in_state(id, "starting").await;
    fixture.operator.ready_since(&unit, 170).await;
    fixture.in_state(id, "running").await;
    fixture.operator.node_lost(&unit, 190).await;
    fixture.emptied(&unit).await;
    fixture.operator.node_back(&unit).await;
    fixture.brought_up(id).await;
    let history = fixture.history(id).await;
    assert_eq!(
        history[seen..],
        [
            "start_requested user",
            "unit_claimed system",
            "started system",
            "run_ended system",
            "interrupted system container_restarting",
            "started system",
            "run_ended system",
            "interrupted system node_lost",
            "unit_claimed system",
            "started system",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_without_a_free_unit_leaves_its_reason() {
    let fixture = Fixture::with(Setup { units: 0, ..Setup::default() }).await;
    let id = fixture.ordered(Fixture::order()).await;
    fixture.in_state(id, "stopped").await;
    let expected = ["created user", "start_failed system stock_exhausted", "stopped system stock_exhausted"];
    assert_eq!(fixture.history(id).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_administrators_and_the_end_of_a_tenant_do_is_told_as_theirs() {
    let fixture = Fixture::with(Setup { units: 3, ..Setup::default() }).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(fixture.running().await);
    }
    let mut units = Vec::new();
    for id in &ids {
        units.push(fixture.unit_of(*id).await);
    }
    let ended = async |n: usize| {
        fixture.emptied(&units[n]).await;
        fixture.operator.ended(&units[n], 200).await;
    };
    let act = async |method: Method, id: InstanceId, path: &str| {
        let path = format!("/v1/platform-instances/{id}{path}");
        fixture.admin().send(method, &path, &Value::Null).await.expect(202)
    };
    let _ = act(Method::POST, ids[0], "/stop?reason=mines%20coins").await;
    ended(0).await;
    fixture.in_state(ids[0], "stopped").await;
    let _ = act(Method::POST, ids[0], "/stop?reason=again").await;
    let _ = act(Method::DELETE, ids[0], "?reason=for%20good").await;
    fixture.gone(ids[0]).await;
    let put_tenant = async |generation: i64, state: &str| {
        let order = json!({
            "generation": generation, "state": state, "stop_instances": true, "delete_storages": false,
        });
        let _ = fixture
            .identity()
            .put(&format!("/internal/v1/tenants/{}", fixture.tenant), order)
            .await
            .expect(200);
    };
    put_tenant(1, "suspended").await;
    put_tenant(1, "suspended").await;
    for n in [1, 2] {
        ended(n).await;
        fixture.in_state(ids[n], "stopped").await;
    }
    put_tenant(2, "deleting").await;
    put_tenant(2, "deleting").await;
    for id in &ids[1..] {
        fixture.gone(*id).await;
    }
    let ran = ["created user", "unit_claimed system", "started system"];
    let history = fixture.history(ids[0]).await;
    assert_eq!(history[..3], ran);
    assert_eq!(
        history[3..],
        [
            "stop_requested administrator stopped_by_administrator",
            "run_ended system",
            "stopped system stopped_by_administrator",
            "deletion_requested administrator",
            "deleted system",
        ]
    );
    let events = fixture.events(&format!("/v1/instances/{}/events", ids[0])).await;
    assert!(events[3]["message"].as_str().unwrap().contains("mines coins"));
    assert_eq!(events[3]["actor"], json!({ "kind": "administrator" }), "not which one");
    assert_eq!(events[3]["data"], json!({ "operation_id": null }));
    assert_eq!(events[5]["data"]["cause"], "administrator");
    assert_eq!(events[6]["message"], "for good");
    for id in &ids[1..] {
        let history = fixture.history(*id).await;
        assert_eq!(history[..3], ran);
        assert_eq!(
            history[3..],
            [
                "stop_requested service tenant_suspended",
                "run_ended system",
                "stopped system tenant_suspended",
                "deletion_requested service",
                "deleted system",
            ]
        );
    }
    let events = fixture.events(&format!("/v1/instances/{}/events", ids[1])).await;
    assert_eq!(events[3]["actor"], json!({ "kind": "service", "name": "identity" }));
    assert_eq!(events[5]["data"]["cause"], "tenant_suspended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_reconcile_writes_no_second_event() {
    let fixture = Fixture::with(Setup { units: 1, workers: false, ..Setup::default() }).await;
    let id = fixture.ordered(Fixture::order()).await;
    let due = "update gpu.instances set wake_at = now() - interval '1 second', lease_owner = null, lease_until = null";
    let mut events = 1;
    let path = format!("/v1/instances/{id}");
    for state in ["starting", "running", "starting", "stopped"] {
        match (state, events) {
            ("running", _) => fixture.operator.ready(&fixture.unit_of(id).await).await,
            ("starting", 3..) => fixture.operator.crashed(&fixture.unit_of(id).await, 160).await,
            ("stopped", _) => fixture.operator.delete(&fixture.unit_of(id).await).await,
            _ => {}
        }
        eventually(&format!("the instance is {state}"), async || {
            fixture.execute(due).await;
            fixture.reconcile(id).await;
            (fixture.member().get(&path).await.body["state"] == state).then_some(())
        })
        .await;
        let before = fixture.history(id).await;
        for _ in 0..5 {
            fixture.execute(due).await;
            assert!(fixture.reconcile(id).await);
        }
        assert_eq!(fixture.history(id).await, before, "{state}");
        assert!(before.len() > events);
        events = before.len();
    }
    let history = fixture.history(id).await;
    assert_eq!(types(&history).iter().filter(|kind| **kind == "stopped").count(), 1, "{history:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_listed_page_by_page_and_filtered() {
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    let [one, two] = [fixture.ordered(Fixture::order()).await, fixture.ordered(Fixture::order()).await];
    for n in 0..5 {
        for id in [one, two] {
            let body = json!({ "name": format!("n{n}") });
            let _ = fixture.member().patch(&format!("/v1/instances/{id}"), "*", body).await.expect(200);
        }
    }
    let viewer = fixture.user(fixture.tenant, Role::Viewer);
    let sequences = async |query: &str| -> Vec<i64> {
        let (mut sequences, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = viewer.get(&format!("{query}&limit=3{cursor}")).await.expect(200).body;
            let items = page["items"].as_array().unwrap();
            assert!(items.len() <= 3);
            sequences.extend(items.iter().map(|item| item["sequence"].as_i64().unwrap()));
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return sequences,
            }
        }
    };
    let down = |range: &[i64]| range.iter().rev().copied().collect::<Vec<_>>();
    let all: Vec<i64> = (1..=12).collect();
    assert_eq!(sequences("/v1/events?").await, down(&all));
    assert_eq!(sequences("/v1/events?type=instance.created").await, [2, 1]);
    assert_eq!(sequences("/v1/events?type=instance.stopped").await, Vec::<i64>::new());
    let of_one = [1, 3, 5, 7, 9, 11];
    assert_eq!(sequences(&format!("/v1/events?instance_id={one}")).await, down(&of_one));
    assert_eq!(sequences(&format!("/v1/instances/{one}/events?")).await, down(&of_one));
    let updated = format!("/v1/events?instance_id={two}&type=instance.updated");
    assert_eq!(sequences(&updated).await, [12, 10, 8, 6, 4]);
    assert_eq!(sequences(&format!("/v1/events?instance_id={}", InstanceId::new())).await, Vec::<i64>::new());
    for bad in [
        "limit=0",
        "limit=201",
        "cursor=x",
        "type=instance.exploded",
        "instance_id=x",
        "surprise=1",
        "after=1",
    ] {
        viewer.get(&format!("/v1/events?{bad}")).await.expect_problem(422, "invalid-field");
    }
    let stream = viewer.header("accept", "text/event-stream");
    for bad in ["limit=1", "cursor=x", "after=x", "after=-1"] {
        stream.get(&format!("/v1/events?{bad}")).await.expect_problem(422, "invalid-field");
    }
    for bad in ["x", "-1", "99999999999999999999"] {
        stream.header("last-event-id", bad).get("/v1/events").await.expect_problem(422, "invalid-field");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_events_of_others_are_like_those_of_nobody() {
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    let id = fixture.ordered(Fixture::order()).await;
    let stranger = fixture.user(TenantId::new(), Role::Owner);
    assert_eq!(stranger.get("/v1/events").await.expect(200).body["items"], json!([]));
    let filtered = format!("/v1/events?instance_id={id}");
    assert_eq!(stranger.get(&filtered).await.expect(200).body["items"], json!([]));
    for accept in ["application/json", "text/event-stream"] {
        let stranger = stranger.header("accept", accept);
        let foreign = stranger.get(&format!("/v1/instances/{id}/events")).await;
        let missing = stranger.get(&format!("/v1/instances/{}/events", InstanceId::new())).await;
        let nonsense = stranger.get("/v1/instances/nonsense/events").await;
        let foreign = foreign.expect_problem(404, "not-found");
        assert_eq!(foreign.text, missing.text, "{accept}");
        assert_eq!(foreign.text, nonsense.text, "{accept}");
    }
    // neither the position nor the length of another tenant's log
    stranger
        .header("accept", "text/event-stream")
        .header("last-event-id", "1")
        .get("/v1/events")
        .await
        .expect_problem(410, "events-deleted");
    Client::new(&fixture.base).get("/v1/events").await.expect_problem(401, "unauthenticated");
    fixture.admin().get("/v1/events").await.expect_problem(403, "forbidden");
    for client in [fixture.member(), fixture.admin()] {
        client.get("/internal/v1/events").await.expect_problem(401, "unauthenticated");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_kept_for_their_time_also_those_of_deleted_instances() {
    let fixture = Fixture::with(Setup { units: 0, ..Setup::default() }).await;
    let [old, kept] = [fixture.ordered(Fixture::order()).await, fixture.ordered(Fixture::order()).await];
    for id in [old, kept] {
        fixture.in_state(id, "stopped").await;
        let _ = fixture.member().delete(&format!("/v1/instances/{id}")).await.expect(202);
        fixture.gone(id).await;
    }
    let before = fixture.events("/v1/events").await;
    assert_eq!(types(&fixture.history(old).await).last(), Some(&"deleted"));
    let last_of_old = before.iter().rfind(|event| event["instance_id"] == json!(old)).unwrap()["sequence"]
        .as_i64()
        .unwrap();
    let mut admin = fixture.db.admin().await;
    let age = "update gpu.events set at = now() - interval '89 days' where sequence > $1";
    sqlx::query(age).bind(last_of_old).execute(&mut admin).await.unwrap();
    let age = "update gpu.events set at = now() - interval '91 days' where sequence <= $1";
    sqlx::query(age).bind(last_of_old).execute(&mut admin).await.unwrap();
    // a worker cleans up when it starts
    let replica = fixture.replica().await;
    let member = fixture.member();
    let path = format!("/v1/instances/{old}/events");
    eventually("the old events are deleted", async || (member.get(&path).await.status == 404).then_some(()))
        .await;
    let missing = member.get(&format!("/v1/instances/{}/events", InstanceId::new())).await;
    assert_eq!(member.get(&path).await.text, missing.text);
    let after = fixture.events("/v1/events").await;
    let first = usize::try_from(last_of_old).unwrap();
    let sequences = |events: &[Value]| events.iter().map(|e| e["sequence"].clone()).collect::<Vec<_>>();
    assert_eq!(sequences(&after), sequences(&before[first..]));
    assert_eq!(types(&fixture.history(kept).await).last(), Some(&"deleted"));
    // a reader that continues in deleted events gets an error
    let stream = member.header("accept", "text/event-stream");
    for position in [last_of_old - 1, i64::try_from(before.len()).unwrap() + 1] {
        let refused = stream.header("last-event-id", &position.to_string()).get("/v1/events").await;
        let refused = refused.expect_problem(410, "events-deleted");
        assert_eq!(
            (&refused.body["oldest"], &refused.body["newest"]),
            (&json!(last_of_old), &json!(before.len()))
        );
    }
    replica.process.shutdown.begin();
}

#[tokio::test(flavor = "multi_thread")]
async fn services_follow_the_events_of_all_tenants() {
    let fixture = Fixture::with(Setup { units: 0, workers: true, ..Setup::default() }).await;
    let service = fixture.gateway();
    let first = service.get("/internal/v1/events").await.expect(200).body;
    assert_eq!((&first["items"], &first["complete"]), (&json!([]), &json!(true)));
    let after = |page: &Value| format!("/internal/v1/events?after={}", page["next_cursor"].as_str().unwrap());
    // a reader that waits is woken
    let waiting = format!("{}&wait_seconds=20", after(&first));
    let begun = std::time::Instant::now();
    let (woken, id) = tokio::join!(service.get(&waiting), fixture.ordered(Fixture::order()));
    let woken = woken.expect(200).body;
    assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(woken["items"][0]["instance_id"], json!(id));
    let stranger = fixture.user(TenantId::new(), Role::Member);
    let made = stranger.post("/v1/instances", Fixture::order()).await.expect(202);
    let mut page = woken;
    let mut items = page["items"].as_array().unwrap().clone();
    eventually("both have stopped", async || {
        page = service.get(&after(&page)).await.expect(200).body;
        items.extend(page["items"].as_array().unwrap().iter().cloned());
        (items.iter().filter(|item| item["type"] == "instance.stopped").count() == 2).then_some(())
    })
    .await;
    for instance in [json!(id), made.body["id"].clone()] {
        // each tenant has one instance
        let own: Vec<_> = items.iter().filter(|item| item["instance_id"] == instance).collect();
        assert!(own.iter().enumerate().all(|(n, item)| item["sequence"] == n + 1), "{own:?}");
    }
    assert_eq!(items[0], fixture.events("/v1/events").await[0], "as the tenant sees it");
    for bad in ["after=x", "after=1:2", "wait_seconds=21", "wait_seconds=x", "surprise=1"] {
        service.get(&format!("/internal/v1/events?{bad}")).await.expect_problem(422, "invalid-field");
    }
}

/// A consumer that keeps its cursor in the transaction of the effect has each effect once, wherever it is cut off.
#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_that_keeps_its_cursor_with_the_effect_applies_each_event_once() {
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    let mut admin = fixture.db.admin().await;
    sqlx::raw_sql(
        "create table public.cursor (cursor text not null); insert into public.cursor values ('');
         create table public.effects (event text not null)",
    )
    .execute(&mut admin)
    .await
    .unwrap();
    let service = fixture.gateway();
    let write = async {
        let mut ids = Vec::new();
        for n in 0..30 {
            ids.push(fixture.ordered(Fixture::order()).await);
            let name = json!({ "name": format!("n{n}") });
            let path = format!("/v1/instances/{}", ids[n / 2]);
            let _ = fixture.member().patch(&path, "*", name).await.expect(200);
        }
    };
    let consume = async {
        let (mut round, mut applied) = (0, 0);
        while applied < 60 {
            round += 1;
            // a consumer that has crashed begins with what it has stored
            let cursor: String =
                sqlx::query_scalar("select cursor from public.cursor").fetch_one(&mut admin).await.unwrap();
            let page = service.get(&format!("/internal/v1/events?after={cursor}")).await.expect(200).body;
            let mut tx = sqlx::Connection::begin(&mut admin).await.unwrap();
            for event in page["items"].as_array().unwrap() {
                sqlx::query("insert into public.effects values ($1)")
                    .bind(event["id"].as_str())
                    .execute(&mut *tx)
                    .await
                    .unwrap();
            }
            sqlx::query("update public.cursor set cursor = $1")
                .bind(page["next_cursor"].as_str())
                .execute(&mut *tx)
                .await
                .unwrap();
            if round % 3 == 0 {
                drop(tx);
                continue;
            }
            tx.commit().await.unwrap();
            applied += page["items"].as_array().unwrap().len();
        }
    };
    tokio::join!(write, consume);
    let (effects, distinct): (i64, i64) =
        sqlx::query_as("select count(*), count(distinct event) from public.effects")
            .fetch_one(&mut admin)
            .await
            .unwrap();
    assert_eq!((effects, distinct), (60, 60));
}
