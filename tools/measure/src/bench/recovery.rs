//! `cargo xtask bench jobs-recovery`: broker, jobs service, Postgres and workers are killed again and again while jobs are
//! submitted over HTTP and by message. In the end each job must have had its effect once: one job of its number, one success,
//! one result, one event of success, and nothing charged for other attempts. Beside it, under the same kills: a queue of the same
//! broker with a plain consumer, which is killed with the workers.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use anyhow::ensure;
use clap::Parser;
use demo::messages::{self, Listener};
use machine::{
    access::Access,
    client::{Api, text},
    own::Task,
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;
use uuid::Uuid;

use super::{
    plain::Plain,
    platform::{measure, quantile},
    victims::{Processes, Victim},
    workers,
};

#[derive(Debug, Parser)]
struct Args {
    /// How often each is killed
    #[arg(long, default_value_t = 20)]
    kills: u32,
}

/// Pause before something is tried again.
const PAUSE: Duration = Duration::from_millis(50);
/// Pause between the jobs whose effects are read: three requests each, within the tenant's rate limit.
const READ_PAUSE: Duration = Duration::from_millis(200);
/// A queue of events that the broker has declared less than three seconds before it is killed is lost with
/// its messages. The service replaces it (`mq/repair.rs` of jobs), which a test shows.
const SETTLED: Duration = Duration::from_secs(5);
/// Longest time of one submission, or until a job has succeeded.
const CALL: Duration = Duration::from_secs(2);
const LIMIT: Duration = Duration::from_secs(120);
/// Kills of the same workers: Kubernetes restarts a container after 10 s, and each time after twice as long. Then there are new ones.
const WORKER_KILLS: u32 = 2;
/// Step of the time between a submission and the kill: each kill meets another moment.
const STEP: Duration = Duration::from_millis(70);

pub(super) fn run(rest: &[String]) -> anyhow::Result<Task> {
    let name = "jobs-recovery".to_owned();
    let args = Args::try_parse_from(std::iter::once(&name).chain(rest))?;
    measure(true, None, async move |access, processes| recover(&args, &access, &processes).await)
}

/// Seconds after a kill.
#[derive(Default)]
struct Seconds {
    /// Until a job that was submitted over HTTP has succeeded.
    http: Vec<f64>,
    /// Until the broker has taken a message, and the job of that message has succeeded.
    taken: Vec<f64>,
    message: Vec<f64>,
    /// Until a message to the plain consumer has had its effect.
    plain: Vec<f64>,
}

async fn recover(args: &Args, access: &Access, processes: &Processes) -> anyhow::Result<()> {
    let credential = messages::credential(&designer(access).await).await?;
    let mut plain = Plain::start(processes.broker_url()?);
    sleep(SETTLED).await;
    let (mut all, mut all_plain, mut all_kills, mut keys) = (Vec::new(), Vec::new(), 0, String::new());
    println!("seconds after a kill until a job has succeeded that was submitted after it, p50 and maximum:");
    println!(
        "{:<14} {:>15} {:>15} {:>15} {:>15}",
        "killed", "over HTTP", "message taken", "by message", "plain consumer"
    );
    for victim in [None].into_iter().chain(Victim::ALL.map(Some)) {
        let mut seconds = Seconds::default();
        all_kills += if victim.is_some() { args.kills } else { 0 };
        for n in 0..args.kills {
            if victim == Some(Victim::Workers) && n % WORKER_KILLS == 0 {
                workers::replace(access).await?;
            }
            // under way when it is killed
            let api = designer(access).await;
            let [over_http, by_message, to_plain] = [(); 3].map(|()| Uuid::new_v4());
            tokio::try_join!(submit(&api, over_http), publish(&credential, by_message))?;
            plain.publish(to_plain).await;
            all.extend([over_http, by_message]);
            all_plain.push(to_plain);
            if let Some(victim) = victim {
                sleep(STEP * n).await;
                processes.kill(victim)?;
                if victim == Victim::Workers {
                    plain.kill_consumer();
                }
            }
            let [over_http, by_message, to_plain] = seconds.measure(access, &credential, &plain).await?;
            all.extend([over_http, by_message]);
            all_plain.push(to_plain);
        }
        let name = victim.map_or("nothing", Victim::name);
        let Seconds { http, taken, message, plain } = &mut seconds;
        let [http, taken, message, plain] =
            [http, taken, message, plain].map(|seen| (quantile(seen, 0.5), quantile(seen, 1.0)));
        let show = |(p50, max): (f64, f64)| format!("{p50:.2} / {max:.2}");
        let [over_http, by_message, to_plain] = [http, message, plain].map(show);
        println!("{name:<14} {over_http:>15} {:>15} {by_message:>15} {to_plain:>15}", show(taken));
        let key = victim.map_or("undisturbed", Victim::key);
        let _ = write!(
            keys,
            " {key}_http_max_s={:.2} {key}_mq_max_s={:.2} {key}_plain_max_s={:.2}",
            http.1, message.1, plain.1
        );
    }
    let mut listener = messages::listen_with(&credential).await?;
    let effects = Effects::of(access, &mut listener, &all).await?;
    let (plain_lost, plain_duplicated) =
        all_plain.iter().map(|number| plain.effects(*number)).fold((0, 0), |(lost, duplicated), effects| {
            (lost + usize::from(effects == 0), duplicated + usize::from(effects > 1))
        });
    println!(
        "jobs-recovery: jobs={} kills={all_kills} lost={} duplicated={} plain_lost={plain_lost} \
         plain_duplicated={plain_duplicated}{keys}",
        all.len(),
        effects.lost,
        effects.duplicated,
    );
    ensure!(effects.lost == 0 && effects.duplicated == 0, "jobs were lost, or had their effect twice");
    Ok(())
}

impl Seconds {
    /// Submits a job over HTTP and over the broker, and a message to the plain consumer, and waits until all have succeeded. Returns their numbers.
    async fn measure(
        &mut self,
        access: &Access,
        credential: &messages::Credential,
        plain: &Plain,
    ) -> anyhow::Result<[Uuid; 3]> {
        let begun = Instant::now();
        let numbers @ [over_http, by_message, to_plain] = [(); 3].map(|()| Uuid::new_v4());
        let http = async {
            submit(&designer(access).await, over_http).await?;
            expect_success(access, over_http).await?;
            anyhow::Ok(begun.elapsed().as_secs_f64())
        };
        let message = async {
            publish(credential, by_message).await?;
            let taken = begun.elapsed().as_secs_f64();
            expect_success(access, by_message).await?;
            anyhow::Ok((taken, begun.elapsed().as_secs_f64()))
        };
        let plainly = async {
            plain.publish(to_plain).await;
            // if it is lost, that is the time
            let _ = tokio::time::timeout(LIMIT, plain.expect_effect(to_plain)).await;
            Ok(begun.elapsed().as_secs_f64())
        };
        let (http, (taken, message), plainly) = tokio::try_join!(http, message, plainly)?;
        self.http.push(http);
        self.taken.push(taken);
        self.message.push(message);
        self.plain.push(plainly);
        Ok(numbers)
    }
}

/// The designer, signed in as soon as the platform answers.
async fn designer(access: &Access) -> Api {
    loop {
        let signed_in = async { Api::new(&access.gateway)?.sign_in(&access.designer).await };
        match signed_in.await {
            Ok(api) => return api,
            Err(_) => sleep(PAUSE).await,
        }
    }
}

/// Submits a job over HTTP, again until it is taken.
async fn submit(api: &Api, number: Uuid) -> anyhow::Result<()> {
    let body = json!({
        "application": "stable-diffusion", "method": "txt2img", "req_no": number, "parameters": parameters(),
    });
    let taken = async {
        loop {
            let sent = api.send_once(Method::POST, "/v1/jobs", None, Some(body.clone()), number);
            if let Ok(Ok(answer)) = tokio::time::timeout(CALL, sent).await
                && answer.status < 500
            {
                ensure!(matches!(answer.status, 200 | 202), "refused: {}", answer.text);
                return Ok(());
            }
            sleep(PAUSE).await;
        }
    };
    tokio::time::timeout(LIMIT, taken).await?
}

/// Publishes a job, again until the broker has taken it.
async fn publish(credential: &messages::Credential, number: Uuid) -> anyhow::Result<()> {
    let taken = async {
        loop {
            let sent = async { messages::connect(credential).await?.publish(number, &parameters()).await };
            if let Ok(Ok(())) = tokio::time::timeout(CALL, sent).await {
                return;
            }
            sleep(PAUSE).await;
        }
    };
    Ok(tokio::time::timeout(LIMIT, taken).await?)
}

fn parameters() -> Value {
    json!({ "prompt": "a lighthouse", "steps": 2, "width": 64, "height": 64 })
}

/// The jobs with a number.
async fn jobs(api: &Api, number: Uuid) -> anyhow::Result<Vec<Value>> {
    api.list(&format!("/v1/jobs?req_no={number}")).await
}

async fn expect_success(access: &Access, number: Uuid) -> anyhow::Result<()> {
    let api = designer(access).await;
    let succeeded = async {
        loop {
            let found = tokio::time::timeout(CALL, jobs(&api, number)).await;
            if let Ok(Ok(found)) = found
                && found.iter().any(|job| job["state"] == "succeeded")
            {
                return;
            }
            sleep(PAUSE).await;
        }
    };
    let ended = tokio::time::timeout(LIMIT, succeeded).await;
    ensure!(ended.is_ok(), "the job {number} has not succeeded in {} s", LIMIT.as_secs());
    Ok(())
}

/// The effects of the jobs.
struct Effects {
    lost: usize,
    duplicated: usize,
}

impl Effects {
    async fn of(access: &Access, listener: &mut Listener, numbers: &[Uuid]) -> anyhow::Result<Self> {
        let api = designer(access).await;
        for number in numbers {
            expect_success(access, *number).await?;
        }
        let events = listener.successes(numbers).await?;
        let mut effects = Self { lost: 0, duplicated: 0 };
        for number in numbers {
            sleep(READ_PAUSE).await;
            let found = jobs(&api, *number).await?;
            let [job] = &found[..] else {
                println!("{number}: {} jobs", found.len());
                effects.lost += usize::from(found.is_empty());
                effects.duplicated += found.len().saturating_sub(1);
                continue;
            };
            let id = text(job, "id")?;
            let attempts = api.list(&format!("/v1/jobs/{id}/attempts")).await?;
            let artifacts = api.list(&format!("/v1/jobs/{id}/artifacts")).await?.len();
            let successes = attempts.iter().filter(|attempt| attempt["state"] == "succeeded").count();
            let is_charged = |attempt: &&Value| {
                attempt["state"] != "succeeded" && attempt["charged_seconds"].as_i64() > Some(0)
            };
            let charged = attempts.iter().filter(is_charged).count();
            let events = events.get(number).copied().unwrap_or_default();
            if (successes, artifacts, events, charged) != (1, 1, 1, 0) {
                println!(
                    "{id}: {successes} successes, {artifacts} results, {events} events, {charged} charged in vain"
                );
            }
            effects.lost += usize::from(successes == 0 || artifacts == 0 || events == 0);
            effects.duplicated += usize::from(successes > 1 || artifacts > 1 || events > 1 || charged > 0);
        }
        Ok(effects)
    }
}
