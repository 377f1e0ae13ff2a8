//! `GET /v1/stock-events`: for administrators each unit and operation, for others where the stock has changed.

use std::time::Duration;

use auth::Role;
use ids::TenantId;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::fixture::{Fixture, Replica, instance};

const PATH: &str = "/v1/stock-events";

/// Reads a stream from a position on until there are `count` events. Returns them, and the position after them.
async fn read(replica: &Replica, token: &str, last: Option<&str>, count: usize) -> (Vec<Value>, String) {
    let url = format!("{}{PATH}?after=latest", replica.base.base());
    let mut request =
        reqwest::Client::new().get(url).bearer_auth(token).header("accept", "text/event-stream");
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    let mut response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    let mut text = String::new();
    loop {
        let lines = || text.lines().filter(|_| text.ends_with("\n\n"));
        let events: Vec<Value> = lines()
            .filter_map(|line| Some(serde_json::from_str(line.strip_prefix("data: ")?).unwrap()))
            .collect();
        let position = lines().filter_map(|line| line.strip_prefix("id: ")).next_back();
        if let Some(position) = position.filter(|_| events.len() >= count) {
            return (events, position.to_owned());
        }
        let part = timeout(Duration::from_secs(30), response.chunk()).await.expect("an event comes");
        text.push_str(std::str::from_utf8(&part.unwrap().unwrap()).unwrap());
    }
}

#[tokio::test]
async fn everybody_learns_where_the_stock_changes_and_administrators_what() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let spec = replica.spec("small", "0.2").await;
    let datacenter = replica.datacenter("uk-1").await;
    fixture.units("small", "uk-1", 3).await;
    let user = fixture.issuer.user(TenantId::new(), Role::Viewer);
    let admin = fixture.issuer.admin();
    let (none, of_user) = read(&replica, &user, None, 0).await;
    assert_eq!(none, Vec::<Value>::new());
    let (_, of_admin) = read(&replica, &admin, None, 0).await;

    let holder = instance();
    let claim = replica.claim(&holder, &spec).await.expect(201);
    let unit = claim.str("unit_id").to_owned();
    let (told, after) = read(&replica, &user, Some(&of_user), 1).await;
    let gpu_spec = json!({ "id": spec, "name": "small" });
    let place = json!({ "id": datacenter, "name": "uk-1" });
    assert_eq!(told, [json!({ "type": "stock.changed", "gpu_spec": gpu_spec, "datacenter": place })]);
    let (told, _) = read(&replica, &admin, Some(&of_admin), 1).await;
    let time = &told[0]["time"];
    let used = json!({
        "type": "unit.changed", "time": time, "unit_id": unit, "gpu_spec": gpu_spec, "datacenter": place,
        "state": "used", "reason": null,
    });
    assert_eq!(told, [used]);

    // many changes of one place are one event for those who read them together
    replica.release(&holder).await;
    for _ in 0..3 {
        let _ = replica.claim(&instance(), &spec).await.expect(201);
    }
    let operation = replica.add("small", "uk-1", 2).await;
    let (told, end) = read(&replica, &user, Some(&after), 1).await;
    assert_eq!(told.len(), 1, "{told:?}");
    let (told, _) = read(&replica, &user, Some(&end), 0).await;
    assert_eq!(told, Vec::<Value>::new(), "nothing twice");
    let (told, _) = read(&replica, &admin, Some(&of_admin), 8).await;
    let added = told.iter().find(|event| event["type"] == "operation.changed").unwrap();
    let operation_told = &added["operation"];
    assert_eq!(
        (operation_told["id"].as_str(), &operation_told["kind"]),
        (Some(operation.as_str()), &json!("add_stock"))
    );
    let making = told.iter().filter(|event| event["state"] == "making").count();
    let claimed = told.iter().filter(|event| event["state"] == "used").count();
    assert_eq!((making, claimed), (2, 4), "{told:?}");
    for text in [&holder, crate::fixture::tenant()] {
        assert!(!format!("{told:?}").contains(text), "nothing of a tenant");
    }

    // what changes nothing is not written, and a unit that is gone is told
    let written = "select count(*) from stock.stock_events";
    let before = fixture.count(written).await;
    assert_eq!(fixture.sql("update stock.units set object_version = object_version + 1").await, 5);
    assert_eq!(fixture.count(written).await, before);
    assert_eq!(fixture.sql("delete from stock.units where state = 'making'").await, 2);
    let (told, _) = read(&replica, &admin, Some(&of_admin), 10).await;
    assert_eq!(told.last().unwrap()["type"], "unit.removed");

    replica.base.token(&user).get(PATH).await.expect_problem(422, "invalid-field");
    replica.base.get(PATH).await.expect_problem(401, "unauthenticated");
    // those of other tenants see the rows of no table behind it
    let mut app = fixture.role("app").await;
    let seen: i64 =
        sqlx::query_scalar("select count(*) from stock_events").fetch_one(&mut app).await.unwrap();
    assert_eq!(seen, 0);
}
