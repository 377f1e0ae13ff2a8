//! The clients that send requests.

use std::{
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, ensure};
use machine::{client::Api, process};
use nix::sys::signal::Signal;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt as _,
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};

use super::{Args, tenants::job};

/// Pause of a client of the other tenant after a refusal.
const PAUSE: Duration = Duration::from_millis(20);

/// The requests of the victim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
pub(super) enum Kind {
    Instances,
    Jobs,
    Submit,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Instances, Self::Jobs, Self::Submit];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Instances => "instances",
            Self::Jobs => "jobs",
            Self::Submit => "submit",
        }
    }

    fn request(self) -> (Method, &'static str, Option<Value>) {
        match self {
            Self::Instances => (Method::GET, "/v1/instances", None),
            Self::Jobs => (Method::GET, "/v1/jobs", None),
            Self::Submit => (Method::POST, "/v1/jobs", Some(job())),
        }
    }
}

/// The results of requests of a kind.
#[derive(Default)]
pub(super) struct Outcome {
    /// Milliseconds of those that succeeded.
    pub(super) took: Vec<f64>,
    pub(super) failed: usize,
}

/// Sends requests of each kind at a steady rate.
pub(super) async fn victim(args: &Args, api: &Api) -> [Outcome; 3] {
    // connections are open before
    for kind in Kind::ALL {
        let (method, path, body) = kind.request();
        let _ = api.send(method, path, None, body).await;
    }
    let one = |n: u32, kind| {
        let offset = Duration::from_secs(1) / args.rate / 3 * n;
        at_a_rate(api.clone(), kind, args.rate, offset, Duration::from_secs(args.seconds))
    };
    let [first, second, third] = Kind::ALL;
    tokio::join!(one(0, first), one(1, second), one(2, third)).into()
}

async fn at_a_rate(api: Api, kind: Kind, rate: u32, offset: Duration, time: Duration) -> Outcome {
    let (begun, mut sent) = (Instant::now() + offset, JoinSet::new());
    for number in 0.. {
        let due = begun + Duration::from_secs(1) / rate * number;
        if due >= begun + time {
            break;
        }
        sleep_until(due).await;
        let api = api.clone();
        sent.spawn(async move {
            let (method, path, body) = kind.request();
            let answer = api.send(method, path, None, body).await;
            let is_done = answer.is_ok_and(|answer| (200..300).contains(&answer.status));
            is_done.then(|| due.elapsed().as_secs_f64() * 1000.0)
        });
    }
    let mut outcome = Outcome::default();
    for took in sent.join_all().await {
        match took {
            Some(took) => outcome.took.push(took),
            None => outcome.failed += 1,
        }
    }
    outcome
}

/// The instructions for the clients of the other tenant.
#[derive(Serialize, Deserialize)]
struct Crowd {
    base: String,
    tokens: Vec<String>,
    connections: usize,
    batch: usize,
    seconds: u64,
    only: Option<Kind>,
}

/// Starts the clients of the other tenant as a process. Returns how many requests a second were served, and refused.
pub(super) async fn start_crowd(args: &Args, users: &[Api]) -> anyhow::Result<(f64, f64)> {
    let base = users.first().context("no users")?.base.clone();
    let tokens = users.iter().filter_map(|user| user.token.clone()).collect();
    let Args { connections, batch, seconds, only, .. } = *args;
    let crowd = serde_json::to_vec(&Crowd { base, tokens, connections, batch, seconds, only })?;
    let mut command = process::command("nice", Signal::SIGKILL);
    command.args(["-n", "19"]).arg(std::env::current_exe()?);
    command.args(["bench", "fairness", "--built", "--", "--crowd"]);
    command.kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    // dropped, and so ended, after it is written
    child.stdin.take().context("no standard input")?.write_all(&crowd).await?;
    let output = child.wait_with_output().await?;
    let text = String::from_utf8(output.stdout)?;
    ensure!(output.status.success(), "the other tenant's clients failed: {text}");
    let counts: Vec<f64> = text.split_whitespace().filter_map(|count| count.parse().ok()).collect();
    let [served, refused] = counts[..] else { anyhow::bail!("the other tenant's clients say: {text}") };
    Ok((served, refused))
}

/// Sends as fast as it is answered, and prints how many requests a second were served, and refused.
pub(super) async fn crowd() -> anyhow::Result<()> {
    let crowd: Crowd = serde_json::from_reader(std::io::stdin())?;
    let time = Duration::from_secs(crowd.seconds);
    let jobs: Vec<Value> = (0..crowd.batch).map(|_| job()).collect();
    let requests = Arc::new(match crowd.only {
        Some(kind) => vec![kind.request()],
        None => {
            let batch = (Method::POST, "/v1/job-batches", Some(json!({ "jobs": jobs })));
            Kind::ALL.into_iter().map(Kind::request).chain([batch]).collect()
        }
    });
    let (until, counts) = (Instant::now() + time, Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]));
    let mut clients = JoinSet::new();
    for token in &crowd.tokens {
        let mut api = Api::new(&crowd.base)?;
        api.token = Some(token.clone());
        for first in 0..crowd.connections {
            let (api, requests, counts) = (api.clone(), Arc::clone(&requests), Arc::clone(&counts));
            clients.spawn(async move {
                for (method, path, body) in requests.iter().cycle().skip(first) {
                    if Instant::now() >= until {
                        return;
                    }
                    let answer = api.send(method.clone(), path, None, body.clone()).await;
                    let is_served = answer.is_ok_and(|answer| (200..300).contains(&answer.status));
                    counts[usize::from(!is_served)].fetch_add(1, Ordering::Relaxed);
                    if !is_served {
                        sleep(PAUSE).await;
                    }
                }
            });
        }
    }
    clients.join_all().await;
    let [served, refused] = [0, 1].map(|n| {
        let count = u32::try_from(counts[n].load(Ordering::Relaxed)).unwrap_or(u32::MAX);
        f64::from(count) / time.as_secs_f64()
    });
    println!("{served} {refused}");
    Ok(())
}
