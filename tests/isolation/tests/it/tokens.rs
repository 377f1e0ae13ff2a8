//! Tokens: no operation accepts one that is not valid, or whose role is too low.

use crate::{
    matrix::STREAMS,
    support::{
        Answer, Caller, Operation, Person, Platform, Right, Service, Tenant, changes, operations, rows_of,
        send, two_tenants,
    },
};
use futures::{StreamExt, stream};
use reqwest::Method;
use testkit::{Client, SERVICE_TOKEN, eventually};

/// Requests in progress at a time.
const CONCURRENCY: usize = 8;

/// The request with the tenant's own ids, sent to `base`.
async fn answer(operation: &Operation, client: Client, tenant: &Tenant, gateway: &Client) -> Answer {
    let caller = Caller { client, is_admin: false, person: &tenant.owner, gateway };
    let filled = operation.required.iter().map(|slot| (slot, tenant.values(&slot.kind)[0].clone())).collect();
    Answer::new(&send(operation, &caller, &filled, None).await, &[])
}

fn is_problem(answer: &Answer, status: u16, slug: &str) -> bool {
    let header = |name: &str, value: &str| answer.headers.iter().any(|(n, v)| n == name && v == value);
    answer.status == status
        && header("content-type", "application/problem+json")
        && answer.body.contains(&format!("/problems/{slug}\""))
}

/// The path of an operation of the service that reads without an id, with a token of a member.
fn read<'o>(operations: &'o [Operation], service: &Service) -> &'o str {
    let is_read = |one: &&Operation| {
        let is_plain = one.required.is_empty() && one.texts.is_empty() && !STREAMS.contains(&one.id.as_str());
        one.method == Method::GET && one.needs_token && is_plain && Right::of(one) != Right::Admin
    };
    let mut of_service = operations.iter().filter(|one| service.has(&one.path));
    let found = of_service.find(is_read);
    &found.unwrap_or_else(|| panic!("{} has no operation that reads without an id", service.name)).path
}

/// Tokens that were valid and no longer are: of a session that has ended, of a member who was removed, of a user who
/// was disabled.
pub(crate) async fn revoked(platform: &Platform, tenant: &Tenant) -> Vec<(&'static str, String)> {
    let ended = tenant.owner.sign_in(&platform.gateway).await.str("access_token").to_owned();
    let _ = platform.gateway.token(&ended).delete("/v1/sessions/current").await.expect(204);
    let removed = Person::create(platform, &tenant.id, "removed@alpha.test", "owner").await;
    let path = format!("/v1/tenants/{}/members/{}", tenant.id, removed.id);
    let _ = platform.admin.delete(&path).await.expect(204);
    let disabled = Person::create(platform, &tenant.id, "disabled@alpha.test", "owner").await;
    let disable = serde_json::json!({ "disabled": true });
    let _ = platform.admin.patch(&format!("/v1/users/{}", disabled.id), "*", disable).await.expect(200);
    let tokens =
        vec![("signed out", ended), ("removed from the tenant", removed.token), ("disabled", disabled.token)];
    let known = operations(platform.document().await);
    for service in &platform.services {
        let path = read(&known, service);
        for ((name, token), client) in
            tokens.iter().flat_map(|one| [(one, &service.client), (one, &platform.gateway)])
        {
            let refused = async || (client.token(token).get(path).await.status == 401).then_some(());
            eventually(&format!("{} refuses the token of one who was {name}", client.base()), refused).await;
        }
    }
    tokens
}

#[tokio::test(flavor = "multi_thread")]
async fn no_operation_accepts_a_token_that_is_not_valid() {
    let platform = Platform::start().await;
    let (own, other) = two_tenants(&platform).await;
    let operations = operations(platform.document().await);
    let good = &own.owner.token;
    let accepted = platform.gateway.token(&platform.forge().accepted(good));
    let _ = accepted.get("/v1/quota").await.expect(200);
    let refresh = own.owner.sign_in(&platform.gateway).await.str("refresh_token").to_owned();

    let mut attacks = platform.forge().refused(good);
    attacks.extend(revoked(&platform, &own).await);
    attacks.push(("a refresh token", refresh));
    attacks.push(("a service's token", SERVICE_TOKEN.to_owned()));
    let mut uuids = own.uuids(&other);
    uuids.extend(other.uuids(&own));
    let before = rows_of(&platform.db, &uuids).await;

    let mut cases = Vec::new();
    for operation in operations.iter().filter(|operation| operation.needs_token) {
        let service = platform.service_of(&operation.path);
        for client in [&platform.gateway, service] {
            cases.push((operation, "no token", client.clone()));
            for (attack, token) in &attacks {
                cases.push((operation, attack, client.token(token)));
            }
        }
    }
    let count = cases.len();
    let failures: Vec<String> = stream::iter(cases)
        .map(async |(operation, attack, client)| {
            let base = client.base().to_owned();
            let answer = answer(operation, client, &own, &platform.gateway).await;
            let is_refused = is_problem(&answer, 401, "unauthenticated");
            (!is_refused).then(|| format!("{} at {base} with {attack}: {answer}", operation.id))
        })
        .buffer_unordered(CONCURRENCY)
        .filter_map(std::future::ready)
        .collect()
        .await;
    eprintln!("{} operations, {} attacks, {count} requests", operations.len(), attacks.len() + 1);
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    let changes = changes(&before, &rows_of(&platform.db, &uuids).await);
    assert!(changes.is_empty(), "a refused request has changed something:\n{}", changes.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_operation_accepts_an_api_key_without_its_scope() {
    let platform = Platform::start().await;
    let (own, other) = two_tenants(&platform).await;
    let operations = operations(platform.document().await);
    let mut uuids = own.uuids(&other);
    uuids.extend(other.uuids(&own));
    let owner = platform.gateway.token(&own.owner.token);
    let new = serde_json::json!({ "name": "usage only", "scopes": ["usage:read"] });
    let key = owner.post("/v1/api-keys", new).await.expect(201).str("secret").to_owned();
    let client = platform.gateway.token(&key);
    let _ = client.get("/v1/usage").await.expect(200);
    let before = rows_of(&platform.db, &uuids).await;
    let (mut count, mut failures) = (0, Vec::new());
    for operation in operations.iter().filter(|operation| operation.needs_token) {
        let scope = auth::required_scope(&operation.method, &operation.path).map(|scope| scope.to_string());
        if scope.as_deref() == Some("usage:read") {
            continue;
        }
        count += 1;
        let answer = answer(operation, client.clone(), &own, &platform.gateway).await;
        let slug = if scope.is_some() { "insufficient-scope" } else { "forbidden" };
        if !is_problem(&answer, 403, slug) {
            failures.push(format!("{}: {answer}", operation.id));
        }
    }
    eprintln!("{} operations, {count} requests", operations.len());
    assert!(count > 100, "{count} requests");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    let changes = changes(&before, &rows_of(&platform.db, &uuids).await);
    assert!(changes.is_empty(), "a refused request has changed something:\n{}", changes.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_operation_accepts_a_role_that_is_too_low() {
    let platform = Platform::start().await;
    let (own, other) = two_tenants(&platform).await;
    let operations = operations(platform.document().await);
    let mut uuids = own.uuids(&other);
    uuids.extend(other.uuids(&own));
    let before = rows_of(&platform.db, &uuids).await;
    let roles = [(Right::Viewer, &own.viewer), (Right::Member, &own.member), (Right::Owner, &own.owner)];
    let (mut count, mut failures) = (0, Vec::new());
    for operation in &operations {
        let required = Right::of(operation);
        for (role, person) in roles.iter().filter(|(role, _)| *role < required) {
            // everybody may leave
            if operation.id == "remove_member" && own.values("usr")[0] == person.id {
                continue;
            }
            count += 1;
            let client = platform.gateway.token(&person.token);
            let answer = answer(operation, client, &own, &platform.gateway).await;
            if !is_problem(&answer, 403, "forbidden") {
                failures.push(format!("{} as {role:?}: {answer}", operation.id));
            }
        }
    }
    eprintln!("{} operations, {count} requests", operations.len());
    assert!(
        failures.is_empty(),
        "{} operations do not require the role that src/rights.rs states:\n{}",
        failures.len(),
        failures.join("\n")
    );
    let changes = changes(&before, &rows_of(&platform.db, &uuids).await);
    assert!(changes.is_empty(), "a refused request has changed something:\n{}", changes.join("\n"));
}
