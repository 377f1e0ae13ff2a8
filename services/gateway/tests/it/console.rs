//! The built console, which the gateway serves at its own host.

use std::{fs, path::Path};

use atelier_gateway::ConsoleConfig;
use axum::http::Method;
use serde_json::Value;
use tempfile::TempDir;
use testkit::Response;

use crate::{listener::raw, platform::Platform};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'";
const NAVIGATION: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
}

/// A gateway with a built console. A file beside the console's folder does not belong to it.
async fn platform() -> (Platform, TempDir) {
    let folder = TempDir::new().unwrap();
    let directory = folder.path().join("dist");
    write(folder.path(), &[("secret.txt", "not for the web")]);
    write(
        &directory,
        &[
            ("index.html", "<!doctype html><title>Console</title>"),
            ("favicon.svg", "<svg/>"),
            ("assets/app-1a2b.js", "console.log('plain')"),
            ("assets/app-1a2b.js.br", "brotli"),
            ("assets/app-1a2b.js.gz", "gzip"),
            (".vite/manifest.json", "{}"),
            ("assets/.hidden", "hidden"),
        ],
    );
    let console = ConsoleConfig { directory, content_origins: vec![] };
    (Platform::with(|config| config.console = Some(console)).await, folder)
}

#[track_caller]
fn assert_page(response: &Response) {
    assert_eq!(response.status, 200, "{}", response.text);
    assert!(response.text.contains("<title>Console</title>"), "{}", response.text);
    for (name, value) in [
        ("content-type", "text/html"),
        ("cache-control", "no-cache"),
        ("content-security-policy", POLICY),
        ("cross-origin-opener-policy", "same-origin"),
        ("referrer-policy", "same-origin"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
    ] {
        assert_eq!(response.header(name), Some(value), "{name}");
    }
}

#[tokio::test]
async fn every_address_that_a_person_opens_is_the_console() {
    let (platform, _folder) = platform().await;
    assert_page(&platform.client.get("/").await);
    let browser = platform.client.header("accept", NAVIGATION);
    for path in
        ["/", "/index.html", "/instances", "/instances/inst_1?tab=log", "/admin/stock", "/prices/a%20b"]
    {
        assert_page(&browser.get(path).await);
    }
    // requests of programs and of the console itself, which do not navigate, get a 404
    for path in ["/instances", "/nothing.js"] {
        platform.client.get(path).await.expect_problem(404, "no-such-route");
    }
    let posted = browser.post("/instances", Value::Null).await;
    posted.expect_problem(404, "no-such-route");
}

#[tokio::test]
async fn paths_of_the_platform_are_not_the_console() {
    let (platform, _folder) = platform().await;
    let browser = platform.client.header("accept", NAVIGATION);
    for path in ["/v1", "/v1/unknown", "/.well-known/unknown", "/api/unknown", "/share/x", "/internal/v1/x"] {
        browser.get(path).await.expect_problem(404, "no-such-route");
    }
    browser.get("/v1/me").await.expect_problem(401, "unauthenticated");
    assert!(browser.get("/openapi.json").await.expect(200).body["paths"].is_object());
    assert_ne!(browser.get("/api").await.expect(200).header("content-security-policy"), Some(POLICY));
    let share = browser.get("/share").await;
    assert!(!share.text.contains("<title>Console</title>"), "{}", share.text);
    // an instance's host has pages of its own
    let instance = platform.instance();
    let foreign = platform.at(&instance).header("accept", NAVIGATION);
    for path in ["/", "/instances", "/assets/app-1a2b.js"] {
        let response = foreign.get(path).await.expect(401);
        assert_ne!(response.header("content-security-policy"), Some(POLICY), "{path}");
    }
}

#[tokio::test]
async fn assets_are_kept_for_a_year_and_are_sent_as_they_were_compressed() {
    let (platform, _folder) = platform().await;
    let path = "/assets/app-1a2b.js";
    for (accepted, text, encoding) in [
        ("identity", "console.log('plain')", None),
        ("gzip", "gzip", Some("gzip")),
        ("gzip, br", "brotli", Some("br")),
    ] {
        let raw = raw(
            platform.address,
            &format!(
                "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\naccept-encoding: {accepted}\r\n\r\n"
            ),
        )
        .await
        .to_lowercase();
        assert!(raw.starts_with("http/1.1 200") && raw.ends_with(text), "{raw}");
        let sent = encoding.map(|encoding| format!("content-encoding: {encoding}\r\n"));
        assert_eq!(sent.is_some(), raw.contains("content-encoding:"), "{raw}");
        assert!(sent.is_none_or(|sent| raw.contains(&sent)), "{raw}");
        for header in [
            "cache-control: public, max-age=31536000, immutable\r\n",
            "vary: accept-encoding\r\n",
            "content-type: text/javascript\r\n",
        ] {
            assert!(raw.contains(header), "{header} is not in {raw}");
        }
    }
    let icon = platform.client.get("/favicon.svg").await.expect(200);
    assert_eq!((icon.header("cache-control"), icon.text.as_str()), (Some("no-cache"), "<svg/>"));
    // a file of another build, also when it is opened as a page
    for client in [&platform.client, &platform.client.header("accept", NAVIGATION)] {
        let missing = client.get("/assets/app-0000.js").await.expect_problem(404, "no-such-route");
        assert_eq!(missing.header("cache-control"), None);
    }
}

#[tokio::test]
async fn files_can_be_asked_for_in_parts_and_again() {
    let (platform, _folder) = platform().await;
    let client = &platform.client;
    for path in ["/assets/app-1a2b.js", "/favicon.svg", "/"] {
        let whole = client.get(path).await.expect(200);
        let etag = whole.header("etag").unwrap();
        assert_eq!(client.header("if-none-match", etag).get(path).await.status, 304, "{path}");
        let since = whole.header("last-modified").unwrap();
        assert_eq!(client.header("if-modified-since", since).get(path).await.status, 304, "{path}");
        let part = client.header("range", "bytes=1-3").get(path).await.expect(206);
        assert_eq!(part.text, whole.text[1..4], "{path}");
        let head = client.send(Method::HEAD, path, &Value::Null).await.expect(200);
        assert_eq!((head.header("etag"), head.text.as_str()), (Some(etag), ""), "{path}");
        assert_eq!(head.header("content-length"), Some(whole.text.len().to_string().as_str()), "{path}");
    }
}

#[tokio::test]
async fn nothing_but_the_files_of_the_build_is_served() {
    let (platform, _folder) = platform().await;
    for path in [
        "/.vite/manifest.json",
        "/%2evite/manifest.json",
        "/assets/.hidden",
        "/assets/%2ehidden",
        "/secret.txt",
        "/../secret.txt",
        "/assets/../../secret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "/assets/..\\..\\secret.txt",
        "//secret.txt",
        "/assets",
        "/assets/",
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let response = raw(platform.address, &request).await;
        let status = response.split(' ').nth(1).unwrap_or_default().to_owned();
        assert!(["400", "404"].contains(&status.as_str()), "{path}: {response}");
    }
}

#[tokio::test]
async fn without_a_built_console_there_is_the_start_page() {
    let folder = TempDir::new().unwrap();
    let console = ConsoleConfig { directory: folder.path().to_owned(), content_origins: vec![] };
    let platform = Platform::with(|config| config.console = Some(console)).await;
    let browser = platform.client.header("accept", NAVIGATION);
    assert!(browser.get("/").await.expect(200).text.contains("/v1/sessions"));
    browser.get("/instances").await.expect_problem(404, "no-such-route");
}
