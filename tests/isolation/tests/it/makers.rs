//! Everything that opens something has a maker, and ends with the maker.
//!
//! A new kind is found by the columns of its table, and by what the response to its creation has. It fails these tests until it is
//! listed here: with its maker, or with the reason why it needs none.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sqlx::Row;
use testkit::{Client, TestDb, eventually};

use crate::support::{Person, Platform, documents, schemas, ssh_key};

/// Columns that say what opens something, or whose content is not for people.
const OPENS: &str =
    "(secret|hash|password|token|credential|fingerprint|public_key|private|certificate|ticket|access_key)";

/// Tables of what opens something: columns with the user and the API key that made it.
const MADE: [(&str, &str, &str); 8] = [
    ("gpu.instance_ssh_keys", "added_by", "created_by_key"),
    ("gpu.registry_credentials", "created_by", "created_by_key"),
    ("gpu.share_links", "created_by", "created_by_key"),
    ("gpu.ssh_keys", "user_id", "created_by_key"),
    ("identity.api_keys", "user_id", "created_by_key"),
    ("jobs.mq_credentials", "created_by", "created_by_key"),
    ("jobs.webhooks", "created_by", "created_by_key"),
    ("storage.credentials", "created_by", "created_by_key"),
];

const PERSON: &str = "a way of a person to sign in, which ends with the user: no API key makes one";
const SHORT: &str = "ends with the session or API key that asked for it, and within a minute by itself";
const CHECKSUM: &str =
    "a checksum of content; what leads to it is signed for minutes, for a request with rights";
const THROTTLE: &str = "counts sign-ins; opens nothing";

/// Such tables that several services have, by their name: the chain of the audit log, and checksums of requests, without secrets.
const IN_EACH_SERVICE: [&str; 4] = ["audit_chains", "audit_entries", "audit_origins", "idempotency_keys"];

/// Other tables with such columns that hold nothing that opens something, or that nobody makes.
const NOT_MADE: [(&str, &str); 24] = [
    ("gpu.instance_secrets", "values that a tenant gives to its instance; they open nothing of the platform"),
    ("gpu.instances", "a checksum of the order, and names of Kubernetes Secrets"),
    ("gpu.share_link_tickets", SHORT),
    ("gpu.ssh_host_key", "the platform's own"),
    ("gpu.ssh_sessions", "a record of connections, which end with their key"),
    ("gpu.tickets", SHORT),
    ("identity.known_networks", THROTTLE),
    ("identity.passkey_challenges", PERSON),
    ("identity.passkeys", PERSON),
    ("identity.recovery_codes", PERSON),
    ("identity.refresh_tokens", PERSON),
    ("identity.sessions", PERSON),
    ("identity.sign_in_throttles", THROTTLE),
    ("identity.signing_keys", "the platform's own"),
    ("identity.totp_factors", PERSON),
    ("identity.users", PERSON),
    ("jobs.artifacts", CHECKSUM),
    ("jobs.checkpoints", CHECKSUM),
    ("jobs.models", CHECKSUM),
    ("jobs.mq_dead", "messages that were refused"),
    ("jobs.request_numbers", "a checksum of a request"),
    ("jobs.uploads", CHECKSUM),
    (
        "jobs.workers",
        "registered by administrators, and ended with `DELETE /v1/platform-pools/{id}/workers/{worker_id}`",
    ),
    ("storage.downloads", CHECKSUM),
];

/// Members of a response with which something is opened.
const OPENING: [&str; 9] = [
    "secret",
    "secret_access_key",
    "access_token",
    "refresh_token",
    "token",
    "password",
    "put_url",
    "public_key",
    "private_key",
];

/// Creations of what opens something, with the list that shows the makers.
const LISTED: [(&str, &str); 8] = [
    ("create_api_key", "list_api_keys"),
    ("create_instance_ssh_key", "list_instance_ssh_keys"),
    ("create_mq_credential", "list_mq_credentials"),
    ("create_registry_credential", "list_registry_credentials"),
    ("create_share_link", "list_share_links"),
    ("create_ssh_key", "list_ssh_keys"),
    ("create_storage_credential", "list_storage_credentials"),
    ("create_webhook", "list_webhooks"),
];

const ADDRESS: &str = "an address, which a ticket, a link or an SSH key opens";

/// Writes whose response has such a member, or an address, and that make nothing that lasts.
const NOT_LISTED: [(&str, &str); 27] = [
    ("create_instance", ADDRESS),
    ("create_instance_ticket", SHORT),
    ("create_invitation", "ends with the rights of who sent it, which its acceptance checks"),
    ("create_passkey_challenge", PERSON),
    ("create_passkey_registration", PERSON),
    ("create_passkey_session", PERSON),
    ("create_platform_worker", "by administrators; `DELETE` ends it"),
    ("create_service", ADDRESS),
    ("create_session", PERSON),
    ("create_totp", PERSON),
    ("create_upload", CHECKSUM),
    ("postpone_instance_idle_stop", ADDRESS),
    ("quote_job", "numbers"),
    ("refresh_session", PERSON),
    ("restart_instance", ADDRESS),
    ("rotate_signing_keys", "the platform's own"),
    ("rotate_webhook_secret", "of a webhook that has a maker"),
    ("start_account_link", PERSON),
    ("start_instance", ADDRESS),
    ("start_totp", PERSON),
    ("stop_instance", ADDRESS),
    ("stop_platform_instance", ADDRESS),
    ("take_over_mq_credential", "of a credential that has a maker"),
    ("take_over_webhook", "of a webhook that has a maker"),
    ("update_instance", ADDRESS),
    ("update_service", ADDRESS),
    ("update_webhook", "of a webhook that has a maker"),
];

fn is_in_each_service(table: &str) -> bool {
    table.split_once('.').is_some_and(|(_, name)| IN_EACH_SERVICE.contains(&name))
}

#[tokio::test]
async fn each_table_of_what_opens_something_has_a_maker() {
    let db = TestDb::new();
    db.create_with(&atelier_admin::schemas::all()).await;
    let columns = "select table_schema || '.' || table_name as name, array_agg(column_name::text) as columns,
                          bool_or(data_type = 'bytea' or column_name ~ $2) as opens
                   from information_schema.columns join information_schema.tables using (table_schema, table_name)
                   where table_schema = any($1) and table_type = 'BASE TABLE' and table_name <> '_sqlx_migrations'
                   group by 1 order by 1";
    let columns = sqlx::query(columns).bind(schemas()).bind(OPENS);
    let rows = columns.fetch_all(&mut db.admin().await).await.unwrap();
    let mut known: BTreeSet<&str> = NOT_MADE.iter().map(|(table, _)| *table).collect();
    let mut faults = Vec::new();
    for row in rows {
        let (name, columns, opens): (String, Vec<String>, bool) = (row.get(0), row.get(1), row.get(2));
        if let Some((_, user, key)) = MADE.iter().find(|(table, ..)| *table == name) {
            for column in [user, key] {
                if !columns.iter().any(|known| known == column) {
                    faults.push(format!("{name} lacks the column {column}"));
                }
            }
        } else if opens && !is_in_each_service(&name) && !known.remove(name.as_str()) {
            faults.push(format!("{name} opens something? It has no maker (MADE), and no reason (NOT_MADE)"));
        }
    }
    faults.extend(known.into_iter().map(|table| format!("{table} is listed, and needs not be")));
    assert!(faults.is_empty(), "{faults:#?}");
}

/// The names of all properties of a schema, and those whose description says that they are shown once.
fn properties<'d>(document: &'d Value, schema: &'d Value, found: &mut BTreeMap<&'d str, bool>, depth: usize) {
    if depth > 8 {
        return;
    }
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return properties(document, &document["components"]["schemas"][name], found, depth + 1);
    }
    for kind in ["allOf", "oneOf", "anyOf"] {
        for part in schema[kind].as_array().into_iter().flatten() {
            properties(document, part, found, depth + 1);
        }
    }
    properties_of_items(document, schema, found, depth);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let says = property["description"].as_str().unwrap_or_default();
        let once = ["once", "Once", "Null except in the response"].iter().any(|words| says.contains(words));
        found.entry(name.as_str()).or_default().clone_from(&once);
        properties(document, property, found, depth + 1);
    }
}

fn properties_of_items<'d>(
    document: &'d Value,
    schema: &'d Value,
    found: &mut BTreeMap<&'d str, bool>,
    depth: usize,
) {
    if schema["items"].is_object() {
        properties(document, &schema["items"], found, depth + 1);
    }
}

/// The properties of the successful responses of an operation.
fn answered<'d>(document: &'d Value, operation: &'d Value) -> BTreeMap<&'d str, bool> {
    let mut found = BTreeMap::new();
    for (status, response) in operation["responses"].as_object().into_iter().flatten() {
        if status.starts_with('2') {
            for (_, content) in response["content"].as_object().into_iter().flatten() {
                properties(document, &content["schema"], &mut found, 0);
            }
        }
    }
    found
}

#[test]
fn each_creation_of_what_opens_something_is_listed_with_its_maker() {
    let documents: Vec<_> = documents().map(|(_, document)| document).collect();
    let mut faults = Vec::new();
    let mut reasons: BTreeSet<&str> = NOT_LISTED.iter().map(|(operation, _)| *operation).collect();
    let mut lists = BTreeMap::new();
    for document in &documents {
        for (path, item) in document["paths"].as_object().unwrap() {
            let operations =
                item.as_object().unwrap().iter().filter(|(_, one)| one["operationId"].is_string());
            for (method, operation) in operations {
                let (id, found) = (operation["operationId"].as_str().unwrap(), answered(document, operation));
                if method == "get" {
                    lists.insert(id, found.contains_key("created_by_key"));
                }
                let opens = |(name, once): (&&str, &bool)| *once || *name == "url" || OPENING.contains(name);
                let is_write =
                    ["post", "put", "patch"].contains(&method.as_str()) && path.starts_with("/v1/");
                if !is_write || !found.iter().any(opens) || LISTED.iter().any(|(create, _)| *create == id) {
                    continue;
                }
                if !reasons.remove(id) {
                    faults.push(format!(
                        "{id} opens something? It is neither in LISTED nor in NOT_LISTED: {found:?}"
                    ));
                }
            }
        }
    }
    for (create, list) in LISTED {
        if lists.get(list) != Some(&true) {
            faults.push(format!("{list}, of what {create} makes, has no created_by_key"));
        }
    }
    faults.extend(reasons.into_iter().map(|operation| format!("{operation} is listed, and needs not be")));
    assert!(faults.is_empty(), "{faults:#?}");
}

/// What a client has of each kind: paths of lists, and how many items they have.
async fn count(client: &Client, paths: &[String]) -> Vec<usize> {
    let mut counts = Vec::new();
    for path in paths {
        let items = client.get(path).await.expect(200).body["items"].as_array().unwrap().clone();
        counts.push(items.iter().filter(|item| item["enabled"] != false).count());
    }
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_somebody_made_ends_when_they_are_removed_and_when_the_key_is_deleted() {
    let platform = Platform::start().await;
    let tenant = platform.admin.post("/v1/tenants", json!({ "name": "studio" })).await.expect(201);
    let tenant = tenant.str("id").to_owned();
    let person = async |email, role| Person::create(&platform, &tenant, email, role).await;
    let (owner, member) = (person("owner@x.test", "owner").await, person("member@x.test", "member").await);
    let [owner, as_member] = [&owner, &member].map(|person| platform.gateway.token(&person.token));
    let scopes = json!(["instances:write", "storages:write", "jobs:write", "api-keys:write"]);
    let api_key = as_member.post("/v1/api-keys", json!({ "name": "ci", "scopes": scopes })).await.expect(201);
    let script = platform.gateway.token(api_key.str("secret"));

    let bucket = json!({ "name": "art", "storage_spec": "archive", "size_gib": 1 });
    let bucket = owner.post("/v1/storages", bucket).await.expect(202).str("id").to_owned();
    let path = format!("/v1/storages/{bucket}");
    eventually("the bucket is available", async || {
        (owner.get(&path).await.expect(200).str("state") == "available").then_some(())
    })
    .await;
    let order = json!({ "gpu_spec": "small", "service": "shell", "version": "1", "name": "shell" });
    let instance = owner.post("/v1/instances", order).await.expect(202).str("id").to_owned();
    let in_an_hour = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
    let kinds = [
        (format!("{path}/credentials"), Value::Null),
        (
            format!("/v1/instances/{instance}/share-links"),
            json!({ "name": "link", "expires_at": in_an_hour }),
        ),
        ("/v1/webhooks".to_owned(), json!({ "url": "https://hooks.invalid/", "events": [] })),
        ("/v1/mq-credentials".to_owned(), json!({ "name": "farm" })),
        (format!("/v1/instances/{instance}/ssh-keys"), Value::Null),
        ("/v1/registry-credentials".to_owned(), Value::Null),
    ];
    let paths: Vec<String> = kinds.iter().map(|(path, _)| path.clone()).collect();
    for (n, client) in [&as_member, &script, &owner].into_iter().enumerate() {
        for (path, body) in &kinds {
            let body = match path.rsplit('/').next() {
                Some("ssh-keys") => json!({ "public_key": ssh_key() }),
                Some("registry-credentials") => {
                    json!({ "name": format!("robot {n}"), "registry": "ghcr.io", "username": "a", "secret": "b" })
                }
                _ => body.clone(),
            };
            let _ = client.post(path, body).await.expect(201);
        }
    }
    assert_eq!(count(&owner, &paths).await, [3; 6]);
    let are_left = async |left: usize| {
        eventually(&format!("{left} of each are left"), async || {
            (count(&owner, &paths).await == vec![left; 6]).then_some(())
        })
        .await;
    };
    // by the API, as people do it, with the real identity service
    let _ = owner.delete(&format!("/v1/api-keys/{}", api_key.str("id"))).await.expect(204);
    are_left(2).await;
    let members = format!("/v1/tenants/{tenant}/members/{}", member.id);
    let _ = owner.patch(&members, "*", json!({ "role": "viewer" })).await.expect(200);
    are_left(1).await;
}
