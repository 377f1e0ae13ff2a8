//! The gateway's own pages: those of instances, the start page, the API page.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::json;
use sha2::{Digest, Sha256};
use testkit::{Client, Response};

use crate::platform::{Instance, Platform};

/// The text between two markers.
fn between<'t>(text: &'t str, begin: &str, end: &str) -> &'t str {
    text.split_once(begin).and_then(|(_, rest)| rest.split_once(end)).map_or("", |(inner, _)| inner)
}

/// Asserts that the page allows its own style and script, and nothing else.
#[track_caller]
fn assert_policy(page: &Response) {
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"), "{policy}");
    for (tag, kind) in [("style", "style-src"), ("script", "script-src")] {
        let text = between(&page.text, &format!("<{tag}>"), &format!("</{tag}>"));
        let source = format!("{kind} 'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
        assert!(text.is_empty() || policy.contains(&source), "{source} is not in {policy}");
        assert_eq!(page.text.matches(&format!("<{tag}")).count(), usize::from(!text.is_empty()));
    }
    assert!(!page.text.contains(" style=") && !page.text.contains(" onload"), "{}", page.text);
    assert!(page.text.contains("<style>"), "{}", page.text);
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(page.header("cache-control"), Some("no-store"));
}

fn browser(client: &Client, language: &str) -> Client {
    client.header("accept", "text/html,*/*").header("accept-language", language)
}

impl Platform {
    fn state(&self, instance: &Instance, state: &str, is_queued: bool) {
        let route = json!({
            "instance_id": instance.id, "tenant_id": instance.tenant, "address": null, "state": state,
            "is_queued": is_queued,
        });
        self.fixture.routes.lock().unwrap().insert(instance.id.k8s_name(), route);
        self.publish(json!({ "instance_id": instance.id }));
    }
}

#[tokio::test]
async fn each_state_has_a_page_in_both_languages() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    let opened = platform.opened(&instance).await;
    let public = format!("http://localhost:{}/", platform.address.port());
    for (state, is_queued, english, chinese, follows) in [
        ("pending", true, "The instance waits for a free unit", "实例正在等待空闲的 GPU 单元", "queued"),
        ("pending", false, "The instance is starting", "实例正在启动", "starting"),
        ("starting", false, "The instance is starting", "实例正在启动", "starting"),
        ("stopping", false, "The instance is stopping", "实例正在停止", "stopping"),
        ("stopped", false, "The instance is stopped", "实例已停止", "stopped"),
    ] {
        platform.state(&instance, state, is_queued);
        for (language, tag, title) in
            [("en-US,en;q=0.9", "en", english), ("zh-CN,zh;q=0.9,en;q=0.1", "zh-CN", chinese)]
        {
            let page = testkit::eventually(title, async || {
                let page = browser(&opened, language).get("/some/path").await.expect(503);
                page.text.contains(&format!("<h1>{title}</h1>")).then_some(page)
            })
            .await;
            assert_policy(&page);
            assert_eq!(page.header("content-language"), Some(tag));
            assert_eq!(page.header("retry-after"), Some("3"));
            assert!(
                page.text.contains(&format!("<html lang=\"{tag}\" data-state=\"{follows}\">")),
                "{}",
                page.text
            );
            assert!(page.text.contains("<noscript><meta http-equiv=\"refresh\""), "{}", page.text);
            assert!(state != "stopped" || page.text.contains(&format!("href=\"{public}\"")), "{}", page.text);
        }
        let status = opened.get("/.atelier/status").await.expect(200);
        assert_eq!(status.body, json!({ "state": follows, "ready": false }));
        assert_eq!(status.header("cache-control"), Some("no-store"));
    }
    let closed = browser(&platform.at(&instance), "zh").get("/").await.expect(401);
    assert!(
        closed.text.contains("<h1>您尚未打开此实例</h1>") && !closed.text.contains("<script>"),
        "{}",
        closed.text
    );
    assert_policy(&closed);
    platform.fixture.routes.lock().unwrap().clear();
    platform.publish(json!({ "instance_id": instance.id }));
    let gone = testkit::eventually("it is gone", async || {
        let page = browser(&opened, "en").get("/").await;
        (page.status == 404).then_some(page)
    })
    .await;
    assert!(gone.text.contains("<h1>This address no longer exists</h1>"), "{}", gone.text);
}

#[tokio::test]
async fn the_page_of_a_queued_instance_shows_its_place_and_keeps_it_up_to_date() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    let opened = platform.opened(&instance).await;
    let queue = |place: serde_json::Value| {
        let route = json!({
            "instance_id": instance.id, "tenant_id": instance.tenant, "address": null, "state": "pending",
            "is_queued": true, "queue": place,
        });
        platform.fixture.routes.lock().unwrap().insert(instance.id.k8s_name(), route);
        platform.publish(json!({ "instance_id": instance.id }));
    };
    let soon = crate::share_links::now() + jiff::SignedDuration::from_mins(12);
    queue(json!({ "position": 3, "length": 7, "starts_at": soon }));
    let live =
        |page: &Response| between(&page.text, "<p id=\"live\" aria-live=\"polite\">", "</p>").to_owned();
    for (language, text) in [
        ("en", "Place 3 of 7 in the queue. A unit is expected in about 12 minutes."),
        ("zh-CN", "排队位置：第 3 位，共 7 个。预计约 12 分钟后有空闲单元。"),
    ] {
        let page = testkit::eventually(text, async || {
            let page = browser(&opened, language).get("/").await.expect(503);
            (live(&page) == text).then_some(page)
        })
        .await;
        assert_policy(&page);
        // the page's script replaces the text by this message
        let status = opened.header("accept-language", language).get("/.atelier/status").await.expect(200);
        assert_eq!(status.body, json!({ "state": "queued", "ready": false, "message": text }));
    }
    queue(json!({ "position": 1, "length": 7, "starts_at": null }));
    testkit::eventually("the place has changed", async || {
        let status = opened.get("/.atelier/status").await.expect(200);
        status.body["message"].as_str()?.starts_with("Place 1 of 7 in the queue. There is no").then_some(())
    })
    .await;
    // the place is not known: the status has no message
    queue(json!(null));
    let status = testkit::eventually("the place is not known", async || {
        let status = opened.get("/.atelier/status").await.expect(200);
        status.body.get("message").is_none().then_some(status)
    })
    .await;
    assert_eq!(status.body, json!({ "state": "queued", "ready": false }));
    assert_eq!(live(&browser(&opened, "en").get("/").await), "");
    // other callers get no details
    platform.at(&instance).get("/.atelier/status").await.expect_problem(401, "not-opened");
}

#[tokio::test]
async fn the_status_tells_those_who_may_use_the_instance_when_it_responds() {
    let platform = Platform::start().await;
    let instance = platform.instance();
    let opened = platform.opened(&instance).await;
    platform.at(&instance).get("/.atelier/status").await.expect_problem(401, "not-opened");
    let status = opened.get("/.atelier/status").await.expect(200);
    assert_eq!(status.body["ready"], true);

    let other = platform.instance();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    platform.route(&other, "running", Some(&silent.to_string()));
    let opened = platform.opened(&other).await;
    let page = browser(&opened, "en").get("/").await.expect(503);
    assert!(page.text.contains("<h1>The instance does not respond</h1>"), "{}", page.text);
    assert_policy(&page);
    let status = opened.get("/.atelier/status").await.expect(200);
    assert_eq!(status.body, json!({ "state": "not_responding", "ready": false }));
}

#[tokio::test]
async fn the_start_page_says_how_to_sign_in() {
    let platform = Platform::start().await;
    let base = format!("http://localhost:{}", platform.address.port());
    for (language, title) in [("en", "A GPU cloud for"), ("zh-CN", "打造的 GPU 云")] {
        let page = browser(&platform.client, language).get("/").await.expect(200);
        assert_policy(&page);
        assert!(page.text.contains(title), "{}", page.text);
        assert!(page.text.contains(&format!("curl -s {base}/v1/sessions")), "{}", page.text);
        for link in ["href=\"/api\"", "href=\"/openapi.json\""] {
            assert!(page.text.contains(link), "{}", page.text);
        }
        assert_eq!(page.header("cross-origin-opener-policy"), Some("same-origin"));
    }
    // an instance's host has none
    platform.at(&platform.instance()).get("/").await.expect_problem(401, "not-opened");
}

#[tokio::test]
async fn the_api_page_loads_nothing_from_elsewhere() {
    let platform = Platform::start().await;
    let page = platform.client.get("/api").await.expect(200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("script-src 'self';") && !policy.contains("unsafe-eval"), "{policy}");
    assert!(!page.text.contains("//"), "{}", page.text);
    let files = page.text.split('"').filter(|part| part.starts_with("/api/"));
    let mut found = 0;
    for file in files {
        let asset = platform.client.get(file).await.expect(200);
        let kind = asset.header("content-type").unwrap();
        let expected = if file.ends_with(".css") { "text/css" } else { "text/javascript" };
        assert!(kind.starts_with(expected), "{file}: {kind}");
        found += 1;
    }
    assert_eq!(found, 4);
    platform.client.get("/api/swagger-initializer.js").await.expect_problem(404, "no-such-route");
    platform.client.get("/api/..%2fmain.rs").await.expect_problem(404, "no-such-route");
}

#[tokio::test]
async fn every_response_of_the_platform_has_security_headers() {
    let platform = Platform::start().await;
    for path in ["/", "/api", "/openapi.json", "/v1/me", "/v1/unknown", "/v1/../x", "/readyz"] {
        let answer = platform.member().get(path).await;
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("x-frame-options", "DENY"),
            ("cross-origin-opener-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{name} of {path}");
        }
        assert!(
            answer.header("content-security-policy").unwrap().contains("frame-ancestors 'none'"),
            "{path}"
        );
        assert!(answer.header("permissions-policy").unwrap().contains("camera=()"), "{path}");
        assert_eq!(answer.header("strict-transport-security"), None, "this is not https");
    }
}
