//! Share links: exchanged for a cookie, which ends with the link.

use std::time::{Duration, Instant};

use auth::Revocation;
use futures::StreamExt;
use ids::ShareLinkId;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use testkit::{Client, eventually};

use crate::{
    platform::{Instance, Platform},
    websockets::connect,
};

#[expect(clippy::disallowed_methods, reason = "tests run on the real clock")]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

impl Platform {
    /// A link to the host name of `instance`, valid for some seconds. Its user is the instance's.
    fn link(&self, instance: &Instance, seconds: i64) -> ShareLinkId {
        let (id, label) = (ShareLinkId::new(), instance.host.split('.').next().unwrap());
        let opened = json!({
            "share_link_id": id, "instance_id": instance.id, "tenant_id": instance.tenant,
            "created_by": instance.user, "rights_at": now(),
            "expires_at": now() + SignedDuration::from_secs(seconds),
        });
        self.fixture
            .links
            .lock()
            .unwrap()
            .insert(id.to_string(), json!({ "label": label, "opened": opened }));
        id
    }

    /// Sets the valid links of the instance's host name.
    pub(crate) fn share(&self, instance: &Instance, links: &[ShareLinkId]) {
        let label = instance.host.split('.').next().unwrap();
        self.fixture.routes.lock().unwrap().get_mut(label).unwrap()["share_links"] = json!(links);
        self.publish(json!({ "instance_id": instance.id }));
    }

    /// Exchanges a link for a cookie.
    async fn shared(&self, instance: &Instance, link: ShareLinkId) -> String {
        let answer = self.at(instance).get(&format!("/.atelier/share?link={link}")).await.expect(303);
        assert_eq!(
            (answer.header("location"), answer.header("referrer-policy")),
            (Some("/"), Some("no-referrer"))
        );
        answer.header("set-cookie").unwrap().to_owned()
    }
}

pub(crate) fn with(client: &Client, cookie: &str) -> Client {
    client.header("cookie", cookie.split(';').next().unwrap())
}

#[tokio::test]
async fn a_link_opens_its_host_name_until_it_is_deleted() {
    let platform = Platform::start().await;
    let (instance, other) = (platform.instance(), platform.instance());
    let (first, second) = (platform.link(&instance, 3600), platform.link(&instance, 3600));
    platform.share(&instance, &[first, second]);
    let cookies = [platform.shared(&instance, first).await, platform.shared(&instance, second).await];
    let life: i64 = cookies[0].split("Max-Age=").nth(1).unwrap().split(';').next().unwrap().parse().unwrap();
    assert!((3500..=3600).contains(&life), "{life}");
    let [first_opened, second_opened] =
        cookies.each_ref().map(|cookie| with(&platform.at(&instance), cookie));
    for opened in [&first_opened, &second_opened] {
        eventually("it is open", async || (opened.get("/").await.status == 200).then_some(())).await;
    }
    with(&platform.at(&other), &cookies[0]).get("/").await.expect_problem(401, "not-opened");
    platform.at(&other).get(&format!("/.atelier/share?link={first}")).await.expect_problem(401, "not-opened");
    platform.at(&instance).get("/.atelier/share?link=x").await.expect_problem(401, "not-opened");
    platform.at(&instance).get("/.atelier/share").await.expect_problem(401, "not-opened");
    let refused = platform.at(&instance).post(&format!("/.atelier/share?link={first}"), json!(null)).await;
    refused.expect_problem(405, "method-not-allowed");

    let mut sockets = Vec::new();
    for cookie in &cookies {
        let cookie = cookie.split(';').next().unwrap();
        let (mut socket, _) = connect(&platform, &instance.host, "/ws", &[("cookie", cookie)]).await.unwrap();
        assert!(socket.next().await.unwrap().is_ok(), "the greeting");
        sockets.push(socket);
    }
    platform.share(&instance, &[second]);
    let begun = Instant::now();
    let end = tokio::time::timeout(Duration::from_secs(1), sockets[0].next()).await.expect("still open");
    assert!(!matches!(end, Some(Ok(tokio_tungstenite::tungstenite::Message::Text(_)))), "{end:?}");
    first_opened.get("/").await.expect_problem(401, "not-opened");
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    // the other link, and sessions that a ticket opened, remain valid
    let _ = second_opened.get("/").await.expect(200);
    let _ = platform.opened(&instance).await.get("/").await.expect(200);
    let still = tokio::time::timeout(Duration::from_millis(300), sockets[1].next()).await;
    assert!(still.is_err(), "{still:?}");
}

#[tokio::test]
async fn what_a_link_has_opened_ends_at_its_time_and_with_its_creator() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    let (short, long) = (platform.link(&instance, 3), platform.link(&instance, 3600));
    platform.share(&instance, &[short, long]);
    let cookies = [platform.shared(&instance, short).await, platform.shared(&instance, long).await];
    let mut sockets = Vec::new();
    for cookie in &cookies {
        let cookie = cookie.split(';').next().unwrap();
        let (mut socket, _) = connect(&platform, &instance.host, "/ws", &[("cookie", cookie)]).await.unwrap();
        assert!(socket.next().await.unwrap().is_ok(), "the greeting");
        sockets.push(socket);
    }
    let end = tokio::time::timeout(Duration::from_secs(5), sockets[0].next()).await.expect("still open");
    assert!(!matches!(end, Some(Ok(tokio_tungstenite::tungstenite::Message::Text(_)))), "{end:?}");
    with(&platform.at(&instance), &cookies[0]).get("/").await.expect_problem(401, "not-opened");
    let long = with(&platform.at(&instance), &cookies[1]);
    let _ = long.get("/").await.expect(200);
    platform.issuer.revoke(Revocation {
        user_id: Some(instance.user),
        tenant_id: Some(instance.tenant),
        ..Revocation::default()
    });
    let end = tokio::time::timeout(Duration::from_secs(1), sockets[1].next()).await.expect("still open");
    assert!(!matches!(end, Some(Ok(tokio_tungstenite::tungstenite::Message::Text(_)))), "{end:?}");
    long.get("/").await.expect_problem(401, "not-opened");
}
