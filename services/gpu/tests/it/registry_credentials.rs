//! Credentials for private registries: they reach the pod that pulls and nothing else, follow their instance, and end.

use auth::{Claims, Revocation, Role, session_of};
use ids::{ApiKeyId, InstanceId, TenantId, UserId};
use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use serde_json::{Value, json};
use testkit::{Client, Registry, RegistryAuth, eventually};

use crate::{
    harness::{Fixture, Setup},
    neighbours::SPEC,
    pods,
};

/// A value that is nowhere else.
const SECRET: &str = "hunter2-is-the-password-of-the-registry";

fn credential(name: &str, registry: &str) -> Value {
    json!({ "name": name, "registry": registry, "username": "robot", "secret": SECRET })
}

fn order(reference: &str) -> Value {
    json!({ "gpu_spec": SPEC,
            "image": { "reference": reference, "ports": [{ "port": 8080, "is_public": true }] } })
}

impl Fixture {
    async fn add_credential(&self, name: &str, registry: &str) -> String {
        let path = "/v1/registry-credentials";
        self.member().post(path, credential(name, registry)).await.expect(201).str("id").to_owned()
    }

    async fn delete_credential(&self, id: &str) {
        let _ = self.member().delete(&format!("/v1/registry-credentials/{id}")).await.expect(204);
    }

    /// The Secret with which the unit of the instance pulls, by the last word of its name: the credential.
    async fn pulls_with(&self, id: InstanceId) -> Option<String> {
        let unit = self.unit_of(id).await;
        let name = self.operator.unit(&unit).await.spec.instance?.pull_secret_name?;
        Some(format!("rcr_{}", name.rsplit('-').next().unwrap()))
    }

    /// Waits until the cluster has these credentials, and no other Secrets of the tenant.
    async fn has_pull_secrets(&self, credentials: &[&str]) {
        let mut expected: Vec<_> = credentials.iter().map(|id| id.trim_start_matches("rcr_")).collect();
        expected.sort_unstable();
        eventually(&format!("the cluster has {credentials:?}"), async || {
            let names = self.secret_names().await;
            let mut found: Vec<_> = names.iter().map(|name| name.rsplit('-').next().unwrap()).collect();
            found.sort_unstable();
            (found == expected).then_some(())
        })
        .await;
    }

    async fn rows(&self, table: &str) -> i64 {
        let count = format!("select count(*) from gpu.{table}");
        let count = sqlx::query_scalar(sqlx::AssertSqlSafe(count));
        count.fetch_one(&mut self.db.admin().await).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_is_listed_without_its_secret_and_belongs_to_its_tenant() {
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    let (member, path) = (fixture.member(), "/v1/registry-credentials");
    let keyed = member.clone().header("idempotency-key", "one");
    let made = keyed.post(path, credential("team", "INDEX.docker.io")).await.expect(201);
    let again = keyed.post(path, credential("team", "INDEX.docker.io")).await.expect(201);
    assert_eq!(made.body, again.body);
    let mut other = credential("team", "INDEX.docker.io");
    other["secret"] = json!("another one");
    keyed.post(path, other).await.expect_problem(422, "idempotency-key-reused");
    assert_eq!((made.str("registry"), made.str("username")), ("docker.io", "robot"));
    assert!(made.body["created_by"].is_string() && made.body["created_by_key"].is_null());
    member.post(path, credential("team", "ghcr.io")).await.expect_problem(409, "registry-credential-exists");
    let listed = member.get(path).await.expect(200);
    assert_eq!(listed.body["items"], json!([made.body]));
    for text in [&made.text, &listed.text] {
        assert!(!text.contains(SECRET), "{text}");
    }
    for (body, pointer) in [
        (json!({ "name": "x", "registry": "https://ghcr.io", "username": "a", "secret": "b" }), "/registry"),
        (json!({ "name": "x", "registry": "ghcr.io", "username": "", "secret": "b" }), "/username"),
        (json!({ "name": "x", "registry": "ghcr.io", "username": "a", "secret": 4711 }), "/secret"),
    ] {
        let refused = member.post(path, body).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{}", refused.text);
        assert!(!refused.text.contains("4711"), "{}", refused.text);
    }
    fixture
        .user(fixture.tenant, Role::Viewer)
        .post(path, credential("v", "ghcr.io"))
        .await
        .expect_problem(403, "forbidden");
    let id = made.str("id");
    let foreign = fixture.user(TenantId::new(), Role::Owner);
    assert_eq!(foreign.get(path).await.expect(200).body["items"], json!([]));
    foreign.delete(&format!("{path}/{id}")).await.expect_problem(404, "not-found");
    for n in 1..50 {
        let _ = member.post(path, credential(&format!("n{n}"), "ghcr.io")).await.expect(201);
    }
    let refused = member.post(path, credential("n50", "ghcr.io")).await;
    assert_eq!(refused.expect_problem(409, "too-many-registry-credentials").body["limit"], 50);
    fixture.delete_credential(id).await;
    member.delete(&format!("{path}/{id}")).await.expect_problem(404, "not-found");
    // neither the database nor the audit log has the secret in clear
    let mut admin = fixture.db.admin().await;
    for table in ["registry_credentials", "idempotency_keys", "audit_entries"] {
        let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
        let statement = format!("select count(*) from gpu.{table} t where t::text like any ($1)");
        let patterns = [SECRET.to_owned(), hex].map(|text| format!("%{text}%"));
        let found = sqlx::query_scalar::<_, i64>(sqlx::AssertSqlSafe(statement)).bind(&patterns[..]);
        assert_eq!(found.fetch_one(&mut admin).await.unwrap(), 0, "{table}");
    }
    assert_eq!(fixture.rows("registry_credentials").await, 49);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_pulled_with_the_credential_and_it_goes_away_with_its_instance() {
    let fixture = Fixture::start().await;
    fixture.allow_own_images(true).await;
    for auth in [RegistryAuth::Basic, RegistryAuth::Token] {
        let registry = Registry::start(auth, "robot", SECRET).await;
        let image = devcluster::ImageConfig::new(registry.image(), ["sh", "-c", "echo pulled"]).pulled();
        fixture.cluster.as_ref().unwrap().add_image(image);
        let credential = fixture.add_credential(&format!("{auth:?}"), registry.host()).await;
        let id = fixture.ordered(order(&registry.image())).await;
        assert_eq!(fixture.pulls_with(id).await.as_ref(), Some(&credential));
        let unit = fixture.unit_of(id).await;
        let wanted = fixture.operator.unit(&unit).await.spec.instance.unwrap();
        assert!(wanted.always_pull, "the node asks the registry each time");
        assert_eq!(wanted.trust, crds::Trust::Tenant);
        let spec = serde_json::to_string(&wanted).unwrap();
        assert!(!spec.contains(SECRET), "{spec}");
        // the pod that the operator makes of it
        let pod: Pod = serde_json::from_value(json!({
            "metadata": { "name": "pod" },
            "spec": { "restartPolicy": "Never", "imagePullSecrets": [{ "name": wanted.pull_secret_name }],
                      "containers": [{ "name": "main", "image": wanted.image, "imagePullPolicy": "Always" }] },
        }))
        .unwrap();
        eventually("the pod is created", async || {
            pods::of(&fixture).create(&PostParams::default(), &pod).await.ok()
        })
        .await;
        eventually("the image is pulled", async || (registry.pulls() == 1).then_some(())).await;
        pods::of(&fixture).delete("pod", &kube::api::DeleteParams::default().grace_period(0)).await.unwrap();
        eventually("the pod is gone", async || {
            pods::of(&fixture).get_opt("pod").await.unwrap().is_none().then_some(())
        })
        .await;
        fixture.brought_up(id).await;
        fixture.has_pull_secrets(&[&credential]).await;
        let _ = fixture.member().delete(&format!("/v1/instances/{id}")).await.expect(202);
        fixture.emptied(&unit).await;
        fixture.operator.ended(&unit, 160).await;
        fixture.gone(id).await;
        fixture.has_pull_secrets(&[]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_names_a_credential_for_its_registry_or_gets_the_newest_one() {
    let fixture = Fixture::start().await;
    fixture.allow_own_images(true).await;
    let member = fixture.member();
    let [first, second, elsewhere] = [
        fixture.add_credential("first", "ghcr.io").await,
        fixture.add_credential("second", "ghcr.io").await,
        fixture.add_credential("elsewhere", "quay.io").await,
    ];
    let foreign = fixture.user(TenantId::new(), Role::Member);
    let foreign = foreign.post("/v1/registry-credentials", credential("x", "ghcr.io")).await.expect(201);
    for id in [elsewhere.as_str(), foreign.str("id"), "rcr_01939f0a7c3d7e6b8a1f4f0d5c2b1a00"] {
        let mut order = order("ghcr.io/team/app:1");
        order["image"]["registry_credential"] = json!(id);
        for path in ["/v1/instances", "/v1/instances/quote"] {
            let refused = member.post(path, order.clone()).await.expect_problem(422, "invalid-field");
            assert_eq!(refused.body["errors"][0]["pointer"], "/image/registry_credential", "{id}");
        }
    }
    let mut named = order("ghcr.io/team/app:1");
    named["image"]["registry_credential"] = json!(first);
    let named = fixture.ordered(named).await;
    let shown = member.get(&format!("/v1/instances/{named}")).await.expect(200);
    assert_eq!(shown.body["image"]["registry_credential"], json!(first));
    let unnamed = fixture.ordered(order("ghcr.io/team/app:1")).await;
    assert_eq!(fixture.pulls_with(named).await, Some(first.clone()));
    assert_eq!(fixture.pulls_with(unnamed).await, Some(second.clone()));
    fixture.brought_up(named).await;
    fixture.brought_up(unnamed).await;

    // a newer one is used from the next restart on, and the older one is removed from the cluster
    let third = fixture.add_credential("third", "ghcr.io").await;
    fixture.has_pull_secrets(&[&first, &third]).await;
    assert_eq!(fixture.pulls_with(unnamed).await, Some(third.clone()));
    fixture.delete_credential(&third).await;
    fixture.has_pull_secrets(&[&first, &second]).await;
    fixture.delete_credential(&second).await;
    fixture.delete_credential(&first).await;
    fixture.has_pull_secrets(&[]).await;
    assert_eq!((fixture.pulls_with(named).await, fixture.pulls_with(unnamed).await), (None, None));
    for id in [named, unnamed] {
        fixture.in_state(id, "running").await;
    }

    // what names one that was deleted does not start without it
    let unit = fixture.unit_of(named).await;
    fixture.act(named, "stop").await;
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 160).await;
    fixture.in_state(named, "stopped").await;
    let start = format!("/v1/instances/{named}/start");
    member.post(&start, Value::Null).await.expect_problem(409, "registry-credential-missing");
    let _ = fixture.change(named, json!({ "image": order("ghcr.io/team/app:1")["image"] })).await.expect(200);
    let _ = member.post(&start, Value::Null).await.expect(202);
    assert_eq!(fixture.pulls_with(named).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_ends_with_its_maker() {
    let fixture = Fixture::with(Setup { units: 1, ..Setup::default() }).await;
    fixture.allow_own_images(true).await;
    let (user, key) = (UserId::new(), ApiKeyId::new());
    let client = |sub: UserId, key: Option<ApiKeyId>| {
        let claims = fixture.issuer.claims(Some((fixture.tenant, Role::Member)), false);
        let sid = key.map(session_of);
        Client::new(&fixture.base).token(&fixture.issuer.sign(&Claims { sub, key, sid, ..claims }))
    };
    let path = "/v1/registry-credentials";
    for (client, name) in
        [(client(user, None), "person"), (client(user, Some(key)), "script"), (fixture.member(), "other")]
    {
        let _ = client.post(path, credential(name, "ghcr.io")).await.expect(201);
    }
    let left = async |expected: &[&str]| {
        eventually(&format!("{expected:?} are left"), async || {
            let items =
                fixture.member().get(path).await.expect(200).body["items"].as_array().unwrap().clone();
            let names: Vec<_> = items.iter().map(|one| one["name"].as_str().unwrap()).collect();
            (names == expected).then_some(())
        })
        .await;
    };
    left(&["other", "script", "person"]).await;
    fixture.issuer.revoke(Revocation { session_id: Some(session_of(key)), ..Revocation::default() });
    left(&["other", "person"]).await;
    fixture.issuer.revoke(Revocation {
        user_id: Some(user),
        tenant_id: Some(fixture.tenant),
        session_id: None,
    });
    left(&["other"]).await;
    let entries = "select count(*) from gpu.audit_entries where tenant_id = $1 and entry like '%end_registry_credential%'";
    let entries = sqlx::query_scalar::<_, i64>(entries).bind(fixture.tenant.uuid());
    assert_eq!(entries.fetch_one(&mut fixture.db.admin().await).await.unwrap(), 2);
}
