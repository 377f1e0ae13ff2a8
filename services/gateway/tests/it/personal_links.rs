//! Share links for one person: opened at the platform's address, used at that of the instance.

use std::convert::Infallible;

use auth::{Claims, Revocation, Role, SessionSecret};
use axum::{Json, Router, routing::post};
use futures::StreamExt;
use ids::{SessionId, ShareLinkId, TenantId, UserId};
use jiff::SignedDuration;
use serde_json::json;
use testkit::{Client, Response, eventually};

use crate::{
    platform::{Instance, Platform},
    share_links::{now, with},
    websockets::connect,
};

fn label(instance: &Instance) -> &str {
    instance.host.split('.').next().unwrap()
}

fn browser(client: &Client) -> Client {
    client.header("accept", "text/html")
}

fn path(instance: &Instance, secret: &str) -> String {
    format!("/share?host={}&link={secret}", label(instance))
}

/// What a visitor sees.
fn seen(page: &Response) -> (u16, &str) {
    (page.status, &page.text)
}

impl Platform {
    /// A link that only the user with this token may open.
    fn personal_link(&self, instance: &Instance, claims: &Claims) -> (String, ShareLinkId) {
        let (secret, ticket, id) = (UserId::new().to_string(), UserId::new().to_string(), ShareLinkId::new());
        let opened = json!({
            "share_link_id": id, "instance_id": instance.id, "tenant_id": instance.tenant,
            "created_by": instance.user, "rights_at": now(), "expires_at": now() + SignedDuration::from_hours(1),
            "person": { "user_id": claims.sub, "session_id": claims.sid, "rights_at": now() },
        });
        let url = format!("http://{}/.atelier/share?ticket={ticket}", instance.host);
        let link = json!({ "label": label(instance), "token": self.issuer.sign(claims), "url": url });
        self.fixture.personal_links.lock().unwrap().insert(secret.clone(), link);
        let redeemable = json!({ "label": label(instance), "opened": opened });
        self.fixture.link_tickets.lock().unwrap().insert(ticket, redeemable);
        (secret, id)
    }

    fn person(&self) -> Claims {
        let claims = self.issuer.claims(Some((TenantId::new(), Role::Viewer)), false);
        Claims { sid: Some(SessionId::new()), ..claims }
    }
}

#[tokio::test]
async fn a_link_for_one_person_opens_to_that_person_only() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    let (ann, bob) = (platform.person(), platform.person());
    let (secret, id) = platform.personal_link(&instance, &ann);
    platform.share(&instance, &[id]);

    // the instance's host has no sign-in: browsers are redirected to the platform's host, whatever the link
    let link = format!("/.atelier/share?link={secret}");
    platform.at(&instance).get(&link).await.expect_problem(401, "not-opened");
    let sent = browser(&platform.at(&instance)).get(&link).await.expect(303);
    let there = sent.header("location").unwrap();
    let address = format!("http://localhost:{}", platform.address.port());
    assert_eq!(there, format!("{address}{}", path(&instance, &secret)));
    assert_eq!(
        (sent.header("referrer-policy"), sent.header("cache-control")),
        (Some("no-referrer"), Some("no-store"))
    );
    let unknown = browser(&platform.at(&instance)).get("/.atelier/share?link=x").await.expect(303);
    assert_eq!(unknown.header("location").unwrap(), format!("{address}{}", path(&instance, "x")));

    // callers who are not signed in, and other users, get no details
    let anonymous = browser(&platform.client);
    let page = anonymous.get(&path(&instance, &secret)).await.expect(401);
    assert!(page.text.contains("<h1>Sign in to open this link</h1>"), "{}", page.text);
    assert_eq!(seen(&page), seen(&anonymous.get(&path(&instance, "x")).await));
    platform.client.get(&path(&instance, &secret)).await.expect_problem(401, "unauthenticated");
    let as_bob = platform.client.token(&platform.issuer.sign(&bob));
    let page = browser(&as_bob).get(&path(&instance, &secret)).await.expect(404);
    assert!(page.text.contains("<h1>This link opens nothing</h1>"), "{}", page.text);
    let other = platform.instance();
    for missing in
        [path(&instance, "x"), path(&other, &secret), "/share".to_owned(), "/share?link=x".to_owned()]
    {
        assert_eq!(seen(&browser(&as_bob).get(&missing).await), seen(&page), "{missing}");
    }
    let chinese = browser(&as_bob).header("accept-language", "zh").get(&path(&instance, &secret)).await;
    assert!(chinese.text.contains("<h1>此链接无法打开任何内容</h1>"), "{}", chinese.text);
    as_bob.get(&path(&instance, &secret)).await.expect_problem(404, "not-found");

    // the person is redirected back with a one-time ticket
    let as_ann = browser(&platform.client.token(&platform.issuer.sign(&ann)));
    let back = as_ann.get(&path(&instance, &secret)).await.expect(303);
    let ticket = back.header("location").unwrap().split_once("/.atelier").unwrap().1.to_owned();
    let ticket = format!("/.atelier{ticket}");
    platform.at(&other).get(&ticket).await.expect_problem(401, "not-opened");
    let opened = platform.at(&instance).get(&ticket).await.expect(303);
    platform.at(&instance).get(&ticket).await.expect_problem(401, "not-opened");
    let cookie = opened.header("set-cookie").unwrap();
    let client = with(&platform.at(&instance), cookie);
    eventually("it is open", async || (client.get("/").await.status == 200).then_some(())).await;

    // the access ends with the person's session
    let cookie = cookie.split(';').next().unwrap();
    let (mut socket, _) = connect(&platform, &instance.host, "/ws", &[("cookie", cookie)]).await.unwrap();
    assert!(socket.next().await.unwrap().is_ok(), "the greeting");
    platform.issuer.revoke(Revocation { session_id: ann.sid, ..Revocation::default() });
    let end =
        tokio::time::timeout(std::time::Duration::from_secs(1), socket.next()).await.expect("still open");
    assert!(!matches!(end, Some(Ok(tokio_tungstenite::tungstenite::Message::Text(_)))), "{end:?}");
    client.get("/").await.expect_problem(401, "not-opened");
}

#[tokio::test]
async fn the_consoles_cookie_says_who_opens_a_link() {
    let made = SessionSecret::generate::<Infallible>(SessionId::new(), |_| Ok(()));
    let secret = made.unwrap_or_else(|never| match never {});
    let granted = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let grant = std::sync::Arc::clone(&granted);
    let exchange = async move || {
        let token = grant.lock().unwrap().clone();
        Json(json!({ "access_token": token, "expires_in": 300, "requests_per_second": null, "creators": [] }))
    };
    let identity = testkit::serve(Router::new().route("/internal/v1/token-exchanges", post(exchange))).await;
    let platform = Platform::with(|config| config.services["identity"] = identity.parse().unwrap()).await;
    let instance = platform.instance();
    let ann = platform.person();
    *granted.lock().unwrap() = platform.issuer.sign(&ann);
    let (link, _) = platform.personal_link(&instance, &ann);
    let console = platform.client.header("cookie", &format!("atelier_console={}", secret.expose()));
    let back = browser(&console).get(&path(&instance, &link)).await.expect(303);
    assert!(
        back.header("location").unwrap().starts_with(&format!("http://{}/.atelier/share", instance.host))
    );
    assert!(back.header("set-cookie").is_none());
}
