//! Requests that schemathesis generates from the merged OpenAPI document: each response is one that the document
//! describes, by its status, its problem type, its media type, its headers and its schema, and none is a server error.

use std::{collections::BTreeMap, path::Path};

use atelier_isolation_tests::{Platform, operations, two_tenants};
use serde_json::{Value, json};
use tokio::process::Command;

/// Operations that are not called, with the reason.
const EXCLUDED: [(&str, &str); 2] =
    [("end_session", "ends the session of the run"), ("end_all_sessions", "ends the session of the run")];

/// What is checked of each response. The last one is in `hooks.py`.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
    response_headers_conformance,response_schema_conformance,documented_problem";

/// The document without the ranges of statuses that stand for all others: each status has to be documented.
fn strict(mut document: Value) -> Value {
    for (_, item) in document["paths"].as_object_mut().unwrap() {
        for (_, operation) in item.as_object_mut().unwrap() {
            operation["responses"].as_object_mut().unwrap().retain(|status, _| !status.ends_with("XX"));
        }
    }
    document
}

/// A file in the folder of the test.
fn write(folder: &Path, name: &str, content: &Value) -> std::path::PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content.to_string()).unwrap();
    path
}

/// The program is `schemathesis` of PyPI (`cargo xtask test` installs it).
#[tokio::test(flavor = "multi_thread")]
async fn generated_requests_get_documented_responses() {
    let Some(program) = std::env::var_os("TEST_SCHEMATHESIS") else {
        eprintln!("skipped: no schemathesis (TEST_SCHEMATHESIS)");
        return;
    };
    let platform = Platform::start().await;
    let (tenant, _) = two_tenants(&platform).await;
    let document = platform.document().await;
    for (id, _) in EXCLUDED {
        assert!(operations(document.clone()).iter().any(|one| one.id == id), "{id} is no operation");
    }
    let mut values: BTreeMap<_, _> = tenant.values.iter().map(|(kind, ids)| (*kind, json!(ids))).collect();
    values.extend([
        ("gpu_spec", json!(["small"])),
        ("service", json!(["shell"])),
        ("version", json!(["1"])),
        ("storage_spec", json!(["archive", "ssd"])),
        ("datacenter", json!(["main"])),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let document = write(folder.path(), "openapi.json", &strict(document));
    let values = write(folder.path(), "values.json", &json!(values));

    let mut failures = Vec::new();
    // the administrator last: what the others own may be gone then
    for caller in ["member", "owner", "administrator"] {
        // reads and changes, then deletions
        for method in ["--exclude-method=DELETE", "--include-method=DELETE"] {
            // access tokens are short-lived
            let token = match caller {
                "member" => tenant.member.sign_in(&platform.gateway).await,
                "owner" => tenant.owner.sign_in(&platform.gateway).await,
                _ => platform.sign_in_administrator().await,
            };
            let mut schemathesis = Command::new(&program);
            schemathesis
                .arg("run")
                .arg(&document)
                .args(["--url", platform.gateway.base(), "--checks", CHECKS, method])
                .args(["--header", &format!("Authorization: Bearer {}", token.str("access_token"))])
                .args(["--seed", "1", "--max-examples", "10", "--phases", "examples,coverage,fuzzing"])
                .args(["--generation-database", "none", "--continue-on-failure", "--no-color"])
                .args(["--request-timeout", "20"])
                .args(EXCLUDED.iter().flat_map(|(id, _)| ["--exclude-operation-id", *id]))
                .env("FUZZ_VALUES", &values)
                .env("SCHEMATHESIS_HOOKS", concat!(env!("CARGO_MANIFEST_DIR"), "/schemathesis/hooks.py"))
                .current_dir(folder.path())
                .kill_on_drop(true);
            let output = schemathesis.output().await.unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            eprintln!("── {caller} {method}\n{text}{}", String::from_utf8_lossy(&output.stderr));
            if !output.status.success() {
                failures.push(format!("{caller} {method}: {}", output.status));
            }
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}
