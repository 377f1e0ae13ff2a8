//! The story itself, step by step. What it makes is called `demo-…`, so that what a killed run left over can
//! be told from everything else, and is swept away first.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use futures::StreamExt;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::{
    Sights, SignIn, Steps,
    browser::{Browser, websocket},
    client::{Api, text},
};

const STOCK: u64 = 3;
const PRICE: &str = "0.36";
const SECOND_TENANT: &str = "demo-rival";

/// Lives it once.
pub(crate) async fn live(sights: &Sights, steps: &mut Steps) -> anyhow::Result<()> {
    let visitor = Api::new(&sights.gateway)?;
    let spec = format!("demo-3080-{}", &uuid::Uuid::new_v4().simple().to_string()[..8]);

    let admin = steps.step("the administrator signs in", visitor.sign_in(&sights.administrator)).await?;
    let designer = steps.step("the designer signs in", visitor.sign_in(&sights.designer)).await?;
    steps.step("what an interrupted demo left over is swept away", sweep(&admin, &designer)).await?;

    let datacenter = steps.step("the administrator picks a datacenter", datacenter(&admin)).await?;
    let spec_id = steps.step("creates a GPU specification", create_spec(&admin, &spec)).await?;
    steps.step("adds 3 units of it to the stock, in bulk", add_stock(&admin, &spec, &datacenter)).await?;
    steps.step("edits its price", edit_price(&admin, &spec_id)).await?;
    steps
        .step("searches by name: Available 3, Inactive 0, Used 0, Total 3", stock_is(&admin, &spec, 3, 0))
        .await?;

    let storage = steps.step("the designer creates a storage", create_storage(&designer)).await?;
    let begun = Instant::now();
    let (instance, operation) = steps
        .step("creates an instance: spec, WebUI version, storage", create(&designer, &spec, &storage))
        .await?;
    steps
        .step(
            "follows the operation until the instance is running",
            running(&designer, &instance, &operation),
        )
        .await?;
    steps.figure("create_to_running_ms", format!("{:.0}", begun.elapsed().as_secs_f64() * 1000.0));
    let running_since = Instant::now();
    steps.step("the stock shows Available 2, Used 1", stock_is(&admin, &spec, 2, 1)).await?;

    let browser = steps.step("opens the instance's URL", open(&designer, &instance)).await?;
    steps.step("its page is there, and not for a stranger", page(&browser)).await?;
    steps.step("the WebUI's own API answers", webui_api(&browser)).await?;
    steps.step("a WebSocket echoes", browser.echo("/ws/echo", "a word that comes back")).await?;
    steps.step("generates an image", generate(&browser)).await?;
    steps.step("reads the log", read_log(&designer, &instance)).await?;
    let file = steps
        .step(
            "runs a command in the terminal and sees the storage",
            terminal(&designer, &sights.gateway, &instance),
        )
        .await?;

    let at_least = running_since.elapsed();
    let stop = steps.step("stops the instance", act(&designer, &instance, "stop")).await?;
    steps.step("it stops", followed(&designer, &stop)).await?;
    let first = Ran { at_least, at_most: begun.elapsed() };
    steps.step("the stock has its unit back", stock_is(&admin, &spec, 3, 0)).await?;
    let url = text(&designer.get(&format!("/v1/instances/{instance}")).await?, "url")?.to_owned();
    let begun = Instant::now();
    let start = steps.step("starts it again", act(&designer, &instance, "start")).await?;
    steps.step("it runs again", running(&designer, &instance, &start)).await?;
    let running_since = Instant::now();
    steps
        .step(
            "same id, same URL, and the file is still there",
            still_there(&designer, &sights.gateway, &instance, &url, &file),
        )
        .await?;

    let rival = steps.step("a second tenant's designer signs in", second_tenant(&admin, &visitor)).await?;
    steps.step("and sees none of it", sees_nothing(&rival, &instance, &storage, &stop)).await?;

    let at_least = running_since.elapsed();
    let stop = act(&designer, &instance, "stop").await?;
    steps.step("the first designer stops the instance", followed(&designer, &stop)).await?;
    let second = Ran { at_least, at_most: begun.elapsed() };
    let seconds = steps
        .step("billed seconds equal running seconds", billed(&designer, &instance, &[second, first]))
        .await?;
    steps.figure("billed_seconds", seconds);
    steps.step("deletes the instance", delete_instance(&designer, &instance)).await?;
    steps.step("deletes the storage", delete_storage(&designer, &storage)).await?;
    steps.step("the stock is whole again", stock_is(&admin, &spec, 3, 0)).await?;
    steps.step("the administrator takes the stock away", remove_stock(&admin, &spec)).await?;
    steps.step("and the specification", delete(&admin, &format!("/v1/gpu-specs/{spec_id}"))).await?;

    let (slowest, call) = visitor.slowest();
    steps.figure("slowest_call_ms", format!("{slowest:.1}"));
    steps.figure("slowest_call", call.replace(' ', "_"));
    Ok(())
}

async fn sweep(admin: &Api, designer: &Api) -> anyhow::Result<()> {
    for instance in designer.list("/v1/instances").await? {
        if text(&instance, "name")?.starts_with("demo-") {
            delete_instance(designer, text(&instance, "id")?).await?;
        }
    }
    for storage in designer.list("/v1/storages").await? {
        if text(&storage, "name")?.starts_with("demo-") {
            delete_storage(designer, text(&storage, "id")?).await?;
        }
    }
    for spec in admin.list("/v1/gpu-specs?name_prefix=demo-").await? {
        // additions that were under way end first: their units cannot be taken away before they are made
        for operation in admin.list("/v1/stock-operations").await? {
            if matches!(operation["state"].as_str(), Some("pending" | "running")) {
                admin.follow("stock-operations", &operation["id"]).await?;
            }
        }
        remove_stock(admin, text(&spec, "name")?).await?;
        delete(admin, &format!("/v1/gpu-specs/{}", text(&spec, "id")?)).await?;
    }
    Ok(())
}

async fn datacenter(admin: &Api) -> anyhow::Result<String> {
    let all = admin.list("/v1/datacenters").await?;
    Ok(text(all.first().context("there is no datacenter")?, "name")?.to_owned())
}

async fn create_spec(admin: &Api, name: &str) -> anyhow::Result<String> {
    let spec = json!({
        "name": name, "gpu_model": "NVIDIA-GeForce-RTX-3080", "gpu_count": 1, "gpu_cores": 8704,
        "video_memory_mib": 10_240, "cpu_millis": 4000, "memory_mib": 8192, "disk_gib": 50,
        "price_per_hour": "0.2", "currency": "USD",
        "allocation": { "kind": "device", "resource": "nvidia.com/gpu" },
    });
    let made = admin.post("/v1/gpu-specs", spec, 201).await?;
    Ok(text(&made, "id")?.to_owned())
}

async fn add_stock(admin: &Api, spec: &str, datacenter: &str) -> anyhow::Result<()> {
    let body = json!({ "gpu_spec": spec, "datacenter": datacenter, "count": STOCK });
    let operation = admin.post("/v1/stock/additions", body, 202).await?;
    let done = admin.follow("stock-operations", &operation["id"]).await?;
    ensure!(done["progress"]["held"] == STOCK, "not all units hold their place: {done}");
    Ok(())
}

async fn edit_price(admin: &Api, spec_id: &str) -> anyhow::Result<()> {
    let path = format!("/v1/gpu-specs/{spec_id}");
    let changed = admin.patch(&path, json!({ "price_per_hour": PRICE })).await?;
    ensure!(changed["price_per_hour"] == PRICE, "the price is not changed: {changed}");
    let history = admin.list(&format!("{path}/prices")).await?;
    ensure!(history.len() == 2, "the history has not both prices: {history:?}");
    Ok(())
}

async fn stock_is(admin: &Api, spec: &str, available: u64, used: u64) -> anyhow::Result<()> {
    // counts follow the cluster's events, a moment after the operation that caused them
    let begun = Instant::now();
    loop {
        let rows = admin.list(&format!("/v1/stock?spec_name={spec}")).await?;
        let [row] = &rows[..] else { bail!("one row was expected: {rows:?}") };
        let seen = ["available", "inactive", "used", "total"].map(|name| row[name].as_u64());
        if seen == [Some(available), Some(0), Some(used), Some(STOCK)] {
            return Ok(());
        }
        ensure!(begun.elapsed().as_secs() < 10, "the stock shows {row}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn create_storage(designer: &Api) -> anyhow::Result<String> {
    let specs = designer.list("/v1/storage-specs").await?;
    let volume = specs.iter().find(|spec| spec["kind"] == "volume").context("no specification of volumes")?;
    let body = json!({ "name": "demo-models", "storage_spec": volume["name"], "size_gib": 10 });
    let storage = designer.post("/v1/storages", body, 202).await?;
    designer.follow("storage-operations", &storage["operation_id"]).await?;
    Ok(text(&storage, "id")?.to_owned())
}

async fn create(designer: &Api, spec: &str, storage: &str) -> anyhow::Result<(String, Value)> {
    let services = designer.list("/v1/services").await?;
    let webui =
        services.iter().filter(|service| service["service"] == "stable-diffusion-webui").collect::<Vec<_>>();
    ensure!(webui.len() >= 2, "the WebUI is not there in two versions: {services:?}");
    let body = json!({
        "name": "demo-drawing", "gpu_spec": spec, "service": "stable-diffusion-webui",
        "version": webui[0]["version"], "storage_id": storage,
    });
    let instance = designer.post("/v1/instances", body, 202).await?;
    Ok((text(&instance, "id")?.to_owned(), instance["operation_id"].clone()))
}

async fn act(designer: &Api, instance: &str, what: &str) -> anyhow::Result<Value> {
    Ok(designer.act(&format!("/v1/instances/{instance}/{what}"), 202).await?["operation_id"].clone())
}

async fn followed(designer: &Api, operation: &Value) -> anyhow::Result<()> {
    designer.follow("instance-operations", operation).await.map(drop)
}

async fn running(designer: &Api, instance: &str, operation: &Value) -> anyhow::Result<()> {
    followed(designer, operation).await?;
    let seen = designer.get(&format!("/v1/instances/{instance}")).await?;
    ensure!(seen["state"] == "running", "it does not run: {seen}");
    Ok(())
}

async fn open(designer: &Api, instance: &str) -> anyhow::Result<Browser> {
    let ticket = designer.act(&format!("/v1/instances/{instance}/tickets"), 201).await?;
    Browser::open(text(&ticket, "url")?).await
}

async fn page(browser: &Browser) -> anyhow::Result<()> {
    let (status, html) = browser.get("/").await?;
    ensure!(status == 200 && html.contains("<html"), "no page ({status}): {html}");
    let stranger = browser.get_as_stranger("/").await?;
    ensure!(stranger == 401, "a stranger gets {stranger}");
    Ok(())
}

async fn webui_api(browser: &Browser) -> anyhow::Result<()> {
    for path in ["/sdapi/v1/options", "/sdapi/v1/progress", "/sdapi/v1/sd-models"] {
        let (status, body) = browser.get(path).await?;
        ensure!(status == 200, "{path}: {status} {body}");
    }
    Ok(())
}

async fn generate(browser: &Browser) -> anyhow::Result<()> {
    let order = json!({ "prompt": "a lighthouse in a storm, oil on canvas", "steps": 20, "width": 512, "height": 512 });
    let made = browser.post("/sdapi/v1/txt2img", &order).await?;
    let picture = made["images"][0].as_str().context("no picture")?;
    // the first bytes of every PNG file
    ensure!(picture.starts_with("iVBORw0KGgo"), "not a PNG: {}…", &picture[..picture.len().min(20)]);
    Ok(())
}

async fn read_log(designer: &Api, instance: &str) -> anyhow::Result<()> {
    let path = format!("/v1/instances/{instance}/log?tail=100");
    let answer = designer.send(reqwest::Method::GET, &path, None, None).await?;
    ensure!(
        answer.status == 200 && !answer.text.trim().is_empty(),
        "no log: {} {}",
        answer.status,
        answer.text
    );
    Ok(())
}

/// Runs one command in the instance's terminal; gives what it printed.
async fn in_terminal(designer: &Api, gateway: &str, instance: &str, command: &str) -> anyhow::Result<String> {
    let gateway: url::Url = gateway.parse()?;
    let port = gateway.port_or_known_default().context("the gateway's URL has no port")?;
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let query = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs([("command", "sh"), ("command", "-c"), ("command", command)])
        .finish();
    let host = gateway.host_str().context("the gateway's URL has no host")?;
    let url = format!("ws://{host}:{port}/v1/instances/{instance}/terminal?{query}");
    let token = format!("Bearer {}", designer.token.as_deref().unwrap_or_default());
    let mut socket = websocket(&url, address, ("authorization", &token)).await?;
    let mut printed = Vec::new();
    while let Some(message) = socket.next().await {
        match message? {
            Message::Binary(bytes) => printed.extend_from_slice(&bytes),
            Message::Text(last) => {
                let last: Value = serde_json::from_str(&last)?;
                let printed = String::from_utf8_lossy(&printed).into_owned();
                ensure!(last["exit_code"] == 0, "`{command}` ended with {last}: {printed}");
                // the other side may be gone already
                let _ = socket.close(None).await;
                return Ok(printed);
            }
            _ => {}
        }
    }
    bail!("the terminal closed without an exit code")
}

/// The name of the picture that was generated, as the terminal shows it in the storage.
async fn terminal(designer: &Api, gateway: &str, instance: &str) -> anyhow::Result<String> {
    let printed = in_terminal(designer, gateway, instance, "find storage/ -name '*.png'").await?;
    let file = printed.lines().next().unwrap_or_default().trim().to_owned();
    ensure!(file.starts_with("storage/"), "no picture in the storage: {printed:?}");
    Ok(file)
}

async fn still_there(
    designer: &Api,
    gateway: &str,
    instance: &str,
    url: &str,
    file: &str,
) -> anyhow::Result<()> {
    let seen = designer.get(&format!("/v1/instances/{instance}")).await?;
    ensure!(seen["url"] == url, "another URL: {seen}");
    in_terminal(designer, gateway, instance, &format!("test -s '{file}'")).await?;
    let (status, _) = open(designer, instance).await?.get("/").await?;
    ensure!(status == 200, "the page answers {status}");
    Ok(())
}

/// A designer of another tenant, made on the first run of the demo.
async fn second_tenant(admin: &Api, visitor: &Api) -> anyhow::Result<Api> {
    let rival = SignIn { email: "rival@demo.example".into(), password: "a rival's own long password".into() };
    if let Ok(signed_in) = visitor.sign_in(&rival).await {
        return Ok(signed_in);
    }
    let tenants = admin.list("/v1/tenants").await?;
    let tenant = match tenants.into_iter().find(|tenant| tenant["name"] == SECOND_TENANT) {
        Some(tenant) => tenant,
        None => admin.post("/v1/tenants", json!({ "name": SECOND_TENANT }), 201).await?,
    };
    let users = admin.list("/v1/users").await?;
    let user = match users.into_iter().find(|user| user["email"] == rival.email.as_str()) {
        Some(user) => user,
        None => {
            let body = json!({ "email": rival.email, "password": rival.password, "display_name": "Rival" });
            admin.post("/v1/users", body, 201).await?
        }
    };
    let members = format!("/v1/tenants/{}/members", text(&tenant, "id")?);
    admin.post(&members, json!({ "user_id": user["id"], "role": "member" }), 201).await?;
    visitor.sign_in(&rival).await
}

async fn sees_nothing(rival: &Api, instance: &str, storage: &str, operation: &Value) -> anyhow::Result<()> {
    for list in ["/v1/instances", "/v1/storages", "/v1/instance-operations", "/v1/storage-operations"] {
        let seen = rival.list(list).await?;
        ensure!(seen.is_empty(), "{list} shows {seen:?}");
    }
    let operation = operation.as_str().context("no operation id")?;
    let missing = rival
        .send(reqwest::Method::GET, "/v1/instances/inst_00000000000070008000000000000000", None, None)
        .await?;
    for path in [
        format!("/v1/instances/{instance}"),
        format!("/v1/instances/{instance}/log"),
        format!("/v1/instances/{instance}/usage"),
        format!("/v1/storages/{storage}"),
        format!("/v1/instance-operations/{operation}"),
    ] {
        let answer = rival.send(reqwest::Method::GET, &path, None, None).await?;
        ensure!(
            (answer.status, &answer.body) == (404, &missing.body),
            "{path} does not answer like a missing thing: {} {}",
            answer.status,
            answer.text
        );
    }
    for action in ["start", "stop", "tickets"] {
        rival.act(&format!("/v1/instances/{instance}/{action}"), 404).await?;
    }
    rival.delete(&format!("/v1/instances/{instance}"), 404).await.map(drop)
}

/// For how long an instance ran, as it was seen from here.
struct Ran {
    at_least: Duration,
    at_most: Duration,
}

/// The seconds that are billed for the runs, the newest first: whole ones, between what was seen.
async fn billed(designer: &Api, instance: &str, seen: &[Ran]) -> anyhow::Result<i64> {
    let usage = designer.get(&format!("/v1/instances/{instance}/usage")).await?;
    let runs = usage["items"].as_array().context("no runs")?;
    ensure!(runs.len() == seen.len(), "{} runs were expected: {usage}", seen.len());
    let mut total = 0;
    for (run, seen) in runs.iter().zip(seen) {
        let (from, to): (jiff::Timestamp, jiff::Timestamp) =
            (text(run, "started_at")?.parse()?, text(run, "ended_at")?.parse()?);
        let seconds = to.as_second() - from.as_second();
        ensure!(run["seconds"] == seconds, "billed {}, ran {seconds}: {run}", run["seconds"]);
        let (at_least, at_most) = (seen.at_least.as_secs_f64(), seen.at_most.as_secs_f64());
        // both ends are whole seconds
        let can_be = at_least - 1.0..at_most + 1.0;
        ensure!(can_be.contains(&(seconds as f64)), "it ran {at_least:.1} to {at_most:.1} s: {run}");
        ensure!(run["price_per_hour"] == PRICE, "not at the price of the claim: {run}");
        total += seconds;
    }
    ensure!(usage["total_seconds"] == total, "not the sum of the runs: {usage}");
    Ok(total)
}

async fn delete_instance(designer: &Api, id: &str) -> anyhow::Result<()> {
    let path = format!("/v1/instances/{id}");
    let deleting = designer.delete(&path, 202).await?;
    followed(designer, &deleting["operation_id"]).await?;
    gone(designer, &path).await
}

async fn delete_storage(designer: &Api, id: &str) -> anyhow::Result<()> {
    let path = format!("/v1/storages/{id}");
    let deleting = designer.delete(&path, 202).await?;
    designer.follow("storage-operations", &deleting["operation_id"]).await?;
    gone(designer, &path).await
}

async fn gone(api: &Api, path: &str) -> anyhow::Result<()> {
    let answer = api.send(reqwest::Method::GET, path, None, None).await?;
    ensure!(answer.status == 404, "it is still there: {}", answer.text);
    Ok(())
}

async fn remove_stock(admin: &Api, spec: &str) -> anyhow::Result<()> {
    for row in admin.list(&format!("/v1/stock?spec_name={spec}")).await? {
        if row["gpu_spec"]["name"] == spec && row["total"].as_u64() > Some(0) {
            let body =
                json!({ "gpu_spec": spec, "datacenter": row["datacenter"]["name"], "count": row["total"] });
            let operation = admin.post("/v1/stock/removals", body, 202).await?;
            admin.follow("stock-operations", &operation["id"]).await?;
        }
    }
    Ok(())
}

async fn delete(api: &Api, path: &str) -> anyhow::Result<()> {
    let read = api.send(reqwest::Method::GET, path, None, None).await?;
    let answer = api.send(reqwest::Method::DELETE, path, read.etag.as_deref(), None).await?;
    ensure!(answer.status == 204, "{path}: {} {}", answer.status, answer.text);
    Ok(())
}
