//! How fast a released unit reaches the next instance: from the request that releases it to the response that
//! reports the grant, with few and with many waiting instances.

use std::time::Instant;

use atelier_stock::App;
use ids::{DatacenterId, GpuSpecId, InstanceId, TenantId};
use reqwest::Client;
use serde_json::{Value, json};
use sqlx::{PgConnection, postgres::PgConnectOptions};
use testkit::service_token;
use tokio::sync::mpsc;

use crate::{percentile, setup};

const DATABASE: &str = "bench_queue";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Instances that wait
    #[arg(long, default_value_t = 10_000)]
    waiting: i64,
    /// Releases that are measured
    #[arg(long, default_value_t = 300)]
    releases: usize,
}

pub(crate) async fn run(admin: &PgConnectOptions, args: &Args) {
    let few = measure(admin, 10, args.releases).await;
    let many = measure(admin, args.waiting, args.releases).await;
    println!("{:>10} {:>9} {:>9}", "waiting", "p50 ms", "p99 ms");
    for (waiting, took) in [(10, &few), (args.waiting, &many)] {
        println!("{waiting:>10} {:>9.2} {:>9.2}", percentile(took, 0.5), percentile(took, 0.99));
    }
    println!(
        "queue: waiting={} wake_p50_ms={:.2} wake_p99_ms={:.2} few_p99_ms={:.2} growth={:.2}",
        args.waiting,
        percentile(&many, 0.5),
        percentile(&many, 0.99),
        percentile(&few, 0.99),
        percentile(&many, 0.5) / percentile(&few, 0.5),
    );
}

/// Returns the milliseconds of each release, sorted.
async fn measure(admin: &PgConnectOptions, waiting: i64, releases: usize) -> Vec<f64> {
    let auth = serde_json::from_str(r#"{"issuer":"http://bench"}"#).unwrap();
    let (mut conn, config) = setup::fresh(admin, DATABASE, auth).await;
    let (spec, mut holder) = catalogue(&mut conn, waiting).await;
    let process = service::Process::default();
    let app = App::new(config, process.clone()).unwrap();
    app.start_workers();
    let base = testkit::serve(app.router()).await;
    let http = Client::new();

    let (sender, mut grants) = mpsc::unbounded_channel();
    let follower = tokio::spawn(follow(http.clone(), base.clone(), sender));
    let mut took = Vec::new();
    for _ in 0..releases {
        let next: InstanceId = sqlx::query_scalar(
            "select instance_id from stock.queue_entries order by priority desc, turn, seq limit 1",
        )
        .fetch_one(&mut conn)
        .await
        .unwrap();
        let begun = Instant::now();
        let path = format!("{base}/internal/v1/claims/{holder}");
        let answer = http.delete(path).bearer_auth(service_token("gpu")).send();
        let (answer, told) = tokio::join!(answer, grants.recv());
        took.push(begun.elapsed().as_secs_f64() * 1000.0);
        assert_eq!(answer.unwrap().status(), 204);
        assert_eq!(told.unwrap(), next, "another instance was served");
        holder = next;
        // keeps the number of waiting instances
        let body = json!({ "tenant_id": TenantId::new(), "gpu_spec_id": spec });
        let path = format!("{base}/internal/v1/queue/{}", InstanceId::new());
        let answer = http.put(path).bearer_auth(service_token("gpu")).json(&body).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    }
    follower.abort();
    process.shutdown.begin();
    took.sort_by(f64::total_cmp);
    took
}

async fn follow(http: Client, base: String, grants: mpsc::UnboundedSender<InstanceId>) {
    let mut cursor = String::new();
    loop {
        let request = http
            .get(format!("{base}/internal/v1/queue-grants"))
            .query(&[("wait_seconds", "20"), ("after", &cursor)])
            .bearer_auth(service_token("gpu"));
        let page: Value = request.send().await.unwrap().json().await.unwrap();
        for item in page["items"].as_array().unwrap() {
            let _ = grants.send(item["change"]["instance_id"].as_str().unwrap().parse().unwrap());
        }
        page["next_cursor"].as_str().unwrap().clone_into(&mut cursor);
    }
}

/// A specification with one unit, which an instance holds and for which other instances wait, ten per tenant.
async fn catalogue(conn: &mut PgConnection, waiting: i64) -> (GpuSpecId, InstanceId) {
    let (spec, datacenter, holder) = (GpuSpecId::new(), DatacenterId::new(), InstanceId::new());
    sqlx::query(
        "insert into stock.datacenters (id, name, region, cluster) values ($1, 'uk-1', 'uk', 'main')",
    )
    .bind(datacenter)
    .execute(&mut *conn)
    .await
    .unwrap();
    sqlx::query(
        "insert into stock.gpu_specs (id, name, gpu_model, gpu_count, gpu_cores, video_memory_mib, cpu_millis,
             memory_mib, disk_gib, allocation, price_per_hour, currency)
         values ($1, 'hot', 'x', 1, 1, 1, 1, 1, 1, '{\"kind\":\"device\",\"resource\":\"nvidia.com/gpu\"}', 0.2, 'USD')",
    )
    .bind(spec)
    .execute(&mut *conn)
    .await
    .unwrap();
    sqlx::query(
        "insert into stock.units (id, gpu_spec_id, datacenter_id, state, held, node, holder_instance, holder_tenant,
             holder_since)
         values (gen_random_uuid(), $1, $2, 'used', true, 'node-1', $3, $3, now())",
    )
    .bind(spec)
    .bind(datacenter)
    .bind(holder)
    .execute(&mut *conn)
    .await
    .unwrap();
    sqlx::query(
        "insert into stock.queue_entries (instance_id, tenant_id, gpu_spec_id, priority, attempt, turn)
         select gen_random_uuid(), md5((n % ($2 / 10))::text)::uuid, $1, 0, 1, 1 + n / ($2 / 10)
         from generate_series(0, $2 - 1) n",
    )
    .bind(spec)
    .bind(waiting)
    .execute(&mut *conn)
    .await
    .unwrap();
    sqlx::raw_sql("vacuum (analyze) stock.queue_entries").execute(&mut *conn).await.unwrap();
    (spec, holder)
}
