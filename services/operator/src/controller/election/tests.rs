//! The election in simulated time, on an API server that is slow, loses answers, or cannot be reached.

#![expect(clippy::disallowed_methods, reason = "the times in the lease are not compared")]

use std::collections::HashSet;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::*;

/// An API server with one lease.
struct Server {
    random: StdRng,
    lease: Option<Value>,
    version: u64,
    /// Range of the duration of a request, in milliseconds.
    delay: std::ops::RangeInclusive<u64>,
    /// Part of the answers that are lost.
    loss: f64,
    /// Remainders by three of the replicas that cannot reach it.
    cut: HashSet<usize>,
    reads: u64,
    writes: u64,
}

type Shared = Arc<Mutex<Server>>;
type Reply = http::Response<kube::client::Body>;

fn server(seed: u64) -> Shared {
    Arc::new(Mutex::new(Server {
        random: StdRng::seed_from_u64(seed),
        lease: None,
        version: 0,
        delay: 5..=5,
        loss: 0.0,
        cut: HashSet::new(),
        reads: 0,
        writes: 0,
    }))
}

fn failed(code: u16) -> (u16, Value) {
    let reason = if code == 404 { "NotFound" } else { "Conflict" };
    (code, json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": "test"}))
}

impl Server {
    /// Carries out a request.
    fn carry_out(&mut self, method: &http::Method, body: &[u8]) -> (u16, Value) {
        if method == http::Method::GET {
            self.reads += 1;
            return self.lease.clone().map_or_else(|| failed(404), |lease| (200, lease));
        }
        self.writes += 1;
        let mut lease: Value = serde_json::from_slice(body).unwrap();
        let stored = self.lease.as_ref().map(|stored| &stored["metadata"]["resourceVersion"]);
        if stored != (method == http::Method::PUT).then_some(&lease["metadata"]["resourceVersion"]) {
            return failed(409);
        }
        self.version += 1;
        lease["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.lease = Some(lease.clone());
        (200, lease)
    }
}

async fn reply(
    server: Shared,
    replica: usize,
    request: http::Request<kube::client::Body>,
) -> Result<Reply, std::io::Error> {
    let (parts, body) = request.into_parts();
    let body = body.collect_bytes().await.unwrap();
    let (before, after, is_lost) = {
        let mut server = server.lock().unwrap();
        let range = server.delay.clone();
        let delay = server.random.random_range(range);
        // it is carried out at any time before the answer
        let before = server.random.random_range(0..=delay);
        let loss = server.loss;
        (before, delay - before, server.random.random_bool(loss))
    };
    tokio::time::sleep(Duration::from_millis(before)).await;
    let is_cut = || server.lock().unwrap().cut.contains(&(replica % 3));
    if is_cut() {
        std::future::pending::<()>().await;
    }
    let (status, value) = server.lock().unwrap().carry_out(&parts.method, &body);
    tokio::time::sleep(Duration::from_millis(after)).await;
    if is_lost || is_cut() {
        std::future::pending::<()>().await;
    }
    Ok(http::Response::builder().status(status).body(value.to_string().into_bytes().into()).unwrap())
}

struct Replica {
    fence: Fence,
    leads: watch::Receiver<bool>,
    shutdown: CancellationToken,
    task: JoinHandle<anyhow::Result<()>>,
}

impl Replica {
    fn start(server: &Shared, number: usize) -> Self {
        let server = Arc::clone(server);
        let service = tower::service_fn(move |request| reply(Arc::clone(&server), number, request));
        let (fence, leads) = (Fence::default(), watch::Sender::new(false));
        let (receiver, shutdown) = (leads.subscribe(), CancellationToken::new());
        let election = Election {
            client: Client::new(service, "default"),
            settings: LeaseSettings::default(),
            identity: format!("replica-{number}"),
            fence: fence.clone(),
            cache: Cache::default(),
            metrics: Metrics::default(),
            clock: Timestamp::now,
            leads,
        };
        let task = tokio::spawn(election.run(shutdown.clone()));
        Self { fence, leads: receiver, shutdown, task }
    }

    /// Waits until it leads. Returns the time this took.
    async fn leads(&mut self) -> Duration {
        let begun = Instant::now();
        tokio::time::timeout(Duration::from_secs(60), self.leads.wait_for(|leads| *leads))
            .await
            .unwrap()
            .unwrap();
        begun.elapsed()
    }

    fn kill(&self) {
        self.task.abort();
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[tokio::test(start_paused = true)]
async fn the_lease_of_a_killed_leader_is_taken_as_soon_as_it_expires() {
    let server = server(1);
    let mut leader = Replica::start(&server, 0);
    leader.leads().await;
    for n in 1..=40 {
        let mut standby = Replica::start(&server, n);
        tokio::time::sleep(ms(3000 + 137 * u64::try_from(n).unwrap())).await;
        leader.kill();
        let took = standby.leads().await;
        assert!(took > ms(1900) && took <= ms(3550), "{took:?}");
        leader = standby;
    }
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_taken_at_the_next_look() {
    let server = server(2);
    let mut leader = Replica::start(&server, 0);
    leader.leads().await;
    let mut standby = Replica::start(&server, 1);
    tokio::time::sleep(ms(10_000)).await;
    leader.shutdown.cancel();
    let took = standby.leads().await;
    assert!(took <= ms(550), "{took:?}");
}

/// One write each second, and no read by the leader.
#[tokio::test(start_paused = true)]
async fn the_cost_at_rest_is_one_write_each_second() {
    let server = server(3);
    let mut leader = Replica::start(&server, 0);
    leader.leads().await;
    let before = {
        let server = server.lock().unwrap();
        (server.reads, server.writes)
    };
    tokio::time::sleep(ms(100_000)).await;
    let after = {
        let server = server.lock().unwrap();
        (server.reads, server.writes)
    };
    assert_eq!(after.0, before.0);
    assert!((99..=100).contains(&(after.1 - before.1)), "{before:?} {after:?}");
    let _standby = Replica::start(&server, 1);
    tokio::time::sleep(ms(100_000)).await;
    let reads = server.lock().unwrap().reads - after.0;
    assert!((190..=201).contains(&reads), "{reads} reads");
}

#[tokio::test(start_paused = true)]
async fn a_slow_api_server_does_not_end_leadership() {
    for delay in [200, 700, 1000, 1300, 2000, 2500] {
        let server = server(delay);
        let mut leader = Replica::start(&server, 0);
        leader.leads().await;
        let standby = Replica::start(&server, 1);
        tokio::time::sleep(ms(5000)).await;
        server.lock().unwrap().delay = delay / 2..=delay;
        // it may lose the lease once, until it knows how slow the requests are
        tokio::time::sleep(ms(30_000)).await;
        let replicas = [&leader, &standby];
        let leads = replicas.map(|replica| *replica.leads.borrow());
        assert_eq!(leads.iter().filter(|leads| **leads).count(), 1, "{delay} ms: {leads:?}");
        for _ in 0..3000 {
            tokio::time::sleep(ms(100)).await;
            assert_eq!(replicas.map(|replica| replica.fence.is_open()), leads, "{delay} ms");
        }
    }
}

/// Up to 1.2 s without warning.
#[tokio::test(start_paused = true)]
async fn requests_that_become_slow_at_once_do_not_end_leadership() {
    let server = server(4);
    let mut leader = Replica::start(&server, 0);
    leader.leads().await;
    let _standby = Replica::start(&server, 1);
    for _ in 0..20 {
        tokio::time::sleep(ms(30_000)).await;
        server.lock().unwrap().delay = 1000..=1190;
        for _ in 0..100 {
            tokio::time::sleep(ms(100)).await;
            assert!(leader.fence.is_open());
        }
        server.lock().unwrap().delay = 5..=5;
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_reach_the_api_server_stops_and_goes_on() {
    let server = server(5);
    let mut leader = Replica::start(&server, 0);
    leader.leads().await;
    for n in 1..20 {
        tokio::time::sleep(ms(5000 + 137 * n)).await;
        server.lock().unwrap().cut.insert(0);
        tokio::time::sleep(ms(2450)).await;
        assert!(!leader.fence.is_open());
        assert!(!*leader.leads.borrow());
        tokio::time::sleep(ms(1000 * n)).await;
        server.lock().unwrap().cut.clear();
        // the request that has no answer fails first
        let took = leader.leads().await;
        assert!(took <= ms(4400), "{took:?}");
    }
}

/// Whatever happens, the fences of two replicas are never open at the same time.
#[tokio::test(start_paused = true)]
async fn two_replicas_never_lead_at_the_same_time() {
    for seed in 0..8 {
        let server = server(seed);
        let mut chaos = StdRng::seed_from_u64(seed);
        let mut replicas: Vec<_> = (0..3).map(|number| Replica::start(&server, number)).collect();
        let (mut led, mut next) = (0, 3);
        for _ in 0..100 {
            {
                let mut server = server.lock().unwrap();
                let slowest = *[5, 300, 1000, 2500, 5000].get(chaos.random_range(0..5)).unwrap();
                server.delay = 0..=slowest;
                server.loss = if chaos.random_bool(0.3) { 0.3 } else { 0.0 };
                server.cut = (0..3).filter(|_| chaos.random_bool(0.2)).collect();
            }
            let number = chaos.random_range(0..3);
            if chaos.random_bool(0.2) {
                if chaos.random_bool(0.5) {
                    replicas[number].kill();
                } else {
                    replicas[number].shutdown.cancel();
                }
                // of a new identity: the one before may still be releasing the lease
                replicas[number] = Replica::start(&server, next);
                next += 1;
            }
            for _ in 0..chaos.random_range(10..400) {
                tokio::time::sleep(ms(25)).await;
                let open = replicas.iter().filter(|replica| replica.fence.is_open()).count();
                assert!(open <= 1, "seed {seed}");
                led += open;
            }
        }
        assert!(led > 0, "seed {seed}: no replica led at any time");
    }
}
