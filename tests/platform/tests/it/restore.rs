//! An hour-old database on a cluster that has moved on.

use std::{collections::BTreeMap, time::Duration};

use crate::support::{BUCKET, LARGE, Platform, SMALL, VOLUME};
use atelier_admin::{adopt, backup, check, evict, restore};
use ids::{StorageId, TenantId};
use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::within;

use crate::users::User;

/// How long the platform may take to bring everything into agreement.
const SETTLE: Duration = Duration::from_secs(90);
/// For how long a disagreement has to last.
const GRACE: Duration = Duration::from_secs(2);

/// A tenant's user of both services.
struct Tenant {
    instances: User,
    storages: User,
}

impl Tenant {
    fn new(platform: &Platform, tenant: TenantId) -> Self {
        let token = platform.token(tenant);
        Self {
            instances: User::new(platform.gpu_url(), token.clone(), 1),
            storages: User::new(platform.storage_url(), token, 1),
        }
    }

    async fn accepted(user: &mut User, method: Method, path: &str, body: Option<Value>) -> Value {
        let (status, answer) = user.send(method.clone(), path, body).await;
        assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
        answer
    }

    /// Orders an instance, and waits until it runs.
    async fn run(&mut self, spec: &str, storage: Option<&str>) -> String {
        let order = json!({ "gpu_spec": spec, "service": "shell", "version": "1", "storage_id": storage });
        let created = Self::accepted(&mut self.instances, Method::POST, "/v1/instances", Some(order)).await;
        let id = created["id"].as_str().unwrap().to_owned();
        self.reaches(&id, "running").await;
        id
    }

    async fn act(&mut self, id: &str, action: &str, body: Option<Value>) {
        Self::accepted(&mut self.instances, Method::POST, &format!("/v1/instances/{id}/{action}"), body)
            .await;
    }

    async fn instance(&mut self, id: &str) -> Value {
        self.instances.send(Method::GET, &format!("/v1/instances/{id}"), None).await.1
    }

    async fn reaches(&mut self, id: &str, state: &str) {
        let what = format!("{id} is {state}");
        within(SETTLE, &what, async || (self.instance(id).await["state"] == state).then_some(())).await;
    }

    async fn delete(&mut self, id: &str) {
        Self::accepted(&mut self.instances, Method::DELETE, &format!("/v1/instances/{id}"), None).await;
        let what = format!("{id} is deleted");
        within(SETTLE, &what, async || (self.instance(id).await["status"] == 404).then_some(())).await;
    }

    /// Orders a storage, and waits until it is available.
    async fn store(&mut self, name: &str, spec: &str) -> String {
        let order = json!({ "name": name, "storage_spec": spec, "size_gib": 2 });
        let created = Self::accepted(&mut self.storages, Method::POST, "/v1/storages", Some(order)).await;
        let id = created["id"].as_str().unwrap().to_owned();
        self.storage_reaches(&id, "available").await;
        id
    }

    async fn storage(&mut self, id: &str) -> Value {
        self.storages.send(Method::GET, &format!("/v1/storages/{id}"), None).await.1
    }

    async fn storage_reaches(&mut self, id: &str, state: &str) {
        let what = format!("{id} is {state}");
        within(SETTLE, &what, async || (self.storage(id).await["state"] == state).then_some(())).await;
    }

    async fn delete_storage(&mut self, id: &str) {
        Self::accepted(&mut self.storages, Method::DELETE, &format!("/v1/storages/{id}"), None).await;
        let what = format!("{id} is deleted");
        within(SETTLE, &what, async || (self.storage(id).await["status"] == 404).then_some(())).await;
    }
}

/// A service that charges for usage: it follows the feed, and keeps the highest version of each run.
#[derive(Default)]
struct Billing {
    cursor: String,
    runs: BTreeMap<String, Value>,
}

impl Billing {
    async fn follow(&mut self, platform: &Platform) {
        loop {
            let path = format!("/internal/v1/usage?after={}", self.cursor);
            let page = platform.gpu_for_services().get(&path).await.expect(200).body;
            for record in page["items"].as_array().unwrap() {
                let id = record["run_id"].as_str().unwrap().to_owned();
                let known = self.runs.get(&id).and_then(|known| known["version"].as_i64());
                if known.is_none_or(|known| known < record["version"].as_i64().unwrap()) {
                    self.runs.insert(id, record.clone());
                }
            }
            page["next_cursor"].as_str().unwrap().clone_into(&mut self.cursor);
            if page["complete"] == true {
                return;
            }
        }
    }

    /// The closed intervals of an instance or unit, in their order.
    fn intervals(&self, field: &str, value: &str) -> Vec<(Timestamp, Timestamp)> {
        let time = |record: &Value, name: &str| record[name].as_str().map(|text| text.parse().unwrap());
        let of = self.runs.values().filter(|record| record[field] == value);
        let mut all: Vec<_> =
            of.filter_map(|record| Some((time(record, "from")?, time(record, "to")?))).collect();
        all.sort();
        all
    }

    fn assert_nothing_twice(&self) {
        for field in ["instance_id", "unit_id"] {
            let mut values: Vec<&str> = self.runs.values().map(|run| run[field].as_str().unwrap()).collect();
            values.sort_unstable();
            values.dedup();
            for value in values {
                let intervals = self.intervals(field, value);
                for pair in intervals.windows(2) {
                    assert!(
                        pair[0].1 <= pair[1].0,
                        "{value} is billed twice: {intervals:?} {:#?}",
                        self.runs
                    );
                }
            }
        }
    }
}

/// What `check` finds, as invariants and subjects.
async fn found(config: &atelier_admin::Config) -> Vec<String> {
    let findings = check::run(config, GRACE).await.unwrap();
    findings.iter().map(|found| format!("{} {}", found.invariant, found.subject)).collect()
}

async fn agrees(config: &atelier_admin::Config, but: &[String]) {
    within(SETTLE, "everything agrees", async || {
        let found = found(config).await;
        (found == but).then_some(())
    })
    .await;
}

fn k8s(id: &str) -> String {
    id.replace('_', "-")
}

async fn record_tenant(platform: &Platform, tenant: TenantId) {
    let _ = platform.db().service(atelier_identity::NAME, &atelier_identity::MIGRATIONS).await;
    let mut conn = platform.db().admin().await;
    sqlx::query("insert into identity.tenants (id, name) values ($1, 'studio')")
        .bind(tenant)
        .execute(&mut conn)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_database_and_a_cluster_that_moved_on_agree_again() {
    let mut platform = Platform::start().await;
    let id = TenantId::new();
    record_tenant(&platform, id).await;
    let config = platform.admin_config().await;
    let mut tenant = Tenant::new(&platform, id);

    // as it is backed up: all units but one are in use or held
    let kept = tenant.store("kept", VOLUME).await;
    let lost = tenant.store("lost", VOLUME).await;
    let bucket = tenant.store("bucket", BUCKET).await;
    let started_later = tenant.run(SMALL, None).await;
    tenant.act(&started_later, "stop", None).await;
    tenant.reaches(&started_later, "stopped").await;
    let stays = tenant.run(SMALL, Some(&kept)).await;
    let stopped_later = tenant.run(SMALL, None).await;
    let deleted_later = tenant.run(SMALL, None).await;
    let restarted_later = tenant.run(LARGE, None).await;
    let held = tenant.run(SMALL, None).await;
    tenant.act(&held, "stop", Some(json!({ "hold": { "for_seconds": 3600 } }))).await;
    tenant.reaches(&held, "stopped").await;
    let mut billing = Billing::default();
    billing.follow(&platform).await;
    agrees(&config, &[]).await;

    let folder = tempfile::tempdir().unwrap();
    let manifest = backup::backup(&config, &folder.path().join("backup")).await.unwrap();
    assert!(manifest.bytes > 0);

    // the platform moves on
    tenant.act(&stopped_later, "stop", None).await;
    tenant.reaches(&stopped_later, "stopped").await;
    tenant.delete(&deleted_later).await;
    Tenant::accepted(&mut tenant.instances, Method::DELETE, &format!("/v1/instances/{held}/hold"), None)
        .await;
    within(SETTLE, "the hold has ended", async || {
        tenant.instance(&held).await["hold"].is_null().then_some(())
    })
    .await;
    tenant.act(&restarted_later, "stop", None).await;
    tenant.reaches(&restarted_later, "stopped").await;
    tenant.act(&restarted_later, "start", None).await;
    tenant.reaches(&restarted_later, "running").await;
    tenant.act(&started_later, "start", None).await;
    tenant.reaches(&started_later, "running").await;
    let new_volume = tenant.store("new", VOLUME).await;
    let new_bucket = tenant.store("new bucket", BUCKET).await;
    let new = tenant.run(SMALL, Some(&new_volume)).await;
    tenant.delete_storage(&lost).await;
    billing.follow(&platform).await;
    agrees(&config, &[]).await;

    // a restore while services run, or over what exists, is refused
    let backup = folder.path().join("backup");
    let refused = restore::restore(&config, &backup, true, Timestamp::now()).await.unwrap_err();
    assert!(refused.to_string().contains("stop all services"), "{refused}");
    platform.stop_services();
    let refused = restore::restore(&config, &backup, false, Timestamp::now()).await.unwrap_err();
    assert!(refused.to_string().contains("--replace"), "{refused}");
    within(SETTLE, "no service is connected", async || {
        let connected = "select count(*) from pg_stat_activity
            where datname = current_database() and usename ~ '^atelier_[a-z]+_(app|worker)$'";
        (platform.count(connected).await == 0).then_some(())
    })
    .await;
    restore::restore(&config, &backup, true, Timestamp::now()).await.unwrap();
    platform.start_services().await;

    // what was created after the backup is reported, and nothing deletes it
    let unit = within(SETTLE, "the new instance is reported", async || {
        evict::evict(&config, false).await.unwrap().into_iter().find(|found| found.instance == k8s(&new))
    })
    .await;
    let mut expected = vec![
        format!("buckets {}", k8s(&new_bucket)),
        format!("unit-occupants main/{}", unit.unit),
        format!("volume-objects main/{}", k8s(&new_volume)),
    ];
    let pod = found(&config).await.into_iter().find(|found| found.starts_with("instance-pods ")).unwrap();
    expected.push(pod);
    expected.sort();
    agrees(&config, &expected).await;

    // each command's effect, then all agree
    assert_eq!(evict::evict(&config, true).await.unwrap().len(), 1);
    for (storage, spec, size_gib) in [(&new_volume, VOLUME, None), (&new_bucket, BUCKET, Some(2))] {
        let id: StorageId = storage.parse().unwrap();
        let request = adopt::Request { id, storage_spec: spec.into(), name: None, size_gib };
        adopt::adopt(&config, &request).await.unwrap();
        let again = adopt::adopt(&config, &request).await.unwrap_err();
        assert!(again.to_string().contains("has a row"), "{again}");
        tenant.storage_reaches(storage, "available").await;
    }
    agrees(&config, &[]).await;

    // what its users see
    for (instance, state, reason) in [
        (&stays, "running", Value::Null),
        (&restarted_later, "running", Value::Null),
        (&stopped_later, "stopped", json!("restored")),
        (&deleted_later, "stopped", json!("restored")),
        (&started_later, "stopped", Value::Null),
        (&held, "stopped", Value::Null),
    ] {
        let instance = tenant.instance(instance).await;
        assert_eq!((&instance["state"], &instance["reason"]), (&json!(state), &reason), "{instance:#}");
        assert_eq!(instance["hold"], Value::Null);
    }
    for (storage, state) in [(&kept, "available"), (&bucket, "available"), (&lost, "failed")] {
        assert_eq!(tenant.storage(storage).await["state"], state);
    }

    // no unit had two holders, what stays was not touched, and nothing is billed twice
    assert_eq!(platform.evidence().violations(), [""; 0]);
    assert!(platform.evidence().runs().iter().all(|run| run.instance != k8s(&stays)), "it was interrupted");
    billing.follow(&platform).await;
    billing.assert_nothing_twice();
    // a comparison finds the run of an instance that was started after the backup
    platform.correct_usage().await;
    // all that ran is in the bill, with the end that the cluster reported
    for run in platform.evidence().runs().iter().filter(|run| run.instance != k8s(&new)) {
        let instance = run.instance.replace('-', "_");
        within(SETTLE, &format!("{run:?} is billed"), async || {
            billing.follow(&platform).await;
            // an end that was not observed is billed up to the last confirmation
            let agrees = |(from, to): &(Timestamp, Timestamp)| {
                *from == run.started_at && (*to == run.ended_at || run.end_unseen && *to < run.ended_at)
            };
            billing.intervals("instance_id", &instance).iter().any(agrees).then_some(())
        })
        .await;
    }
    billing.assert_nothing_twice();

    // the platform works
    let another = tenant.run(SMALL, Some(&new_volume)).await;
    tenant.delete(&another).await;
    tenant.act(&stopped_later, "start", None).await;
    tenant.reaches(&stopped_later, "running").await;
    agrees(&config, &[]).await;
}
