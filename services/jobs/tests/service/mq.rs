//! Jobs by a message broker, and events to it.

use ids::TenantId;
use serde_json::{Value, json};
use testkit::eventually;
use uuid::Uuid;

use crate::{
    fixture::{pool, submit},
    fleet::Worker,
    mq_tenant::{Studio, connect, fox, named},
    uploads::pictures,
};

#[tokio::test]
async fn mq_jobs_are_submitted_and_followed() {
    let studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let pool = pool(&studio.fixture.admin(&service)).await;
    let tenant = studio.tenant(&service).await;
    let mut line = tenant.open().await;
    let number = Uuid::new_v4();
    let mut urgent = fox(number, "a fox");
    urgent.key = "urgent";
    urgent.headers["priority"] = json!(8);
    line.send(&urgent).await;
    let accepted = line.event().await;
    assert_eq!(named(&accepted), ("accepted", number));
    assert_eq!((&accepted["eventNo"], &accepted["taskType"]), (&json!(1), &json!("GC")));
    let job = accepted["jobId"].as_str().unwrap().to_owned();
    let read = tenant.member.get(&format!("/v1/jobs/{job}")).await.expect(200);
    assert_eq!((read.str("level"), &read.body["req_no"]), ("urgent", &json!(number)));

    // the same again is the same job; the queue does not matter
    urgent.key = "ordinary";
    line.send(&urgent).await;
    let (again, is_new) = line.any_event().await;
    assert_eq!((again["duplicate"].as_bool(), &again["jobId"], is_new), (Some(true), &json!(job), false));
    line.send(&fox(number, "a dog")).await;
    let reused = line.event().await;
    assert_eq!(
        (named(&reused), reused["problem"]["code"].as_str()),
        (("rejected", number), Some("req-no-reused"))
    );
    assert_eq!(tenant.jobs().await, ["queued"]);
    // over HTTP, too
    let mut same = crate::fixture::fox();
    (same["req_no"], same["priority"]) = (json!(number), json!(8));
    assert_eq!(tenant.member.post("/v1/jobs", same).await.expect(202).str("id"), job);

    let worker = Worker::start(&studio.fixture, &service, &pool, "first").await;
    let work = worker.work().await;
    let _ = worker.progress(&work, 3).await.expect(200);
    worker.upload(&work, "0.png").await;
    let _ = worker.complete_with(&work, &["0.png"]).await.expect(200);
    // or it would get the jobs that are to wait
    let _ = worker.unregister().await.expect(200);
    let (started, succeeded) = (line.event().await, line.event().await);
    assert_eq!((named(&started), named(&succeeded)), (("started", number), ("succeeded", number)));
    assert!(started["eventNo"].as_i64() < succeeded["eventNo"].as_i64());
    let artifact = &succeeded["result"]["artifacts"][0];
    assert_eq!((&artifact["name"], &artifact["bytes"]), (&json!("0.png"), &json!(3)));
    let content = reqwest::get(artifact["url"].as_str().unwrap()).await.unwrap();
    assert_eq!(content.text().await.unwrap(), "abc");
    let content = format!("/v1/jobs/{job}/artifacts/{}/content", artifact["id"].as_str().unwrap());
    assert_eq!(artifact["path"], content);

    // one in an envelope, whose header says when it is too late
    let enveloped = Uuid::new_v4();
    let mut other = fox(enveloped, "a fox");
    let header = json!({ "reqNo": enveloped, "taskType": "GC", "priority": 1 });
    let body: Value = serde_json::from_slice(&other.body).unwrap();
    other.body = json!({ "header": header, "body": body }).to_string().into_bytes();
    (other.headers, other.content_type) = (json!({}), "application/vnd.atelier.envelope+json");
    line.send(&other).await;
    let accepted = line.event().await;
    assert_eq!(named(&accepted), ("accepted", enveloped));
    // cancelled over HTTP
    let path = format!("/v1/jobs/{}/cancel", accepted["jobId"].as_str().unwrap());
    let _ = tenant.member.post(&path, Value::Null).await.expect(202);
    assert_eq!(named(&line.event().await), ("cancelled", enveloped));
    // jobs that were submitted over HTTP have events, too
    submit(&tenant.member, json!({})).await;
    let accepted = line.event().await;
    assert_eq!((&accepted["event"], &accepted["reqNo"]), (&json!("accepted"), &Value::Null));

    // what was taken, and the latest event of each again
    let unknown = Uuid::new_v4();
    let asked = json!({ "req_nos": [number, unknown] });
    let items = tenant.member.post("/v1/jobs/reconciliations", asked).await.expect(200).body["items"].clone();
    assert_eq!(items[0], json!({ "req_no": number, "job_id": job, "state": "succeeded" }));
    assert_eq!(items[1], json!({ "req_no": unknown, "job_id": null, "state": null }));
    let (again, is_new) = line.any_event().await;
    assert_eq!(
        (named(&again), again["duplicate"].as_bool(), is_new),
        (("succeeded", number), Some(true), false)
    );
    service.stop().await;
}

#[tokio::test]
async fn mq_progress_of_jobs_that_report_it_is_told_by_tenths() {
    let studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let pool = pool(&studio.fixture.admin(&service)).await;
    let tenant = studio.tenant(&service).await;
    let mut line = tenant.open().await;
    let worker = Worker::start(&studio.fixture, &service, &pool, "first").await;
    let number = Uuid::new_v4();
    let mut coarse = fox(number, "a fox");
    coarse.headers["x-progress"] = json!("coarse");
    line.send(&coarse).await;
    let work = worker.work().await;
    for (step, steps) in [(0, 0), (0, 20), (1, 20), (2, 20), (3, 20), (9, 20), (9, 20), (20, 20)] {
        let report = json!({ "phase": "working", "step": step, "steps": steps });
        let _ = worker.call(&work, "progress", report).await.expect(200);
    }
    let _ = worker.complete(&work).await.expect(200);
    for expected in ["accepted", "started"] {
        assert_eq!(named(&line.event().await), (expected, number));
    }
    for step in [2, 9, 20] {
        let told = line.event().await;
        assert_eq!(named(&told), ("progress", number));
        assert_eq!(told["progress"], json!({ "attempt": 1, "phase": "working", "step": step, "steps": 20 }));
        assert_eq!((&told["eventNo"], &told["status"]), (&json!(3), &json!("running")));
    }
    assert_eq!(named(&line.event().await), ("succeeded", number));

    // over HTTP, too; the next attempt begins again, and others report nothing
    let job = submit(&tenant.member, json!({ "report_progress": true })).await;
    assert_eq!(job.body["report_progress"], true);
    let work = worker.work().await;
    let _ = worker.progress(&work, 8).await.expect(200);
    let _ = worker.leave(&work).await.expect(200);
    let work = worker.work().await;
    let _ = worker.progress(&work, 3).await.expect(200);
    let _ = worker.complete(&work).await.expect(200);
    let mut seen = Vec::new();
    while seen.last().is_none_or(|(event, _): &(String, Value)| event != "succeeded") {
        let event = line.event().await;
        seen.push((event["event"].as_str().unwrap().to_owned(), event["progress"]["step"].clone()));
    }
    let told = seen.iter().filter(|(event, _)| event == "progress").map(|(_, step)| step).collect::<Vec<_>>();
    assert_eq!(told, [&json!(8), &json!(3)], "{seen:?}");
    let quiet = submit(&tenant.member, json!({})).await;
    let work = worker.work().await;
    assert_eq!(work.job, quiet.str("id"));
    let _ = worker.progress(&work, 8).await.expect(200);
    let _ = worker.complete(&work).await.expect(200);
    let names =
        [line.event().await, line.event().await, line.event().await].map(|event| event["event"].clone());
    assert_eq!(names, ["accepted", "started", "succeeded"]);
    service.stop().await;
}

#[tokio::test]
async fn mq_credentials_let_a_tenant_publish_jobs_and_read_its_events() {
    let mut studio = Studio::new().await;
    // connections stay open: what they publish is refused
    studio.fixture.config.mq.as_mut().unwrap().management_url = None;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let (tenant, other) = (studio.tenant(&service).await, studio.tenant(&service).await);
    let listed = tenant.member.get("/v1/mq-credentials").await.expect(200).body["items"][0].clone();
    assert_eq!((&listed["id"], &listed["secret"]), (&json!(tenant.user), &Value::Null));
    assert_eq!(
        (&listed["url"], &listed["exchange"]),
        (&json!("amqps://mq.test/%2f"), &json!("atelier.jobs"))
    );
    let viewer = service.client.token(&studio.fixture.issuer.user(tenant.id, auth::Role::Viewer));
    viewer.post("/v1/mq-credentials", json!({ "name": "x" })).await.expect_problem(403, "forbidden");
    other
        .member
        .delete(&format!("/v1/mq-credentials/{}", tenant.user))
        .await
        .expect_problem(404, "not-found");

    // a name of another tenant in a message
    let line = tenant.open().await;
    let mut forged = fox(Uuid::new_v4(), "a fox");
    forged.user = Some(other.user.clone());
    assert!(line.publish(&forged).await.is_err(), "the broker takes a forged user_id");
    // a message without a user is nobody's
    let mut anonymous = fox(Uuid::new_v4(), "a fox");
    anonymous.user = Some(String::new());
    tenant.open().await.send(&anonymous).await;
    let mut conn = studio.fixture.db.admin().await;
    let nobodys: (String, Option<TenantId>) = eventually("it is recorded", async || {
        sqlx::query_as("select code, tenant_id from jobs.mq_dead").fetch_optional(&mut conn).await.unwrap()
    })
    .await;
    assert_eq!(nobodys, ("unauthenticated".to_owned(), None));
    assert_eq!(tenant.member.get("/v1/mq-dead").await.expect(200).body["items"], json!([]));

    // who may not come in
    assert!(connect(&studio.broker.url_of(&tenant.user, "amq_0")).await.is_err(), "a wrong password");
    assert!(connect(&studio.broker.url_of("guest", "guest")).await.is_err(), "a default user");
    // on an open connection the broker may remember what it was told
    let mut open = tenant.open().await;
    open.send(&fox(Uuid::new_v4(), "a fox")).await;
    assert_eq!(open.event().await["event"], "accepted");
    let _ = tenant.member.delete(&format!("/v1/mq-credentials/{}", tenant.user)).await.expect(204);
    assert!(connect(&tenant.url).await.is_err(), "a deleted credential");
    open.send(&fox(Uuid::new_v4(), "a fox")).await;
    assert_eq!(open.event().await["problem"]["code"], "unauthenticated");
    assert_eq!(tenant.jobs().await.len(), 1);
    let mut open = other.open().await;
    open.send(&fox(Uuid::new_v4(), "a fox")).await;
    assert_eq!(open.event().await["event"], "accepted");
    let order = json!({ "generation": 2, "state": "suspended", "delete_storages": false });
    let path = format!("/internal/v1/tenants/{}", other.id);
    let _ = service.client.service("identity").put(&path, order).await.expect(200);
    assert!(connect(&other.url).await.is_err(), "a suspended tenant");
    open.send(&fox(Uuid::new_v4(), "a fox")).await;
    assert_eq!(open.event().await["problem"]["code"], "tenant-suspended");
    service.stop().await;
}

#[tokio::test]
async fn mq_refused_messages_are_kept_up_to_a_number_for_each_tenant() {
    let studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let (tenant, other) = (studio.tenant(&service).await, studio.tenant(&service).await);
    let mut conn = studio.fixture.db.admin().await;
    for (owner, count) in [(Some(tenant.id), 1_100), (Some(other.id), 1_100), (None, 1_100)] {
        let insert = sqlx::query(
            "insert into jobs.mq_dead (id, tenant_id, code, detail, properties, body, bytes)
             select ('00000000' || substr(md5(concat($1, n)), 9))::uuid, $1, 'malformed', 'old', '{}', '', 0
             from generate_series(1, $2) n",
        );
        let insert = insert.bind(owner.map(TenantId::uuid)).bind(count);
        insert.execute(&mut conn).await.unwrap();
    }
    let mut kept = async |owner: Option<TenantId>| -> (i64, i64) {
        let count = sqlx::query_as(
            "select count(*), count(*) filter (where detail <> 'old') from jobs.mq_dead where tenant_id is not distinct from $1",
        );
        count.bind(owner.map(TenantId::uuid)).fetch_one(&mut conn).await.unwrap()
    };
    let mut line = tenant.open().await;
    let mut post = fox(Uuid::new_v4(), "a fox");
    post.body = b"{".to_vec();
    line.send(&post).await;
    assert_eq!(line.event().await["event"], "rejected");
    assert_eq!(kept(Some(tenant.id)).await, (1_000, 1));
    assert_eq!([kept(Some(other.id)).await, kept(None).await], [(1_100, 0); 2]);
    post.user = Some(String::new());
    line.send(&post).await;
    eventually("those of unknown senders are fewer", async || (kept(None).await == (1_000, 1)).then_some(()))
        .await;
    assert_eq!(kept(Some(other.id)).await, (1_100, 0));
    service.stop().await;
}

#[tokio::test]
async fn mq_poison_is_recorded_and_answered_and_blocks_nothing() {
    let studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let tenant = studio.tenant(&service).await;
    let mut line = tenant.open().await;
    let good = Uuid::new_v4();
    let with = |change: &dyn Fn(&mut crate::mq_tenant::Post)| {
        let mut post = fox(Uuid::new_v4(), "a fox");
        change(&mut post);
        post
    };
    let poison = [
        (with(&|post| post.body = b"{".to_vec()), "malformed"),
        (with(&|post| post.headers = json!({ "taskType": "GC" })), "malformed"),
        (with(&|post| post.headers["priority"] = json!(10)), "malformed"),
        (with(&|post| post.reply_to = Some("events.mine".to_owned())), "malformed"),
        (with(&|post| post.body = br#"{"method":"a.b","parameters":{}}"#.to_vec()), "unknown-method"),
        (with(&|post| post.headers["taskType"] = json!("TP")), "task-type-mismatch"),
        (with(&|post| post.body = vec![b' '; 600_000]), "too-large"),
        (with(&|post| post.headers["x-deadline"] = json!("2020-01-01T00:00:00Z")), "deadline-passed"),
        (fox(Uuid::new_v4(), ""), "invalid-parameters"),
        (fox(Uuid::new_v4(), "a \0 fox"), "invalid-parameters"),
        (fox(good, "a fox"), "no-capacity-ever"),
    ];
    for (post, code) in &poison {
        line.send(post).await;
        let event = line.event().await;
        assert_eq!(
            (&event["event"], event["problem"]["code"].as_str()),
            (&json!("rejected"), Some(*code)),
            "{event}"
        );
        if let Some(number) = post.headers["reqNo"].as_str() {
            assert_eq!(event["reqNo"], number);
        }
    }
    let dead = tenant.member.get("/v1/mq-dead").await.expect(200).body["items"].as_array().unwrap().clone();
    let codes: Vec<&str> = dead.iter().rev().map(|dead| dead["code"].as_str().unwrap()).collect();
    assert_eq!(codes, poison.iter().map(|(_, code)| *code).collect::<Vec<_>>());
    assert_eq!((&dead[0]["req_no"], &dead[4]["bytes"]), (&json!(good), &json!(600_000)));
    let stranger = studio.tenant(&service).await.member;
    let replay = |n: usize| format!("/v1/mq-dead/{}/replay", dead[n]["id"].as_str().unwrap());
    stranger.post(&replay(0), Value::Null).await.expect_problem(404, "not-found");
    assert_eq!(stranger.get("/v1/mq-dead").await.expect(200).body["items"], json!([]));

    // now there is a pool: the message can be taken, once
    let _ = pool(&studio.fixture.admin(&service)).await;
    for (n, outcome) in [(0, "accepted"), (0, "duplicate"), (3, "refused")] {
        assert_eq!(tenant.member.post(&replay(n), Value::Null).await.expect(200).str("outcome"), outcome);
    }
    let cut = tenant.member.post(&replay(4), Value::Null).await;
    cut.expect_problem(422, "invalid-field");
    assert_eq!(named(&line.event().await), ("accepted", good));
    assert_eq!(tenant.jobs().await, ["queued"]);
    // the broker itself refuses what is far too large
    let huge = with(&|post| post.body = vec![b' '; 10_000_000]);
    assert!(tenant.open().await.publish(&huge).await.is_err());
    line.connection.close(200, "done".into()).await.unwrap();
    service.stop().await;
}

#[tokio::test]
async fn mq_jobs_name_models_that_a_pool_has() {
    let studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let pool = pool(&studio.fixture.admin(&service)).await;
    let mut worker = Worker::create(&studio.fixture, &service, &pool, "first").await;
    // as a file system of macOS has the second one
    worker.register_with(json!({ "checkpoints": ["anime", "mode\u{300}le"], "base_models": ["sd15"] })).await;
    let tenant = studio.tenant(&service).await;
    let mut line = tenant.open().await;
    let with_model = |model: &str| {
        let mut post = fox(Uuid::new_v4(), "a fox");
        let parameters = json!({ "prompt": "a fox", "model": model });
        post.body =
            json!({ "method": "stable-diffusion.txt2img", "parameters": parameters }).to_string().into();
        post
    };
    line.send(&with_model("photo")).await;
    let rejected = line.event().await;
    assert_eq!(
        (&rejected["event"], &rejected["problem"]["code"]),
        (&json!("rejected"), &json!("model-missing"))
    );
    assert!(rejected["problem"]["message"].as_str().unwrap().contains("known are: anime"), "{rejected}");
    for model in ["anime", "mod\u{e8}le", "mode\u{300}le"] {
        line.send(&with_model(model)).await;
        assert_eq!(line.event().await["event"], "accepted", "{model}");
    }
    let images = pictures(&tenant.member, 3).await;
    for (base_model, event) in [("sdxl", "rejected"), ("sd15", "accepted")] {
        let mut post = fox(Uuid::new_v4(), "");
        post.headers["taskType"] = json!("TP");
        let parameters = json!({ "images": images, "theme": "dog", "base_model": base_model });
        post.body = json!({ "method": "dreambooth.train", "parameters": parameters }).to_string().into();
        line.send(&post).await;
        let answer = line.event().await;
        assert_eq!(answer["event"], event);
        assert!(event == "accepted" || answer["problem"]["code"] == "model-missing", "{answer}");
    }
    service.stop().await;
}

#[tokio::test]
async fn mq_img2img_jobs_name_pictures_of_their_tenant() {
    let studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let (tenant, other) = (studio.tenant(&service).await, studio.tenant(&service).await);
    let mut line = tenant.open().await;
    let (own, foreign) =
        (pictures(&tenant.member, 1).await.remove(0), pictures(&other.member, 1).await.remove(0));
    let variation = |image: &str| {
        let mut post = fox(Uuid::new_v4(), "a fox");
        let parameters = json!({ "prompt": "a fox", "image": image });
        post.body =
            json!({ "method": "stable-diffusion.img2img", "parameters": parameters }).to_string().into();
        post
    };
    line.send(&variation(&own)).await;
    let accepted = line.event().await;
    assert_eq!((&accepted["event"], &accepted["taskType"]), (&json!("accepted"), &json!("GC")));
    let mut training = variation(&own);
    training.headers["taskType"] = json!("TP");
    for (post, code) in [
        (training, "task-type-mismatch"),
        (variation(&foreign), "input-missing"),
        (variation("dog.png"), "invalid-parameters"),
    ] {
        line.send(&post).await;
        let event = line.event().await;
        assert_eq!((&event["event"], &event["problem"]["code"]), (&json!("rejected"), &json!(code)));
    }
    line.connection.close(200, "done".into()).await.unwrap();
    service.stop().await;
}

#[tokio::test]
async fn mq_a_tenant_with_too_many_jobs_is_told() {
    let mut studio = Studio::new().await;
    studio.fixture.config.limits.open_jobs_per_tenant = 1;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let (tenant, other) = (studio.tenant(&service).await, studio.tenant(&service).await);
    let (mut line, mut elsewhere) = (tenant.open().await, other.open().await);
    let [first, second, foreign] = std::array::from_fn(|_| Uuid::new_v4());
    line.send(&fox(first, "a fox")).await;
    assert_eq!(named(&line.event().await), ("accepted", first));
    line.send(&fox(second, "a fox")).await;
    elsewhere.send(&fox(foreign, "a fox")).await;
    let refused = line.event().await;
    assert_eq!(
        (named(&refused), refused["problem"]["code"].as_str()),
        (("rejected", second), Some("too-many-jobs"))
    );
    assert_eq!(named(&elsewhere.event().await), ("accepted", foreign));
    // a repetition is none more
    line.send(&fox(first, "a fox")).await;
    let (again, _) = line.any_event().await;
    assert_eq!((named(&again), again["duplicate"].as_bool()), (("accepted", first), Some(true)));
    assert_eq!(tenant.member.get("/v1/mq-dead").await.expect(200).body["items"], json!([]));
    service.stop().await;
}
