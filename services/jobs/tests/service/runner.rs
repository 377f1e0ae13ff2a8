//! The runner, with the CPU stand-in of the WebUI as its engine.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use atelier_runner::{Command, Config, Limits, Program};
use axum::{
    Json, Router,
    routing::{get, post},
};
use ids::TenantId;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use testkit::{Client, TestDb, eventually};
use tokio::{
    net::TcpListener,
    sync::{Notify, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::{
    fixture::{Fixture, Service, pool, submit},
    fleet::{Worker, reaches},
};

/// A pool with one worker, whose process is the runner.
pub(crate) struct Studio {
    pub(crate) service: Service,
    pub(crate) member: Client,
    config: Config,
    runner: Option<(CancellationToken, JoinHandle<anyhow::Result<()>>)>,
    pub(crate) fixture: Fixture,
    _folder: tempfile::TempDir,
}

impl Studio {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine(&folder).await;
        Self::with_engine(&engine, folder).await
    }

    async fn with_engine(engine: &str, folder: tempfile::TempDir) -> Self {
        let mut studio = Self::prepare(engine, folder).await;
        studio.start();
        studio
    }

    /// All but the process of the worker.
    async fn prepare(engine: &str, folder: tempfile::TempDir) -> Self {
        Self::prepare_in(Fixture::new().await, engine, folder).await
    }

    pub(crate) async fn prepare_in(mut fixture: Fixture, engine: &str, folder: tempfile::TempDir) -> Self {
        fixture.config.scheduler.retry_ms = 1;
        let service = fixture.start().await;
        let pool = pool(&fixture.admin(&service)).await;
        let member = fixture.member(&service, TenantId::new());
        let worker = Worker::create(&fixture, &service, &pool, "first").await;
        let config = Config {
            jobs_url: service.worker_api.base().parse().unwrap(),
            token: worker.token.into(),
            engine_url: Some(engine.parse().unwrap()),
            lora_dir: Some(folder.path().join("loras")),
            trainer: Command::from_words(&trainer()),
            trainer_models: Some(folder.path().join("models")),
            runs_programs: false,
            program: None,
            limits: Limits::default(),
        };
        Self { service, member, config, runner: None, fixture, _folder: folder }
    }

    /// Starts a process of the worker.
    pub(crate) fn start(&mut self) {
        let stop = CancellationToken::new();
        let running = tokio::spawn(atelier_runner::run(self.config.clone(), stop.clone()));
        self.runner = Some((stop, running));
    }

    /// Ends the process as by `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.runner.take().unwrap().1.abort();
    }

    /// Ends the process in an orderly way.
    pub(crate) async fn stop(&mut self) {
        let (stop, running) = self.runner.take().unwrap();
        stop.cancel();
        running.await.unwrap().unwrap();
    }

    /// Submits a job that takes long enough to be seen at work.
    async fn long(&self) -> String {
        let parameters =
            json!({ "prompt": "a fox", "steps": 150, "width": 1024, "height": 1024, "images": 8 });
        submit(&self.member, json!({ "parameters": parameters })).await.str("id").to_owned()
    }

    pub(crate) async fn is_working(&self, job: &str) {
        eventually("the engine works on the job", async || {
            let read = self.member.get(&format!("/v1/jobs/{job}")).await.expect(200);
            (read.body["progress"]["step"].as_i64() > Some(0)).then_some(())
        })
        .await;
    }

    /// The contents of a job's results.
    pub(crate) async fn pictures(&self, job: &str) -> Vec<Vec<u8>> {
        let page = self.member.get(&format!("/v1/jobs/{job}/artifacts")).await.expect(200);
        let mut pictures = Vec::new();
        for artifact in page.body["items"].as_array().unwrap() {
            let path = format!("/v1/jobs/{job}/artifacts/{}/content", artifact["id"].as_str().unwrap());
            let redirect = self.member.get(&path).await.expect(307);
            let content = reqwest::get(redirect.header("location").unwrap()).await.unwrap();
            pictures.push(content.bytes().await.unwrap().to_vec());
        }
        pictures
    }
}

/// The stand-in trainer, which is built with the tests of its package.
fn trainer() -> String {
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("atelier-trainer");
    assert!(program.exists(), "not built: {}", program.display());
    program.display().to_string()
}

/// Starts the stand-in. Returns its URL.
pub(crate) async fn engine(folder: &tempfile::TempDir) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let config = atelier_webui::Config {
        output_dir: folder.path().join("outputs"),
        lora_dir: Some(folder.path().join("loras")),
        checkpoint_dir: Some(folder.path().join("checkpoints")),
        version: "1.6".into(),
    };
    tokio::spawn(atelier_webui::serve(config, listener, std::future::pending()));
    format!("http://{address}")
}

/// Parameters of a small picture.
pub(crate) fn small(prompt: &str, images: u32) -> Value {
    json!({ "parameters": { "prompt": prompt, "steps": 4, "width": 64, "height": 64, "seed": 7, "images": images } })
}

#[tokio::test]
async fn a_job_becomes_pictures() {
    let mut studio = Studio::new().await;
    let mut made = Vec::new();
    for (prompt, images) in [("a fox", 2), ("a fox", 2), ("a boat", 1)] {
        let job = submit(&studio.member, small(prompt, images)).await.str("id").to_owned();
        reaches(&studio.member, &job, "succeeded").await;
        made.push(studio.pictures(&job).await);
    }
    assert_eq!(made.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1]);
    assert!(made.iter().flatten().all(|picture| picture.starts_with(b"\x89PNG\r\n")));
    assert!(made[0] == made[1], "the same seed makes the same pictures");
    assert!(made[0][0] != made[0][1] && made[0][0] != made[2][0], "others differ");

    studio.stop().await;
    studio.service.stop().await;
}

#[tokio::test]
async fn the_runner_tells_what_its_engines_have_and_when_that_changes() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(&folder).await;
    let (checkpoints, models) = (folder.path().join("checkpoints"), folder.path().join("models"));
    std::fs::create_dir_all(models.join("sd15")).unwrap();
    std::fs::create_dir_all(&checkpoints).unwrap();
    std::fs::write(models.join("sd15/model_index.json"), "{}").unwrap();
    let mut studio = Studio::prepare(&engine, folder).await;
    studio.config.limits.models = Duration::from_millis(100);
    studio.start();
    let listed = async |count: usize| {
        eventually(&format!("{count} models are listed"), async || {
            let page = studio.member.get("/v1/base-models").await.expect(200);
            let items = page.body["items"].as_array().unwrap();
            let names: Vec<String> =
                items.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect();
            (names.len() == count).then_some(names)
        })
        .await
    };
    assert_eq!(listed(2).await, ["sd15", "atelier-cpu-stand-in"]);
    let body = json!({ "application": "stable-diffusion", "method": "txt2img",
                       "parameters": { "prompt": "a fox", "model": "anime", "steps": 4, "width": 64, "height": 64, "seed": 7 } });
    studio.member.post("/v1/jobs", body.clone()).await.expect_problem(422, "model-missing");
    std::fs::write(checkpoints.join("anime.safetensors"), "").unwrap();
    std::fs::write(checkpoints.join("notes.txt"), "").unwrap();
    let refresh = reqwest::Client::new().post(format!("{engine}/sdapi/v1/refresh-checkpoints"));
    assert_eq!(refresh.send().await.unwrap().status(), 200);
    assert_eq!(listed(3).await, ["sd15", "anime", "atelier-cpu-stand-in"]);
    let job = studio.member.post("/v1/jobs", body).await.expect(202).str("id").to_owned();
    reaches(&studio.member, &job, "succeeded").await;
    let plain = submit(&studio.member, small("a fox", 1)).await.str("id").to_owned();
    reaches(&studio.member, &plain, "succeeded").await;
    assert!(studio.pictures(&job).await != studio.pictures(&plain).await, "the checkpoint was loaded");
    // what goes is missing at the next look
    std::fs::remove_dir_all(models.join("sd15")).unwrap();
    assert_eq!(listed(2).await, ["anime", "atelier-cpu-stand-in"]);
    studio.stop().await;
    studio.service.stop().await;
}

#[tokio::test]
async fn pictures_are_delivered_in_the_format_of_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(&folder).await;
    let options = reqwest::Client::new().post(format!("{engine}/sdapi/v1/options"));
    let jpeg = options.json(&json!({ "samples_format": "jpg" })).send().await.unwrap();
    assert_eq!(jpeg.status(), 200);
    let mut studio = Studio::with_engine(&engine, folder).await;
    let first = submit(&studio.member, small("a fox", 2)).await.str("id").to_owned();
    reaches(&studio.member, &first, "succeeded").await;
    let page = studio.member.get(&format!("/v1/jobs/{first}/artifacts")).await.expect(200);
    let items = page.body["items"].as_array().unwrap().clone();
    let named: Vec<_> = items.iter().map(|one| (&one["name"], &one["content_type"])).collect();
    assert_eq!(named, [(&json!("0.jpg"), &json!("image/jpeg")), (&json!("1.jpg"), &json!("image/jpeg"))]);
    assert!(studio.pictures(&first).await.iter().all(|picture| picture.starts_with(b"\xff\xd8\xff")));
    // the engine reads what it has written
    let mut body = json!({ "application": "stable-diffusion", "method": "img2img" });
    body["parameters"] = json!({ "prompt": "a boat", "image": items[0]["id"], "denoising_strength": 0.3,
                                 "steps": 4, "width": 64, "height": 64 });
    let second = studio.member.post("/v1/jobs", body).await.expect(202).str("id").to_owned();
    reaches(&studio.member, &second, "succeeded").await;
    assert_eq!(studio.pictures(&second).await.len(), 1);
    studio.stop().await;
    studio.service.stop().await;
}

/// Number of answered requests for the address of a result.
async fn upload_requests(service: &Service) -> f64 {
    let metrics = service.client.get("/metrics").await.expect(200).text;
    let of_uploads = metrics.lines().filter(|line| {
        line.starts_with("http_server_request_duration_seconds_count")
            && line.contains("route=\"/worker/v1/attempts/{job}/{number}/uploads\"")
    });
    of_uploads.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}

#[tokio::test]
async fn results_wait_for_an_object_store_that_is_away() {
    let mut studio = Studio::new().await;
    let first = submit(&studio.member, small("a fox", 1)).await.str("id").to_owned();
    reaches(&studio.member, &first, "succeeded").await;
    let address = studio.fixture.stop_objects().await;
    let before = upload_requests(&studio.service).await;
    let job = submit(&studio.member, small("a boat", 2)).await.str("id").to_owned();
    // results are uploaded one after another: a second request means that the first upload failed
    eventually("the upload is repeated", async || {
        (upload_requests(&studio.service).await >= before + 2.0).then_some(())
    })
    .await;
    studio.fixture.start_objects(&address).await;
    let done = reaches(&studio.member, &job, "succeeded").await;
    assert_eq!(done.body["attempts"], 1, "the pictures are made once");
    assert_eq!(studio.pictures(&job).await.len(), 2);
    studio.stop().await;
    studio.service.stop().await;
}

#[tokio::test]
async fn a_job_whose_results_cannot_be_uploaded_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(&folder).await;
    let mut studio = Studio::prepare(&engine, folder).await;
    studio.config.limits = Limits { away: Duration::from_millis(500), ..Limits::default() };
    studio.start();
    let first = submit(&studio.member, small("a fox", 1)).await.str("id").to_owned();
    reaches(&studio.member, &first, "succeeded").await;
    let address = studio.fixture.stop_objects().await;
    let job = submit(&studio.member, small("a boat", 1)).await.str("id").to_owned();
    eventually("an attempt has failed", async || {
        let attempts = studio.member.get(&format!("/v1/jobs/{job}/attempts")).await.expect(200);
        let attempts = attempts.body["items"].as_array().unwrap().clone();
        attempts.iter().any(|attempt| attempt["problem"]["code"] == "upload-failed").then_some(())
    })
    .await;
    studio.fixture.start_objects(&address).await;
    let done = reaches(&studio.member, &job, "succeeded").await;
    assert!(done.body["attempts"].as_i64() > Some(1), "{}", done.body);
    assert_eq!(studio.pictures(&job).await.len(), 1);
    studio.stop().await;
    studio.service.stop().await;
}

/// A proxy in front of an object store that changes a byte of the first upload. Counts uploads. Returns its URL.
async fn changing_proxy(store: &str, uploads: Arc<AtomicUsize>) -> String {
    let (store, http) = (store.to_owned(), reqwest::Client::new());
    testkit::serve(Router::new().fallback(async move |request: axum::extract::Request| {
        let (parts, body) = request.into_parts();
        let mut body = axum::body::to_bytes(body, 1 << 20).await.unwrap().to_vec();
        if parts.method == Method::PUT && uploads.fetch_add(1, Ordering::Relaxed) == 0 {
            *body.last_mut().unwrap() ^= 1;
        }
        let url = format!("{store}{}", parts.uri.path_and_query().unwrap());
        let answer = http.request(parts.method, url).headers(parts.headers).body(body).send().await.unwrap();
        (answer.status(), answer.bytes().await.unwrap())
    }))
    .await
}

#[tokio::test]
async fn a_result_that_changes_on_its_way_is_uploaded_again() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, uploads) = (engine(&folder).await, Arc::new(AtomicUsize::new(0)));
    let proxy = async |store: &str| Some(changing_proxy(store, Arc::clone(&uploads)).await);
    let fixture = Fixture::behind(TestDb::new(), proxy).await;
    let mut studio = Studio::prepare_in(fixture, &engine, folder).await;
    studio.start();
    let job = submit(&studio.member, small("a fox", 1)).await.str("id").to_owned();
    let done = reaches(&studio.member, &job, "succeeded").await;
    assert_eq!((&done.body["attempts"], uploads.load(Ordering::Relaxed)), (&json!(1), 2));
    let page = studio.member.get(&format!("/v1/jobs/{job}/artifacts")).await.expect(200);
    let sha256 = hex::encode(Sha256::digest(&studio.pictures(&job).await[0]));
    assert_eq!(page.body["items"][0]["sha256"], sha256);
    studio.stop().await;
    studio.service.stop().await;
}

#[tokio::test]
async fn a_cancelled_job_leaves_the_engine_to_the_next() {
    let mut studio = Studio::new().await;
    let job = studio.long().await;
    studio.is_working(&job).await;
    let _ = studio.member.post(&format!("/v1/jobs/{job}/cancel"), Value::Null).await.expect(202);
    reaches(&studio.member, &job, "cancelled").await;
    assert_eq!(studio.pictures(&job).await.len(), 0);
    let next = submit(&studio.member, small("a boat", 1)).await.str("id").to_owned();
    reaches(&studio.member, &next, "succeeded").await;
    assert_eq!(studio.pictures(&next).await.len(), 1);
    studio.stop().await;
    studio.service.stop().await;
}

/// An engine whose generations end only when they are interrupted. Returns its URL.
async fn endless_engine() -> String {
    let (works, stop) = (watch::Sender::new(false), Arc::new(Notify::new()));
    let (working, interrupted) = (works.subscribe(), Arc::clone(&stop));
    let progress = async move || {
        let count = i32::from(*working.borrow());
        Json(
            json!({ "state": { "job_count": count, "job_no": 0, "sampling_step": 1, "sampling_steps": 20 } }),
        )
    };
    let generate = async move || {
        works.send_replace(true);
        stop.notified().await;
        works.send_replace(false);
        Json(json!({ "images": [] }))
    };
    let router = Router::new()
        .route("/sdapi/v1/options", get(async || Json(json!({}))))
        .route("/sdapi/v1/progress", get(progress))
        .route("/sdapi/v1/txt2img", post(generate))
        .route("/sdapi/v1/interrupt", post(async move || interrupted.notify_waiters()));
    testkit::serve(router).await
}

#[tokio::test]
async fn a_cancelled_job_interrupts_the_engine() {
    let engine = endless_engine().await;
    let mut studio = Studio::with_engine(&engine, tempfile::tempdir().unwrap()).await;
    let job = submit(&studio.member, json!({})).await.str("id").to_owned();
    studio.is_working(&job).await;
    let _ = studio.member.post(&format!("/v1/jobs/{job}/cancel"), Value::Null).await.expect(202);
    reaches(&studio.member, &job, "cancelled").await;
    let progress = reqwest::get(format!("{engine}/sdapi/v1/progress")).await.unwrap();
    let progress: Value = serde_json::from_slice(&progress.bytes().await.unwrap()).unwrap();
    assert_eq!(progress["state"]["job_count"], 0, "the engine still works");
    studio.stop().await;
    studio.service.stop().await;
}

#[tokio::test]
async fn a_job_survives_the_end_of_its_workers_process() {
    let mut studio = Studio::new().await;
    let job = studio.long().await;
    studio.is_working(&job).await;
    // it leaves what it runs
    studio.stop().await;
    let left = reaches(&studio.member, &job, "queued").await;
    assert_eq!((&left.body["reason"], &left.body["attempts"]), (&json!("worker_lost"), &json!(1)));
    studio.start();
    studio.is_working(&job).await;
    // it cannot: its next process tells
    studio.kill();
    studio.start();
    eventually("the third attempt has begun", async || {
        let read = studio.member.get(&format!("/v1/jobs/{job}")).await.expect(200);
        (read.body["attempts"] == 3).then_some(())
    })
    .await;
    studio.is_working(&job).await;
    let _ = studio.member.post(&format!("/v1/jobs/{job}/cancel"), Value::Null).await.expect(202);
    reaches(&studio.member, &job, "cancelled").await;
    studio.stop().await;
    studio.service.stop().await;
}

/// An engine with a process: the process only writes its number to a file, and this serves while it runs. A generation ends
/// when its process has ended, is interrupted, or at once with the error that the engine has.
struct Spawned {
    url: String,
    program: Program,
    numbers: std::path::PathBuf,
}

impl Spawned {
    async fn new(folder: &tempfile::TempDir) -> Self {
        Self::with_error(folder, None).await
    }

    async fn with_error(folder: &tempfile::TempDir, error: Option<&'static str>) -> Self {
        let numbers = folder.path().join("processes");
        let file = numbers.clone();
        // the process that works
        let works = watch::Sender::new(None);
        let (working, begun, reported) = (works.subscribe(), file.clone(), file.clone());
        let progress = async move || {
            let process = last(&reported).filter(|process| runs(process));
            let count = i32::from(process.is_some() && *working.borrow() == process);
            Json(
                json!({ "state": { "job_count": count, "job_no": 0, "sampling_step": 1, "sampling_steps": 20 } }),
            )
        };
        let generate = async move || {
            let process = last(&begun).unwrap();
            if let Some(error) = error {
                return (axum::http::StatusCode::INTERNAL_SERVER_ERROR, error);
            }
            works.send_replace(Some(process.clone()));
            let mut looks = tokio::time::interval(Duration::from_millis(50));
            while runs(&process) {
                looks.tick().await;
            }
            (axum::http::StatusCode::BAD_GATEWAY, "")
        };
        let options = async move || match last(&file).filter(|process| runs(process)) {
            Some(_) => Ok(Json(json!({}))),
            None => Err(axum::http::StatusCode::BAD_GATEWAY),
        };
        let router = Router::new()
            .route("/sdapi/v1/options", get(options))
            .route("/sdapi/v1/progress", get(progress))
            .route("/sdapi/v1/txt2img", post(generate))
            .route("/sdapi/v1/interrupt", post(async || Json(json!({}))));
        // a second process of the group that outlives the first, if it can
        let script = format!("echo $$ >> {}; sleep 600 & exec sleep 600", numbers.display());
        let args = ["-c".into(), script.into()].into();
        let program = Program { path: "/bin/sh".into(), args };
        Self { url: testkit::serve(router).await, program, numbers }
    }

    /// Waits until this many processes were started, and the last one runs. Returns its number.
    async fn process(&self, count: usize) -> String {
        eventually(&format!("process {count} runs"), async || {
            let text = std::fs::read_to_string(&self.numbers).unwrap_or_default();
            assert!(text.lines().count() <= count, "more processes than expected");
            last(&self.numbers).filter(|process| text.lines().count() == count && runs(process))
        })
        .await
    }
}

/// The number of the latest process.
fn last(numbers: &std::path::Path) -> Option<String> {
    std::fs::read_to_string(numbers).ok()?.lines().last().map(str::to_owned)
}

/// Whether a process of this group runs.
fn runs(group: &str) -> bool {
    let stats = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("stat"));
    // `1 (name) state parent group …`
    let of_group = |stat: String| {
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        fields.next() != Some("Z") && fields.nth(1) == Some(group)
    };
    stats.filter_map(|file| std::fs::read_to_string(file).ok()).any(of_group)
}

#[tokio::test]
async fn an_engine_that_ends_or_hangs_is_started_again_and_its_job_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Spawned::new(&folder).await;
    let mut studio = Studio::prepare(&engine.url, folder).await;
    studio.config.program = Some(engine.program.clone());
    studio.start();
    // while it is idle
    let first = engine.process(1).await;
    kill(&first);
    let second = engine.process(2).await;
    assert!(!runs(&first), "a process of the group is left");
    // at work
    let job = submit(&studio.member, json!({})).await.str("id").to_owned();
    studio.is_working(&job).await;
    kill(&second);
    engine.process(3).await;
    studio.is_working(&job).await;
    let read = studio.member.get(&format!("/v1/jobs/{job}")).await.expect(200);
    assert_eq!(read.body["attempts"], 2);
    let events = studio.member.get(&format!("/v1/jobs/{job}/events")).await.expect(200);
    let again = events.body["items"].as_array().unwrap().iter().find(|event| event["type"] == "job.requeued");
    assert_eq!(again.unwrap()["reason"], "retry", "the attempt has failed, and was not lost");
    studio.stop().await;
    assert!(!runs(&last(&engine.numbers).unwrap()), "the engine outlives the runner");
    studio.service.stop().await;
}

#[tokio::test]
async fn an_engine_without_progress_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Spawned::new(&folder).await;
    let mut studio = Studio::prepare(&engine.url, folder).await;
    studio.config.program = Some(engine.program.clone());
    let time = Duration::from_millis(700);
    studio.config.limits = Limits { step: time, interrupt: time, ..Limits::default() };
    studio.start();
    let first = engine.process(1).await;
    let job = submit(&studio.member, json!({})).await.str("id").to_owned();
    let failed = reaches(&studio.member, &job, "failed").await;
    assert_eq!(
        (&failed.body["problem"]["code"], &failed.body["attempts"]),
        (&json!("engine-failed"), &json!(3))
    );
    assert!(failed.body["problem"]["message"].as_str().unwrap().contains("no progress"), "{:?}", failed.body);
    assert!(!runs(&first));
    engine.process(4).await;
    studio.stop().await;
    studio.service.stop().await;
}

#[tokio::test]
async fn an_engine_whose_gpu_has_failed_is_started_again_before_it_gets_a_job() {
    let folder = tempfile::tempdir().unwrap();
    let error = r#"{"error":"RuntimeError","errors":"CUDA error: uncorrectable ECC error encountered"}"#;
    let engine = Spawned::with_error(&folder, Some(error)).await;
    let mut studio = Studio::prepare(&engine.url, folder).await;
    studio.config.program = Some(engine.program.clone());
    studio.start();
    let first = engine.process(1).await;
    let job = submit(&studio.member, json!({})).await.str("id").to_owned();
    let failed = reaches(&studio.member, &job, "failed").await;
    assert_eq!(
        (&failed.body["problem"]["code"], &failed.body["attempts"]),
        (&json!("gpu-failed"), &json!(3))
    );
    assert!(!runs(&first));
    // one for each attempt
    engine.process(4).await;
    studio.stop().await;
    studio.service.stop().await;
}

/// Kills one process.
fn kill(process: &str) {
    assert!(std::process::Command::new("kill").args(["-9", process]).status().unwrap().success());
}
