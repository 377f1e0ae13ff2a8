//! `cargo xtask bench jobs-recovery`: broker, jobs service, Postgres and workers are killed again and again while jobs are
//! submitted over HTTP and by message. In the end each job must have had its effect once: one job of its number, one success,
//! one result, one event of success, and nothing charged for other attempts.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use anyhow::ensure;
use clap::Parser;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;
use uuid::Uuid;

use super::{
    platform::{measure, quantile},
    victims::{Processes, Victim},
};
use crate::demo::{
    Access,
    client::{Api, text},
    messages::{self, Listener},
};

#[derive(Debug, Parser)]
struct Args {
    /// How often each is killed
    #[arg(long, default_value_t = 20)]
    kills: u32,
}

/// Pause before something is tried again.
const PAUSE: Duration = Duration::from_millis(50);
/// Longest time of one submission, or until a job has succeeded.
const CALL: Duration = Duration::from_secs(2);
const LIMIT: Duration = Duration::from_secs(120);
/// Step of the time between a submission and the kill: each kill meets another moment.
const STEP: Duration = Duration::from_millis(70);

pub(super) async fn run(rest: &[String]) -> anyhow::Result<()> {
    let name = "jobs-recovery".to_owned();
    let args = Args::try_parse_from(std::iter::once(&name).chain(rest))?;
    measure(async |access, processes| recover(&args, access, processes).await).await
}

async fn recover(args: &Args, access: &Access, processes: &Processes) -> anyhow::Result<()> {
    let credential = messages::credential(&designer(access).await).await?;
    let mut all = Vec::new();
    let mut seconds = BTreeMap::<&str, Vec<f64>>::new();
    println!(
        "{:<14} {:>8} {:>8} {:>8}   seconds until jobs submitted after the kill have succeeded",
        "", "p50", "p99", "max"
    );
    for victim in [None].into_iter().chain(Victim::ALL.map(Some)) {
        let name = victim.map_or("nothing", Victim::name);
        let seen = seconds.entry(name).or_default();
        for n in 0..args.kills {
            let api = designer(access).await;
            // under way when it is killed
            all.extend(submit(&api, &credential).await?);
            if let Some(victim) = victim {
                sleep(STEP * n).await;
                processes.kill(victim)?;
            }
            let begun = Instant::now();
            let after = submit(&api, &credential).await?;
            for number in &after {
                expect_success(access, *number).await?;
            }
            seen.push(begun.elapsed().as_secs_f64());
            all.extend(after);
        }
        let (p50, p99, max) = (quantile(seen, 0.5), quantile(seen, 0.99), quantile(seen, 1.0));
        println!("{name:<14} {p50:>8.2} {p99:>8.2} {max:>8.2}");
    }
    let mut listener = messages::listen_with(&credential).await?;
    let effects = Effects::of(access, &mut listener, &all).await?;
    let mut recovered: Vec<f64> =
        seconds.iter().filter(|(name, _)| **name != "nothing").flat_map(|(_, seen)| seen.clone()).collect();
    println!(
        "jobs-recovery: jobs={} kills={} lost={} duplicated={} recover_p50_s={:.2} recover_p99_s={:.2} undisturbed_p99_s={:.2}",
        all.len(),
        recovered.len(),
        effects.lost,
        effects.duplicated,
        quantile(&mut recovered, 0.5),
        quantile(&mut recovered, 0.99),
        quantile(seconds.entry("nothing").or_default(), 0.99),
    );
    ensure!(effects.lost == 0 && effects.duplicated == 0, "jobs were lost, or had their effect twice");
    Ok(())
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

/// Submits a job over HTTP and one by message, each again until it is taken. Returns their numbers.
async fn submit(api: &Api, credential: &messages::Credential) -> anyhow::Result<[Uuid; 2]> {
    let (over_http, by_message) = (Uuid::new_v4(), Uuid::new_v4());
    let http = async {
        let body = json!({
            "application": "stable-diffusion", "method": "txt2img", "req_no": over_http, "parameters": parameters(),
        });
        loop {
            let sent = api.send_once(Method::POST, "/v1/jobs", None, Some(body.clone()), over_http);
            match tokio::time::timeout(CALL, sent).await {
                Ok(Ok(answer)) if matches!(answer.status, 200 | 202) => return anyhow::Ok(()),
                Ok(Ok(answer)) if answer.status < 500 && answer.status != 429 && answer.status != 409 => {
                    anyhow::bail!("refused: {}", answer.text)
                }
                _ => sleep(PAUSE).await,
            }
        }
    };
    let message = async {
        loop {
            let sent =
                async { messages::connect(credential).await?.publish(by_message, &parameters()).await };
            match tokio::time::timeout(CALL, sent).await {
                Ok(Ok(())) => return,
                _ => sleep(PAUSE).await,
            }
        }
    };
    let (sent, ()) = tokio::time::timeout(LIMIT, async { tokio::join!(http, message) }).await?;
    sent.map(|()| [over_http, by_message])
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

/// What the jobs led to.
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
