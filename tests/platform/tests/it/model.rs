//! Many users give random commands while replicas are killed and nodes are lost. What must hold at every moment is
//! checked at every moment. At the end every instance that waits is served, nothing is left over, and the usage equals the
//! evidence.

use std::time::Duration;

use crate::support::{NODES, Platform, RunEvidence};
use ids::TenantId;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use reqwest::Method;
use serde_json::Value;
use testkit::within;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use crate::users::{User, any};

const TENANTS: u64 = 4;
const USERS_OF_A_TENANT: u64 = 2;
/// The longest time until everything has settled after the last fault: leases expire, nodes come back.
const SETTLE: Duration = Duration::from_secs(90);

/// Units that are free beside an instance that waits for one; zero in every committed state.
const UNSERVED: &str = "
    select count(*) from stock.units u join stock.queue_entries q using (gpu_spec_id)
    where u.state = 'available' and (q.datacenter_id is null or q.datacenter_id = u.datacenter_id)";
/// Instances that hold two units.
const TWICE: &str = "
    select count(*) from (select holder_instance from stock.units where holder_instance is not null
                          group by 1 having count(*) > 1) x";

async fn assert_sound(platform: &Platform) {
    assert_eq!(platform.count(UNSERVED).await, 0, "a unit is free while an instance waits for it");
    assert_eq!(platform.count(TWICE).await, 0, "an instance holds two units");
    assert_eq!(platform.queue_violations().await, [""; 0], "the order of the queue");
    assert_eq!(platform.evidence().violations(), [""; 0], "units in the cluster");
}

/// Waits until `reached` is true, and checks the invariants meanwhile.
async fn settled(platform: &Platform, what: &str, mut reached: impl AsyncFnMut() -> bool) {
    within(SETTLE, what, async || {
        assert_sound(platform).await;
        reached().await.then_some(())
    })
    .await;
}

/// Kills replicas and loses nodes, long and often enough. Returns what was done.
async fn break_things(platform: &mut Platform, random: &mut StdRng) -> Vec<String> {
    let (begun, mut done, mut failed) = (Instant::now(), Vec::new(), None::<(&str, Instant)>);
    // at least: on a slow machine faults take longer
    let (seconds, faults) = testkit::budget((20, 20), (120, 100));
    while begun.elapsed().as_secs() < seconds || done.len() < faults {
        // no condition to wait for: the faults come at random times
        sleep(Duration::from_millis(random.random_range(200..1200))).await;
        if let Some((node, until)) = failed
            && until < Instant::now()
        {
            platform.recover_node(node);
            failed = None;
        }
        match random.random_range(0..10) {
            0..4 => {
                let n = random.random_range(0..3);
                platform.restart_gpu(n).await;
                done.push(format!("gpu {n} killed"));
            }
            4..7 => {
                let n = random.random_range(0..2);
                platform.restart_stock(n).await;
                done.push(format!("stock {n} killed"));
            }
            7 => {
                platform.restart_operator().await;
                done.push("operator killed".to_owned());
            }
            _ if failed.is_none() => {
                let node = any(random, &NODES);
                platform.fail_node(node).await;
                failed =
                    Some((node, Instant::now() + Duration::from_millis(random.random_range(1000..8000))));
                done.push(format!("{node} lost"));
            }
            _ => {}
        }
        assert_sound(platform).await;
    }
    if let Some((node, _)) = failed {
        platform.recover_node(node);
    }
    done
}

/// All instances of a tenant, by pages.
async fn instances(user: &mut User) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/instances?limit=50{cursor}");
        let (status, mut page) = user.send(Method::GET, &path, None).await;
        assert_eq!(status, 200, "{page}");
        all.append(page["items"].as_array_mut().unwrap());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

fn is_queued(instance: &Value) -> bool {
    instance["state"] == "pending" && instance["reason"] == "queued"
}

/// Whether nothing is under way: it runs, is stopped, or waits for a unit.
fn is_settled(instance: &Value) -> bool {
    let hold_ends = !instance["hold"].is_null();
    instance["state"] == "running" || instance["state"] == "stopped" && !hold_ends || is_queued(instance)
}

async fn all_instances(users: &mut [User]) -> Vec<Value> {
    let mut all = Vec::new();
    for user in users {
        all.extend(instances(user).await);
    }
    all
}

/// Stops running instances until none waits.
async fn serve_all(platform: &Platform, users: &mut [User]) {
    settled(platform, "all instances have settled", async || {
        all_instances(users).await.iter().all(is_settled)
    })
    .await;
    loop {
        let waiting = all_instances(users).await.iter().filter(|instance| is_queued(instance)).count();
        if waiting == 0 {
            return;
        }
        let mut stopped = 0;
        for user in &mut *users {
            for instance in instances(user).await.iter().filter(|instance| instance["state"] == "running") {
                let path = format!("/v1/instances/{}/stop", instance["id"].as_str().unwrap());
                let (status, body) = user.send(Method::POST, &path, None).await;
                assert!(matches!(status, 202 | 409), "{body}");
                stopped += 1;
            }
        }
        assert!(stopped > 0, "{waiting} wait, and nothing runs");
        settled(platform, "the next ones run", async || {
            let all = all_instances(users).await;
            all.iter().all(is_settled) && all.iter().filter(|instance| is_queued(instance)).count() < waiting
        })
        .await;
    }
}

/// The ended runs of an instance by its usage.
async fn usage(user: &mut User, instance: &Value) -> Vec<RunEvidence> {
    let id = instance["id"].as_str().unwrap();
    let (status, usage) = user.send(Method::GET, &format!("/v1/instances/{id}/usage?limit=200"), None).await;
    assert_eq!((status, &usage["next_cursor"]), (200, &Value::Null));
    // the page has the newest first
    let runs = usage["items"].as_array().unwrap().iter().rev().filter(|run| run["kind"] == "running");
    runs.map(|run| RunEvidence {
        instance: id.replace('_', "-"),
        started_at: run["started_at"].as_str().unwrap().parse().unwrap(),
        ended_at: run["ended_at"].as_str().unwrap_or_else(|| panic!("open: {usage}")).parse().unwrap(),
        end_unseen: false,
    })
    .collect()
}

/// Compares the usage of all instances that still exist with the runs that the cluster reported.
async fn assert_usage_is_evidence(platform: &Platform, users: &mut [User]) -> usize {
    let evidence = platform.evidence().runs();
    let mut compared = 0;
    for user in users {
        for instance in instances(user).await {
            let billed = usage(user, &instance).await;
            let name = instance["id"].as_str().unwrap().replace('_', "-");
            let seen: Vec<_> = evidence.iter().filter(|run| run.instance == name).collect();
            assert_eq!(billed.len(), seen.len(), "{name}: {billed:#?} {seen:#?}");
            for (billed, seen) in billed.iter().zip(seen) {
                assert_eq!(billed.started_at, seen.started_at, "{name}");
                // an end that was not observed is billed up to the last confirmation
                let ended_as_seen = billed.ended_at == seen.ended_at;
                assert!(
                    ended_as_seen || seen.end_unseen && billed.ended_at < seen.ended_at,
                    "{billed:?} {seen:?}"
                );
                compared += 1;
            }
        }
    }
    compared
}

#[tokio::test(flavor = "multi_thread")]
async fn units_are_given_once_and_in_order_whatever_is_killed() {
    let seed = std::env::var("PLATFORM_SEED").map_or_else(|_| rand::random(), |seed| seed.parse().unwrap());
    eprintln!("PLATFORM_SEED={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let mut platform = Platform::start().await;
    let tenants: Vec<TenantId> = (0..TENANTS).map(|_| TenantId::new()).collect();
    let (mut acting, over) = (JoinSet::new(), CancellationToken::new());
    for tenant in &tenants {
        for _ in 0..USERS_OF_A_TENANT {
            let mut user = User::new(platform.gpu_url(), platform.token(*tenant), random.random());
            let over = over.clone();
            acting.spawn(async move {
                while !over.is_cancelled() {
                    user.act().await;
                    user.pause().await;
                }
                user.accepted
            });
        }
    }
    let faults = break_things(&mut platform, &mut random).await;
    over.cancel();
    let accepted: u32 = acting.join_all().await.iter().sum();

    // one user of each tenant finishes
    let mut users: Vec<User> = tenants
        .iter()
        .map(|tenant| User::new(platform.gpu_url(), platform.token(*tenant), random.random()))
        .collect();
    serve_all(&platform, &mut users).await;
    for user in &mut users {
        for instance in instances(user).await {
            let path = format!("/v1/instances/{}/stop", instance["id"].as_str().unwrap());
            let (status, body) = user.send(Method::POST, &path, None).await;
            assert!(matches!(status, 202 | 409), "{body}");
        }
    }
    settled(&platform, "all are stopped", async || {
        all_instances(&mut users).await.iter().all(|instance| instance["state"] == "stopped")
    })
    .await;
    let compared = assert_usage_is_evidence(&platform, &mut users).await;

    for user in &mut users {
        for instance in instances(user).await {
            let path = format!("/v1/instances/{}", instance["id"].as_str().unwrap());
            let (status, body) = user.send(Method::DELETE, &path, None).await;
            assert_eq!(status, 202, "{body}");
        }
    }
    settled(&platform, "nothing is left over", async || {
        all_instances(&mut users).await.is_empty()
            && platform.evidence().live_pods() == 0
            && platform.count("select count(*) from stock.units where state = 'available'").await == 5
            && platform.count("select count(*) from stock.queue_entries").await == 0
    })
    .await;
    assert_eq!(platform.count("select count(*) from gpu.runs where ended_at is null").await, 0, "open runs");
    let grants = platform.count("select count(*) from stock.queue_grants").await;
    let runs = platform.evidence().runs().len();
    eprintln!(
        "{accepted} commands, {grants} grants, {compared} of {runs} runs compared; {}",
        faults.join(", ")
    );
    // how many runs are compared depends on which instances their users have left
    assert!(accepted > 100 && grants > 10 && runs > 5 && compared > 0, "hardly anything happened");
}
