//! How fast units are handed out: 64 clients claim units of one hot specification through the service's
//! HTTP API, in turns with pgbench running the best single-claim SQL on the same Postgres.
//!
//! `BENCH_POSTGRES` is a Postgres with fsync on; `BENCH_POSTGRES_BIN` is the folder with `pgbench` (else from PATH or
//! /usr/lib/postgresql).

use std::{
    collections::HashSet,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use atelier_stock::App;
use ids::{DatacenterId, GpuSpecId, InstanceId};
use sqlx::{PgConnection, postgres::PgConnectOptions};
use testkit::service_token;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::{percentile, setup};

const DATABASE: &str = "bench_claims";
const TENANT: &str = "ten_01939f0a7c3d7e6b8a1f4f0d5c2b1a00";

/// The transactions of pgbench: a claim from a random start, one always from the front, and a bare insert,
/// which costs only the commit.
const RANDOM: &str = "\\set r random(0, 2147483647)
with c as (select id from bench.units where spec = 1 and state = 'available' and claim_key >= :r
  order by claim_key limit 1 for update skip locked)
update bench.units u set state = 'used', holder = gen_random_uuid(), tenant = '01939f0a-7c3d-7e6b-8a1f-4f0d5c2b1a00',
  since = now() from c where u.id = c.id returning u.id;
";
const FRONT: &str = "with c as (select id from bench.units where spec = 1 and state = 'available'
  order by claim_key limit 1 for update skip locked)
update bench.units u set state = 'used', holder = gen_random_uuid(), tenant = '01939f0a-7c3d-7e6b-8a1f-4f0d5c2b1a00',
  since = now() from c where u.id = c.id returning u.id;
";
const INSERT: &str = "insert into bench.log (id, at) values (gen_random_uuid(), now());
";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Units of the hot specification
    #[arg(long, default_value_t = 100_000)]
    units: i64,
    /// Clients at a time
    #[arg(long, default_value_t = 64)]
    clients: usize,
    /// Seconds of each window
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// Rounds; each has a window of the service's and one of each of pgbench's
    #[arg(long, default_value_t = 4)]
    rounds: usize,
}

/// One window of the service.
struct Window {
    per_s: f64,
    /// Duration of each claim, in milliseconds.
    took: Vec<f64>,
    /// The claiming instances.
    instances: Vec<String>,
    /// Units that were given to two instances.
    double: i64,
}

pub(crate) async fn run(admin: &PgConnectOptions, args: &Args) {
    let auth = serde_json::from_str(r#"{"issuer":"http://bench"}"#).unwrap();
    let (mut conn, config) = setup::fresh(admin, DATABASE, auth).await;
    let fsync: String = sqlx::query_scalar("show fsync").fetch_one(&mut conn).await.unwrap();
    println!(
        "{} units, {} clients, {} rounds of {} s, fsync {fsync}",
        args.units, args.clients, args.rounds, args.seconds
    );
    let (spec, _) = catalogue(&mut conn, args.units).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = App::new(config, service::Process::default()).unwrap().router();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });

    let pgbench = Pgbench::find(admin, args);
    let (mut windows, mut random, mut front, mut insert) = (vec![], vec![], vec![], vec![]);
    for round in 1..=args.rounds {
        settle(&mut conn).await;
        let window = claim_window(address, args, spec, &mut conn).await;
        release(address, args.clients, window.instances.clone()).await;
        settle(&mut conn).await;
        random.push(pgbench.run("random", RANDOM));
        restock(&mut conn).await;
        front.push(pgbench.run("front", FRONT));
        restock(&mut conn).await;
        insert.push(pgbench.run("insert", INSERT));
        println!(
            "round {round}: service {:.0}/s, pgbench random {:.0}/s, front {:.0}/s, insert only {:.0}/s",
            window.per_s,
            random.last().unwrap().0,
            front.last().unwrap().0,
            insert.last().unwrap().0
        );
        windows.push(window);
    }

    let mut took: Vec<f64> = windows.iter().flat_map(|w| w.took.iter().copied()).collect();
    took.sort_by(f64::total_cmp);
    let (p50, p99) = (percentile(&took, 0.5), percentile(&took, 0.99));
    let per_s = median(windows.iter().map(|w| w.per_s));
    let double: i64 = windows.iter().map(|w| w.double).sum();
    let rate = |rows: &[(f64, f64)]| median(rows.iter().map(|row| row.0));
    let latency = |rows: &[(f64, f64)]| median(rows.iter().map(|row| row.1));
    println!("\n{:<44} {:>9} {:>9} {:>9}", "", "per s", "p50 ms", "p99 ms");
    println!(
        "{:<44} {per_s:>9.0} {p50:>9.2} {p99:>9.2}",
        format!("service over HTTP, {} clients", args.clients)
    );
    for (name, rows) in [
        ("pgbench, claim from a random start", &random),
        ("pgbench, claim always from the front", &front),
        ("pgbench, insert only (the commit limit)", &insert),
    ] {
        println!("{name:<44} {:>9.0} {:>9.2} {:>9}", rate(rows), latency(rows), "(mean)");
    }
    let best = rate(&random).max(rate(&front));
    println!(
        "\nclaims: per_s={per_s:.0} ratio={:.2} p50_ms={p50:.2} p99_ms={p99:.2} double={double}",
        per_s / best
    );
    assert_eq!(double, 0, "a unit was given to two instances");
}

/// The hot specification's units, and as many for pgbench, in a table with only the columns that a claim
/// needs.
async fn catalogue(conn: &mut PgConnection, units: i64) -> (GpuSpecId, DatacenterId) {
    let (spec, datacenter) = (GpuSpecId::new(), DatacenterId::new());
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
        "insert into stock.units (id, gpu_spec_id, datacenter_id, state, held, node)
         select gen_random_uuid(), $1, $2, 'available', true, 'node-' || n % 1000 from generate_series(1, $3) n",
    )
    .bind(spec)
    .bind(datacenter)
    .bind(units)
    .execute(&mut *conn)
    .await
    .unwrap();
    sqlx::raw_sql(
        "create schema bench;
         create table bench.units (id uuid primary key, spec int not null, state text not null,
             claim_key int not null, holder uuid, tenant uuid, since timestamptz);
         create index on bench.units (spec, claim_key) where state = 'available';
         create unique index on bench.units (holder) where holder is not null;
         create table bench.log (id uuid primary key, at timestamptz not null);",
    )
    .execute(&mut *conn)
    .await
    .unwrap();
    sqlx::query(
        "insert into bench.units select gen_random_uuid(), 1, 'available', (random() * 2147483647)::int
         from generate_series(1, $1)",
    )
    .bind(units)
    .execute(&mut *conn)
    .await
    .unwrap();
    (spec, datacenter)
}

/// Cleans up, so that no window is affected by the one before.
async fn settle(conn: &mut PgConnection) {
    for statement in [
        "vacuum (analyze) stock.units",
        "vacuum (analyze) stock.stock_counts",
        "vacuum (analyze) bench.units",
        "checkpoint",
    ] {
        sqlx::raw_sql(statement).execute(&mut *conn).await.unwrap();
    }
}

async fn restock(conn: &mut PgConnection) {
    sqlx::raw_sql(
        "update bench.units set state = 'available', holder = null, tenant = null where state = 'used'",
    )
    .execute(&mut *conn)
    .await
    .unwrap();
    settle(conn).await;
}

async fn claim_window(address: SocketAddr, args: &Args, spec: GpuSpecId, conn: &mut PgConnection) -> Window {
    let (clients, length) = (args.clients, Duration::from_secs(args.seconds));
    // the clients have a thread of their own, as if on another machine
    let (took, given, elapsed) = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let mut lines = Vec::new();
            for _ in 0..clients {
                lines.push(Line::open(address).await);
            }
            let begun = Instant::now();
            let tasks: Vec<_> = lines
                .into_iter()
                .map(|mut line| {
                    tokio::spawn(async move {
                        let (mut took, mut given) = (Vec::new(), Vec::new());
                        while begun.elapsed() < length {
                            let instance = InstanceId::new().to_string();
                            let body = format!(
                                "{{\"instance_id\":\"{instance}\",\"tenant_id\":\"{TENANT}\",\"gpu_spec_id\":\"{spec}\"}}"
                            );
                            let sent = Instant::now();
                            let (status, answer) = line.call("POST", "/internal/v1/claims", &body).await;
                            took.push(sent.elapsed().as_secs_f64() * 1000.0);
                            assert_eq!(status, 201, "{answer}");
                            let claim: serde_json::Value = serde_json::from_str(&answer).unwrap();
                            given.push((instance, claim["unit_id"].as_str().unwrap().to_owned()));
                        }
                        (took, given)
                    })
                })
                .collect();
            let (mut took, mut given) = (Vec::new(), Vec::new());
            for task in tasks {
                let (t, g) = task.await.unwrap();
                took.extend(t);
                given.extend(g);
            }
            (took, given, begun.elapsed())
        })
    })
    .await
    .unwrap();
    let distinct: HashSet<&String> = given.iter().map(|(_, unit)| unit).collect();
    let used: i64 = sqlx::query_scalar("select count(*) from stock.units where state = 'used'")
        .fetch_one(&mut *conn)
        .await
        .unwrap();
    let off: i64 = sqlx::query_scalar(
        "select abs((select count(*) from stock.units where state = 'used') - (select sum(used) from stock.stock_counts))::bigint",
    )
    .fetch_one(&mut *conn)
    .await
    .unwrap();
    assert_eq!(off, 0, "the counts are off");
    let answered = i64::try_from(given.len()).unwrap();
    let double = answered - i64::try_from(distinct.len()).unwrap() + (answered - used).abs();
    Window {
        per_s: given.len() as f64 / elapsed.as_secs_f64(),
        took,
        instances: given.into_iter().map(|(instance, _)| instance).collect(),
        double,
    }
}

async fn release(address: SocketAddr, clients: usize, instances: Vec<String>) {
    let share = instances.len().div_ceil(clients).max(1);
    let tasks: Vec<_> = instances
        .chunks(share)
        .map(|chunk| {
            let chunk = chunk.to_vec();
            tokio::spawn(async move {
                let mut line = Line::open(address).await;
                for instance in chunk {
                    let path = format!("/internal/v1/claims/{instance}");
                    assert_eq!(line.call("DELETE", &path, "").await.0, 204);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

/// A persistent connection with a minimal HTTP/1.1 client, as cheap as pgbench's SQL.
struct Line {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Line {
    async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: Vec::with_capacity(4096) }
    }

    async fn call(&mut self, method: &str, path: &str, body: &str) -> (u16, String) {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            service_token("gpu"),
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await.unwrap();
        self.buffer.clear();
        let head = loop {
            assert_ne!(self.stream.read_buf(&mut self.buffer).await.unwrap(), 0, "the service hung up");
            if let Some(at) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
        };
        let text = std::str::from_utf8(&self.buffer[..head]).unwrap();
        let status = text[9..12].parse().unwrap();
        let length = text
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.trim().parse::<usize>().unwrap());
        while self.buffer.len() < head + length {
            assert_ne!(self.stream.read_buf(&mut self.buffer).await.unwrap(), 0, "the service hung up");
        }
        (status, String::from_utf8_lossy(&self.buffer[head..head + length]).into_owned())
    }
}

struct Pgbench {
    program: PathBuf,
    folder: PathBuf,
    arguments: Vec<String>,
    password: String,
}

impl Pgbench {
    fn find(admin: &PgConnectOptions, args: &Args) -> Self {
        let given = std::env::var_os("BENCH_POSTGRES_BIN").map(|folder| Path::new(&folder).join("pgbench"));
        let mut places: Vec<PathBuf> = given.into_iter().collect();
        places.extend(
            std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
                .map(|folder| folder.join("pgbench")),
        );
        if let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") {
            places.extend(versions.flatten().map(|version| version.path().join("bin/pgbench")));
        }
        let program = places.into_iter().find(|place| place.exists()).expect("no pgbench found");
        let (host, port) = (admin.get_host().to_owned(), admin.get_port().to_string());
        let (clients, seconds) = (args.clients.to_string(), args.seconds.to_string());
        let fixed = [
            "-n",
            "-M",
            "prepared",
            "-j",
            "2",
            "-h",
            &host,
            "-p",
            &port,
            "-U",
            admin.get_username(),
            "-c",
            &clients,
            "-T",
            &seconds,
        ];
        let url = url_password(&std::env::var("BENCH_POSTGRES").unwrap_or_default());
        Self {
            program,
            folder: std::env::temp_dir(),
            arguments: fixed.map(str::to_owned).to_vec(),
            password: url,
        }
    }

    /// Transactions per second and their mean latency in milliseconds.
    fn run(&self, name: &str, script: &str) -> (f64, f64) {
        let file = self.folder.join(format!("atelier-bench-{}-{name}.sql", std::process::id()));
        std::fs::write(&file, script).unwrap();
        let output = Command::new(&self.program)
            .args(&self.arguments)
            .arg("-f")
            .arg(&file)
            .arg(DATABASE)
            .env("PGPASSWORD", &self.password)
            .output()
            .unwrap();
        std::fs::remove_file(&file).unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "pgbench: {}", String::from_utf8_lossy(&output.stderr));
        let number = |prefix: &str| -> f64 {
            text.lines()
                .find_map(|line| line.strip_prefix(prefix))
                .and_then(|rest| rest.split_whitespace().next())
                .and_then(|word| word.parse().ok())
                .unwrap_or_else(|| panic!("no {prefix:?} in {text}"))
        };
        (number("tps = "), number("latency average = "))
    }
}

/// The password in a `postgres://user:password@host` address, if any.
fn url_password(url: &str) -> String {
    let user = url.split_once("://").and_then(|(_, rest)| rest.split_once('@')).map_or("", |(user, _)| user);
    user.split_once(':').map_or("", |(_, password)| password).to_owned()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    percentile(&values, 0.5)
}
