//! A second datacenter: its cluster fails and recovers, and the first is not affected. Only on a platform of
//! `cargo xtask up --datacenters 2`.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use machine::{
    access::Second,
    client::{Api, text},
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};

use super::{Steps, browser::Browser, instance, stock};

/// Time limit of a start in the first datacenter while the cluster of the second does not answer.
const UNDISTURBED: Duration = Duration::from_secs(8);
/// How long it may take until claims avoid a cluster that does not answer.
const NOTICED: Duration = Duration::from_secs(6);

/// The process of a cluster, which keeps running when this is dropped.
struct Frozen(Pid);

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = kill(self.0, Signal::SIGCONT);
    }
}

/// The place of an instance of this step: a datacenter's id, or anywhere.
type Place<'a> = Option<&'a str>;

struct Scene<'a> {
    designer: &'a Api,
    spec: String,
    /// Id and name of the first datacenter, and id of the second.
    first: String,
    first_name: String,
    second: String,
}

/// A running instance.
struct Runs {
    id: String,
    browser: Browser,
}

pub(super) async fn play(
    second: &Second,
    admin: &Api,
    designer: &Api,
    steps: &mut Steps,
) -> anyhow::Result<()> {
    let spec = format!("demo-two-{}", &uuid::Uuid::new_v4().simple().to_string()[..8]);
    let first = stock::datacenter(admin).await?;
    let spec_id = steps.step("A specification for two datacenters", stock::create_spec(admin, &spec)).await?;
    steps.step("  3 units in the first", stock::add_stock(admin, &spec, &first)).await?;
    steps.step("  3 units in the second", stock::add_stock(admin, &spec, &second.datacenter)).await?;
    let scene = Scene {
        designer,
        spec: spec.clone(),
        first: id_of(admin, &first).await?,
        first_name: first,
        second: id_of(admin, &second.datacenter).await?,
    };
    let near = steps.step("  an instance in the first", scene.run("demo-near", Some(&scene.first))).await?;
    let far = steps.step("  an instance in the second", scene.run("demo-far", Some(&scene.second))).await?;
    let before = scene.see(&far.id).await?;

    let frozen = Frozen(process_of(&second.cluster).await?);
    kill(frozen.0, Signal::SIGSTOP)?;
    let since = Instant::now();
    let waiting = steps.step("The second's cluster is silent; a start there", scene.wait_there()).await?;
    let undisturbed = scene.start_and_stop("demo-new", Some(&scene.first));
    let took = steps.step("  in the first: start, page, stop, delete as ever", undisturbed).await?;
    steps.figure("start_beside_silent_cluster_ms", took.as_millis());
    steps.step("  the first's instance answers", page(&near)).await?;
    steps.step("  the second's has its last known state", scene.is_as(&far.id, &before)).await?;
    tokio::time::sleep(NOTICED.saturating_sub(since.elapsed())).await;
    let anywhere = scene.start_and_stop("demo-anywhere", None);
    steps.step("  an instance for any datacenter runs in the first", anywhere).await?;
    steps.step("  the start there says what it waits for", scene.says_why(&waiting.0)).await?;
    drop(frozen);
    steps.step("The cluster answers again; the start succeeds", scene.follow(&waiting)).await?;
    steps.step("  the second's instance is as it was", scene.is_as(&far.id, &before)).await?;
    steps.step("  and its page answers", page(&far)).await?;

    kill(process_of(&second.cluster).await?, Signal::SIGKILL)?;
    let undisturbed = scene.start_and_stop("demo-new", Some(&scene.first));
    steps.step("The second's cluster is killed; a start in the first", undisturbed).await?;
    steps.step("  the first's instance answers", page(&near)).await?;
    let there = scene.start_and_stop("demo-later", Some(&scene.second));
    steps.step("  it is back: a start in the second", there).await?;

    for id in [&near.id, &far.id, &waiting.0] {
        instance::delete(designer, id).await?;
    }
    stock::remove_stock(admin, &spec).await?;
    steps.step("  both datacenters are cleared", stock::delete_spec(admin, &spec_id)).await
}

async fn id_of(admin: &Api, datacenter: &str) -> anyhow::Result<String> {
    let all = admin.list("/v1/datacenters").await?;
    let found = all.iter().find(|one| one["name"] == datacenter);
    Ok(text(found.with_context(|| format!("no datacenter {datacenter}"))?, "id")?.to_owned())
}

/// The process with this configuration file.
async fn process_of(config: &std::path::Path) -> anyhow::Result<Pid> {
    let found = tokio::process::Command::new("pgrep").arg("-f").arg(config).output().await?;
    let found = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    let pid = found.parse().with_context(|| format!("not one process of {}: {found:?}", config.display()))?;
    Ok(Pid::from_raw(pid))
}

async fn page(runs: &Runs) -> anyhow::Result<()> {
    let (status, _) = runs.browser.get("/").await?;
    ensure!(status == 200, "the page answers {status}");
    Ok(())
}

impl Scene<'_> {
    /// Creates an instance. Returns its id and the operation.
    async fn create(&self, name: &str, place: Place<'_>) -> anyhow::Result<(String, Value)> {
        let services = self.designer.list("/v1/services").await?;
        let webui = services.iter().find(|one| one["service"] == "stable-diffusion-webui");
        let webui = webui.context("no WebUI in the catalogue")?;
        let body = json!({
            "name": name, "gpu_spec": self.spec, "service": webui["service"], "version": webui["version"],
            "datacenter": place,
        });
        let instance = self.designer.post("/v1/instances", body, 202).await?;
        Ok((text(&instance, "id")?.to_owned(), instance["operation_id"].clone()))
    }

    /// Creates an instance and opens it once it runs.
    async fn run(&self, name: &str, place: Place<'_>) -> anyhow::Result<Runs> {
        let (id, operation) = self.create(name, place).await?;
        instance::expect_running(self.designer, &id, &operation).await?;
        let runs = Runs { browser: instance::open(self.designer, &id).await?, id };
        page(&runs).await?;
        Ok(runs)
    }

    /// The whole life of an instance. Returns how long it took until it ran.
    async fn start_and_stop(&self, name: &str, place: Place<'_>) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        let runs = self.run(name, place).await?;
        let took = begun.elapsed();
        ensure!(place == Some(&self.second) || took < UNDISTURBED, "the start took {took:.1?}");
        let seen = self.see(&runs.id).await?;
        if place != Some(&self.second) {
            ensure!(seen["datacenter"] == self.first_name, "it is elsewhere: {seen}");
        }
        let stop = instance::request(self.designer, &runs.id, "stop").await?;
        instance::follow(self.designer, &stop).await?;
        instance::delete(self.designer, &runs.id).await?;
        Ok(took)
    }

    /// Asks for an instance in the second datacenter.
    async fn wait_there(&self) -> anyhow::Result<(String, Value)> {
        self.create("demo-waiting", Some(&self.second)).await
    }

    async fn see(&self, id: &str) -> anyhow::Result<Value> {
        self.designer.get(&format!("/v1/instances/{id}")).await
    }

    async fn is_as(&self, id: &str, before: &Value) -> anyhow::Result<()> {
        let seen = self.see(id).await?;
        ensure!(seen == *before, "it was {before} and is {seen}");
        Ok(())
    }

    async fn says_why(&self, id: &str) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            let seen = self.see(id).await?;
            if seen["reason"] == "cluster_unreachable" {
                return Ok(());
            }
            ensure!(begun.elapsed().as_secs() < 15, "it does not say why it waits: {seen}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn follow(&self, (id, operation): &(String, Value)) -> anyhow::Result<()> {
        instance::expect_running(self.designer, id, operation).await
    }
}
