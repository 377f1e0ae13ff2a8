//! The queue of instances that wait for a unit: order, fairness, races, crashes, and what is told about it.

use std::collections::{BTreeMap, BTreeSet};

use ids::TenantId;
use serde_json::{Value, json};
use testkit::eventually;

use crate::{
    fixture::{Fixture, Replica, instance, tenant},
    operator::Cluster,
};

const QUEUE: &str = "/internal/v1/queue";
const GRANTS: &str = "/internal/v1/queue-grants";
/// Free units in an active datacenter, for which somebody waits: none, at any time.
const FREE_BESIDE_WAITING: &str =
    "select count(*) from stock.units u where u.state = 'available' and exists (
    select from stock.queue_entries q
    where q.gpu_spec_id = u.gpu_spec_id and (q.datacenter_id is null or q.datacenter_id = u.datacenter_id))";

/// How an instance waits.
#[derive(Debug, Clone)]
struct Wish {
    instance: String,
    tenant: String,
    datacenter: Option<String>,
    priority: i32,
}

impl Wish {
    fn of(tenant: &str) -> Self {
        Self { instance: instance(), tenant: tenant.to_owned(), datacenter: None, priority: 0 }
    }

    fn body(&self, spec: &str) -> Value {
        json!({ "tenant_id": self.tenant, "gpu_spec_id": spec, "datacenter_id": self.datacenter,
            "priority": self.priority, "attempt": 1 })
    }
}

impl Replica {
    /// Claims or waits; returns the datacenter of the unit, none while it waits.
    async fn wait(&self, wish: &Wish, spec: &str) -> Option<String> {
        let path = format!("{QUEUE}/{}", wish.instance);
        let turn = self.service.put(&path, wish.body(spec)).await.expect(200);
        turn.body["claim"]["datacenter_id"].as_str().map(str::to_owned)
    }

    async fn entries(&self, instances: &[String]) -> Vec<Value> {
        let path = format!("{QUEUE}?instance_ids={}", instances.join(","));
        self.on_behalf.get(&path).await.expect(200).body["items"].as_array().unwrap().clone()
    }

    async fn holds(&self, instance: &str) -> bool {
        self.service.get(&format!("/internal/v1/claims/{instance}")).await.status == 200
    }
}

fn tenants(count: usize) -> Vec<String> {
    (0..count).map(|_| TenantId::new().to_string()).collect()
}

/// Numbers that repeat with the seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % 1_000_003).unwrap() % limit
    }
}

/// The queue as it should be.
#[derive(Default)]
struct Model {
    /// With round and order of arrival.
    waiting: Vec<(Wish, i64, usize)>,
    rounds: BTreeMap<i32, i64>,
    /// Instance → datacenter of its unit.
    holders: BTreeMap<String, String>,
    free: BTreeMap<String, usize>,
    arrivals: usize,
}

impl Model {
    fn round(&self, priority: i32) -> i64 {
        self.rounds.get(&priority).copied().unwrap_or(0)
    }

    fn enter(&mut self, wish: Wish) {
        let own = self
            .waiting
            .iter()
            .filter(|(other, ..)| (&other.tenant, other.priority) == (&wish.tenant, wish.priority));
        let turn = 1 + own.map(|(_, turn, _)| *turn).max().unwrap_or(0).max(self.round(wish.priority));
        self.arrivals += 1;
        self.waiting.push((wish, turn, self.arrivals));
        self.waiting.sort_by_key(|(wish, turn, arrival)| (-wish.priority, *turn, *arrival));
    }

    fn release(&mut self, instance: &str) {
        if let Some(at) = self.waiting.iter().position(|(wish, ..)| wish.instance == instance) {
            let (gone, turn, _) = self.waiting.remove(at);
            let first = self.round(gone.priority) + 1;
            for (wish, later, _) in &mut self.waiting {
                if (&wish.tenant, wish.priority) == (&gone.tenant, gone.priority) && *later > turn {
                    *later = (*later).min((*later - 1).max(first));
                }
            }
            self.waiting.sort_by_key(|(wish, turn, arrival)| (-wish.priority, *turn, *arrival));
        }
        let Some(place) = self.holders.remove(instance) else { return };
        let fits = |wish: &Wish| wish.datacenter.as_ref().is_none_or(|wanted| *wanted == place);
        match self.waiting.iter().position(|(wish, ..)| fits(wish)) {
            Some(at) => {
                let (next, turn, _) = self.waiting.remove(at);
                let round = self.rounds.entry(next.priority).or_default();
                *round = (*round).max(turn);
                self.holders.insert(next.instance, place);
            }
            None => *self.free.entry(place).or_default() += 1,
        }
    }

    fn has_room(&self, wish: &Wish) -> bool {
        let fits = |place: &String| wish.datacenter.as_ref().is_none_or(|wanted| wanted == place);
        self.free.iter().any(|(place, free)| *free > 0 && fits(place))
    }

    /// Instance → place in the queue.
    fn positions(&self) -> BTreeMap<String, i64> {
        let competes = |one: &Wish, other: &Wish| {
            one.datacenter.is_none() || other.datacenter.is_none() || one.datacenter == other.datacenter
        };
        let position = |(n, (wish, ..)): (usize, &(Wish, i64, usize))| {
            let ahead = self.waiting[..n].iter().filter(|(other, ..)| competes(wish, other)).count();
            (wish.instance.clone(), i64::try_from(ahead).unwrap() + 1)
        };
        self.waiting.iter().enumerate().map(position).collect()
    }
}

#[tokio::test]
async fn the_queue_is_what_the_model_says_after_any_commands() {
    for seed in 1..=4 {
        let fixture = Fixture::new().await;
        let replica = fixture.replica().await;
        let spec = replica.spec("a", "1").await;
        let places = [replica.datacenter("uk-1").await, replica.datacenter("de-1").await];
        fixture.units("a", "uk-1", 2).await;
        fixture.units("a", "de-1", 1).await;
        let tenants = tenants(3);
        let mut random = Random(seed);
        let mut model =
            Model { free: [(places[0].clone(), 2), (places[1].clone(), 1)].into(), ..Model::default() };
        let mut known: Vec<String> = Vec::new();
        for step in 0..90 {
            // a third of the steps ends a claim or a wait
            if random.below(3) == 0 && !known.is_empty() {
                let instance = known.swap_remove(random.below(known.len()));
                replica.release(&instance).await;
                model.release(&instance);
            } else {
                let mut wish = Wish::of(&tenants[random.below(5).min(2)]);
                wish.priority = i32::from(random.below(8) == 0);
                wish.datacenter = places.get(random.below(6)).cloned();
                let place = replica.wait(&wish, &spec).await;
                assert_eq!(place.is_some(), model.has_room(&wish), "seed {seed}, step {step}: {wish:?}");
                known.push(wish.instance.clone());
                match place {
                    Some(place) => {
                        *model.free.get_mut(&place).unwrap() -= 1;
                        model.holders.insert(wish.instance, place);
                    }
                    None => model.enter(wish),
                }
            }
            if known.is_empty() {
                continue;
            }
            let positions: BTreeMap<String, i64> = replica
                .entries(&known)
                .await
                .iter()
                .map(|entry| {
                    (entry["instance_id"].as_str().unwrap().to_owned(), entry["position"].as_i64().unwrap())
                })
                .collect();
            assert_eq!(positions, model.positions(), "seed {seed}, step {step}");
        }
        let mut holders = BTreeSet::new();
        for instance in &known {
            if replica.holds(instance).await {
                holders.insert(instance.clone());
            }
        }
        assert_eq!(holders, model.holders.into_keys().collect(), "seed {seed}");
        fixture.assert_sound().await;
    }
}

#[tokio::test]
async fn tenants_take_turns_and_a_claim_passes_nobody() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let spec = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 1).await;
    let tenants = tenants(2);
    let first = Wish::of(&tenants[0]);
    assert!(replica.wait(&first, &spec).await.is_some());
    let many: Vec<Wish> = (0..3).map(|_| Wish::of(&tenants[0])).collect();
    for wish in &many {
        assert!(replica.wait(wish, &spec).await.is_none());
    }
    let one = Wish::of(&tenants[1]);
    assert!(replica.wait(&one, &spec).await.is_none());
    assert_eq!(replica.entries(std::slice::from_ref(&one.instance)).await[0]["position"], 2);
    // who asks again keeps its place
    assert!(replica.wait(&one, &spec).await.is_none());

    let mut holder = first.instance;
    for next in [&many[0].instance, &one.instance, &many[1].instance, &many[2].instance] {
        // with the unit given at the moment of its release, a claim finds none
        replica.claim(&instance(), &spec).await.expect_problem(409, "stock-exhausted");
        replica.release(&holder).await;
        assert!(replica.holds(next).await);
        holder.clone_from(next);
    }
    replica.release(&holder).await;
    assert_eq!(replica.numbers().await, [1, 0, 0, 1]);
    fixture.assert_sound().await;
}

#[tokio::test]
async fn leaving_the_queue_ends_the_wait_of_this_start_only() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let spec = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 1).await;
    let (holder, waiting) = (Wish::of(tenant()), Wish::of(tenant()));
    assert!(replica.wait(&holder, &spec).await.is_some());
    let mut body = waiting.body(&spec);
    body["attempt"] = json!(2);
    let path = format!("{QUEUE}/{}", waiting.instance);
    let _ = replica.service.put(&path, body.clone()).await.expect(200);
    // a late release for the first start
    let claim = format!("/internal/v1/claims/{}?claimed_at=1970-01-01T00:00:00Z", waiting.instance);
    let _ = replica.service.delete(&format!("{claim}&attempt=1")).await.expect(204);
    assert_eq!(replica.entries(std::slice::from_ref(&waiting.instance)).await.len(), 1);
    let _ = replica.service.delete(&format!("{claim}&attempt=2")).await.expect(204);
    assert_eq!(replica.entries(std::slice::from_ref(&waiting.instance)).await.len(), 0);
    replica.release(&holder.instance).await;
    assert_eq!(replica.numbers().await, [1, 0, 0, 1]);

    body["priority"] = json!(101);
    let refused = replica.service.put(&path, body).await.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/priority");
    let nothing = format!("{QUEUE}?instance_ids=x");
    replica.on_behalf.get(&nothing).await.expect_problem(422, "invalid-field");
}

#[tokio::test]
async fn grants_are_published_and_the_wait_is_explained() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let spec = replica.spec("a", "0.2").await;
    let _ = replica.spec("b", "0.3").await;
    let uk = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 1).await;
    let quote = format!("/internal/v1/quotes?gpu_spec_id={spec}");
    let free = replica.on_behalf.get(&quote).await.expect(200).body;
    assert_eq!(
        free,
        json!({ "available": 1, "draining": false, "waiting": 0, "estimate": null, "alternatives": [] })
    );

    let wishes: Vec<Wish> = (0..6).map(|_| Wish::of(tenant())).collect();
    for wish in &wishes {
        let _ = replica.wait(wish, &spec).await;
    }
    // three releases are the basis of an estimate
    for wish in &wishes[..3] {
        replica.release(&wish.instance).await;
    }
    fixture.sql("update stock.unit_holders set released_at = released_at - interval '1 minute'").await;
    fixture.units("b", "uk-1", 2).await;
    let grants = replica.service.get(GRANTS).await.expect(200).body;
    let told: Vec<&str> = grants["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["change"]["instance_id"].as_str().unwrap())
        .collect();
    assert_eq!(told, wishes[1..4].iter().map(|wish| wish.instance.as_str()).collect::<Vec<_>>());
    let after = format!("{GRANTS}?after={}", grants["next_cursor"].as_str().unwrap());
    assert_eq!(replica.service.get(&after).await.expect(200).body["items"], json!([]));
    replica.service.get(&format!("{GRANTS}?after=x")).await.expect_problem(422, "invalid-field");

    let ids: Vec<String> = wishes.iter().map(|wish| wish.instance.clone()).collect();
    let entries = replica.entries(&ids).await;
    assert_eq!(entries.len(), 2);
    for entry in &entries {
        assert_eq!((&entry["length"], &entry["gpu_spec"]["name"]), (&json!(2), &json!("a")));
        assert_eq!(entry["estimate"]["releases"], 3);
        assert_eq!(entry["alternatives"][0]["gpu_spec"]["name"], "b");
        assert_eq!(entry["alternatives"][0]["price_per_hour"], "0.3");
    }
    let full = replica.on_behalf.get(&format!("{quote}&datacenter_id={uk}")).await.expect(200).body;
    assert_eq!((&full["available"], &full["waiting"]), (&json!(0), &json!(2)));
    assert_eq!(full["alternatives"][0]["available"], 2);
    assert!(full["estimate"]["starts_at"].is_string());
    assert_eq!(fixture.count("select count(*) from stock.queue_entries").await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_unit_is_free_while_an_instance_waits_whatever_happens_at_once() {
    let fixture = Fixture::new().await;
    let replicas = [fixture.replica().await, fixture.replica().await];
    let spec = replicas[0].spec("a", "1").await;
    let places = [replicas[0].datacenter("uk-1").await, replicas[0].datacenter("de-1").await];
    fixture.units("a", "uk-1", 5).await;
    fixture.units("a", "de-1", 3).await;
    let tenants = tenants(4);

    // committed states are checked all the while
    let mut watcher = fixture.db.admin().await;
    let (stop, mut stopped) = tokio::sync::oneshot::channel::<()>();
    let watch = tokio::spawn(async move {
        let mut checks = 0;
        while stopped.try_recv().is_err() {
            let free: i64 = sqlx::query_scalar(FREE_BESIDE_WAITING).fetch_one(&mut watcher).await.unwrap();
            assert_eq!(free, 0, "a unit is free beside an instance that waits for it");
            checks += 1;
        }
        checks
    });
    let runs = (0..12).map(|n| {
        let services = [replicas[0].service.clone(), replicas[1].service.clone()];
        let (spec, places, tenants) = (spec.clone(), places.clone(), tenants.clone());
        tokio::spawn(async move {
            let mut random = Random(n + 7);
            let mut own: Vec<String> = Vec::new();
            for _ in 0..40 {
                let service = &services[random.below(2)];
                if random.below(2) == 0 && !own.is_empty() {
                    let instance = own.swap_remove(random.below(own.len()));
                    let path = format!("/internal/v1/claims/{instance}");
                    let _ = service.delete(&path).await.expect(204);
                } else if random.below(5) == 0 {
                    // without a wait
                    let instance = instance();
                    let body =
                        json!({ "instance_id": instance, "tenant_id": tenants[0], "gpu_spec_id": spec });
                    if service.post("/internal/v1/claims", body).await.status == 201 {
                        own.push(instance);
                    }
                } else {
                    let mut wish = Wish::of(&tenants[random.below(4)]);
                    wish.datacenter = places.get(random.below(4)).cloned();
                    let path = format!("{QUEUE}/{}", wish.instance);
                    let _ = service.put(&path, wish.body(&spec)).await.expect(200);
                    own.push(wish.instance);
                }
            }
            own
        })
    });
    let mut left = Vec::new();
    for run in runs.collect::<Vec<_>>() {
        left.extend(run.await.unwrap());
    }
    stop.send(()).unwrap();
    let checks = watch.await.unwrap();
    assert!(checks > 20, "only {checks} checks");
    assert_eq!(fixture.count(FREE_BESIDE_WAITING).await, 0);
    fixture.assert_sound().await;

    // everybody who waits is served, and told of, once
    let waiting = fixture.count("select count(*) from stock.queue_entries").await;
    assert!(waiting > 0);
    while !left.is_empty() {
        let mut rest = Vec::new();
        for instance in left {
            if replicas[0].holds(&instance).await {
                replicas[1].release(&instance).await;
            } else {
                rest.push(instance);
            }
        }
        left = rest;
    }
    let free = "select count(*) from stock.units where state = 'available'";
    assert_eq!(fixture.count(free).await, 8);
    let twice = "select count(*) - count(distinct payload ->> 'instance_id') from stock.queue_grants";
    assert_eq!(fixture.count(twice).await, 0);
    fixture.assert_sound().await;
}

/// Waits until this many statements wait for a lock.
async fn until_blocked(fixture: &Fixture, count: i64) {
    eventually("statements wait for locks", async || {
        let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
        (fixture.count(waiting).await >= count).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_wait_that_begins_during_a_release_gets_its_unit() {
    let fixture = Fixture::new().await;
    let replicas = [fixture.replica().await, fixture.replica().await];
    let spec = replicas[0].spec("a", "1").await;
    let _ = replicas[0].datacenter("uk-1").await;
    fixture.units("a", "uk-1", 1).await;
    let (holder, next) = (Wish::of(tenant()), Wish::of(tenant()));
    assert!(replicas[0].wait(&holder, &spec).await.is_some());

    // the release has seen that nobody waits, and has not committed
    let mut blocker = fixture.role("worker").await;
    sqlx::raw_sql("begin; lock table unit_holders in exclusive mode").execute(&mut blocker).await.unwrap();
    let service = replicas[0].service.clone();
    let path = format!("/internal/v1/claims/{}", holder.instance);
    let release = tokio::spawn(async move { service.delete(&path).await.status });
    until_blocked(&fixture, 1).await;
    let service = replicas[1].service.clone();
    let (path, body) = (format!("{QUEUE}/{}", next.instance), next.body(&spec));
    let wait = tokio::spawn(async move { service.put(&path, body).await.expect(200).body });
    until_blocked(&fixture, 2).await;
    sqlx::raw_sql("rollback").execute(&mut blocker).await.unwrap();

    assert_eq!(release.await.unwrap(), 204);
    assert!(wait.await.unwrap()["claim"].is_object(), "the instance waits beside a free unit");
    assert_eq!(fixture.count(FREE_BESIDE_WAITING).await, 0);
    fixture.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_release_that_is_cut_off_before_its_commit_changes_nothing() {
    let fixture = Fixture::new().await;
    let (first, runtime) = fixture.doomed().await;
    let spec = first.spec("a", "1").await;
    let _ = first.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 1).await;
    let (holder, next, last) = (Wish::of(tenant()), Wish::of(tenant()), Wish::of(tenant()));
    assert!(first.wait(&holder, &spec).await.is_some());
    assert!(first.wait(&next, &spec).await.is_none());
    assert!(first.wait(&last, &spec).await.is_none());

    // the release has freed the unit and given it on, and cannot end
    let mut blocker = fixture.role("worker").await;
    sqlx::raw_sql("begin; lock table queue_grants in exclusive mode").execute(&mut blocker).await.unwrap();
    let service = first.service.clone();
    let path = format!("/internal/v1/claims/{}", holder.instance);
    let call = {
        let path = path.clone();
        tokio::spawn(async move { service.delete(&path).await.status })
    };
    until_blocked(&fixture, 1).await;
    runtime.shutdown_background();
    call.abort();
    sqlx::raw_sql("rollback").execute(&mut blocker).await.unwrap();

    let second = fixture.replica().await;
    assert!(second.holds(&holder.instance).await);
    let ids = [next.instance.clone(), last.instance.clone()];
    let mut positions: Vec<i64> =
        second.entries(&ids).await.iter().map(|e| e["position"].as_i64().unwrap()).collect();
    positions.sort_unstable();
    assert_eq!(positions, [1, 2]);
    assert_eq!(fixture.count("select count(*) from stock.queue_grants").await, 0);
    // the caller repeats it
    let _ = second.service.delete(&path).await.expect(204);
    assert!(second.holds(&next.instance).await);
    assert!(second.wait(&next, &spec).await.is_some());
    assert!(!second.holds(&last.instance).await);
    fixture.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn units_that_are_added_or_come_back_go_to_those_who_wait() {
    let cluster = Cluster::start().await;
    let fixture = Fixture::with_cluster(Some(cluster.kubeconfig())).await;
    let replica = fixture.replica().await;
    let spec = replica.spec("a", "1").await;
    let uk = replica.datacenter("uk-1").await;
    let _holding = cluster.hold_all();
    let wishes: Vec<Wish> = (0..3).map(|_| Wish::of(tenant())).collect();
    for wish in &wishes {
        assert!(replica.wait(wish, &spec).await.is_none());
    }
    let _ = replica.add("a", "uk-1", 2).await;
    replica.until_numbers([0, 0, 2, 2]).await;
    assert!(replica.holds(&wishes[0].instance).await && replica.holds(&wishes[1].instance).await);

    // a datacenter that drains gives nothing; when it is active again, the queue goes on
    let path = format!("/v1/datacenters/{uk}");
    let _ = replica.admin.patch(&path, "*", json!({ "state": "draining" })).await.expect(200);
    replica.release(&wishes[0].instance).await;
    assert_eq!(replica.numbers().await, [1, 0, 1, 2]);
    let _ = replica.admin.patch(&path, "*", json!({ "state": "active" })).await.expect(200);
    eventually("the last one is served", async || replica.holds(&wishes[2].instance).await.then_some(()))
        .await;

    // a follower is told while it waits
    let again = Wish::of(tenant());
    assert!(replica.wait(&again, &spec).await.is_none());
    let cursor = replica.service.get(GRANTS).await.expect(200).str("next_cursor").to_owned();
    let service = replica.service.clone();
    let follower = tokio::spawn(async move {
        service.get(&format!("{GRANTS}?wait_seconds=20&after={cursor}")).await.expect(200).body
    });
    replica.release(&wishes[1].instance).await;
    let grants = follower.await.unwrap();
    assert_eq!(grants["items"][0]["change"]["instance_id"], again.instance.as_str());
    fixture.assert_sound().await;
}
