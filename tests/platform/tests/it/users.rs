//! Users who press buttons at random, whatever happens to the platform.

use std::time::Duration;

use crate::support::{LARGE, SMALL};
use rand::{Rng, RngExt, SeedableRng, rngs::StdRng};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

/// Instances of a user at a time.
const MOST: usize = 3;
/// The longest time for which a request is repeated until a replica answers.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause before a request is repeated.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

pub(crate) struct User {
    http: reqwest::Client,
    url: String,
    token: String,
    random: StdRng,
    instances: Vec<String>,
    /// Requests that were accepted.
    pub(crate) accepted: u32,
}

impl User {
    pub(crate) fn new(url: &str, token: String, seed: u64) -> Self {
        Self {
            // every request may go to another replica
            http: reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap(),
            url: url.to_owned(),
            token,
            random: StdRng::seed_from_u64(seed),
            instances: Vec::new(),
            accepted: 0,
        }
    }

    /// Sends a request until a replica answers, with one idempotency key. Returns the status and the body.
    pub(crate) async fn send(&mut self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let key = uuid::Uuid::new_v4().to_string();
        let begun = Instant::now();
        loop {
            let mut request = self.http.request(method.clone(), format!("{}{path}", self.url));
            request = request.bearer_auth(&self.token).timeout(Duration::from_secs(10));
            if method != Method::GET {
                request = request.header("idempotency-key", &key);
            }
            if let Some(body) = &body {
                request = request.json(body);
            }
            let answer = match request.send().await {
                Ok(answer) if answer.status() != 503 => {
                    let status = answer.status().as_u16();
                    answer.text().await.ok().map(|text| (status, text))
                }
                _ => None,
            };
            if let Some((status, text)) = answer {
                assert!(status < 500, "{method} {path} was answered with {status}: {text}");
                return (status, serde_json::from_str(&text).unwrap_or_default());
            }
            assert!(begun.elapsed() < PATIENCE, "no replica answers {method} {path}");
            sleep(RETRY_PAUSE).await;
        }
    }

    /// Does something at random.
    pub(crate) async fn act(&mut self) {
        if self.instances.len() < MOST && self.random.random_bool(0.5) {
            return self.create().await;
        }
        if self.instances.is_empty() {
            return;
        }
        let n = self.random.random_range(0..self.instances.len());
        let path = format!("/v1/instances/{}", self.instances[n]);
        let (method, what, body) = match self.random.random_range(0..100) {
            0..30 => (Method::POST, "/start", Some(json!({ "wait": self.random.random_bool(0.8) }))),
            30..55 => (Method::POST, "/stop", None),
            55..67 => {
                let seconds = self.random.random_range(2..8);
                (Method::POST, "/stop", Some(json!({ "hold": { "for_seconds": seconds } })))
            }
            67..72 => (Method::DELETE, "/hold", None),
            72..82 => (Method::POST, "/restart", None),
            _ => (Method::DELETE, "", None),
        };
        let (status, body) = self.send(method.clone(), &format!("{path}{what}"), body).await;
        let deleted = method == Method::DELETE && what.is_empty();
        if deleted {
            let _ = self.instances.swap_remove(n);
        }
        if what == "/hold" && status == 404 {
            // there is no hold
            return;
        }
        self.answered(status, &format!("{method} {what}"), &body);
    }

    async fn create(&mut self) {
        let spec = if self.random.random_bool(0.7) { SMALL } else { LARGE };
        let order = json!({
            "gpu_spec": spec, "service": "shell", "version": "1",
            "wait": self.random.random_bool(0.8),
            "on_node_loss": if self.random.random_bool(0.7) { "restart" } else { "stop" },
        });
        let (status, body) = self.send(Method::POST, "/v1/instances", Some(order)).await;
        self.answered(status, "create", &body);
        self.instances.push(body["id"].as_str().unwrap().to_owned());
    }

    /// A state that does not allow the command is an answer too.
    fn answered(&mut self, status: u16, what: &str, body: &Value) {
        assert!(matches!(status, 200..300 | 409), "{what} was answered with {status}: {body}");
        self.accepted += u32::from(status < 300);
    }

    /// Waits for a random time: the pace of a user.
    pub(crate) async fn pause(&mut self) {
        sleep(Duration::from_millis(self.random.random_range(20..400))).await;
    }
}

/// Returns a random element.
pub(crate) fn any<'a, T>(random: &mut impl Rng, of: &'a [T]) -> &'a T {
    &of[random.random_range(0..of.len())]
}
