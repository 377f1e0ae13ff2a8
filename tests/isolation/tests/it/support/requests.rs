//! Requests, generated from the document. The tables have what it does not say.

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::{SignedDuration, Timestamp};
use rand::RngExt;
use reqwest::Method;
use serde_json::{Map, Value, json};
use testkit::{Client, Response};

use super::{
    document::{Operation, Place, Slot},
    platform::PASSWORD,
    tenant::Person,
};

/// Bodies where an example of the schema cannot work. Members replace generated ones.
/// `$unique` is a new name, `$email` the caller's, `$refresh_token` of a new session of the caller, `$in_an_hour` a time.
fn overridden(operation: &str) -> Value {
    match operation {
        "create_session" => json!({ "email": "$email" }),
        "refresh_session" => json!({ "refresh_token": "$refresh_token" }),
        "create_tenant" | "create_datacenter" => json!({ "name": "$unique", "cluster": "main" }),
        "create_invitation" | "create_user" => json!({ "email": "$unique@people.test" }),
        "create_gpu_spec" => {
            json!({ "name": "$unique", "allocation": { "kind": "device", "resource": "nvidia.com/gpu" } })
        }
        "add_stock" | "remove_stock" => json!({ "gpu_spec": "small", "datacenter": "main", "count": 1 }),
        "create_instance" | "quote_instance" => {
            json!({ "gpu_spec": "small", "service": "shell", "version": "1", "start": false })
        }
        "create_ssh_key" | "create_instance_ssh_key" => json!({ "public_key": "$ssh_key" }),
        "create_share_link" => json!({ "expires_at": "$in_an_hour" }),
        "create_api_key" => json!({ "scopes": ["instances:read"] }),
        "put_platform_quota" => json!({ "own_images": true }),
        "put_platform_budget" => json!({ "amount": "1000", "currency": "EUR" }),
        "create_service" => json!({ "service": "$unique", "template": {
            "image": "shell:2", "ports": [{ "port": 80, "is_public": true, "is_probe": true }],
        } }),
        "create_storage_spec" => {
            json!({ "name": "$unique", "currency": "EUR", "min_size_gib": 1, "max_size_gib": 9 })
        }
        "create_job" | "quote_job" => json!({
            "application": "stable-diffusion", "method": "txt2img", "parameters": { "prompt": "a fox" }, "deadline": "$in_an_hour",
        }),
        "create_job_batch" => json!({ "jobs": [{
            "application": "stable-diffusion", "method": "txt2img", "parameters": { "prompt": "a fox" },
        }] }),
        "create_upload" => json!({ "name": "dog.png", "content_type": "image/png", "bytes": 3 }),
        "update_model" => json!({ "name": "$unique" }),
        "reconcile_jobs" => json!({ "req_nos": ["3f2b1c7e-0f51-4c0e-9f0e-6a3f1c2d4b5a"] }),
        "create_webhook" => json!({ "url": "https://hooks.invalid/" }),
        "update_job" => json!({ "priority": 8, "deadline": "$in_an_hour" }),
        "create_platform_pool" => json!({ "name": "$unique" }),
        "update_platform_pool" => json!({ "workers": null }),
        "create_platform_worker" => json!({ "name": "$unique", "gpu_spec": "3080-small-4-1" }),
        "create_storage" => json!({ "name": "$unique", "storage_spec": "archive", "size_gib": 1 }),
        _ => json!({}),
    }
}

/// Query parameters that are sent only together: of an operation, with an id, the other.
const TOGETHER: [(&str, &str, &str); 1] = [("open_instance_terminal", "session", "received=0")];

/// A time in the future that is not far.
#[expect(clippy::disallowed_methods, reason = "tests run on the real clock")]
pub(crate) fn in_an_hour() -> Timestamp {
    Timestamp::now() + SignedDuration::from_hours(1)
}

/// Who sends a request.
#[derive(Debug, Clone)]
pub(crate) struct Caller<'a> {
    /// The address and the token.
    pub(crate) client: Client,
    /// Whether the token is the administrator's, who sees all tenants.
    pub(crate) is_admin: bool,
    /// Whose e-mail address and sessions a body names.
    pub(crate) person: &'a Person,
    /// Without a token: for sign-in.
    pub(crate) gateway: &'a Client,
}

/// The ids of a request: a value for each slot that is filled.
pub(crate) type Filled<'a> = Vec<(&'a Slot, String)>;

/// What an id belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Which {
    /// The caller's tenant.
    Own,
    /// Another tenant.
    Foreign,
    /// Nothing.
    Missing,
}

/// Sends a request for the operation with these ids. Other ids of the query and the body are left out.
pub(crate) async fn send(
    operation: &Operation,
    caller: &Caller<'_>,
    filled: &Filled<'_>,
    key: Option<&str>,
) -> Response {
    let mut path = operation.path.clone();
    let mut query = Vec::new();
    for (slot, value) in filled {
        match slot.place {
            Place::Path => path = path.replace(&format!("{{{}}}", slot.name), value),
            Place::Query => {
                query.push(format!("{}={value}", slot.name));
                let with = TOGETHER
                    .iter()
                    .filter(|(operation_id, name, _)| *operation_id == operation.id && *name == slot.name);
                query.extend(with.map(|(_, _, with)| (*with).to_owned()));
            }
            Place::Body => {}
        }
    }
    assert!(!path.contains('{'), "{} has a parameter without a value: {path}", operation.id);
    query.extend(operation.texts.iter().map(|name| format!("{name}=isolation")));
    if !query.is_empty() {
        path = format!("{path}?{}", query.join("&"));
    }
    let body = match &operation.body {
        Some(schema) => body(operation, schema, caller, filled).await,
        None => Value::Null,
    };
    let mut client = caller.client.header("if-match", "*");
    if let Some(key) = key {
        client = client.key(key);
    }
    if operation.upgrades {
        for (name, value) in [
            ("connection", "upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ] {
            client = client.header(name, value);
        }
    }
    client.send(operation.method.clone(), &path, &body).await
}

async fn body(operation: &Operation, schema: &Value, caller: &Caller<'_>, filled: &Filled<'_>) -> Value {
    let mut body = sample(operation, schema);
    for (name, value) in overridden(&operation.id).as_object().unwrap() {
        // a table may name members that only some of its operations have
        if operation.shape(schema)["properties"].get(name).is_some() {
            body[name] = value.clone();
        }
    }
    for (slot, value) in filled.iter().filter(|(slot, _)| slot.place == Place::Body) {
        let names: Vec<&str> = slot.name.split('/').skip(1).collect();
        set(operation, schema, &mut body, &names, value);
    }
    if let Some(body) = body.as_object_mut().filter(|body| body.contains_key("image")) {
        // it is in place of these
        body.retain(|name, _| !["service", "version"].contains(&name.as_str()));
    }
    let mut refresh = String::new();
    if body.to_string().contains("$refresh_token") {
        refresh = caller.person.sign_in(caller.gateway).await.str("refresh_token").to_owned();
    }
    replace(&mut body, &|text: &str| {
        text.replace("$unique", &format!("new-{}", uuid::Uuid::now_v7().simple()))
            .replace("$email", &caller.person.email)
            .replace("$refresh_token", &refresh)
            .replace("$ssh_key", &ssh_key())
            .replace("$in_an_hour", &in_an_hour().to_string())
    });
    body
}

/// Sets the member at a JSON pointer. Objects on the way have their required members.
fn set(operation: &Operation, schema: &Value, body: &mut Value, names: &[&str], value: &str) {
    let Some((name, rest)) = names.split_first() else {
        *body = value.into();
        return;
    };
    let schema = operation.shape(schema);
    let (member, schema) = if *name == "0" {
        if body.get(0).is_none() {
            *body = json!([sample(operation, &schema["items"])]);
        }
        (&mut body[0], &schema["items"])
    } else {
        let inner = &schema["properties"][*name];
        if body.get(name).is_none() {
            body[*name] = sample(operation, inner);
        }
        (&mut body[*name], inner)
    };
    set(operation, schema, member, rest, value);
}

/// An instance of a schema: its example, or its required members.
fn sample(operation: &Operation, schema: &Value) -> Value {
    let schema = operation.shape(schema);
    if let Some(example) = schema.get("example").or_else(|| schema["examples"].get(0)) {
        return example.clone();
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null").unwrap(),
        kind => kind,
    };
    match kind.as_str().unwrap_or_default() {
        "object" => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let members: Map<String, Value> = required
                .map(|name| (name.to_owned(), sample(operation, &schema["properties"][name])))
                .collect();
            members.into()
        }
        "array" => json!([]),
        "integer" | "number" => schema.get("minimum").filter(|n| **n != 0).cloned().unwrap_or(json!(1)),
        "boolean" => false.into(),
        "string" => match schema["format"].as_str() {
            Some("password") => PASSWORD.into(),
            Some("date-time") => "2030-01-01T00:00:00Z".into(),
            None => "isolation".into(),
            Some(format) => panic!(
                "a body of {} has a text of the format {format:?}: add an example of it to `sample` in {}",
                operation.id,
                file!()
            ),
        },
        other => panic!(
            "a body of {} has a member of the type {other:?}: add it to `sample` in {}",
            operation.id,
            file!()
        ),
    }
}

fn replace(value: &mut Value, with: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = with(text),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, with)),
        Value::Object(members) => members.values_mut().for_each(|member| replace(member, with)),
        _ => {}
    }
}

/// A new public key in OpenSSH format.
pub(crate) fn ssh_key() -> String {
    let kind = b"ssh-ed25519";
    let mut blob = Vec::from((11_u32).to_be_bytes());
    blob.extend(kind);
    blob.extend((32_u32).to_be_bytes());
    blob.extend(rand::rng().random::<[u8; 32]>());
    format!("ssh-ed25519 {} test", STANDARD.encode(blob))
}

/// Whether the method only reads.
pub(crate) fn reads(method: &Method) -> bool {
    *method == Method::GET
}
