//! Logs of instances: as events, and kept in the object store.

use auth::Role;
use ids::InstanceId;
use kube::api::DeleteParams;
use serde_json::json;
use testkit::eventually;

use crate::{
    harness::{Fixture, Replica, start_objects},
    log_stream::LogStream,
    pods,
};

async fn fixture() -> Fixture {
    Fixture::with_kept_logs().await
}

/// A running instance with a pod that runs a script.
async fn running(fixture: &Fixture, script: &str) -> InstanceId {
    let id = fixture.ordered(Fixture::order()).await;
    let unit = fixture.unit_of(id).await;
    pods::give(fixture, id, 1, script).await;
    fixture.operator.ready(&unit).await;
    fixture.in_state(id, "running").await;
    id
}

/// Stops an instance as the operator does: the pod first, then its unit is free.
async fn stop(fixture: &Fixture, id: InstanceId, attempt: i64) {
    let unit = fixture.unit_of(id).await;
    let operation = fixture.act(id, "stop").await;
    fixture.emptied(&unit).await;
    let name = format!("{}-{attempt}", id.k8s_name());
    pods::of(fixture).delete(&name, &DeleteParams::default()).await.unwrap();
    eventually("the pod is gone", async || {
        pods::of(fixture).get_opt(&name).await.unwrap().is_none().then_some(())
    })
    .await;
    fixture.operator.ended(&unit, 160).await;
    assert_eq!(fixture.ended(&operation).await["state"], "succeeded");
}

async fn text(fixture: &Fixture, id: InstanceId, query: &str) -> String {
    fixture.member().get(&format!("/v1/instances/{id}/log?{query}")).await.expect(200).text
}

/// The kept log, once it has a line.
async fn kept(fixture: &Fixture, id: InstanceId, attempt: i64, line: &str) -> String {
    let stored = async || {
        let mut admin = fixture.db.admin().await;
        let lines: i64 = sqlx::query_scalar("select coalesce(sum(lines), 0)::bigint from gpu.log_chunks")
            .fetch_one(&mut admin)
            .await
            .unwrap();
        lines
    };
    eventually(&format!("{line:?} is kept"), async || {
        if stored().await == 0 {
            return None;
        }
        let log = fixture.member().get(&format!("/v1/instances/{id}/log?attempt={attempt}")).await;
        (log.status == 200 && log.text.contains(line)).then_some(log.text)
    })
    .await
}

fn numbers(range: std::ops::RangeInclusive<u32>) -> String {
    range.map(|number| format!("{number}\n")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_of_an_earlier_attempt_is_complete() {
    let fixture = fixture().await;
    // the last lines come while the container is being ended
    let script =
        "exec 2>/dev/null; trap 'seq 1001 1500; exit' TERM; seq 1 1000; while :; do sleep 0.05; done";
    let id = running(&fixture, script).await;
    // the log is followed: a container that ends within moments of its start may be gone before
    kept(&fixture, id, 1, "\n1000\n").await;
    stop(&fixture, id, 1).await;
    let log = kept(&fixture, id, 1, "\n1500\n").await;
    assert_eq!(log, numbers(1..=1500));
    assert_eq!(text(&fixture, id, "attempt=1&tail=2").await, "1499\n1500\n");
    assert_eq!(text(&fixture, id, "attempt=1&tail=0").await, "");
    assert_eq!(text(&fixture, id, "attempt=1&search=149&tail=100").await, numbers(1490..=1499));
    let found: String = numbers(1..=1500)
        .lines()
        .filter(|line| line.contains("99"))
        .map(|line| line.to_owned() + "\n")
        .collect();
    assert_eq!(text(&fixture, id, "attempt=1&search=99").await, found);
    let logs = fixture.member().get(&format!("/v1/instances/{id}/logs")).await.expect(200).body;
    assert_eq!((&logs["items"][0]["attempt"], &logs["items"][0]["lines"]), (&json!(1), &json!(1500)));
    assert_eq!(logs["items"][0]["has_gaps"], json!(false));
    // the instance has no log of its own now, and never had a second attempt
    let path = format!("/v1/instances/{id}/log");
    fixture.member().get(&format!("{path}?attempt=2")).await.expect_problem(404, "not-found");
    let stranger = fixture.user(ids::TenantId::new(), Role::Owner);
    stranger.get(&format!("{path}?attempt=1")).await.expect_problem(404, "not-found");
    stranger.get(&format!("/v1/instances/{id}/logs")).await.expect_problem(404, "not-found");
    for bad in ["attempt=0", "since=yesterday", "search=", "tail=-1", "timestamps=maybe"] {
        fixture.member().get(&format!("{path}?{bad}")).await.expect_problem(422, "invalid-field");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_resumed_where_it_was() {
    let fixture = Fixture::start().await;
    let script = "seq 1 50; while [ ! -e go ]; do sleep 0.05; done; seq 51 100; sleep 1000";
    let id = running(&fixture, script).await;
    let token = fixture.issuer.user(fixture.tenant, Role::Viewer);
    let path = format!("/v1/instances/{id}/log");
    eventually("the lines are there", async || {
        text(&fixture, id, "tail=1").await.starts_with("50").then_some(())
    })
    .await;
    let mut stream = LogStream::open(&fixture.base, &format!("{path}?tail=10"), &token, None).await;
    let seen = stream.take(5).await;
    let texts: Vec<&str> = seen.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(texts, ["41", "42", "43", "44", "45"]);
    drop(stream);
    let last = seen.last().unwrap();
    let mut stream = LogStream::open(&fixture.base, &path, &token, Some(&last.id)).await;
    assert_eq!(stream.take(5).await[0].text, "46");
    // what comes later is followed, and a filter applies to it
    let search = format!("{path}?search=9&since=600");
    let mut found = LogStream::open(&fixture.base, &search, &token, None).await;
    assert_eq!(found.take(5).await.last().unwrap().text, "49");
    assert_eq!(fixture.member().get(&format!("{path}?tail=1")).await.status, 429, "two are open");
    drop(stream);
    crate::streams::touch(&fixture, id, "go").await;
    let later: Vec<String> = found.take(10).await.into_iter().map(|line| line.text).collect();
    assert_eq!(later, ["59", "69", "79", "89", "90", "91", "92", "93", "94", "95"]);
    drop(found);
    // as text, with times that `since` accepts
    let stamped = eventually("streams are closed", async || {
        let log = fixture.member().get(&format!("{path}?tail=3&timestamps=true")).await;
        (log.status == 200).then_some(log.text)
    })
    .await;
    let (time, first) = stamped.lines().next().unwrap().split_once(' ').unwrap();
    assert_eq!(first, "98");
    let since = time.replace(':', "%3A");
    eventually("streams are closed", async || {
        let log = fixture.member().get(&format!("{path}?since={since}")).await;
        (log.status == 200 && log.text == "98\n99\n100\n").then_some(())
    })
    .await;
    for bad in ["0", "1-2", "latest"] {
        let refused = LogStream::request(&fixture.base, &path, &token, Some(bad)).await;
        assert_eq!(refused.status(), 422, "{bad}");
    }
    // without an archive
    let refused = fixture.member().get(&format!("/v1/instances/{id}/logs")).await;
    let _ = refused.expect_problem(409, "log-archive-disabled");
    let refused = fixture.member().get(&format!("{path}?attempt=7")).await;
    let _ = refused.expect_problem(409, "log-archive-disabled");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_goes_on_across_restarts_of_the_container_and_of_the_service() {
    let fixture = fixture().await;
    // the file counts the starts; each prints its own numbers, the first exits on request
    let script = "if [ -e second ]; then seq 201 300; sleep 1000; fi; touch second; seq 1 100; \
        while [ ! -e go ]; do sleep 0.05; done; seq 101 200; exit 1";
    let id = running(&fixture, script).await;
    let path = format!("/v1/instances/{id}/log?attempt=1");
    let token = fixture.issuer.user(fixture.tenant, Role::Viewer);
    let mut stream = LogStream::open(&fixture.base, &path, &token, None).await;
    let first = stream.take(100).await;
    assert_eq!(first[99].text, "100");
    drop(stream);
    // another replica continues where this one stopped
    fixture.process.shutdown.begin();
    let replica = Replica::start(&fixture.config, true).await;
    let touched = crate::streams::touch_at(&fixture, &replica.base, id, "go").await;
    assert_eq!(touched, 0);
    let member =
        testkit::Client::new(&replica.base).token(&fixture.issuer.user(fixture.tenant, Role::Member));
    let all = eventually("the second container is collected", async || {
        let log = member.get(&format!("/v1/instances/{id}/log?attempt=1&search=0")).await;
        let mut admin = fixture.db.admin().await;
        let lines: Option<i64> = sqlx::query_scalar("select sum(lines)::bigint from gpu.log_chunks")
            .fetch_one(&mut admin)
            .await
            .unwrap();
        (lines == Some(300) && log.text.contains("300")).then_some(())
    });
    all.await;
    assert_eq!(member.get(&path.clone()).await.expect(200).text, numbers(1..=300));
    // a client that was away meanwhile gets what it has missed, once
    let mut stream = LogStream::open(&replica.base, &path, &token, Some(&first[99].id)).await;
    let missed: Vec<String> = stream.take(200).await.into_iter().map(|line| line.text + "\n").collect();
    assert_eq!(missed.concat(), numbers(101..=300));
    let gaps: i64 = count(&fixture, "select count(*) from gpu.log_chunks where after_gap").await;
    assert_eq!(gaps, 0);
    replica.process.shutdown.begin();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_prints_and_ends_is_collected_once() {
    let fixture = fixture().await;
    // the first line is read when the container is already being restarted
    let script = "if [ -e second ]; then seq 201 300; exec sleep 1000; fi; touch second; \
        until [ -e go ]; do sleep 0.05; done; seq 1 200; exit 1";
    for round in 1..=5 {
        let id = running(&fixture, script).await;
        crate::streams::touch(&fixture, id, "go").await;
        eventually("the lines are stored", async || {
            let all = "select coalesce(sum(lines), 0)::bigint from gpu.log_chunks";
            (count(&fixture, all).await >= 300 * round).then_some(())
        })
        .await;
        assert_eq!(text(&fixture, id, "attempt=1").await, numbers(1..=300));
        stop(&fixture, id, 1).await;
    }
}

/// Number of objects in the bucket, each of which is an entry of its folder.
fn objects(fixture: &Fixture) -> usize {
    std::fs::read_dir(fixture.folder().join("objects/objects/logs")).map_or(0, Iterator::count)
}

async fn count(fixture: &Fixture, query: &'static str) -> i64 {
    let mut admin = fixture.db.admin().await;
    sqlx::query_scalar(query).fetch_one(&mut admin).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_object_store_live_logs_work_and_nothing_is_lost() {
    let mut fixture = fixture().await;
    let script = "seq 1 100; while [ ! -e go ]; do sleep 0.05; done; seq 101 200; sleep 1000";
    let id = running(&fixture, script).await;
    assert_eq!(kept(&fixture, id, 1, "\n100\n").await, numbers(1..=100));
    eventually("the lines are stored", async || {
        (count(&fixture, "select coalesce(sum(lines), 0)::bigint from gpu.log_chunks").await == 100)
            .then_some(())
    })
    .await;
    let port = fixture.objects.as_ref().unwrap().endpoint.rsplit(':').next().unwrap().parse().unwrap();
    fixture.objects.take().unwrap().stop().await.unwrap();
    crate::streams::touch(&fixture, id, "go").await;
    eventually("the live log goes on", async || {
        (text(&fixture, id, "tail=1").await == "200\n").then_some(())
    })
    .await;
    assert_eq!(text(&fixture, id, "since=600").await, numbers(1..=200), "from the cluster instead");
    assert_eq!(count(&fixture, "select sum(lines)::bigint from gpu.log_chunks").await, 100);
    fixture.objects = Some(start_objects(fixture.folder(), port).await);
    eventually("the rest is stored", async || {
        (count(&fixture, "select sum(lines)::bigint from gpu.log_chunks").await == 200).then_some(())
    })
    .await;
    assert_eq!(text(&fixture, id, "attempt=1").await, numbers(1..=200));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_old_or_of_a_deleted_instance_is_deleted() {
    let fixture = fixture().await;
    let id = running(&fixture, "seq 1 100; sleep 1000").await;
    let _ = kept(&fixture, id, 1, "\n100\n").await;
    eventually("the lines are stored", async || {
        (count(&fixture, "select coalesce(sum(lines), 0)::bigint from gpu.log_chunks").await == 100)
            .then_some(())
    })
    .await;
    stop(&fixture, id, 1).await;
    assert_eq!(objects(&fixture), 1);
    fixture.execute("update gpu.log_chunks set created_at = now() - interval '15 days'").await;
    fixture.process.workers.inject_panic("gpu.logs.retention");
    eventually("the chunk is deleted", async || {
        (count(&fixture, "select count(*) from gpu.log_chunks").await == 0).then_some(())
    })
    .await;
    assert_eq!(objects(&fixture), 0);

    let other = running(&fixture, "seq 1 100; sleep 1000").await;
    let _ = kept(&fixture, other, 1, "\n100\n").await;
    eventually("an object exists", async || (objects(&fixture) > 0).then_some(())).await;
    let unit = fixture.unit_of(other).await;
    let deletion = fixture.member().delete(&format!("/v1/instances/{other}")).await.expect(202);
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 160).await;
    assert_eq!(fixture.ended(deletion.str("operation_id")).await["state"], "succeeded");
    fixture.gone(other).await;
    fixture.process.workers.inject_panic("gpu.logs.retention");
    eventually("its logs are deleted", async || {
        let logs = count(&fixture, "select count(*) from gpu.instance_logs").await;
        (logs == 1 && objects(&fixture) == 0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_was_not_recorded_is_deleted_and_collected_again() {
    let mut fixture = fixture().await;
    fixture.process.shutdown.begin();
    // the index cannot be written: as if the process were killed between upload and commit, again and again
    fixture.execute("alter table gpu.log_chunks add constraint broken check (false)").await;
    let replica = Replica::start(&fixture.config, true).await;
    fixture.base.clone_from(&replica.base);
    let id = running(&fixture, "seq 1 100; sleep 1000").await;
    eventually("an object was uploaded", async || (objects(&fixture) > 0).then_some(())).await;
    assert_eq!(count(&fixture, "select count(*) from gpu.instance_logs").await, 0);
    fixture.execute("alter table gpu.log_chunks drop constraint broken").await;
    eventually("the lines are stored, and only they", async || {
        let lines = count(&fixture, "select coalesce(sum(lines), 0)::bigint from gpu.log_chunks").await;
        let chunks = count(&fixture, "select count(*) from gpu.log_chunks").await;
        (lines == 100 && objects(&fixture) == usize::try_from(chunks).unwrap()).then_some(())
    })
    .await;
    assert_eq!(text(&fixture, id, "attempt=1").await, numbers(1..=100));
    replica.process.shutdown.begin();
}
