//! The Operator API over HTTP.

#![expect(clippy::disallowed_methods, reason = "tests run on the real clock")]

use std::sync::Arc;

use atelier_operator::AppState;
use atelier_operator::records::Records;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use testkit::eventually;

use crate::lab::{Lab, Running};

struct Caller {
    http: reqwest::Client,
    base: String,
}

impl Caller {
    async fn new(lab: &Lab, operator: &Running) -> Self {
        let (client, units) = (lab.client.clone(), operator.units.clone());
        let state =
            AppState::new(client, units, testkit::callers(), "nvidia.com/gpu".to_owned(), Timestamp::now);
        Self { http: reqwest::Client::new(), base: testkit::serve(state.router()).await }
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
        let mut request =
            self.http.request(method, format!("{}{path}", self.base)).bearer_auth(testkit::SERVICE_TOKEN);
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await.unwrap();
        (answer.status(), answer.json().await.unwrap_or_default())
    }
}

fn stocks(operation: &str, number: i64) -> Value {
    json!({"number": number, "operationID": operation, "specName": "3080-small", "cpu": "1", "memory": "1Gi", "gpuType": "RTX 3080", "gpuNum": 1})
}

fn instance(id: &str) -> Value {
    json!({
        "instanceID": id, "tenantID": "studio 7", "tenantName": "Studio 7", "image": crate::lab::IMAGE, "storageID": "",
        "specName": "3080-small",
        "template": {
            "ports": [{"port": 7860, "protocol": "TCP", "isPublic": true, "isProbe": false, "baseUrl": "/"}],
            "envs": [{"name": "A", "value": "1"}], "cmd": "sleep 600", "volumes": [{"name": "w", "mountPath": "/w", "readOnly": false}],
        },
    })
}

/// A record is kept until its operation is complete and old.
#[tokio::test(flavor = "multi_thread")]
async fn records_of_old_operations_are_deleted() {
    let lab = Lab::new(1, 2).await;
    let operator = lab.operator("one", None).await;
    let caller = Caller::new(&lab, &operator).await;
    let records = Records::new(lab.client.clone());
    let operation = format!("op-{}", lab.id);
    let create =
        async |number| caller.send(Method::POST, "/stocks", Some(&stocks(&operation, number))).await.0;
    let earlier = Timestamp::now() - SignedDuration::from_hours(1);
    assert_eq!(create(1).await, StatusCode::ACCEPTED);
    records.delete_before(earlier).await.unwrap();
    assert_eq!(create(2).await, StatusCode::UNPROCESSABLE_ENTITY, "the record was deleted too early");
    let later = Timestamp::now() + SignedDuration::from_hours(1);
    assert!(records.delete_before(later).await.unwrap() >= 1);
    assert_eq!(create(2).await, StatusCode::ACCEPTED, "the record still exists");
    lab.end(operator, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stocks_instances_and_their_removal() {
    let lab = Lab::new(2, 8).await;
    let operator = lab.operator("one", None).await;
    let caller = Caller::new(&lab, &operator).await;
    let operation = format!("op-{}", lab.id);
    let (status, made) = caller.send(Method::POST, "/stocks", Some(&stocks(&operation, 3))).await;
    assert_eq!((status, made["number"].as_i64()), (StatusCode::ACCEPTED, Some(3)), "{made}");
    // a repeated call has no further effect, on any replica
    let other = Caller::new(&lab, &operator).await;
    assert_eq!(
        other.send(Method::POST, "/stocks", Some(&stocks(&operation, 3))).await,
        (StatusCode::ACCEPTED, made.clone())
    );
    let (status, _) = caller.send(Method::POST, "/stocks", Some(&stocks(&operation, 4))).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);

    // eight concurrent calls for one instance use one unit
    let id = format!("inst_{}{:024x}", lab.id, 5);
    let callers: Vec<_> = (0..8).map(|n| Arc::new((n, instance(&id)))).collect();
    let started = eventually("the instance starts", async || {
        let answers = futures::future::join_all(
            callers.iter().map(|body| caller.send(Method::POST, "/gpu-instances", Some(&body.1))),
        )
        .await;
        let fine: Vec<_> = answers
            .iter()
            .filter(|(status, _)| *status == StatusCode::ACCEPTED)
            .map(|(_, body)| body["unit"].clone())
            .collect();
        assert!(fine.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
        fine.into_iter().next()
    })
    .await;
    let path = format!("/gpu-instances/{id}");
    let runs = async || (caller.send(Method::GET, &path, None).await.1["state"] == "running").then_some(());
    if tokio::time::timeout(std::time::Duration::from_secs(25), eventually("it runs", runs)).await.is_err() {
        panic!("it does not run: {}", caller.send(Method::GET, &path, None).await.1);
    }
    let users = lab.units().list(&kube::api::ListParams::default()).await.unwrap();
    assert_eq!(users.iter().filter(|unit| unit.spec.instance.is_some()).count(), 1);
    let (status, _) = caller
        .send(
            Method::POST,
            "/gpu-instances",
            Some(&{
                let mut other = instance(&id);
                other["image"] = json!("another");
                other
            }),
        )
        .await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);

    // units in use cannot be deleted
    let remove = |operation: &str, number: i64| json!({"number": number, "operationID": operation, "specName": "3080-small"});
    let (status, problem) =
        caller.send(Method::DELETE, "/stocks", Some(&remove(&format!("{operation}-x"), 3))).await;
    assert_eq!((status, problem["available"].as_i64()), (StatusCode::CONFLICT, Some(2)), "{problem}");
    let (status, removed) =
        caller.send(Method::DELETE, "/stocks", Some(&remove(&format!("{operation}-y"), 2))).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    assert!(!removed["units"].as_array().unwrap().contains(&started));
    assert_eq!(
        other.send(Method::DELETE, "/stocks", Some(&remove(&format!("{operation}-y"), 2))).await.1,
        removed
    );

    let (status, _) = caller.send(Method::DELETE, &path, None).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    eventually("it is deleted", async || {
        (caller.send(Method::GET, &path, None).await.0 == StatusCode::NOT_FOUND).then_some(())
    })
    .await;
    assert_eq!(caller.send(Method::DELETE, &path, None).await.0, StatusCode::NOT_FOUND);
    eventually("the last unit can be removed", async || {
        (caller.send(Method::DELETE, "/stocks", Some(&remove(&format!("{operation}-z"), 1))).await.0
            == StatusCode::ACCEPTED)
            .then_some(())
    })
    .await;
    eventually("no unit is left", async || {
        lab.units().list(&kube::api::ListParams::default()).await.unwrap().items.is_empty().then_some(())
    })
    .await;
    lab.end(operator, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_input_is_refused_and_changes_nothing() {
    let lab = Lab::new(0, 0).await;
    let mut operator = lab.operator("one", None).await;
    operator.leads().await;
    let caller = Caller::new(&lab, &operator).await;
    let with = |key: &str, value: Value| {
        let mut body = stocks("op", 1);
        body[key] = value;
        body
    };
    for body in [
        with("number", json!(0)),
        with("number", json!(-1)),
        with("number", json!(1_000_000_000_000_i64)),
        with("number", json!("three")),
        with("cpu", json!("four")),
        with("cpu", json!("0")),
        with("memory", json!("-1Gi")),
        with("memory", json!("1e30")),
        with("cpu", json!(null)),
        with("gpuNum", json!(65)),
        with("specName", json!("a name with spaces")),
        with("operationID", json!("")),
        with("gpuType", json!("x".repeat(64))),
        with("more", json!(1)),
        json!({}),
        json!([]),
    ] {
        let (status, problem) = caller.send(Method::POST, "/stocks", Some(&body)).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{body}: {problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{problem}");
    }
    let mut bad = instance("i");
    bad["template"]["ports"][0]["protocol"] = json!("HTTP");
    assert_eq!(
        caller.send(Method::POST, "/gpu-instances", Some(&bad)).await.0,
        StatusCode::UNPROCESSABLE_ENTITY
    );
    let mut bad = instance("i");
    bad["template"]["volumes"][0]["mountPath"] = json!("relative");
    assert_eq!(
        caller.send(Method::POST, "/gpu-instances", Some(&bad)).await.0,
        StatusCode::UNPROCESSABLE_ENTITY
    );
    let (status, problem) = caller.send(Method::POST, "/gpu-instances", Some(&instance("i"))).await;
    assert_eq!(status, StatusCode::CONFLICT, "no stock exists: {problem}");
    assert_eq!(caller.send(Method::GET, "/gpu-instances/..%2f..", None).await.0, StatusCode::NOT_FOUND);
    assert_eq!(caller.send(Method::GET, "/storages/nothing", None).await.0, StatusCode::NOT_FOUND);

    for token in ["", "wrong"] {
        let answer = caller
            .http
            .get(format!("{}/gpu-instances/x", caller.base))
            .bearer_auth(token)
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    }
    assert!(lab.units().list(&kube::api::ListParams::default()).await.unwrap().items.is_empty());
    lab.end(operator, 0).await;
}

/// Also in forms that the custom resource does not have.
#[tokio::test(flavor = "multi_thread")]
async fn every_quantity_of_kubernetes_is_accepted() {
    let lab = Lab::new(0, 0).await;
    let mut operator = lab.operator("one", None).await;
    operator.leads().await;
    let caller = Caller::new(&lab, &operator).await;
    for (n, (cpu, memory)) in
        [("1e0", "1e9"), (".5", "1Pi"), ("+2", "2P"), ("1500000u", "1E9")].iter().enumerate()
    {
        let mut body = stocks(&format!("op-{}-{n}", lab.id), 1);
        (body["cpu"], body["memory"]) = (json!(cpu), json!(memory));
        let (status, made) = caller.send(Method::POST, "/stocks", Some(&body)).await;
        assert_eq!(status, StatusCode::ACCEPTED, "{cpu}, {memory}: {made}");
        let unit = lab.units().get(made["units"][0].as_str().unwrap()).await.unwrap();
        let same = |text: &str, other: &str| {
            assert_eq!(text.parse::<crds::Quantity>().unwrap(), other.parse().unwrap(), "{text}, {other}");
        };
        same(&unit.spec.resources.cpu, cpu);
        same(&unit.spec.resources.memory, memory);
        lab.units().delete(&unit.name_any(), &kube::api::DeleteParams::default()).await.unwrap();
    }
    lab.end(operator, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn storages_can_grow_but_not_shrink() {
    let lab = Lab::new(0, 0).await;
    let operator = lab.operator("one", None).await;
    let caller = Caller::new(&lab, &operator).await;
    let id = format!("my storage {}", lab.id);
    let body = json!({"storageID": id, "tenantID": "studio 7", "sizeGib": 2});
    let (status, made) = caller.send(Method::POST, "/storages", Some(&body)).await;
    assert_eq!((status, made["sizeGib"].as_i64()), (StatusCode::ACCEPTED, Some(2)));
    assert_eq!(caller.send(Method::POST, "/storages", Some(&body)).await.0, StatusCode::ACCEPTED);
    let path = format!("/storages/{}", id.replace(' ', "%20"));
    assert_eq!(
        caller.send(Method::PUT, &path, Some(&json!({"sizeGib": 1}))).await.0,
        StatusCode::UNPROCESSABLE_ENTITY
    );
    assert_eq!(caller.send(Method::PUT, &path, Some(&json!({"sizeGib": 3}))).await.0, StatusCode::ACCEPTED);
    assert_eq!(caller.send(Method::GET, &path, None).await.1["sizeGib"], 3);
    assert_eq!(caller.send(Method::DELETE, &path, None).await.0, StatusCode::ACCEPTED);
    eventually("it is deleted", async || {
        (caller.send(Method::GET, &path, None).await.0 == StatusCode::NOT_FOUND).then_some(())
    })
    .await;
    lab.end(operator, 0).await;
}
