//! Jobs that a tenant submits one by one, at the same time.

use futures::future::join_all;
use ids::TenantId;
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};
use testkit::{Client, Response, eventually};
use tokio::task::JoinHandle;

use crate::fixture::{Fixture, Service, fox, pool};

/// A tenant whose submissions wait.
struct Held {
    fixture: Fixture,
    service: Service,
    member: Client,
    lock: PgConnection,
}

impl Held {
    async fn new() -> Self {
        let fixture = Fixture::new().await;
        let service = fixture.start().await;
        let _ = pool(&fixture.admin(&service)).await;
        let tenant = TenantId::new();
        let member = fixture.member(&service, tenant);
        let mut lock = fixture.db.admin().await;
        sqlx::query("select pg_advisory_lock(hashtextextended('tenant ' || $1, 0))")
            .bind(tenant.to_string())
            .execute(&mut lock)
            .await
            .unwrap();
        Self { fixture, service, member, lock }
    }

    /// Sends the first submission, and the others when it waits.
    async fn send(&mut self, bodies: &[(&str, Value)]) -> Vec<JoinHandle<Response>> {
        let mut sent = Vec::new();
        for (key, body) in bodies {
            let (member, body) = (self.member.key(key), body.clone());
            sent.push(tokio::spawn(async move { member.post("/v1/jobs", body).await }));
            if sent.len() == 1 {
                eventually("the first submission waits", async || {
                    let waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted
                                   and database = (select oid from pg_database where datname = current_database())";
                    let waiting: i64 = sqlx::query_scalar(waiting).fetch_one(&mut self.lock).await.unwrap();
                    (waiting == 1).then_some(())
                })
                .await;
            }
        }
        // answered after the others have been sent
        let _ = self.member.get("/v1/jobs").await.expect(200);
        sent
    }

    async fn release(&mut self) {
        sqlx::query("select pg_advisory_unlock_all()").execute(&mut self.lock).await.unwrap();
    }

    /// Sends submissions, and returns the answers.
    async fn answers(&mut self, bodies: &[(&str, Value)]) -> Vec<Response> {
        let sent = self.send(bodies).await;
        self.release().await;
        join_all(sent).await.into_iter().map(Result::unwrap).collect()
    }

    async fn number(&mut self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&mut self.lock).await.unwrap()
    }

    async fn stop(self) {
        self.service.stop().await;
        self.lock.close().await.unwrap();
    }
}

#[tokio::test]
async fn they_share_transactions_and_have_answers_keys_and_audit_entries_of_their_own() {
    let mut held = Held::new().await;
    let keys: Vec<String> = (0..130).map(|n| format!("job-{n}")).collect();
    let bodies: Vec<(&str, Value)> = keys.iter().map(|key| (key.as_str(), fox())).collect();
    let answers = held.answers(&bodies).await;
    let mut ids: Vec<String> =
        answers.into_iter().map(|answer| answer.expect(202).str("id").to_owned()).collect();
    let transactions = held.number("select count(distinct xmin::text) from jobs.jobs").await;
    assert!((2..100).contains(&transactions), "130 jobs in {transactions} transactions");
    let again = held.member.key("job-7").post("/v1/jobs", fox()).await.expect(202);
    assert_eq!((again.header("idempotency-replayed"), again.str("id")), (Some("true"), ids[7].as_str()));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 130);
    let entries = "select count(distinct (entry::jsonb ->> 'created')) from jobs.audit_entries
                   where entry::jsonb ->> 'operation' = 'POST /v1/jobs'";
    assert_eq!(held.number(entries).await, 130);
    let admin = held.fixture.admin(&held.service);
    let verified = admin.get("/v1/platform-job-audit/verification").await.expect(200).body;
    assert_eq!(verified["broken"], json!([]), "{verified}");
    held.stop().await;
}

#[tokio::test]
async fn one_that_is_refused_or_fails_does_not_touch_the_others() {
    let mut held = Held::new().await;
    let fail = "create function jobs.fail() returns trigger language plpgsql as
                $$ begin raise exception 'as the test asks'; end $$;
                create trigger fail before insert on jobs.idempotency_keys for each row
                when (new.key = 'fails') execute function jobs.fail()";
    sqlx::raw_sql(fail).execute(&mut held.lock).await.unwrap();
    let mut invalid = fox();
    invalid["parameters"]["prompt"] = json!("");
    let mut other = fox();
    other["parameters"]["prompt"] = json!("a dog");
    let bodies = [
        ("first", fox()),
        ("second", fox()),
        ("invalid", invalid),
        ("fails", fox()),
        ("same", fox()),
        ("same", other),
    ];
    let answers = held.answers(&bodies).await;
    let mut answers = answers.into_iter();
    let mut next = || answers.next().unwrap();
    let _ = (next().expect(202), next().expect(202));
    let refused = next().expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/parameters/prompt");
    next().expect_problem(500, "internal");
    // which of two with the same key is first is not said
    let mut same = [next().status, next().status];
    same.sort_unstable();
    assert!(same[0] == 202 && [409, 422].contains(&same[1]), "{same:?}");
    assert_eq!(held.number("select count(*) from jobs.jobs").await, 3);
    assert_eq!(
        held.number("select count(*) from jobs.idempotency_keys where key in ('fails', 'invalid')").await,
        0
    );
    held.stop().await;
}

#[tokio::test]
async fn a_job_is_submitted_although_its_client_has_gone() {
    let mut held = Held::new().await;
    let mut sent = held.send(&[("first", fox()), ("second", fox())]).await.into_iter();
    let first = sent.next().unwrap();
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    held.release().await;
    let _ = sent.next().unwrap().await.unwrap().expect(202);
    assert_eq!(held.number("select count(*) from jobs.jobs").await, 2);
    let known = held.member.key("first").post("/v1/jobs", fox()).await.expect(202);
    assert_eq!(known.header("idempotency-replayed"), Some("true"));
    held.stop().await;
}
