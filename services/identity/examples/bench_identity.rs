//! `cargo xtask bench sign-in`: how long a sign-in with a password takes over HTTP, with one client and with
//! many, compared with its bottleneck: the same hashes (argon2id) alone, as many at a time.
//!
//! The service runs in this process, over real HTTP on the loopback interface. `BENCH_POSTGRES` is a superuser's address of a
//! Postgres.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark that fails must say so and stop")]

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use argon2::{Algorithm, Argon2, Block, Params, Version};
use atelier_identity::{
    App, BootstrapAdmin, Config, MIGRATIONS, NAME, PasswordConfig, SessionConfig, SigningConfig,
};
use auth::AuthConfig;
use clap::Parser;
use encryption::EncryptionKey;
use serde_json::json;
use service::Process;
use testkit::{Client, TestDb, callers, eventually};
use tokio::net::TcpListener;

const PASSWORD: &str = "correct horse battery";
const ADMIN: &str = "admin@bench.test";

#[derive(Debug, Parser)]
struct Args {
    /// People who sign in
    #[arg(long, default_value_t = 64)]
    people: usize,
    /// Clients at a time, in the second window of a round
    #[arg(long, default_value_t = 32)]
    clients: usize,
    /// Seconds of each window
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Rounds: each has a window with one client, one with many, and one of hashes
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

#[tokio::main]
async fn main() {
    let args = Args::parse();
    let url = std::env::var("BENCH_POSTGRES").expect("BENCH_POSTGRES: run it with `cargo xtask bench`");
    let db = TestDb::at(&url);
    let concurrency = PasswordConfig::default().concurrency;
    let length = Duration::from_secs(args.seconds);
    println!(
        "{} people, {} clients, {concurrency} hashes at a time, {} rounds of {} s",
        args.people, args.clients, args.rounds, args.seconds
    );
    let client = start(&db).await;
    let people = Arc::new(people(&client, args.people).await);
    let (mut alone, mut busy, mut hashes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..args.rounds {
        alone.extend(window(&client, &people, 1, length).await);
        busy.extend(window(&client, &people, args.clients, length).await);
        hashes += hash(concurrency, length).await;
    }
    for took in [&mut alone, &mut busy] {
        took.sort_by(f64::total_cmp);
    }
    let seconds = (length * u32::try_from(args.rounds).unwrap()).as_secs_f64();
    let (per_s, hashes_per_s) = (busy.len() as f64 / seconds, f64::from(hashes) / seconds);
    let times = |took: &[f64]| (percentile(took, 0.5), percentile(took, 0.99));
    let ((p50, p99), (busy_p50, busy_p99)) = (times(&alone), times(&busy));
    println!("\n{:<28} {:>9} {:>9} {:>9}", "", "per s", "p50 ms", "p99 ms");
    println!("{:<28} {:>9.1} {p50:>9.2} {p99:>9.2}", "one client", alone.len() as f64 / seconds);
    println!("{:<28} {per_s:>9.1} {busy_p50:>9.2} {busy_p99:>9.2}", format!("{} clients", args.clients));
    println!("{:<28} {hashes_per_s:>9.1}", format!("hashes, {concurrency} at a time"));
    println!(
        "\nsign-in: p50_ms={p50:.2} p99_ms={p99:.2} per_s={per_s:.1} busy_p99_ms={busy_p99:.2} \
         hashes_per_s={hashes_per_s:.1} ratio={:.2}",
        per_s / hashes_per_s
    );
}

/// Starts the service.
async fn start(db: &TestDb) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listen = listener.local_addr().unwrap();
    let auth: AuthConfig = serde_json::from_value(json!({ "issuer": "http://bench" })).unwrap();
    let key = EncryptionKey { id: "1".into(), key: "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=".into() };
    let config = Config {
        listen,
        database: db.service(NAME, &MIGRATIONS).await,
        auth,
        callers: callers(),
        participants: BTreeMap::new(),
        encryption_keys: vec![key],
        bootstrap_admin: Some(BootstrapAdmin { email: ADMIN.into(), password: PASSWORD.into() }),
        sessions: SessionConfig::default(),
        signing: SigningConfig { poll_seconds: 1, ..SigningConfig::default() },
        passwords: PasswordConfig::default(),
        public_url: None,
        passkeys: None,
        oidc_providers: Vec::new(),
        audit: audit::RetentionConfig::default(),
        telemetry: None,
    };
    let app = App::new(config, Process::default()).unwrap();
    app.start_workers();
    let router = app.router().into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    Client::new(&format!("http://{listen}"))
}

/// Makes people who can sign in. Returns their e-mail addresses.
async fn people(client: &Client, count: usize) -> Vec<String> {
    let token = eventually("the administrator can sign in", async || {
        let signed_in = client.post("/v1/sessions", credentials(ADMIN)).await;
        (signed_in.status == 200).then(|| signed_in.str("access_token").to_owned())
    })
    .await;
    let admin = client.token(&token);
    let mut people = Vec::new();
    for n in 0..count {
        let email = format!("person-{n}@bench.test");
        let person = json!({ "email": email, "password": PASSWORD });
        let _ = admin.post("/v1/users", person).await.expect(201);
        people.push(email);
    }
    people
}

fn credentials(email: &str) -> serde_json::Value {
    json!({ "email": email, "password": PASSWORD })
}

/// Signs people in, by turns, with some clients. Returns how long each took, in milliseconds.
async fn window(client: &Client, people: &Arc<Vec<String>>, clients: usize, length: Duration) -> Vec<f64> {
    let begun = Instant::now();
    let tasks: Vec<_> = (0..clients)
        .map(|first| {
            let (client, people) = (client.clone(), Arc::clone(people));
            tokio::spawn(async move {
                let mut took = Vec::new();
                for n in (first..).step_by(clients) {
                    if begun.elapsed() >= length {
                        break;
                    }
                    let sent = Instant::now();
                    let person = credentials(&people[n % people.len()]);
                    let _ = client.post("/v1/sessions", person).await.expect(200);
                    took.push(sent.elapsed().as_secs_f64() * 1000.0);
                }
                took
            })
        })
        .collect();
    let mut all = Vec::new();
    for task in tasks {
        all.extend(task.await.unwrap());
    }
    all
}

/// Computes hashes as the service does, on some threads. Returns how many.
async fn hash(threads: usize, length: Duration) -> u32 {
    let begun = Instant::now();
    let tasks: Vec<_> = (0..threads)
        .map(|_| {
            tokio::task::spawn_blocking(move || {
                let (mut out, mut count) = ([0; Params::DEFAULT_OUTPUT_LEN], 0);
                let mut blocks = vec![Block::default(); Params::DEFAULT.block_count()];
                let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::DEFAULT);
                while begun.elapsed() < length {
                    argon2
                        .hash_password_into_with_memory(
                            PASSWORD.as_bytes(),
                            b"sixteen bytes ok",
                            &mut out,
                            &mut blocks,
                        )
                        .unwrap();
                    count += 1;
                }
                count
            })
        })
        .collect();
    let mut count = 0;
    for task in tasks {
        count += task.await.unwrap();
    }
    count
}

/// The value of this rank among sorted values; NaN if there are none.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a list")]
    let at = (last as f64 * share).round() as usize;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}
