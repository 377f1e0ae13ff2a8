//! Instances that come and go, with a WebSocket each that lasts as long as they.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use demo::{browser::Browser, instance, stock};
use futures::future::select_all;
use machine::{access::Access, client::Api};

use super::seen::Seen;

/// Instances at a time.
const AT_A_TIME: usize = 2;
/// How long each is used.
pub const USED: Duration = Duration::from_secs(20);
/// The same in a smoke run.
pub const BRIEFLY_USED: Duration = Duration::from_secs(2);
/// Name of all that this creates.
const NAME: &str = "soak";

/// The instances that run and may be used.
#[derive(Default)]
pub struct Open(Mutex<Vec<Arc<Browser>>>);

impl Open {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Browser>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One of them.
    pub fn any(&self, n: usize) -> Option<Arc<Browser>> {
        let open = self.lock();
        open.get(n % open.len().max(1)).cloned()
    }

    /// Lets no further request use the instance, and waits for those under way.
    async fn close(&self, browser: Arc<Browser>) {
        self.lock().retain(|other| !Arc::ptr_eq(other, &browser));
        while Arc::strong_count(&browser) > 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

pub struct Instances {
    spec: String,
    spec_id: String,
    /// How long each is used.
    used: Duration,
    open: Arc<Open>,
    count: AtomicU64,
    websockets: AtomicU64,
}

impl Instances {
    /// Creates a specification with units for them.
    pub async fn prepare(admin: &Api, used: Duration) -> anyhow::Result<Self> {
        let spec = format!("{NAME}-{}", &uuid::Uuid::new_v4().simple().to_string()[..8]);
        let datacenter = stock::datacenter(admin).await?;
        let spec_id = stock::create_spec(admin, &spec).await?;
        stock::add_stock(admin, &spec, &datacenter).await?;
        let (count, websockets) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Self { spec, spec_id, used, open: Arc::default(), count, websockets })
    }

    pub fn open(&self) -> Arc<Open> {
        Arc::clone(&self.open)
    }

    /// Instances that were used.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// WebSockets that were opened: more than instances after restarts.
    pub fn websockets(&self) -> u64 {
        self.websockets.load(Ordering::Relaxed)
    }

    /// Creates, uses and deletes instances, without an end. Returns errors that prevent everything.
    pub async fn come_and_go(&self, access: &Access, seen: &Seen) -> anyhow::Error {
        let forever = (0..AT_A_TIME).map(|_| {
            Box::pin(async {
                loop {
                    if let Err(error) = self.live(access).await {
                        seen.failed_with(&error);
                        break error.context("an instance");
                    }
                    self.count.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        select_all(forever).await.0
    }

    /// One instance, from its order to its end.
    async fn live(&self, access: &Access) -> anyhow::Result<()> {
        let designer = Api::new(&access.gateway)?.sign_in(&access.designer).await?;
        let version = designer.list("/v1/services").await?;
        let webui = version.iter().find(|service| service["service"] == "stable-diffusion-webui");
        let body = serde_json::json!({
            "name": NAME, "gpu_spec": self.spec, "service": "stable-diffusion-webui",
            "version": webui.context("no WebUI")?["version"],
        });
        let made = designer.post("/v1/instances", body, 202).await?;
        let id = made["id"].as_str().context("no id")?;
        instance::expect_running(&designer, id, &made["operation_id"]).await?;
        let browser = Arc::new(instance::open(&designer, id).await?);
        self.open.lock().push(Arc::clone(&browser));
        let begun = Instant::now();
        while begun.elapsed() < self.used {
            self.talk(&browser, self.used.saturating_sub(begun.elapsed())).await?;
        }
        self.open.close(browser).await;
        let stop = instance::request(&designer, id, "stop").await?;
        instance::follow(&designer, &stop).await?;
        instance::delete(&designer, id).await
    }

    /// Sends texts over one WebSocket for this time, or until its gateway ends.
    async fn talk(&self, browser: &Browser, time: Duration) -> anyhow::Result<()> {
        let mut socket = browser.websocket("/ws/echo").await?;
        self.websockets.fetch_add(1, Ordering::Relaxed);
        let begun = Instant::now();
        let mut n = 0_u32;
        while begun.elapsed() < time {
            n += 1;
            if Browser::exchange(&mut socket, &format!("word {n}")).await.is_err() {
                ensure!(n > 1, "a new WebSocket answers nothing");
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        Ok(())
    }

    /// Deletes the objects of an interrupted run, and the specification.
    pub async fn clear(&self, admin: &Api, access: &Access) -> anyhow::Result<()> {
        let admin = admin.sign_in(&access.administrator).await?;
        let designer = admin.sign_in(&access.designer).await?;
        for left in designer.list("/v1/instances").await? {
            if left["name"] == NAME {
                instance::delete(&designer, left["id"].as_str().context("no id")?).await?;
            }
        }
        stock::remove_stock(&admin, &self.spec).await?;
        stock::delete_spec(&admin, &self.spec_id).await
    }
}
