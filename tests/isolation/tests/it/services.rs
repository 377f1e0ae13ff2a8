//! Calls between services: each internal operation accepts the services that may call it, and verifies the user in whose
//! request they call as it would verify a caller.

use crate::support::{Platform, documents, two_tenants};
use auth::{Subject, internal_rule};
use reqwest::Method;
use serde_json::Value;
use testkit::{Client, SERVICE_TOKEN};

use crate::tokens::revoked;

/// The internal operations of all services, with a client of the service. Ids in paths name nothing.
fn operations(platform: &Platform) -> Vec<(Client, Method, String)> {
    let mut operations = Vec::new();
    for (name, document) in documents() {
        let client = &platform.services.iter().find(|service| service.name == name).unwrap().client;
        for (path, item) in document["paths"].as_object().unwrap() {
            if !path.starts_with("/internal/") {
                continue;
            }
            let segments =
                path.split('/').map(|segment| if segment.starts_with('{') { "x" } else { segment });
            let path = segments.collect::<Vec<_>>().join("/");
            for method in item.as_object().unwrap().keys() {
                operations.push((client.clone(), method.to_uppercase().parse().unwrap(), path.clone()));
            }
        }
    }
    operations
}

/// The status of an answer to a request that names nothing and has no body.
async fn status(client: &Client, method: &Method, path: &str) -> u16 {
    client.send(method.clone(), path, &Value::Null).await.status
}

#[tokio::test(flavor = "multi_thread")]
async fn an_internal_operation_accepts_its_services_and_their_users_only() {
    let platform = Platform::start().await;
    let (own, _) = two_tenants(&platform).await;
    let good = &own.owner.token;
    let mut attacks = platform.forge().refused(good);
    attacks.extend(revoked(&platform, &own).await);
    attacks.push(("a service's token", SERVICE_TOKEN.to_owned()));
    let operations = operations(&platform);
    let (mut count, mut failures) = (0, Vec::new());
    let mut expect = |what: String, found: u16, is_expected: bool| {
        count += 1;
        if !is_expected {
            failures.push(format!("{what}: {found}"));
        }
    };
    for (client, method, path) in &operations {
        let rule = internal_rule(path).unwrap();
        let name = |who: &str| format!("{method} {path} by {who}");
        for (who, client) in [
            ("no token", client.clone()),
            ("a user", client.token(good)),
            ("a user for a user", client.token(good).on_behalf(good)),
            ("a user without a service", client.on_behalf(good)),
        ] {
            let found = status(&client, method, path).await;
            expect(name(who), found, found == 401);
        }
        for caller in testkit::services().chain(["test"]) {
            let token =
                if caller == "test" { SERVICE_TOKEN.to_owned() } else { testkit::service_token(caller) };
            let alone = client.token(&token);
            let found = status(&alone, method, path).await;
            if !rule.allows(caller) {
                expect(name(caller), found, found == 403);
                let found = status(&alone.on_behalf(good), method, path).await;
                expect(name(&format!("{caller} for a user")), found, found == 403);
                continue;
            }
            let is_expected = match rule.subject {
                Subject::Required(_) => found == 401,
                Subject::None | Subject::Optional(_) => ![401, 403].contains(&found) && found < 500,
            };
            expect(name(caller), found, is_expected);
            let found = status(&alone.on_behalf(good), method, path).await;
            let is_expected = match rule.subject {
                Subject::None => found == 403,
                Subject::Optional(_) | Subject::Required(_) => ![401, 403].contains(&found) && found < 500,
            };
            expect(name(&format!("{caller} for a user")), found, is_expected);
            for (attack, token) in &attacks {
                let found = status(&alone.on_behalf(token), method, path).await;
                let refused = if rule.subject == Subject::None { 403 } else { 401 };
                expect(name(&format!("{caller} with {attack}")), found, found == refused);
            }
        }
    }
    eprintln!("{} operations, {count} requests", operations.len());
    assert!(operations.len() > 20, "{operations:?}");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}
