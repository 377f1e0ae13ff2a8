//! Public ports: host names of their own, with and without sign-in.

use futures::StreamExt;
use ids::InstanceId;
use serde_json::json;

use crate::{
    instances::essence,
    platform::{Instance, Platform},
    websockets::connect,
};

impl Platform {
    /// The host name of a port of an instance, which runs in the pod.
    pub(crate) fn port(&self, instance: &Instance, port: u16, sign_in: bool) -> Instance {
        let label = format!("p{port}-{}", instance.id.k8s_name());
        let route = json!({
            "instance_id": instance.id, "tenant_id": instance.tenant, "address": self.pod, "state": "running",
            "sign_in": sign_in,
        });
        self.fixture.routes.lock().unwrap().insert(label.clone(), route);
        Instance { host: format!("{label}.localhost:{}", self.address.port()), ..instance.clone() }
    }
}

#[tokio::test]
async fn a_port_has_a_cookie_of_its_own() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    let (port, other) = (platform.port(&instance, 8188, true), platform.port(&instance, 9000, true));
    let hosts = [&instance, &port, &other];
    for own in hosts {
        let cookie = platform.cookie(own).await;
        for host in hosts {
            let answer = platform.at(host).header("cookie", &cookie).get("/").await;
            if host.host == own.host {
                assert_eq!(answer.expect(200).body["headers"]["host"], host.host.as_str());
            } else {
                answer.expect_problem(401, "not-opened");
            }
        }
    }
    // a ticket too is valid for one host name only
    let ticket = platform.ticket(&port);
    let path = format!("/.atelier/session?ticket={ticket}");
    for host in [&instance, &other] {
        platform.at(host).get(&path).await.expect_problem(401, "not-opened");
    }
    let _ = platform.at(&port).get(&path).await.expect(303);
}

#[tokio::test]
async fn an_open_port_needs_no_cookie() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    let port = platform.port(&instance, 8188, false);
    let seen = platform.at(&port).get("/path?q=1").await.expect(200);
    assert_eq!((seen.str("service"), seen.str("uri")), ("pod", "/path?q=1"));
    // no credential of the platform reaches the instance, and its pages cannot use the rights of a visitor
    let visitor = platform
        .at(&port)
        .header("cookie", "atelier_session=x; own=1")
        .header("authorization", &format!("Bearer {}", platform.issuer.admin()))
        .header("origin", "https://elsewhere.example");
    let seen = visitor.post("/api", json!({})).await.expect(200);
    assert_eq!(seen.body["headers"]["cookie"], "own=1");
    assert!(seen.body["headers"].get("authorization").is_none(), "{}", seen.text);
    let cookies = platform.at(&port).get("/cookies").await.expect(200);
    let set: Vec<_> = cookies.headers.get_all("set-cookie").iter().map(|v| v.to_str().unwrap()).collect();
    assert_eq!(set, ["mine=1; Path=/"]);
    let origin = [("origin", "https://elsewhere.example")];
    let (mut socket, _) = connect(&platform, &port.host, "/ws", &origin).await.unwrap();
    assert!(socket.next().await.unwrap().is_ok());
    // the instance itself still requires sign-in
    platform.at(&instance).get("/").await.expect_problem(401, "not-opened");
}

#[tokio::test]
async fn closed_and_unknown_ports_look_like_unknown_hosts() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    let port = platform.port(&instance, 8188, true);
    let cookie = platform.cookie(&instance).await;
    let (name, missing) = (instance.id.k8s_name(), InstanceId::new().k8s_name());
    let hosts = [
        port.host.clone(),
        format!("p8189-{name}.localhost"),
        format!("p8188-{missing}.localhost"),
        format!("p08188-{name}.localhost"),
        format!("p0-{name}.localhost"),
        format!("p70000-{name}.localhost"),
        format!("{missing}.localhost"),
        "p8188-inst-x.localhost".to_owned(),
    ];
    for accept in ["text/html,*/*", "application/json"] {
        let mut seen = Vec::new();
        for host in &hosts {
            let client = platform.client.header("host", host).header("accept", accept);
            let client = client.header("sec-fetch-mode", "navigate");
            for path in ["/", "/v1/stock", "/.atelier/session?ticket=x"] {
                seen.push(essence(&client.get(path).await));
                seen.push(essence(&client.header("cookie", &cookie).get(path).await));
            }
        }
        assert_eq!(seen[0].0, 401);
        seen.dedup();
        assert_eq!(seen.len(), 1, "{seen:#?}");
    }
}
