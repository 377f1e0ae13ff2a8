//! Public ports of instances.

use ids::InstanceId;
use serde_json::{Value, json};
use testkit::Response;

use crate::harness::{Fixture, Setup, service};

impl Fixture {
    async fn route_of(&self, label: &str) -> Response {
        self.gateway().get(&format!("/internal/v1/routes/{label}")).await
    }

    /// A ticket for a port, and the host name of its URL.
    async fn ticket_for(&self, id: InstanceId, port: Value) -> (String, String) {
        let path = format!("/v1/instances/{id}/tickets");
        let made = self.member().post(&path, json!({ "port": port })).await.expect(201);
        let url: url::Url = made.str("url").parse().unwrap();
        let ticket = url.query_pairs().find(|(name, _)| name == "ticket").unwrap().1.into_owned();
        (ticket, url.host_str().unwrap().split('.').next().unwrap().to_owned())
    }

    async fn redeem(&self, ticket: &str, label: &str) -> Response {
        let body = json!({ "ticket": ticket, "host_label": label });
        self.gateway().post("/internal/v1/tickets/redeem", body).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_public_port_has_a_host_name_and_tickets_of_its_own() {
    let fixture = Fixture::start().await;
    let mut order = Fixture::order();
    order["public_ports"] = json!([{ "port": 8188, "title": "Jupyter" }, { "port": 9000, "sign_in": false }]);
    let id = fixture.ordered(order).await;
    fixture.brought_up(id).await;
    let (name, view) = (id.k8s_name(), fixture.in_state(id, "running").await);
    assert_eq!(
        view.body["ports"],
        json!([
            { "port": 8188, "title": "Jupyter", "url": format!("http://p8188-{name}.localhost:8080/"), "sign_in": true },
            { "port": 9000, "title": null, "url": format!("http://p9000-{name}.localhost:8080/"), "sign_in": false },
        ])
    );
    for (label, address, sign_in) in [
        (name.clone(), "127.1.2.3:7860", true),
        (format!("p8188-{name}"), "127.1.2.3:8188", true),
        (format!("p9000-{name}"), "127.1.2.3:9000", false),
    ] {
        let route = fixture.route_of(&label).await.expect(200).body;
        let expected = json!({
            "instance_id": id, "tenant_id": fixture.tenant, "address": address, "state": "running", "is_queued": false,
            "sign_in": sign_in, "share_links": [], "queue": null,
        });
        assert_eq!(route, expected);
    }
    let unknown = fixture.route_of(&InstanceId::new().k8s_name()).await.expect_problem(404, "not-found");
    for label in
        [format!("p7860-{name}"), format!("p08188-{name}"), format!("p8188-{}", InstanceId::new().k8s_name())]
    {
        assert_eq!(fixture.route_of(&label).await.expect_problem(404, "not-found").text, unknown.text);
    }

    // a ticket opens the host name that it was made for, and no other
    let labels = [name.clone(), format!("p8188-{name}"), format!("p9000-{name}")];
    for port in [Value::Null, json!(8188), json!(9000)] {
        let (ticket, own) = fixture.ticket_for(id, port).await;
        for label in labels.iter().filter(|label| **label != own) {
            fixture.redeem(&ticket, label).await.expect_problem(404, "not-found");
        }
        let _ = fixture.redeem(&ticket, &own).await.expect(200);
    }
    let path = format!("/v1/instances/{id}/tickets");
    let refused =
        fixture.member().post(&path, json!({ "port": 7860 })).await.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/port");

    // what is open to everyone ends with the tenant
    fixture.put_tenant(1, "suspended", false).await;
    fixture.route_of(&format!("p9000-{name}")).await.expect_problem(404, "not-found");
    let _ = fixture.route_of(&format!("p8188-{name}")).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn public_ports_are_checked_and_changed_while_the_instance_is_stopped() {
    let fixture = Fixture::start().await;
    let ports = |count: u16| (1..=count).map(|port| json!({ "port": port })).collect::<Vec<_>>();
    let made = fixture.member().post("/v1/instances", Fixture::stopped_order()).await.expect(202);
    let id: InstanceId = made.str("id").parse().unwrap();
    assert_eq!(made.body["ports"], json!([]));
    for (ports, pointer) in [
        (json!(ports(11)), "/public_ports"),
        (json!([{ "port": 0 }]), "/public_ports/0/port"),
        (json!([{ "port": 80 }, { "port": 80, "sign_in": false }]), "/public_ports/1/port"),
        (json!([{ "port": 70_000 }]), "/public_ports/0/port"),
        (json!([{ "port": 80, "open": true }]), "/public_ports/0/open"),
        (json!([{ "port": 80 }, { "port": 81, "title": " " }]), "/public_ports/1/title"),
    ] {
        let mut order = Fixture::order();
        order["public_ports"] = ports.clone();
        for refused in [
            fixture.member().post("/v1/instances", order).await,
            fixture.change(id, json!({ "public_ports": ports })).await,
        ] {
            let refused = refused.expect_problem(422, "invalid-field");
            assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{}", refused.text);
        }
    }
    let changed = fixture.change(id, json!({ "public_ports": ports(10) })).await.expect(200);
    assert_eq!(changed.body["ports"].as_array().unwrap().len(), 10);
    let (ticket, label) = fixture.ticket_for(id, json!(7)).await;
    let changed = fixture.change(id, json!({ "public_ports": [{ "port": 8188 }] })).await.expect(200);
    assert_eq!(changed.body["ports"][0]["port"], 8188);
    fixture.redeem(&ticket, &label).await.expect_problem(404, "not-found");
    let list = fixture.member().get(&format!("/v1/instances/{id}/events")).await.expect(200).body;
    assert_eq!(list["items"][0]["data"]["changed"], json!(["public_ports"]));

    fixture.act(id, "start").await;
    fixture.change(id, json!({ "public_ports": [] })).await.expect_problem(409, "instance-state");
    let route = fixture.route_of(&format!("p8188-{}", id.k8s_name())).await.expect(200);
    assert_eq!(route.body["address"], Value::Null, "it does not run yet");
}

#[tokio::test(flavor = "multi_thread")]
async fn ports_with_a_title_get_host_names_unless_the_order_names_ports() {
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    let mut service = service();
    service["service"] = json!("studio");
    service["template"]["ports"] = json!([
        { "port": 7860, "title": "WebUI", "is_public": true, "is_probe": true },
        { "port": 8888, "title": "Jupyter" },
        { "port": 9000 },
        { "port": 5353, "title": "Discovery", "protocol": "UDP" },
    ]);
    let made = fixture.admin().post("/v1/services", service).await.expect(201);
    assert_eq!(made.body["template"]["ports"][1]["title"], "Jupyter");
    for (ports, expected) in [
        (Value::Null, json!([[8888, "Jupyter", true]])),
        (json!([]), json!([])),
        (
            json!([{ "port": 9000, "sign_in": false }, { "port": 8888 }]),
            json!([[9000, null, false], [8888, "Jupyter", true]]),
        ),
        (json!([{ "port": 8888, "title": "Notebooks" }]), json!([[8888, "Notebooks", true]])),
    ] {
        let mut order = Fixture::stopped_order();
        order["service"] = json!("studio");
        if !ports.is_null() {
            order["public_ports"] = ports;
        }
        let made = fixture.member().post("/v1/instances", order).await.expect(202).body;
        let shown = made["ports"].as_array().unwrap().iter();
        let shown: Vec<_> = shown.map(|port| json!([port["port"], port["title"], port["sign_in"]])).collect();
        assert_eq!((json!(shown), &made["url_title"]), (expected, &json!("WebUI")));
    }
    let plain = fixture.member().post("/v1/instances", Fixture::stopped_order()).await.expect(202).body;
    assert_eq!((&plain["ports"], &plain["url_title"]), (&json!([]), &Value::Null));
}
