//! A support bundle contains what helps, and no secret.

use std::{collections::BTreeMap, io::Read as _};

use atelier_admin::bundle::{self, Request};
use axum::{Router, routing::get};
use jiff::Timestamp;

use crate::fixture::Fixture;

/// Secrets that are planted everywhere.
const SECRETS: [&str; 7] = [
    "pLanted-app-pass",
    "planted-superuser-pw",
    "UExBTlRFRFBMQU5URURQTEFOVEVEUExBTlRFRFBMQU4=",
    "planted-caller-token",
    "eyJhbGciOiJSUzI1NiJ9.cGxhbnRlZA.c2lnbmF0dXJl",
    "atl_plantedApiKey12",
    "planted-session-value",
];

fn files(archive: &std::path::Path) -> BTreeMap<String, String> {
    let file = std::fs::File::open(archive).unwrap();
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
    let mut files = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        files.insert(name.strip_prefix("atelier-support/").unwrap().to_owned(), text);
    }
    files
}

#[tokio::test]
async fn a_bundle_has_what_helps_and_no_secret() {
    let mut fixture = Fixture::new().await;
    let [app, superuser, encryption, caller, token, api_key, session] = SECRETS;
    fixture.config.database.superuser.as_mut().unwrap().password = superuser.into();
    let folder = tempfile::tempdir().unwrap();
    let configuration = folder.path().join("gpu.toml");
    let text = format!(
        "listen = '127.0.0.1:8080'\n[database]\nurl = 'postgres://db:5432/atelier'\napp_password = '{app}'\n\
         [[encryption_keys]]\nid = '2026'\nkey = '{encryption}'\n[callers]\ngateway = '{caller}'\n"
    );
    std::fs::write(&configuration, text).unwrap();
    let logs = folder.path().join("logs");
    std::fs::create_dir(&logs).unwrap();
    let lines = format!(
        "{{\"message\":\"instance changed\",\"instance.id\":\"inst_1\"}}\nauthorization: Bearer {token}\nkey {api_key}\n\
         cookie: __Host-atelier_session={session}\nconnected as app with {app}, {caller}, {superuser} and {encryption}\n"
    );
    std::fs::write(logs.join("gpu.log"), lines).unwrap();
    let metrics = format!("planted{{token=\"{token}\"}} 1\n");
    let process = Router::new()
        .route("/readyz", get(|| async { "waiting for identity\n" }))
        .route("/metrics", get(move || async move { metrics }));
    let url = testkit::serve(process).await;
    fixture.config.bundle.processes =
        [("gpu".to_owned(), url), ("dead".to_owned(), "http://127.0.0.1:1".to_owned())].into();

    let archive = folder.path().join("bundle.tar.gz");
    let request =
        Request { configurations: vec![configuration], logs: Some(logs), grace: std::time::Duration::ZERO };
    bundle::bundle(&fixture.config, &archive, &request, Timestamp::now()).await.unwrap();
    let files = files(&archive);
    for (file, part) in [
        ("versions.json", "PostgreSQL"),
        ("configuration/gpu.json", "127.0.0.1:8080"),
        ("configuration/gpu.json", "postgres://db:5432/atelier"),
        ("database.json", "gpu.runs"),
        ("queues.json", "gpu.instances"),
        ("queues.json", "jobs.webhook_deliveries"),
        ("check.txt", "all agree"),
        ("logs/gpu.log", "instance changed"),
        ("processes/gpu/readyz.txt", "waiting for identity"),
        ("processes/gpu/metrics.txt", "planted"),
        ("processes/dead/readyz.txt", "no answer"),
    ] {
        assert!(files[file].contains(part), "{part:?} is not in {file}: {}", files[file]);
    }
    for (file, text) in &files {
        for secret in SECRETS {
            assert!(!text.contains(secret), "{secret} is in {file}: {text}");
        }
    }
}
