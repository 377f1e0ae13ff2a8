//! Requests that schemathesis generates from the merged OpenAPI document: each response is one that the document
//! describes, by its status, its problem type, its media type, its headers and its schema, and none is a server error, but for requests
//! that the gateway did not admit.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    path::{Path, PathBuf},
};

use crate::support::{Operation, Platform, Right, Tenant, operations, two_tenants};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

/// Operations that are not called, with the reason.
const EXCLUDED: [(&str, &str); 3] = [
    ("end_session", "ends the session of the run"),
    ("end_all_sessions", "ends the session of the run"),
    ("change_password", "the next sign-in of the run needs the password, which the example names"),
];

/// What is checked of each response. The last two are in `hooks.py`.
const CHECKS: &str = "status_code_conformance,content_type_conformance,response_headers_conformance,\
    response_schema_conformance,documented_problem,no_server_error";

/// Files that describe how schemathesis is run.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/schemathesis");

/// Each boundary of each field, and a few requests at random.
fn thorough() -> [&'static str; 4] {
    ["--phases", "examples,coverage,fuzzing", "--max-examples", testkit::budget("2", "20")]
}

/// A few requests at random.
fn brief() -> [&'static str; 4] {
    ["--phases", "fuzzing", "--max-examples", testkit::budget("2", "20")]
}

/// The document without the ranges of statuses that stand for all others: each status has to be documented.
fn strict(mut document: Value) -> Value {
    for (_, item) in document["paths"].as_object_mut().unwrap() {
        for (_, operation) in item.as_object_mut().unwrap() {
            operation["responses"].as_object_mut().unwrap().retain(|status, _| !status.ends_with("XX"));
        }
    }
    document
}

/// What requests name: ids by the prefix of their type, texts by the name of the member or parameter. `$unique` is a new
/// name.
fn values(tenant: &Tenant) -> Value {
    let mut values: BTreeMap<_, _> = tenant.values.iter().map(|(kind, ids)| (*kind, json!(ids))).collect();
    values.extend([
        ("gpu_spec", json!(["small"])),
        ("service", json!(["shell"])),
        ("version", json!(["1"])),
        ("storage_spec", json!(["archive", "ssd"])),
        ("datacenter", json!(["main"])),
        ("cluster", json!(["main"])),
        ("resource", json!(["nvidia.com/gpu"])),
        ("name", json!(["$unique"])),
        ("email", json!(["$unique@people.test"])),
        ("currency", json!(["EUR"])),
        ("amount", json!(["500"])),
        ("price_per_hour", json!(["0.36"])),
        ("price_per_gib_month", json!(["0.10"])),
        ("hold_price_fraction", json!(["0.25"])),
        (
            "public_key",
            json!(["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDYbsG2ViZWF2ttFT4st9/DPORV8d5YJ96L2agNW9f1O"]),
        ),
    ]);
    json!(values)
}

/// Runs of schemathesis.
struct Runs<'a> {
    program: &'a OsStr,
    platform: &'a Platform,
    operations: Vec<Operation>,
    folder: TempDir,
}

impl Runs<'_> {
    fn write(&self, name: &str, content: &Value) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content.to_string()).unwrap();
        path
    }

    /// Calls the operations that `chosen` selects with this token. Returns why it failed.
    async fn run(
        &self,
        name: &str,
        token: &str,
        values: &Path,
        extent: [&str; 4],
        chosen: impl Fn(&Operation) -> bool,
    ) -> Option<String> {
        let is_excluded = |one: &Operation| EXCLUDED.iter().any(|(id, _)| one.id == *id);
        let chosen = self.operations.iter().filter(|one| !is_excluded(one) && chosen(one));
        let output = Command::new(self.program)
            .args(["--config-file", &format!("{FOLDER}/schemathesis.toml"), "run"])
            .arg(self.folder.path().join("openapi.json"))
            .args(["--url", self.platform.gateway.base(), "--checks", CHECKS])
            .args(["--header", &format!("Authorization: Bearer {token}")])
            .args(extent)
            .args(chosen.flat_map(|one| ["--include-operation-id", one.id.as_str()]))
            .env("FUZZ_VALUES", values)
            .env("SCHEMATHESIS_HOOKS", format!("{FOLDER}/hooks.py"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .current_dir(self.folder.path())
            .kill_on_drop(true)
            .output()
            .await
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        eprintln!("── {name}\n{}", String::from_utf8_lossy(&text));
        (!output.status.success()).then(|| format!("{name}: {}", output.status))
    }
}

/// The program is `schemathesis` of PyPI (`cargo xtask test` installs it).
#[tokio::test(flavor = "multi_thread")]
async fn generated_requests_get_documented_responses() {
    let Some(program) = std::env::var_os("TEST_SCHEMATHESIS") else {
        eprintln!("skipped: no schemathesis (TEST_SCHEMATHESIS)");
        return;
    };
    let platform = Platform::start().await;
    let (alpha, beta) = two_tenants(&platform).await;
    let document = platform.document().await;
    let folder = tempfile::tempdir().unwrap();
    let operations = operations(document.clone());
    for (id, _) in EXCLUDED {
        assert!(operations.iter().any(|one| one.id == id), "{id} is no operation");
    }
    let runs = Runs { program: &program, platform: &platform, operations, folder };
    runs.write("openapi.json", &strict(document));
    // the administrator ends what belongs to another tenant than that of the users
    let (of_users, of_administrator) =
        (runs.write("alpha.json", &values(&alpha)), runs.write("beta.json", &values(&beta)));

    let is_admin = |one: &Operation| Right::of(one) == Right::Admin;
    let deletes = |one: &Operation| one.method == Method::DELETE;
    let member = alpha.member.sign_in(&platform.gateway).await.str("access_token").to_owned();
    // access tokens are short-lived
    let signed_in = async || {
        let owner = alpha.owner.sign_in(&platform.gateway).await;
        let administrator = platform.sign_in_administrator().await;
        (owner.str("access_token").to_owned(), administrator.str("access_token").to_owned())
    };
    // reads and changes first, as deletions leave little for the others
    let (owner, administrator) = signed_in().await;
    let (first, second, third) = tokio::join!(
        // who has left the tenant finds nothing any more
        runs.run("a member", &member, &of_users, brief(), |one| one.id != "remove_member"),
        runs.run("an owner", &owner, &of_users, thorough(), |one| !is_admin(one) && !deletes(one)),
        runs.run("the administrator", &administrator, &of_administrator, thorough(), |one| {
            is_admin(one) && !deletes(one)
        }),
    );
    let (owner, administrator) = signed_in().await;
    let (fourth, fifth) = tokio::join!(
        runs.run("an owner deletes", &owner, &of_users, thorough(), |one| !is_admin(one) && deletes(one)),
        runs.run("the administrator deletes", &administrator, &of_administrator, thorough(), |one| {
            is_admin(one) && deletes(one)
        }),
    );
    let failures: Vec<_> = [first, second, third, fourth, fifth].into_iter().flatten().collect();
    assert!(failures.is_empty(), "{failures:#?}");
}
