//! Growth with the platform: the stock service with one datacenter of 5,000 units and 10,000 users who each
//! held one before, and with 100 datacenters and 1,000,000 users. The same requests at the same rate, one
//! after the other, on one Postgres with fsync on; the figures are printed side by side.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use atelier_stock::App;
use ids::{GpuSpecId, InstanceId, TenantId};
use sqlx::{PgConnection, postgres::PgConnectOptions};
use testkit::{Client, Issuer};

use crate::setup;

const DATABASE: &str = "bench_scale";
/// GPU specifications; units are spread over them.
const SPECS: usize = 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Datacenters of the larger platform
    #[arg(long, default_value_t = 100)]
    datacenters: i32,
    /// Units of each datacenter
    #[arg(long, default_value_t = 5000)]
    units: i32,
    /// Users of the larger platform
    #[arg(long, default_value_t = 1_000_000)]
    users: i32,
    /// Claims per second; each is followed by its release
    #[arg(long, default_value_t = 50)]
    rate: u32,
    /// Seconds of load
    #[arg(long, default_value_t = 15)]
    seconds: u32,
}

/// The measurements of one platform.
struct Figures {
    units: i64,
    seed_seconds: f64,
    claim: [f64; 2],
    release: [f64; 2],
    stock: [f64; 2],
    database_mib: i64,
}

pub(crate) async fn run(admin: &PgConnectOptions, args: &Args) {
    let small = measure(admin, args, 1, args.users / 100).await;
    let large = measure(admin, args, args.datacenters, args.users).await;
    println!("\n{:<44} {:>12} {:>12} {:>8}", "", "small", "large", "growth");
    let row = |name: &str, small: f64, large: f64| {
        println!("{name:<44} {small:>12.2} {large:>12.2} {:>8.2}", large / small);
    };
    #[expect(clippy::cast_precision_loss, reason = "figures of a table")]
    for (name, small, large) in [
        ("units", small.units as f64, large.units as f64),
        ("users who held a unit", f64::from(args.users / 100), f64::from(args.users)),
        ("database, MiB", small.database_mib as f64, large.database_mib as f64),
        ("seeding, s", small.seed_seconds, large.seed_seconds),
        ("claim of any datacenter, p50 ms", small.claim[0], large.claim[0]),
        ("claim of any datacenter, p99 ms", small.claim[1], large.claim[1]),
        ("release, p50 ms", small.release[0], large.release[0]),
        ("release, p99 ms", small.release[1], large.release[1]),
        ("list of stock, p50 ms", small.stock[0], large.stock[0]),
        ("list of stock, p99 ms", small.stock[1], large.stock[1]),
    ] {
        row(name, small, large);
    }
    println!(
        "\nscale: units={}/{} users={}/{} claim_p50_ms={:.2}/{:.2} claim_p99_ms={:.2}/{:.2} stock_p99_ms={:.2}/{:.2} \
         database_mib={}/{}",
        small.units,
        large.units,
        args.users / 100,
        args.users,
        small.claim[0],
        large.claim[0],
        small.claim[1],
        large.claim[1],
        small.stock[1],
        large.stock[1],
        small.database_mib,
        large.database_mib,
    );
}

async fn measure(admin: &PgConnectOptions, args: &Args, datacenters: i32, users: i32) -> Figures {
    let issuer = Issuer::start().await;
    let (mut conn, config) = setup::fresh(admin, DATABASE, issuer.config()).await;
    let begun = Instant::now();
    let specs = seed(&mut conn, datacenters, args.units, users).await;
    let seed_seconds = begun.elapsed().as_secs_f64();
    let app = App::new(config, service::Process::default()).unwrap();
    let base = Client::new(&testkit::serve(app.router()).await);
    println!(
        "{datacenters} datacenters of {} units, {users} users: seeded in {seed_seconds:.0} s",
        args.units
    );

    let tenant = TenantId::new().to_string();
    let (mut claims, mut releases, mut lists) = (Vec::new(), Vec::new(), Vec::new());
    let (service, console) = (base.service("gpu"), base.token(&issuer.admin()));
    let due = Instant::now();
    let next = Arc::new(AtomicU32::new(0));
    let total = args.rate * args.seconds;
    let workers = (0..8).map(|_| {
        let (service, console, next) = (service.clone(), console.clone(), Arc::clone(&next));
        let (specs, tenant, rate) = (specs.clone(), tenant.clone(), args.rate);
        tokio::spawn(async move {
            let mut took = [Vec::new(), Vec::new(), Vec::new()];
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= total {
                    return took;
                }
                tokio::time::sleep_until((due + Duration::from_secs(1) * n / rate).into()).await;
                let instance = InstanceId::new();
                let spec = specs[n as usize % SPECS];
                let body =
                    serde_json::json!({ "instance_id": instance, "tenant_id": tenant, "gpu_spec_id": spec });
                let sent = Instant::now();
                let claimed = service.post("/internal/v1/claims", body).await;
                took[0].push(milliseconds(sent));
                let _ = claimed.expect(201);
                let sent = Instant::now();
                let released = service.delete(&format!("/internal/v1/claims/{instance}")).await;
                took[1].push(milliseconds(sent));
                let _ = released.expect(204);
                if n % 10 == 0 {
                    let sent = Instant::now();
                    let listed = console.get("/v1/stock?limit=50").await;
                    took[2].push(milliseconds(sent));
                    let _ = listed.expect(200);
                }
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        let [claim, release, list] = worker.await.unwrap();
        claims.extend(claim);
        releases.extend(release);
        lists.extend(list);
    }
    let number = async |conn: &mut PgConnection, sql: &'static str| -> i64 {
        sqlx::query_scalar(sql).fetch_one(conn).await.unwrap()
    };
    Figures {
        units: number(&mut conn, "select count(*) from stock.units").await,
        seed_seconds,
        claim: percentiles(claims),
        release: percentiles(releases),
        stock: percentiles(lists),
        database_mib: number(&mut conn, "select pg_database_size(current_database()) / 1048576").await,
    }
}

/// Inserts datacenters, specifications, and units of which four fifths are used; each user held one before.
async fn seed(conn: &mut PgConnection, datacenters: i32, units: i32, users: i32) -> Vec<GpuSpecId> {
    let specs: Vec<GpuSpecId> = (0..SPECS).map(|_| GpuSpecId::new()).collect();
    for (n, spec) in specs.iter().enumerate() {
        sqlx::query(
            "insert into stock.gpu_specs (id, name, gpu_model, gpu_count, gpu_cores, video_memory_mib, cpu_millis,
                 memory_mib, disk_gib, allocation, price_per_hour, currency)
             values ($1, 'spec-' || $2::int, 'x', 1, 1, 1, 1, 1, 1, '{\"kind\":\"device\",\"resource\":\"nvidia.com/gpu\"}',
                 0.2, 'USD')",
        )
        .bind(spec)
        .bind(i32::try_from(n).unwrap())
        .execute(&mut *conn)
        .await
        .unwrap();
    }
    sqlx::query(
        "insert into stock.datacenters (id, name, region, cluster)
         select gen_random_uuid(), 'dc-' || n, 'region-' || n % 10, 'cluster-' || n from generate_series(1, $1) n",
    )
    .bind(datacenters)
    .execute(&mut *conn)
    .await
    .unwrap();
    sqlx::query(
        "insert into stock.units (id, gpu_spec_id, datacenter_id, state, held, node, holder_instance, holder_tenant,
             holder_since)
         select gen_random_uuid(), ($2::uuid[])[1 + n % $3], d.id, case when used then 'used' else 'available' end, true,
             'node-' || n % 1000, case when used then gen_random_uuid() end, case when used then gen_random_uuid() end,
             case when used then now() end
         from stock.datacenters d, generate_series(1, $1) n, lateral (select (n / $3) % 5 <> 0 as used) u",
    )
    .bind(units)
    .bind(&specs)
    .bind(i32::try_from(SPECS).unwrap())
    .execute(&mut *conn)
    .await
    .unwrap();
    sqlx::query(
        "insert into stock.unit_holders (unit_id, instance_id, tenant_id, claimed_at)
         select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), now() from generate_series(1, $1)",
    )
    .bind(users)
    .execute(&mut *conn)
    .await
    .unwrap();
    sqlx::raw_sql("vacuum (analyze)").execute(&mut *conn).await.unwrap();
    sqlx::raw_sql("checkpoint").execute(&mut *conn).await.unwrap();
    specs
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

/// The 50th and the 99th percentile.
fn percentiles(mut took: Vec<f64>) -> [f64; 2] {
    took.sort_by(f64::total_cmp);
    [took.len() / 2, took.len() * 99 / 100].map(|at| took.get(at).copied().unwrap_or(f64::NAN))
}
