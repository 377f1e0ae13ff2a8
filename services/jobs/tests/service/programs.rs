//! Programs of tenants: `command.run`, with the runner as the process of the workers.

use atelier_runner::{Config, Limits};
use ids::TenantId;
use serde_json::{Value, json};
use testkit::{Client, eventually};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    fixture::{Fixture, Service, fox},
    fleet::{Worker, reaches},
    uploads::pictures,
};

/// A dedicated pool whose workers run programs, and a member of its tenant.
pub(crate) struct Yard {
    fixture: Fixture,
    service: Service,
    pub(crate) member: Client,
    configs: Vec<Config>,
    runners: Vec<JoinHandle<anyhow::Result<()>>>,
}

impl Yard {
    pub(crate) async fn new(workers: usize) -> Self {
        let mut fixture = Fixture::new().await;
        fixture.config.scheduler.retry_ms = 1;
        let service = fixture.start().await;
        let tenant = TenantId::new();
        let pool = dedicated(&fixture.admin(&service), "acme", tenant).await;
        let member = fixture.member(&service, tenant);
        let mut configs = Vec::new();
        for n in 0..workers {
            let worker = Worker::create(&fixture, &service, &pool, &format!("w{n}")).await;
            configs.push(Config {
                jobs_url: service.worker_api.base().parse().unwrap(),
                token: worker.token.into(),
                engine_url: None,
                lora_dir: None,
                trainer: None,
                trainer_models: None,
                runs_programs: true,
                program: None,
                limits: Limits::default(),
            });
        }
        let mut yard = Self { fixture, service, member, configs, runners: Vec::new() };
        yard.start();
        yard
    }

    /// Starts the processes of the workers.
    fn start(&mut self) {
        let run =
            |config: &Config| tokio::spawn(atelier_runner::run(config.clone(), CancellationToken::new()));
        self.runners = self.configs.iter().map(run).collect();
    }

    /// Ends the processes as by `kill -9`.
    fn kill(&mut self) {
        self.runners.drain(..).for_each(|runner| runner.abort());
    }

    async fn run(&self, script: &str, change: Value) -> String {
        let mut body = json!({ "application": "command", "method": "run",
                               "parameters": { "command": ["sh", "-c", script] } });
        for (name, value) in change.as_object().unwrap() {
            match name.as_str() {
                "gang" => body[name] = value.clone(),
                _ => body["parameters"][name] = value.clone(),
            }
        }
        self.member.post("/v1/jobs", body).await.expect(202).str("id").to_owned()
    }

    pub(crate) async fn log(&self, job: &str) -> String {
        self.member.get(&format!("/v1/jobs/{job}/log")).await.expect(200).str("text").to_owned()
    }

    /// The content of a result.
    pub(crate) async fn result(&self, job: &str, name: &str) -> String {
        let page = self.member.get(&format!("/v1/jobs/{job}/artifacts")).await.expect(200);
        let items = page.body["items"].as_array().unwrap();
        let artifact = items.iter().find(|artifact| artifact["name"] == name).unwrap();
        let path = format!("/v1/jobs/{job}/artifacts/{}/content", artifact["id"].as_str().unwrap());
        let redirect = self.member.get(&path).await.expect(307);
        reqwest::get(redirect.header("location").unwrap()).await.unwrap().text().await.unwrap()
    }

    pub(crate) async fn stop(mut self) {
        self.kill();
        self.service.stop().await;
    }
}

async fn dedicated(admin: &Client, name: &str, tenant: TenantId) -> String {
    let body = json!({ "name": name, "gpu_specs": ["small"], "tenant_id": tenant, "dedicated": true,
                       "applications": ["command"] });
    admin.post("/v1/platform-pools", body).await.expect(201).str("id").to_owned()
}

#[tokio::test]
async fn a_program_has_its_inputs_and_leaves_results() {
    let yard = Yard::new(1).await;
    let uploads = pictures(&yard.member, 1).await;
    let script = r#"
        echo "hello $NAME"; echo "no token: ${ATELIER_WORKER_TOKEN-none}" >&2
        cat inputs/0-0.png > outputs/copy.txt; cp input.json outputs/
        echo '{"step":1,"steps":70000}' >> progress"#;
    let job = yard
        .run(
            script,
            json!({ "env": { "NAME": "fixture" }, "arguments": { "epochs": 3 }, "uploads": uploads }),
        )
        .await;
    let done = reaches(&yard.member, &job, "succeeded").await;
    assert_eq!(done.str("kind"), "batch");
    assert_eq!(yard.result(&job, "copy.txt").await, "abc");
    let input: Value = serde_json::from_str(&yard.result(&job, "input.json").await).unwrap();
    assert_eq!(input["parameters"]["arguments"]["epochs"], 3);
    assert_eq!(input["uploads"], json!(["inputs/0-0.png"]));
    assert_eq!(yard.log(&job).await, "hello fixture\nno token: none\n");

    let stranger = yard.fixture.member(&yard.service, TenantId::new());
    stranger.get(&format!("/v1/jobs/{job}/log")).await.expect_problem(404, "not-found");
    let none = yard.member.get(&format!("/v1/jobs/{job}/log?attempt=2")).await.expect(200);
    assert_eq!((none.str("text"), &none.body["updated_at"]), ("", &Value::Null));
    yard.member.get(&format!("/v1/jobs/{job}/log?attempt=0")).await.expect_problem(422, "invalid-field");
    yard.stop().await;
}

#[tokio::test]
async fn results_have_any_name_and_may_be_empty() {
    let yard = Yard::new(1).await;
    let script = r#"
        cd outputs; : > empty.txt; echo a > 'a b.png'; echo b > 'über "%41".txt'; echo c > .hidden
        mkdir folder; echo d > "$(printf 'new\nline')"; echo e > "$(printf 'z\377')""#;
    let job = yard.run(script, json!({})).await;
    reaches(&yard.member, &job, "succeeded").await;
    for (name, content) in
        [("empty.txt", ""), ("a b.png", "a\n"), ("über \"%41\".txt", "b\n"), (".hidden", "c\n")]
    {
        assert_eq!(yard.result(&job, name).await, content, "{name}");
    }
    let page = yard.member.get(&format!("/v1/jobs/{job}/artifacts")).await.expect(200);
    assert_eq!(page.body["items"].as_array().unwrap().len(), 4);
    // what is no result is named
    let page = yard.member.get(&format!("/v1/jobs/{job}/attempts")).await.expect(200);
    let attempt = &page.body["items"][0];
    assert_eq!(
        (&attempt["state"], &attempt["problem"]["code"]),
        (&json!("succeeded"), &json!("results-refused"))
    );
    let message = attempt["problem"]["message"].as_str().unwrap();
    let log = yard.log(&job).await;
    for refused in [
        r#""folder": it is not a file"#,
        r#""new\nline": its name has control characters"#,
        r#""z\xFF": its name is not UTF-8"#,
    ] {
        assert!(message.contains(refused), "{message}");
        assert!(log.contains(&format!("not delivered: {refused}")), "{log}");
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_program_with_too_many_results_has_the_first_delivered() {
    let yard = Yard::new(1).await;
    let job = yard.run("for n in $(seq 10 79); do echo $n > outputs/$n; done", json!({})).await;
    reaches(&yard.member, &job, "succeeded").await;
    let page = yard.member.get(&format!("/v1/jobs/{job}/artifacts?limit=100")).await.expect(200);
    assert_eq!(page.body["items"].as_array().unwrap().len(), 64);
    let log = yard.log(&job).await;
    assert_eq!(log.matches("a job has at most 64 results").count(), 6, "{log}");
    yard.stop().await;
}

#[tokio::test]
async fn the_log_is_there_while_the_program_runs() {
    let yard = Yard::new(1).await;
    let job =
        yard.run("trap 'echo bye; exit 75' TERM; echo begun; while :; do sleep 0.05; done", json!({})).await;
    eventually("the log arrives", async || (yard.log(&job).await == "begun\n").then_some(())).await;
    reaches(&yard.member, &job, "running").await;
    let _ = yard.member.post(&format!("/v1/jobs/{job}/cancel"), Value::Null).await.expect(202);
    reaches(&yard.member, &job, "cancelled").await;
    assert_eq!(yard.log(&job).await, "begun\nbye\n");
    yard.stop().await;
}

#[tokio::test]
async fn a_program_goes_on_from_its_checkpoint() {
    let mut yard = Yard::new(1).await;
    let script = r#"
        n=0; test -f checkpoint && n=$(cat checkpoint) && echo "from $n"
        while [ $n -lt 30 ]; do
            n=$((n + 1)); echo $n > next; mv next checkpoint
            printf '{"step":%d,"steps":30}\n{"checkpoint":%d}\n' $n $n >> progress
            sleep 0.1
        done
        cp checkpoint outputs/count.txt"#;
    let job = yard.run(script, json!({})).await;
    eventually("it has a checkpoint", async || {
        let read = yard.member.get(&format!("/v1/jobs/{job}")).await.expect(200);
        (read.body["progress"]["step"].as_i64() > Some(12)).then_some(())
    })
    .await;
    yard.kill();
    yard.start();
    let done = reaches(&yard.member, &job, "succeeded").await;
    assert_eq!(done.body["attempts"], 2);
    assert_eq!(yard.result(&job, "count.txt").await, "30\n");
    let log = yard.log(&job).await;
    let from: u32 = log.trim().strip_prefix("from ").unwrap().parse().unwrap();
    assert!((1..30).contains(&from), "{log}");
    yard.stop().await;
}

#[tokio::test]
async fn how_a_program_ends_decides_about_its_job() {
    let yard = Yard::new(1).await;
    let endings = [
        ("echo 'no such column' >&2; exit 2", "invalid-parameters", "no such column", 1),
        ("exit 7", "engine-failed", "The program failed with exit code 7.", 3),
        ("kill -9 $$", "engine-failed", "The program was killed, perhaps for lack of memory.", 3),
        (
            "echo 'RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED'; exit 1",
            "out-of-memory",
            "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED",
            2,
        ),
        (
            "echo 'CUDA error: device-side assert triggered'; exit 1",
            "engine-failed",
            "CUDA error: device-side assert triggered",
            1,
        ),
        (
            "echo 'CUDA error: an illegal memory access was encountered'; exit 1",
            "engine-failed",
            "CUDA error: an illegal memory access was encountered",
            3,
        ),
        ("sleep 60", "timed-out", "The program has worked for `max_seconds`.", 1),
    ];
    for (script, code, message, attempts) in endings {
        let job = yard.run(script, json!({ "max_seconds": if code == "timed-out" { 1 } else { 60 } })).await;
        let failed = reaches(&yard.member, &job, "failed").await;
        assert_eq!(failed.body["problem"], json!({ "code": code, "message": message }), "{script}");
        assert_eq!(failed.body["attempts"], attempts, "{script}");
    }
    let job = yard.member.post(
        "/v1/jobs",
        json!({ "application": "command", "method": "run", "parameters": { "command": ["/no/such"] } }),
    );
    let job = job.await.expect(202).str("id").to_owned();
    let failed = reaches(&yard.member, &job, "failed").await;
    assert_eq!(failed.body["attempts"], 1, "{}", failed.text);
    yard.stop().await;
}

#[tokio::test]
async fn the_workers_of_a_gang_find_each_other() {
    let yard = Yard::new(2).await;
    let shared = tempfile::tempdir().unwrap();
    // files stand for the network
    let script = r#"
        echo "$RANK of $WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT" > "$SHARED/$RANK.part"
        mv "$SHARED/$RANK.part" "$SHARED/$RANK"
        test "$RANK" = 0 || { echo stray > outputs/stray.txt; exit 0; }
        while ! test -f "$SHARED/1"; do sleep 0.05; done
        cat "$SHARED/0" "$SHARED/1" > outputs/all.txt"#;
    let env = json!({ "SHARED": shared.path() });
    let job = yard.run(script, json!({ "gang": { "size": 2 }, "env": env })).await;
    reaches(&yard.member, &job, "succeeded").await;
    let all = yard.result(&job, "all.txt").await;
    let lines: Vec<&str> = all.lines().collect();
    let [first, second] = lines[..] else { panic!("{all}") };
    let master = first.strip_prefix("0 of 2 at 127.0.0.1:").unwrap();
    assert!(master.parse::<u16>().unwrap() > 0);
    assert_eq!(second, format!("1 of 2 at 127.0.0.1:{master}"));
    let page = yard.member.get(&format!("/v1/jobs/{job}/artifacts")).await.expect(200);
    assert_eq!(page.body["items"].as_array().unwrap().len(), 1, "results are those of rank 0");

    // one of them fails: both are stopped, and tried again
    let script = r#"
        test -f "$SHARED/again" && { echo "attempt 2" > outputs/done.txt; exit 0; }
        test "$RANK" = 0 && { echo $$ > "$SHARED/pid"; sleep 60; }
        while ! test -f "$SHARED/pid"; do sleep 0.05; done
        touch "$SHARED/again"; exit 1"#;
    let env = json!({ "SHARED": shared.path() });
    let job = yard.run(script, json!({ "gang": { "size": 2 }, "env": env })).await;
    let done = reaches(&yard.member, &job, "succeeded").await;
    assert_eq!(done.body["attempts"], 2);
    let pid = std::fs::read_to_string(shared.path().join("pid")).unwrap();
    assert!(!std::path::Path::new(&format!("/proc/{}", pid.trim())).exists(), "the other one still runs");
    yard.stop().await;
}

#[tokio::test]
async fn a_dedicated_pool_is_its_tenants() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let admin = fixture.admin(&service);
    let (acme, other) = (TenantId::new(), TenantId::new());
    let (member, stranger) = (fixture.member(&service, acme), fixture.member(&service, other));
    let program = json!({ "application": "command", "method": "run", "parameters": { "command": ["true"] } });
    member.post("/v1/jobs", program.clone()).await.expect_problem(409, "no-pool");

    let shared = json!({ "name": "shared", "gpu_specs": ["small"], "applications": ["command"] });
    let refused = admin.post("/v1/platform-pools", shared).await.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/applications/0");
    let nobodys = json!({ "name": "nobodys", "gpu_specs": ["small"], "dedicated": true });
    admin.post("/v1/platform-pools", nobodys).await.expect_problem(422, "invalid-field");
    let first = dedicated(&admin, "acme", acme).await;
    let second = dedicated(&admin, "acme-two", acme).await;
    dedicated(&admin, "other", other).await;

    let _ = member.post("/v1/jobs", program.clone()).await.expect(202);
    let mut named = program.clone();
    named["pool"] = json!("acme-two");
    let _ = member.post("/v1/jobs", named.clone()).await.expect(202);
    let queued = async |pool: &str| {
        let mut conn = fixture.db.admin().await;
        let pool: ids::PoolId = pool.parse().unwrap();
        sqlx::query_scalar::<_, i64>("select count(*) from jobs.jobs where pool_id = $1")
            .bind(pool.uuid())
            .fetch_one(&mut conn)
            .await
            .unwrap()
    };
    assert_eq!((queued(&first).await, queued(&second).await), (1, 1));
    // a pool of another tenant is like one that does not exist
    let theirs = stranger.post("/v1/jobs", named.clone()).await.expect_problem(422, "invalid-field");
    named["pool"] = json!("nowhere");
    let none = stranger.post("/v1/jobs", named).await.expect_problem(422, "invalid-field");
    assert_eq!(theirs.body["errors"], none.body["errors"]);
    // pools for programs make no pictures
    member.post("/v1/jobs", fox()).await.expect_problem(409, "no-pool");
    let path = format!("/v1/platform-pools/{second}");
    let both = json!({ "applications": ["command", "stable-diffusion"] });
    let changed = admin.patch(&path, "*", both).await.expect(200);
    assert_eq!(changed.body["applications"], json!(["command", "stable-diffusion"]));
    let _ = member.post("/v1/jobs", fox()).await.expect(202);
    stranger.post("/v1/jobs", fox()).await.expect_problem(409, "no-pool");
    assert_eq!(queued(&second).await, 2);
    service.stop().await;
}

/// The processes that have this word in their environment.
fn marked(word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.windows(word.len()).any(|part| part == word.as_bytes()) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

#[tokio::test]
async fn nothing_of_a_program_outlives_it() {
    let mut yard = Yard::new(1).await;
    // in its own session, below no process that lives, deaf, and holding the program's output
    let daemons = "(setsid sh -c 'trap \"\" TERM HUP INT; : >one; while :; do sleep 1; done' &)
        setsid nohup sh -c '(: >two; cd /; exec sleep 1000) & exit' >/dev/null 2>&1
        until test -e one && test -e two; do sleep 0.01; done; echo $TMPDIR; : >\"$TMPDIR/left\"; ";
    let word = format!("DAEMONS={}", ids::JobId::new());
    let (name, value) = word.split_once('=').unwrap();
    let with = |change: Value| {
        let mut body = json!({ "env": { name: value } });
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        body
    };
    for (end, change, state) in [
        ("exit 0", json!({}), "succeeded"),
        ("exit 2", json!({}), "failed"),
        ("sleep 1000", json!({ "max_seconds": 1 }), "failed"),
    ] {
        let job = yard.run(&format!("{daemons}{end}"), with(change)).await;
        reaches(&yard.member, &job, state).await;
        assert_eq!(marked(&word), Vec::<String>::new(), "{end}");
        let folder = yard.log(&job).await;
        assert!(!std::path::Path::new(folder.lines().next().unwrap()).exists(), "{folder}");
    }
    let job = yard.run(&format!("{daemons} sleep 1000"), with(json!({}))).await;
    eventually("it runs", async || yard.log(&job).await.contains("tmp").then_some(())).await;
    assert!(marked(&word).len() >= 3);
    let _ = yard.member.post(&format!("/v1/jobs/{job}/cancel"), Value::Null).await.expect(202);
    reaches(&yard.member, &job, "cancelled").await;
    assert_eq!(marked(&word), Vec::<String>::new());
    // with the process of the worker
    let job = yard.run(&format!("{daemons} sleep 1000"), with(json!({}))).await;
    eventually("it runs", async || yard.log(&job).await.contains("tmp").then_some(())).await;
    yard.kill();
    eventually("all have ended", async || marked(&word).is_empty().then_some(())).await;
    yard.stop().await;
}
