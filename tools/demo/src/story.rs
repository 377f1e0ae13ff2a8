//! The story, step by step. Whatever it creates is called `demo-…`, so that leftovers of a killed run can be
//! recognized and deleted first.

use std::time::{Duration, Instant};

use machine::{
    access::Access,
    client::{Api, text},
};

use super::{
    Steps, deployment, hold, instance, isolation, job, lending, messages, order, queue, revocation, second,
    stock, storage, tenant_end, terminal, training,
    usage::{self, Ran},
};

/// How long the instance runs at least.
const LEAST_RUN: Duration = Duration::from_secs(2);

pub(super) async fn play(access: &Access, steps: &mut Steps) -> anyhow::Result<()> {
    let visitor = Api::new(&access.gateway)?;
    let spec = format!("demo-3080-{}", &uuid::Uuid::new_v4().simple().to_string()[..8]);

    let admin = steps.step("The administrator signs in", visitor.sign_in(&access.administrator)).await?;
    let designer = steps.step("The designer signs in", visitor.sign_in(&access.designer)).await?;
    steps.step("Leftovers of an interrupted demo are deleted", delete_leftovers(&admin, &designer)).await?;

    let datacenter = steps.step("The administrator picks a datacenter", stock::datacenter(&admin)).await?;
    let spec_id = steps.step("  creates a GPU specification", stock::create_spec(&admin, &spec)).await?;
    steps.step("  adds 3 units to its stock", stock::add_stock(&admin, &spec, &datacenter)).await?;
    steps.step("  changes its price", stock::edit_price(&admin, &spec_id)).await?;
    let counts = stock::expect_counts(&admin, &spec, 3, 0);
    steps.step("  sees available 3, inactive 0, used 0, total 3", counts).await?;

    let volume =
        steps.step("The designer creates a storage", storage::create(&designer, &datacenter)).await?;
    let begun = Instant::now();
    let create = instance::create(&designer, &spec, &volume);
    let (id, operation) = steps.step("  creates an instance with it", create).await?;
    let running = instance::expect_running(&designer, &id, &operation);
    steps.step("  follows the operation until the instance is running", running).await?;
    steps.figure("create_to_running_ms", format!("{:.0}", begun.elapsed().as_secs_f64() * 1000.0));
    let running_since = Instant::now();
    steps.step("  the stock has available 2, used 1", stock::expect_counts(&admin, &spec, 2, 1)).await?;

    let browser = steps.step("  opens the instance's URL", instance::open(&designer, &id)).await?;
    steps.step("  sees its page, which needs the cookie", instance::page(&browser)).await?;
    steps.step("  calls the WebUI's own API", instance::webui_api(&browser)).await?;
    steps.step("  uses a WebSocket", browser.echo("/ws/echo", "a word that comes back")).await?;
    steps.step("  generates an image", instance::generate(&browser)).await?;
    steps.step("  reads the log", instance::read_log(&designer, &id)).await?;
    let find = terminal::find_picture(&designer, &access.gateway, &id);
    let file = steps.step("  finds the image in the storage, in the terminal", find).await?;

    let at_least = running_since.elapsed();
    let stop = steps.step("  stops the instance", instance::request(&designer, &id, "stop")).await?;
    steps.step("  follows the operation until it has stopped", instance::follow(&designer, &stop)).await?;
    let first = Ran { at_least, at_most: begun.elapsed() };
    steps.step("  the stock has its unit back", stock::expect_counts(&admin, &spec, 3, 0)).await?;
    let url = text(&designer.get(&format!("/v1/instances/{id}")).await?, "url")?.to_owned();
    let begun = Instant::now();
    let start = steps.step("  starts it again", instance::request(&designer, &id, "start")).await?;
    let running = instance::expect_running(&designer, &id, &start);
    steps.step("  follows the operation until it is running", running).await?;
    let running_since = Instant::now();
    let kept = instance::expect_kept(&designer, &access.gateway, &id, &url, &file);
    steps.step("  finds the same id, URL and file", kept).await?;

    let add = revocation::add_colleague(&admin, &designer, &visitor);
    let colleague = steps.step("A colleague joins the designer's tenant", add).await?;
    let remove = revocation::remove_colleague(&admin, &colleague, &access.gateway, &id);
    let closed = steps.step("  loses the open terminal when removed", remove).await?;
    steps.figure("removed_to_closed_ms", closed);

    let sign_in = isolation::sign_in_second_tenant(&admin, &visitor);
    let rival = steps.step("A designer of a second tenant signs in", sign_in).await?;
    steps.step("  sees none of it", isolation::sees_nothing(&rival, &id, &volume, &stop)).await?;

    let create = tenant_end::create(&admin, &visitor, &spec, &datacenter);
    let guest = steps.step("A guest tenant starts an instance with a volume and a bucket", create).await?;
    let delete = tenant_end::suspend_and_delete(&admin, &guest);
    steps.step("  is suspended and deleted", delete).await?;
    let nothing = tenant_end::expect_nothing_left(&admin, &guest);
    steps.step("  leaves nothing behind", nothing).await?;
    steps.step("  the stock has its unit back", stock::expect_counts(&admin, &spec, 2, 1)).await?;

    // so that seconds are compared
    tokio::time::sleep(LEAST_RUN.saturating_sub(running_since.elapsed())).await;
    let at_least = running_since.elapsed();
    let held = hold::stop(&designer, &id);
    steps.step("The first designer stops the instance, which keeps its unit", held).await?;
    let second = Ran { at_least, at_most: begun.elapsed() };
    steps.step("  the stock still has used 1", stock::expect_counts(&admin, &spec, 2, 1)).await?;
    let begun = Instant::now();
    steps.step("  starts it again at once", hold::start(&designer, &id)).await?;
    let running_since = Instant::now();
    let at_least = running_since.elapsed();
    let stop = instance::request(&designer, &id, "stop").await?;
    steps.step("  stops it", instance::follow(&designer, &stop)).await?;
    let third = Ran { at_least, at_most: begun.elapsed() };
    let runs = [third, second, first];
    let billed = usage::billed(&designer, &id, &runs);
    let seconds = steps.step("  is billed for the seconds it ran", billed).await?;
    steps.figure("billed_seconds", seconds);
    let held = hold::billed(&designer, &id, seconds);
    let seconds = steps.step("  and for those of the hold, at a part of the price", held).await?;
    steps.figure("held_seconds", seconds);
    steps.step("  deletes the instance", instance::delete(&designer, &id)).await?;
    steps.step("  deletes the storage", storage::delete(&designer, &volume)).await?;
    steps.step("  the stock is complete again", stock::expect_counts(&admin, &spec, 3, 0)).await?;

    let order = order::create(&designer, &spec, &datacenter);
    let ordered = steps.step("The designer orders an instance with a volume and a secret", order).await?;
    let contents = order::expect_contents(&designer, &access.gateway, &ordered);
    steps.step("  finds both in it, and the secret nowhere else", contents).await?;
    steps.step("  opens its public port without a ticket", order::expect_public(&designer, &ordered)).await?;
    steps.step("  deletes both", order::delete(&designer, &ordered)).await?;

    let fill = queue::fill(&admin, &designer, &spec, &datacenter);
    let mut contest = steps.step("The designer uses the only unit of another specification", fill).await?;
    steps.step("  is told why a second instance would not start", queue::quote(&designer, &contest)).await?;
    steps.step("  lets it wait, as the first in the queue", queue::wait(&designer, &mut contest)).await?;
    let hand_over = queue::hand_over(&designer, &contest);
    let granted = steps.step("  stops the first instance: the second one runs", hand_over).await?;
    steps.figure("release_to_grant_ms", format!("{granted:.0}"));
    steps.step("  deletes both", queue::clean_up(&admin, &designer, &contest)).await?;

    if access.has_worker {
        let quote = job::quote(&designer);
        steps.step("The designer asks when a picture would be there, and its cost", quote).await?;
        let submitted = steps.step("  orders it as a job", job::picture(&designer)).await?;
        steps.step("  follows it until it has succeeded", job::follow(&designer, &submitted)).await?;
        let picture = steps.step("  downloads the picture", job::download(&designer, &submitted)).await?;
        let varied = job::variation(&designer, &submitted, &picture);
        steps.step("  makes a variation of it, and downloads that", varied).await?;
        let images = steps.step("The designer uploads four pictures", training::upload(&designer)).await?;
        let model = steps.step("  trains a model from them", training::train(&designer, &images)).await?;
        let compared = training::compare(&designer, &model);
        steps.step("  makes a picture with it, which is nearer to them than without", compared).await?;
        let lends = lending::pool(&admin).await?;
        // pods of other clusters do not reach the object store of this machine
        if lends.is_some() {
            let deploying = deployment::create(&designer, &model, &datacenter);
            let deployed = steps.step("  deploys the model to a volume", deploying).await?;
            let start = deployment::start(&designer, &deployed, &spec);
            let id = steps.step("  starts an instance with the volume", start).await?;
            let compared = deployment::compare(&designer, &deployed, &id);
            steps.step("  makes a picture with the model in the WebUI of the instance", compared).await?;
            steps.step("  deletes both", deployment::delete(&designer, &deployed, &id)).await?;
        }
        if access.has_broker {
            let connect = messages::listen(&designer);
            let mut line = steps.step("  connects a program of hers to the message queue", connect).await?;
            let made = messages::picture(&mut line, &model);
            steps.step("  orders a picture with the model by message, and gets it", made).await?;
            let cancelled = messages::cancel(&designer, &mut line);
            steps.step("  orders another, and cancels it while it is made", cancelled).await?;
            let gone = messages::disconnect(&designer, line);
            steps.step("  deletes the program's credential", gone).await?;
        } else {
            steps.skip("The message queue is off, as `up` has said: its steps are left out");
        }
        steps.step("  deletes the model", training::delete(&designer, &model)).await?;
        let queue = steps.step("The designer orders a dozen pictures", job::dozen(&designer)).await?;
        let told = steps.step("  is told when the last will start", job::outlook(&designer, &queue)).await?;
        let start = job::expect_start(&designer, &told);
        let (wait, late) = steps.step("  sees it start at about that time", start).await?;
        steps.figure("forecast_start_s", format!("{wait:.1}{late:+.1}"));
        if let Some(pool) = lends {
            let order = lending::order(&admin, &designer, pool);
            let mut loan = steps.step("  orders more, and a GPU that nobody uses makes some", order).await?;
            let start = lending::start_on_free(&designer, &mut loan);
            let _ = steps.step("The designer starts an instance on the last free GPU", start).await?;
            let start = lending::start_on_lent(&admin, &designer, &mut loan);
            let taken = steps.step("  starts another, which takes the lent GPU", start).await?;
            steps.figure("recall_to_running_ms", format!("{taken:.0}"));
            let made = lending::expect_made(&designer, &loan);
            steps.step("  gets the picture that lost its GPU nonetheless", made).await?;
            steps.step("  deletes both instances", lending::delete(&designer, &loan)).await?;
        }
    }

    steps.step("The administrator removes the stock", stock::remove_stock(&admin, &spec)).await?;
    steps.step("  deletes the specification", stock::delete_spec(&admin, &spec_id)).await?;

    if let Some(second) = &access.second {
        second::play(second, &admin, &designer, steps).await?;
    }

    let (slowest, call) = visitor.slowest();
    steps.figure("slowest_call_ms", format!("{slowest:.1}"));
    steps.figure("slowest_call", call.replace(' ', "_"));
    Ok(())
}

async fn delete_leftovers(admin: &Api, designer: &Api) -> anyhow::Result<()> {
    tenant_end::delete_leftovers(admin).await?;
    for instance in designer.list("/v1/instances").await? {
        if text(&instance, "name")?.starts_with("demo-") {
            instance::delete(designer, text(&instance, "id")?).await?;
        }
    }
    for model in designer.list("/v1/models").await? {
        if text(&model, "name")?.starts_with("demo-") {
            training::delete(designer, text(&model, "id")?).await?;
        }
    }
    messages::delete_leftovers(designer).await?;
    for storage in designer.list("/v1/storages").await? {
        if text(&storage, "name")?.starts_with("demo-") {
            storage::delete(designer, text(&storage, "id")?).await?;
        }
    }
    for spec in admin.list("/v1/gpu-specs?name_prefix=demo-").await? {
        // units cannot be removed before the addition that creates them has ended
        for operation in admin.list("/v1/stock-operations").await? {
            if matches!(operation["state"].as_str(), Some("pending" | "running")) {
                admin.follow("stock-operations", &operation["id"]).await?;
            }
        }
        stock::remove_stock(admin, text(&spec, "name")?).await?;
        stock::delete_spec(admin, text(&spec, "id")?).await?;
    }
    Ok(())
}
