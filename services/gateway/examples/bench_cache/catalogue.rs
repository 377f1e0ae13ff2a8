//! Reads of the list of specifications by users, at all replicas in turns: the transactions of Postgres.
//! "Without a cache" is measured as an administrator, for whom nothing is cached.

use std::time::Duration;

use atelier_stock::{App, Config, MIGRATIONS, NAME, StockConfig};
use auth::Role;
use ids::TenantId;
use serde_json::json;
use service::Process;
use testkit::{Client, Issuer, Valkey};
use tokio::time::interval;

use crate::{Args, Kept, postgres};

pub(crate) async fn run(args: &Args, store: &Valkey, kept: Kept) -> f64 {
    let (db, issuer) = (postgres::fresh(), Issuer::start().await);
    let config = Config {
        listen: "127.0.0.1:0".parse().unwrap(),
        database: db.service(NAME, &MIGRATIONS).await,
        auth: issuer.config(),
        callers: testkit::callers(),
        clusters: [].into(),
        cache: kept.config(store),
        stock: StockConfig::default(),
        audit: audit::RetentionConfig::default(),
        telemetry: None,
    };
    let (mut apps, mut replicas) = (Vec::new(), Vec::new());
    for _ in 0..args.replicas {
        let app = App::new(config.clone(), Process::default()).unwrap();
        let token = match kept {
            Kept::Nowhere => issuer.admin(),
            _ => issuer.user(TenantId::new(), Role::Viewer),
        };
        replicas.push(Client::new(&testkit::serve(app.router()).await).token(&token));
        apps.push(app);
    }
    let admin = replicas[0].token(&issuer.admin());
    for n in 0..20 {
        let spec = json!({ "name": format!("spec-{n}"), "gpu_model": "NVIDIA-GeForce-RTX-3080", "gpu_count": 1,
            "gpu_cores": 8704, "video_memory_mib": 10240, "cpu_millis": 4000, "memory_mib": 8192, "disk_gib": 50,
            "price_per_hour": "0.2", "currency": "USD",
            "allocation": { "kind": "device", "resource": "nvidia.com/gpu" } });
        let _ = admin.post("/v1/gpu-specs", spec).await.expect(201);
    }
    let database = config.database.url.rsplit('/').next().unwrap();
    let before = postgres::transactions(database).await;
    let mut ticks = interval(Duration::from_secs(1) / args.rate);
    for replica in replicas.iter().cycle().take(args.reads.try_into().unwrap()) {
        ticks.tick().await;
        let _ = replica.get("/v1/gpu-specs").await.expect(200);
    }
    postgres::transactions(database).await - before
}
