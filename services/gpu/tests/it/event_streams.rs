//! Streams of events: resumed on any replica without loss or repetition, bounded, ended with the rights.

use std::time::{Duration, Instant};

use atelier_gateway::{App as Gateway, Apps as GatewayApps, CookieKey, Limits, Services};
use auth::{Revocation, Role};
use futures::future::join_all;
use ids::{InstanceId, TenantId};
use serde_json::{Value, json};
use service::Process;
use testkit::{Client, eventually};
use tokio::{net::TcpListener, sync::oneshot};

use crate::{
    harness::{Fixture, Replica, Setup},
    sse::{Message, Stream, request},
};

impl Fixture {
    async fn stream(&self, path: &str) -> Stream {
        Stream::open(&self.base, path, &self.viewer(), None).await
    }

    fn viewer(&self) -> String {
        self.issuer.user(self.tenant, Role::Viewer)
    }

    /// Writes one event.
    async fn rename(&self, base: &str, id: InstanceId, name: &str) {
        let member = Client::new(base).token(&self.issuer.user(self.tenant, Role::Member));
        let path = format!("/v1/instances/{id}");
        eventually("the instance is renamed", async || {
            let answer = member.patch(&path, "*", json!({ "name": name })).await;
            (answer.status == 200).then_some(())
        })
        .await;
    }

    /// Adds events to the tenant's log without a request each.
    async fn fill(&self, id: InstanceId, count: i64) {
        let mut admin = self.db.admin().await;
        let insert = "with log as (
                 update gpu.event_logs set last = last + $1 where tenant_id = $2 returning last - $1 as before)
             insert into gpu.events (tenant_id, sequence, instance_id, type, payload)
             select $2, before + n, $3, 'instance.updated',
                 jsonb_build_object('sequence', before + n, 'type', 'instance.updated', 'x', repeat('x', 2000))
             from log, generate_series(1, $1) n order by n";
        let insert = sqlx::query(insert).bind(count).bind(self.tenant.uuid()).bind(id.uuid());
        insert.execute(&mut admin).await.unwrap();
        let notify = sqlx::query("select pg_notify('atelier_gpu_events', $1)").bind(self.tenant.to_string());
        notify.execute(&mut admin).await.unwrap();
    }
}

fn ids(messages: &[Message]) -> Vec<i64> {
    messages.iter().map(|message| message.id.unwrap()).collect()
}

/// The gateway in front of a replica.
async fn gateway(fixture: &Fixture, limits: Limits) -> (String, Process) {
    let gpu: url::Url = fixture.base.parse().unwrap();
    let listener = async || TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (public, internal) = (listener().await, listener().await);
    let address = public.local_addr().unwrap();
    let config = atelier_gateway::Config {
        listen: address,
        metrics_listen: internal.local_addr().unwrap(),
        public_url: format!("http://{address}").parse().unwrap(),
        apps: GatewayApps::default(),
        console: None,
        auth: fixture.issuer.config(),
        services: Services::new(|_| gpu.clone()),
        gpu_token: testkit::service_token("gateway").into(),
        cookie_keys: vec![CookieKey {
            id: "first".to_owned(),
            key: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=".into(),
        }],
        limits,
        activity_seconds: 30,
        drain_seconds: 0,
        tls: None,
        proxy_protocol: None,
        hsts_seconds: 3600,
        cors: atelier_gateway::Cors::default(),
        modules: [].into(),
        cache: None,
        telemetry: None,
    };
    let process = Process::default();
    let app = Gateway::new(config, process.clone()).unwrap();
    tokio::spawn(async move { app.serve_on(public, internal).await.unwrap() });
    (format!("http://{address}"), process)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_has_what_was_and_then_what_happens() {
    let fixture = Fixture::with(Setup { units: 1, ..Setup::default() }).await;
    let id = fixture.running().await;
    let mut all = fixture.stream("/v1/events").await;
    let mut own = fixture.stream(&format!("/v1/instances/{id}/events")).await;
    let types = |messages: &[Message]| -> Vec<String> {
        messages.iter().map(|message| message.event.clone().unwrap()).collect()
    };
    let begun = ["instance.created", "instance.unit_claimed", "instance.started"];
    assert_eq!(types(&all.take(3).await), begun);
    assert_eq!(types(&own.take(3).await), begun);
    let mut new = fixture.stream("/v1/events?after=latest").await;
    let first = new.next_part().await.unwrap();
    assert_eq!((first.id, first.event), (Some(3), None), "a position to resume from");
    let unit = fixture.unit_of(id).await;
    fixture.act(id, "stop").await;
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 160).await;
    for stream in [&mut all, &mut own, &mut new] {
        let messages = stream.take(3).await;
        assert_eq!(types(&messages), ["instance.stop_requested", "instance.run_ended", "instance.stopped"]);
        assert_eq!(ids(&messages), [4, 5, 6]);
    }
    // what is streamed is what is listed
    let listed = fixture.events("/v1/events").await;
    drop((all, own));
    eventually("a stream is free", async || {
        (request(&fixture.base, "/v1/events", &fixture.viewer(), None).await.status() == 200).then_some(())
    })
    .await;
    let mut again = fixture.stream("/v1/events?after=0").await;
    let streamed: Vec<_> = again.take(6).await.into_iter().map(|message| message.data).collect();
    assert_eq!(streamed, listed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filtered_stream_tells_how_far_it_has_read() {
    let fixture = Fixture::with(Setup { units: 0, workers: true, ..Setup::default() }).await;
    let [one, two] = [fixture.ordered(Fixture::order()).await, fixture.ordered(Fixture::order()).await];
    for id in [one, two] {
        fixture.in_state(id, "stopped").await;
    }
    let before = i64::try_from(fixture.events("/v1/events").await.len()).unwrap();
    let mut stream =
        fixture.stream(&format!("/v1/events?instance_id={one}&type=instance.updated&after=latest")).await;
    for n in 0..3 {
        fixture.rename(&fixture.base, two, &format!("two-{n}")).await;
    }
    // heartbeats carry the position
    while stream.last_id != Some(before + 3) {
        let part = stream.next_part().await.unwrap();
        assert_eq!(part.event, None);
    }
    fixture.rename(&fixture.base, one, "one").await;
    let message = stream.next().await.unwrap();
    assert_eq!((message.id, &message.data["data"]["name"]), (Some(before + 4), &json!("one")));
}

/// Four writers on two replicas; readers that break off after some events and go on at the other replica.
#[tokio::test(flavor = "multi_thread")]
async fn resumed_streams_lose_nothing_and_repeat_nothing_while_writers_are_busy() {
    const EACH: usize = 40;
    let fixture = Fixture::with(Setup { units: 0, workers: true, ..Setup::default() }).await;
    let second = fixture.replica().await;
    let bases = [fixture.base.clone(), second.base.clone()];
    let mut instances = Vec::new();
    for _ in 0..4 {
        let id = fixture.ordered(Fixture::order()).await;
        fixture.in_state(id, "stopped").await;
        instances.push(id);
    }
    let before = i64::try_from(fixture.events("/v1/events").await.len()).unwrap();
    let total = before + i64::try_from(4 * EACH).unwrap();
    let writers = join_all(instances.iter().enumerate().map(|(w, id)| {
        let (fixture, bases) = (&fixture, &bases);
        async move {
            for n in 0..EACH {
                fixture.rename(&bases[(w + n) % 2], *id, &format!("n{n}")).await;
            }
        }
    }));
    let readers = join_all((0..3_usize).map(|r| {
        let (fixture, bases) = (&fixture, &bases);
        async move {
            let (mut seen, mut last, mut connections): (Vec<Message>, _, _) = (Vec::new(), Some(0), r);
            while last < Some(total) {
                connections += 1;
                let base = &bases[connections % 2];
                let mut stream = Stream::open(base, "/v1/events", &fixture.viewer(), last).await;
                // breaks off in the middle of what the connection has received
                for _ in 0..7 + 6 * r {
                    if stream.last_id < Some(total) {
                        seen.push(stream.next().await.unwrap());
                    }
                }
                last = seen.last().unwrap().id;
            }
            seen
        }
    }));
    let (_, logs) = tokio::join!(writers, readers);
    for log in logs {
        assert!(ids(&log).into_iter().eq(1..=total), "{:?}", ids(&log));
        for id in &instances {
            let names = log
                .iter()
                .filter(|m| m.data["instance_id"] == json!(id) && m.data["type"] == "instance.updated")
                .map(|m| m.data["data"]["name"].as_str().unwrap().to_owned());
            assert!(names.eq((0..EACH).map(|n| format!("n{n}"))), "in the order of the changes");
        }
    }
    second.process.shutdown.begin();
}

/// A replica in a runtime of its own, which ends without any farewell.
async fn mortal(fixture: &Fixture) -> (String, oneshot::Sender<()>, std::thread::JoinHandle<()>) {
    let (config, (told, base), (kill, killed)) =
        (fixture.config.clone(), oneshot::channel(), oneshot::channel());
    let thread = std::thread::spawn(move || {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(async {
            let replica = Replica::start(&config, true).await;
            told.send(replica.base.clone()).unwrap();
            let _ = killed.await;
        });
        runtime.shutdown_background();
    });
    (base.await.unwrap(), kill, thread)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_goes_on_at_another_replica_when_its_own_is_killed_or_ends() {
    let fixture = Fixture::with(Setup { units: 0, workers: true, ..Setup::default() }).await;
    let id = fixture.ordered(Fixture::order()).await;
    fixture.in_state(id, "stopped").await;
    let before = i64::try_from(fixture.events("/v1/events").await.len()).unwrap();
    let total = before + 60;
    let (base, kill, thread) = mortal(&fixture).await;
    let second = fixture.replica().await;
    let read = async {
        let mut stream = Stream::open(&base, "/v1/events", &fixture.viewer(), None).await;
        let mut seen = ids(&stream.take(20).await);
        kill.send(()).unwrap();
        while let Some(message) = stream.next().await {
            seen.push(message.id.unwrap());
        }
        let mut stream =
            Stream::open(&second.base, "/v1/events", &fixture.viewer(), seen.last().copied()).await;
        seen.extend(ids(&stream.take(15).await));
        second.process.shutdown.begin();
        while let Some(part) = stream.next_part().await {
            match part.comment {
                Some(comment) => assert_eq!(comment, "the service is restarting; connect again"),
                None => seen.extend(part.id),
            }
        }
        let mut stream =
            Stream::open(&fixture.base, "/v1/events", &fixture.viewer(), seen.last().copied()).await;
        while *seen.last().unwrap() < total {
            seen.extend(stream.next().await.unwrap().id);
        }
        seen
    };
    let write = async {
        for n in before..total {
            fixture.rename(&fixture.base, id, &format!("n{n}")).await;
        }
    };
    let (seen, ()) = tokio::join!(read, write);
    assert!(seen.iter().copied().eq(1..=total), "{seen:?}");
    thread.join().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_delays_no_other_is_cut_off_and_gets_all_when_it_returns() {
    const MANY: i64 = 20_000;
    let fixture = Fixture::with(Setup { units: 0, workers: true, ..Setup::default() }).await;
    let id = fixture.ordered(Fixture::order()).await;
    fixture.in_state(id, "stopped").await;
    let before = i64::try_from(fixture.events("/v1/events").await.len()).unwrap();
    // 40 MB: more than the sockets hold
    let mut slow = fixture.stream("/v1/events").await;
    assert_eq!(slow.next().await.unwrap().id, Some(1));
    let mut fast = fixture.stream("/v1/events?after=latest").await;
    assert_eq!(fast.next_part().await.unwrap().id, Some(before));
    fixture.fill(id, MANY).await;
    for expected in before + 1..=MANY + before {
        assert_eq!(fast.next().await.unwrap().id, Some(expected));
    }
    // the slow one is not counted any more: it reads nothing for a second
    let open = async || request(&fixture.base, "/v1/events?after=latest", &fixture.viewer(), None).await;
    let (third, mut held) = (open().await, Vec::new());
    eventually("the slow reader is cut off", async || {
        let answer = open().await;
        (answer.status() == 200).then(|| held.push(answer))
    })
    .await;
    // it reads what was on its way, and resumes
    let mut seen = vec![1];
    while let Some(message) = slow.next().await {
        seen.push(message.id.unwrap());
    }
    let got = seen.len();
    assert!(got < 20_000, "all was on its way");
    drop((held, fast, third));
    eventually("a stream is free", async || (open().await.status() == 200).then_some(())).await;
    let mut stream = Stream::open(&fixture.base, "/v1/events", &fixture.viewer(), seen.last().copied()).await;
    while *seen.last().unwrap() < MANY + before {
        seen.push(stream.next().await.unwrap().id.unwrap());
    }
    assert!(seen.into_iter().eq(1..=MANY + before));
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_end_with_the_rights_and_the_token() {
    let fixture = Fixture::with(Setup { units: 0, workers: true, ..Setup::default() }).await;
    let id = fixture.ordered(Fixture::order()).await;
    fixture.in_state(id, "stopped").await;
    let mut claims = fixture.issuer.claims(Some((fixture.tenant, Role::Viewer)), false);
    claims.exp -= 598;
    let mut short = Stream::open(&fixture.base, "/v1/events", &fixture.issuer.sign(&claims), None).await;
    let mut own = fixture.stream(&format!("/v1/instances/{id}/events")).await;
    assert_eq!((short.next().await.unwrap().id, own.next().await.unwrap().id), (Some(1), Some(1)));
    assert_eq!(short.end().await.as_deref(), Some("the token has expired; connect again with a new one"));

    let mut removed = fixture.issuer.claims(Some((fixture.tenant, Role::Viewer)), false);
    removed.sub = ids::UserId::new();
    let mut of_user = Stream::open(&fixture.base, "/v1/events", &fixture.issuer.sign(&removed), None).await;
    assert_eq!(of_user.next().await.unwrap().id, Some(1));
    fixture.issuer.revoke(Revocation { user_id: Some(removed.sub), ..Revocation::default() });
    assert_eq!(of_user.end().await.as_deref(), Some("your rights have ended"));
    fixture.rename(&fixture.base, id, "goes-on").await;
    while own.next().await.unwrap().event.as_deref() != Some("instance.updated") {}

    // the tenant is suspended
    let other = TenantId::new();
    let mut elsewhere =
        Stream::open(&fixture.base, "/v1/events", &fixture.issuer.user(other, Role::Viewer), None).await;
    let begun = Instant::now();
    fixture.issuer.revoke(Revocation { tenant_id: Some(fixture.tenant), ..Revocation::default() });
    assert_eq!(own.end().await.as_deref(), Some("your rights have ended"));
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    let made = fixture.user(other, Role::Member).post("/v1/instances", Fixture::order()).await.expect(202);
    assert_eq!(
        elsewhere.next().await.unwrap().data["instance_id"],
        made.body["id"],
        "another tenant's goes on"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_has_so_many_streams_of_events_open_at_a_time() {
    let fixture = Fixture::with(Setup { units: 0, workers: true, ..Setup::default() }).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(fixture.stream("/v1/events").await);
    }
    let refused = request(&fixture.base, "/v1/events", &fixture.viewer(), None).await;
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()["retry-after"], "5");
    let _ = fixture.member().get("/v1/events").await.expect(200);
    let stranger = fixture.issuer.user(TenantId::new(), Role::Viewer);
    assert_eq!(request(&fixture.base, "/v1/events", &stranger, None).await.status(), 200);
    open.pop();
    eventually("the closed stream is not counted", async || {
        (request(&fixture.base, "/v1/events", &fixture.viewer(), None).await.status() == 200).then_some(())
    })
    .await;
}

/// Many streams of many tenants cost one connection that listens, and one query for each wake of the replica.
#[tokio::test(flavor = "multi_thread")]
async fn waiting_streams_share_one_listener_and_one_reader() {
    let fixture = Fixture::with(Setup { units: 0, workers: true, ..Setup::default() }).await;
    let tenants: Vec<_> = (0..20).map(|_| TenantId::new()).collect();
    let mut streams = Vec::new();
    for tenant in &tenants {
        for _ in 0..3 {
            let token = fixture.issuer.user(*tenant, Role::Viewer);
            streams.push(Stream::open(&fixture.base, "/v1/events", &token, None).await);
        }
    }
    let mut admin = fixture.db.admin().await;
    let listening = "select count(*) from pg_stat_activity
        where datname = current_database() and application_name like 'atelier-%-listener'";
    let mut listeners =
        async || -> i64 { sqlx::query_scalar(listening).fetch_one(&mut admin).await.unwrap() };
    eventually("somebody listens", async || (listeners().await > 0).then_some(())).await;
    assert_eq!(listeners().await, 1);
    let begun = Instant::now();
    for tenant in &tenants {
        let _ = fixture.user(*tenant, Role::Member).post("/v1/instances", Fixture::order()).await.expect(202);
    }
    for stream in &mut streams {
        assert_eq!(stream.next().await.unwrap().id, Some(1));
    }
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    // a lost connection of the listener loses no event
    let cut = "select count(pg_terminate_backend(pid)) from pg_stat_activity
        where datname = current_database() and application_name like 'atelier-%-listener'";
    sqlx::query(cut).execute(&mut admin).await.unwrap();
    for tenant in &tenants[..3] {
        let _ = fixture.user(*tenant, Role::Member).post("/v1/instances", Fixture::order()).await.expect(202);
    }
    for stream in &mut streams[..9] {
        while stream.next().await.unwrap().data["type"] != "instance.created" {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_pass_the_gateway_as_they_happen() {
    let fixture = Fixture::with(Setup { units: 0, workers: true, ..Setup::default() }).await;
    let id = fixture.ordered(Fixture::order()).await;
    fixture.in_state(id, "stopped").await;
    // a response has to begin within a second; a stream may last longer
    let (base, process) = gateway(&fixture, Limits { answer_seconds: 1, ..Limits::default() }).await;
    let member = Client::new(&base).token(&fixture.viewer());
    let listed = member.get("/v1/events").await.expect(200);
    assert_eq!(listed.body["items"].as_array().unwrap().len(), fixture.events("/v1/events").await.len());
    let path = format!("/v1/instances/{id}/events");
    let mut stream = Stream::open(&base, &path, &fixture.viewer(), None).await;
    assert_eq!(stream.next().await.unwrap().event.as_deref(), Some("instance.created"));
    let begun = Instant::now();
    let mut beats = 0;
    while beats < 2 {
        let part = stream.next_part().await.unwrap();
        beats += usize::from(part.comment.is_some());
    }
    assert!(begun.elapsed() > Duration::from_secs(1), "longer than a response may take");
    // each event before the next is written
    for n in 0..5 {
        fixture.rename(&base, id, &format!("n{n}")).await;
        assert_eq!(stream.next().await.unwrap().data["data"]["name"], format!("n{n}"));
    }
    let mut resumed = Stream::open(&base, &path, &fixture.viewer(), stream.last_id.map(|id| id - 2)).await;
    assert_eq!(ids(&resumed.take(2).await), [stream.last_id.unwrap() - 1, stream.last_id.unwrap()]);
    // counted as streams of the tenant, and closed with the client's connection
    let third = request(&base, &path, &fixture.viewer(), None).await;
    assert_eq!(third.status(), 200);
    let refused = member.header("accept", "text/event-stream").get("/v1/events").await;
    refused.expect_problem(429, "too-many-streams");
    drop((third, resumed));
    eventually("the closed stream is not counted", async || {
        (request(&base, &path, &fixture.viewer(), None).await.status() == 200).then_some(())
    })
    .await;
    let foreign = Client::new(&base).token(&fixture.issuer.user(TenantId::new(), Role::Owner));
    foreign.header("accept", "text/event-stream").get(&path).await.expect_problem(404, "not-found");
    Client::new(&base)
        .token(testkit::SERVICE_TOKEN)
        .get("/internal/v1/events")
        .await
        .expect_problem(404, "no-such-route");
    fixture.issuer.revoke(Revocation { tenant_id: Some(fixture.tenant), ..Revocation::default() });
    assert_eq!(stream.end().await.as_deref(), Some("your rights have ended"));
    process.shutdown.begin();
    assert_eq!(Value::Null, stream.next().await.map_or(Value::Null, |message| message.data));
}
