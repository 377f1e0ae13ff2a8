//! Clients that send requests at a fixed rate.

use std::time::{Duration, Instant};

use futures::future::join_all;
use reqwest::Client;

use crate::{Args, seed, seed::Owner};

/// An operation that is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    List,
    Get,
    Create,
    /// The usage of the last 30 days.
    Usage,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Get => "get",
            Self::Create => "create",
            Self::Usage => "usage",
        }
    }

    fn request(self, http: &Client, base: &str, owner: &Owner) -> reqwest::RequestBuilder {
        let instances = format!("{base}/v1/instances");
        match self {
            Self::List => http.get(instances),
            Self::Get => http.get(format!("{instances}/{}", owner.instance)),
            Self::Usage => http.get(format!("{base}/v1/usage")),
            Self::Create => {
                let key = ids::InstanceId::new().to_string();
                http.post(instances).header("idempotency-key", key).json(&seed::new_instance())
            }
        }
        .bearer_auth(&owner.token)
    }

    fn status(self) -> u16 {
        match self {
            Self::List | Self::Get | Self::Usage => 200,
            Self::Create => 202,
        }
    }
}

/// Milliseconds, sorted.
#[derive(Debug, Default)]
pub(crate) struct Latencies(Vec<f64>);

impl Latencies {
    pub(crate) fn new(mut all: Vec<f64>) -> Self {
        all.sort_by(f64::total_cmp);
        Self(all)
    }

    /// Returns the latency that this share of all requests does not exceed.
    pub(crate) fn at(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a place in a list"
        )]
        let at = (last as f64 * share).round() as usize;
        self.0.get(at).copied().unwrap_or_default()
    }
}

/// Sends requests of one kind for a time, after a short time that is not measured.
pub(crate) async fn run(args: &Args, kind: Kind, base: &str, owners: &[Owner]) -> Latencies {
    let period = Duration::from_secs(1) * args.clients / args.rate;
    let seconds = |seconds: u32| Duration::from_secs(seconds.into());
    let (warm_up, limit) = (seconds(args.warm_up_seconds), seconds(args.seconds));
    let begun = Instant::now();
    let client = async |n: u32| {
        let http = Client::new();
        let mut took = Vec::new();
        let mut due = begun + period * n / args.clients;
        let mine = owners.iter().cycle().skip(usize::try_from(n).unwrap() * 7);
        for owner in mine {
            if due > begun + warm_up + limit {
                break;
            }
            tokio::time::sleep_until(due.into()).await;
            let answer = kind.request(&http, base, owner).send().await.unwrap();
            let status = answer.status();
            let text = answer.text().await.unwrap();
            assert_eq!(status, kind.status(), "{text}");
            if due > begun + warm_up {
                took.push(due.elapsed().as_secs_f64() * 1000.0);
            }
            due += period;
        }
        took
    };
    let all = join_all((0..args.clients).map(client)).await;
    Latencies::new(all.into_iter().flatten().collect())
}
