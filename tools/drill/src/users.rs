//! Light, steady use of the platform while faults are injected, and what the users saw.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::{bail, ensure};
use demo::{browser::Browser, instance, stock};
use machine::{
    access::Access,
    client::{Answer, Api, text},
};
use reqwest::Method;
use serde_json::{Value, json};

/// Readers of the API, each with a request every [`READ`]: more than a service has connections to Postgres.
const READERS: u32 = 20;
const READ: Duration = Duration::from_secs(2);
/// Time between two requests to an instance.
const PAGE: Duration = Duration::from_millis(300);
/// Time between two changes of a bucket, and of an instance.
const PAUSE: Duration = Duration::from_secs(1);
/// Tokens end after minutes.
const SIGN_IN: Duration = Duration::from_secs(100);
/// Longest time that a user waits for an instance or a bucket.
const PATIENCE: Duration = Duration::from_secs(150);
const PATHS: [&str; 5] =
    ["/v1/gpu-specs", "/v1/instances?limit=20", "/v1/me", "/v1/storages?limit=20", "/v1/stock?limit=20"];
/// Name of all that users create.
const NAME: &str = "drill";

/// Actions of users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Act {
    Read,
    Page,
    Instance,
    Bucket,
}

pub(super) const ACTS: [Act; 4] = [Act::Read, Act::Page, Act::Instance, Act::Bucket];

/// Results that users saw since the last [`Users::begin`].
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub(super) requests: u64,
    pub(super) failed: u64,
    /// Failures by problem type, or by kind if there was no response.
    pub(super) failures: BTreeMap<String, u64>,
    /// The request that took longest.
    pub(super) stall: Duration,
    /// The longest time from the order of an instance until it ran.
    pub(super) start: Duration,
    /// When the last failure was seen.
    pub(super) last_failure: Option<Instant>,
    /// When each kind of act that began after [`Users::mark`] first succeeded.
    pub(super) succeeded: BTreeMap<Act, Instant>,
    pub(super) mark: Option<Instant>,
}

impl Seen {
    /// Returns the time from the mark until each kind of action succeeded and none failed any more.
    pub(super) fn healed(&self) -> Option<Duration> {
        let mark = self.mark?;
        let all: Option<Vec<Instant>> = ACTS.iter().map(|act| self.succeeded.get(act).copied()).collect();
        let last = all?.into_iter().max()?;
        let last = self.last_failure.map_or(last, |failure| failure.max(last));
        Some(last.saturating_duration_since(mark))
    }

    /// Kinds of acts that have not succeeded since the mark.
    pub(super) fn missing(&self) -> Vec<Act> {
        ACTS.into_iter().filter(|act| !self.succeeded.contains_key(act)).collect()
    }
}

/// A user's designer account, and an instance that is always on.
pub(super) struct Users {
    access: Access,
    pub(super) spec: String,
    designer: RefCell<Api>,
    page: RefCell<Option<Rc<Browser>>>,
    /// The instance that is always on.
    resident: RefCell<Option<String>>,
    seen: RefCell<Seen>,
}

impl Users {
    /// Adds stock for the users and starts the instance that is always on.
    pub(super) async fn prepare(access: &Access, admin: &Api) -> anyhow::Result<Self> {
        let spec = format!("{NAME}-{}", &uuid::Uuid::new_v4().simple().to_string()[..8]);
        let datacenter = stock::datacenter(admin).await?;
        stock::create_spec(admin, &spec).await?;
        for _ in 0..2 {
            stock::add_stock(admin, &spec, &datacenter).await?;
        }
        let designer = Api::new(&access.gateway)?.sign_in(&access.designer).await?;
        let users = Self {
            access: access.clone(),
            spec,
            designer: RefCell::new(designer),
            page: RefCell::default(),
            resident: RefCell::default(),
            seen: RefCell::default(),
        };
        users.move_in().await?;
        Ok(users)
    }

    /// Makes sure of the instance that is always on.
    async fn move_in(&self) -> anyhow::Result<()> {
        let designer = self.designer();
        let (id, operation) = self.order(&designer, "resident", "1.6").await?;
        instance::expect_running(&designer, &id, &operation).await?;
        *self.page.borrow_mut() = Some(Rc::new(instance::open(&designer, &id).await?));
        *self.resident.borrow_mut() = Some(id);
        Ok(())
    }

    pub(super) fn resident(&self) -> Option<String> {
        self.resident.borrow().clone()
    }

    pub(super) fn designer(&self) -> Api {
        self.designer.borrow().clone()
    }

    pub(super) async fn order(
        &self,
        designer: &Api,
        name: &str,
        version: &str,
    ) -> anyhow::Result<(String, Value)> {
        let body = json!({
            "name": format!("{NAME}-{name}"), "gpu_spec": self.spec,
            "service": "stable-diffusion-webui", "version": version,
        });
        let made = designer.post("/v1/instances", body, 202).await?;
        Ok((text(&made, "id")?.to_owned(), made["operation_id"].clone()))
    }

    /// Resets the results.
    pub(super) fn begin(&self) {
        *self.seen.borrow_mut() = Seen::default();
    }

    /// From here on successes count for [`Seen::healed`].
    pub(super) fn mark(&self) {
        let mut seen = self.seen.borrow_mut();
        seen.mark = Some(Instant::now());
        seen.succeeded.clear();
    }

    pub(super) fn seen(&self) -> Seen {
        self.seen.borrow().clone()
    }

    /// Uses the platform for ever.
    pub(super) async fn act(&self) {
        let readers = (0..READERS).map(|n| self.read(n));
        tokio::join!(
            futures::future::join_all(readers),
            self.look(),
            self.come_and_go(),
            self.fill_buckets(),
            self.stay_signed_in()
        );
    }

    async fn stay_signed_in(&self) {
        loop {
            tokio::time::sleep(SIGN_IN).await;
            self.sign_in().await;
        }
    }

    /// Signs the designer in again.
    pub(super) async fn sign_in(&self) {
        let designer = self.designer();
        if let Ok(signed_in) = designer.sign_in(&self.access.designer).await {
            *self.designer.borrow_mut() = signed_in;
        }
    }

    fn failed(&self, kind: String, begun: Instant) {
        let mut seen = self.seen.borrow_mut();
        seen.requests += 1;
        seen.failed += 1;
        seen.stall = seen.stall.max(begun.elapsed());
        // what began before the mark met the fault
        if seen.mark.is_none_or(|mark| begun > mark) {
            seen.last_failure = Some(Instant::now());
        }
        *seen.failures.entry(kind).or_default() += 1;
    }

    fn answered(&self, begun: Instant) {
        let mut seen = self.seen.borrow_mut();
        seen.requests += 1;
        seen.stall = seen.stall.max(begun.elapsed());
    }

    fn succeeded(&self, act: Act, begun: Instant) {
        let mut seen = self.seen.borrow_mut();
        if seen.mark.is_some_and(|mark| begun > mark) {
            seen.succeeded.entry(act).or_insert_with(Instant::now);
        }
    }

    /// One request of a user.
    async fn ask(&self, method: Method, path: &str, body: Option<Value>, expected: u16) -> Option<Answer> {
        self.ask_once(method, path, body, expected, uuid::Uuid::new_v4()).await
    }

    async fn ask_once(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        expected: u16,
        key: uuid::Uuid,
    ) -> Option<Answer> {
        let begun = Instant::now();
        let answer = self.designer().send_once(method, path, None, body, key).await;
        match answer {
            Ok(answer) if answer.status == expected => {
                self.answered(begun);
                Some(answer)
            }
            Ok(answer) => {
                self.failed(problem(&answer), begun);
                if answer.status == 401 {
                    self.sign_in().await;
                }
                None
            }
            Err(error) => {
                self.failed(no_response(&error), begun);
                None
            }
        }
    }

    async fn read(&self, reader: u32) {
        let mut n = reader as usize;
        // not all at once
        tokio::time::sleep(READ * reader / READERS).await;
        loop {
            n += 1;
            let begun = Instant::now();
            if self.ask(Method::GET, PATHS[n % PATHS.len()], None, 200).await.is_some() {
                self.succeeded(Act::Read, begun);
            }
            tokio::time::sleep(READ.saturating_sub(begun.elapsed())).await;
        }
    }

    /// Requests to the instance that is always on.
    async fn look(&self) {
        loop {
            let begun = Instant::now();
            let page = self.page.borrow().clone();
            if let Some(page) = page {
                match page.get("/sdapi/v1/progress").await {
                    Ok((200, _)) => {
                        self.answered(begun);
                        self.succeeded(Act::Page, begun);
                    }
                    Ok((status, _)) => self.failed(format!("url-{status}"), begun),
                    Err(error) => self.failed(format!("url-{}", no_response(&error)), begun),
                }
            }
            tokio::time::sleep(PAGE.saturating_sub(begun.elapsed())).await;
        }
    }

    /// Instances that come and go.
    async fn come_and_go(&self) {
        loop {
            let begun = Instant::now();
            if self.live().await.is_ok() {
                self.succeeded(Act::Instance, begun);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn live(&self) -> anyhow::Result<()> {
        let begun = Instant::now();
        let body = json!({
            "name": format!("{NAME}-guest"), "gpu_spec": self.spec,
            "service": "stable-diffusion-webui", "version": "1.6",
        });
        let made = self.repeat(Method::POST, "/v1/instances", Some(body), 202).await?;
        let id = text(&made, "id")?;
        let path = format!("/v1/instances/{id}");
        let started = self.wait(&path, "running").await;
        {
            let mut seen = self.seen.borrow_mut();
            seen.start = seen.start.max(begun.elapsed());
        }
        if started.is_ok() {
            self.repeat(Method::POST, &format!("{path}/stop"), None, 202).await?;
            self.wait(&path, "stopped").await?;
        }
        self.repeat(Method::DELETE, &path, None, 202).await?;
        self.wait(&path, "gone").await?;
        started
    }

    /// Buckets that come and go.
    async fn fill_buckets(&self) {
        loop {
            let begun = Instant::now();
            if self.fill().await.is_ok() {
                self.succeeded(Act::Bucket, begun);
            }
            tokio::time::sleep(PAUSE * 2).await;
        }
    }

    async fn fill(&self) -> anyhow::Result<()> {
        let name = format!("{NAME}-{}", &uuid::Uuid::new_v4().simple().to_string()[..8]);
        let body = json!({ "name": name, "storage_spec": "archive", "size_gib": 1 });
        let made = self.repeat(Method::POST, "/v1/storages", Some(body), 202).await?;
        let path = format!("/v1/storages/{}", text(&made, "id")?);
        self.wait(&path, "available").await?;
        self.repeat(Method::DELETE, &path, None, 202).await?;
        self.wait(&path, "gone").await
    }

    /// Repeats a request until it is accepted.
    async fn repeat(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        expected: u16,
    ) -> anyhow::Result<Value> {
        let (begun, key) = (Instant::now(), uuid::Uuid::new_v4());
        loop {
            if let Some(answer) = self.ask_once(method.clone(), path, body.clone(), expected, key).await {
                return Ok(answer.body);
            }
            ensure!(begun.elapsed() < PATIENCE, "{path} is not accepted");
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// Waits until a resource has a state, or is gone.
    async fn wait(&self, path: &str, state: &str) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            let asked = Instant::now();
            match self.designer().send(Method::GET, path, None, None).await {
                Ok(answer) if answer.status == 404 && state == "gone" => {
                    self.answered(asked);
                    return Ok(());
                }
                Ok(answer) if answer.status == 200 => {
                    self.answered(asked);
                    let now = answer.body["state"].as_str().unwrap_or_default().to_owned();
                    if now == state {
                        return Ok(());
                    }
                    // a start that failed leaves the instance stopped
                    ensure!(!(state == "running" && now == "stopped"), "{path} is {now}");
                    ensure!(now != "failed", "{path} is {now}");
                }
                Ok(answer) => {
                    self.failed(problem(&answer), asked);
                    if answer.status == 401 {
                        self.sign_in().await;
                    }
                }
                Err(error) => self.failed(no_response(&error), asked),
            }
            if begun.elapsed() > PATIENCE {
                self.failed(format!("not-{state}-in-time"), begun);
                bail!("{path} is not {state} after {} s", PATIENCE.as_secs());
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    }
}

/// The last segment of a problem's type, or the status.
fn problem(answer: &Answer) -> String {
    let kind = answer.body["type"].as_str().and_then(|kind| kind.rsplit(['/', ':']).next());
    kind.map_or_else(|| answer.status.to_string(), |kind| format!("{} {kind}", answer.status))
}

/// Why there was no response.
fn no_response(error: &anyhow::Error) -> String {
    let cause = error.downcast_ref::<reqwest::Error>();
    match cause {
        Some(error) if error.is_timeout() => "timeout",
        Some(error) if error.is_connect() => "no connection",
        Some(_) => "connection lost",
        None => "other",
    }
    .to_owned()
}
