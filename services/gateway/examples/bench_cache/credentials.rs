//! API keys that are used at all gateways within a minute: how often they are exchanged at the identity service, for which a stand-in
//! answers.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use atelier_gateway::{App, Apps, Config, CookieKey, Cors, Limits, Services};
use auth::{ApiKey, Role, session_of};
use axum::{Json, Router, routing::post};
use ids::{ApiKeyId, TenantId};
use serde_json::{Value, json};
use service::Process;
use testkit::{Client, Issuer, Valkey, eventually};
use tokio::net::TcpListener;

use crate::{Args, Kept};

pub(crate) async fn run(args: &Args, store: &Valkey, kept: Kept) -> usize {
    let (issuer, exchanges) = (Arc::new(Issuer::start().await), Arc::new(AtomicUsize::new(0)));
    let (signer, count) = (Arc::clone(&issuer), Arc::clone(&exchanges));
    let exchange = async move || {
        count.fetch_add(1, Ordering::SeqCst);
        let key = ApiKeyId::new();
        let claims = signer.claims(Some((TenantId::new(), Role::Member)), false);
        let claims = auth::Claims { sid: Some(session_of(key)), key: Some(key), ..claims };
        let grant = json!({ "access_token": signer.sign(&claims), "expires_in": 300, "requests_per_second": null, "creators": [] });
        Json::<Value>(grant)
    };
    let ready = || axum::routing::get(|| async { "ready" });
    let stand_in = Router::new()
        .route("/internal/v1/token-exchanges", post(exchange))
        .route("/v1/stock", ready())
        .route("/readyz", ready());
    let url: url::Url = testkit::serve(stand_in).await.parse().unwrap();
    let mut gateways = Vec::new();
    for _ in 0..args.replicas {
        let bind = || TcpListener::bind("127.0.0.1:0");
        let (public, internal) = (bind().await.unwrap(), bind().await.unwrap());
        let address = public.local_addr().unwrap();
        let config = Config {
            console: None,
            listen: address,
            metrics_listen: internal.local_addr().unwrap(),
            tls: None,
            proxy_protocol: None,
            cors: Cors::default(),
            telemetry: None,
            hsts_seconds: 0,
            public_url: format!("http://{address}").parse().unwrap(),
            apps: Apps::default(),
            auth: issuer.config(),
            services: Services::new(|_| url.clone()),
            modules: [].into(),
            gpu_token: "none".into(),
            cookie_keys: vec![CookieKey { id: "1".to_owned(), key: ("A".repeat(43) + "=").into() }],
            cache: kept.config(store),
            limits: Limits { address_request_burst: 1_000_000, ..Limits::default() },
            activity_seconds: 30,
            drain_seconds: 0,
        };
        let app = App::new(config, Process::default()).unwrap();
        tokio::spawn(async move { app.serve_on(public, internal).await.unwrap() });
        let gateway = Client::new(&format!("http://{address}"));
        eventually("the gateway is ready", async || {
            (gateway.get("/readyz").await.status == 200).then_some(())
        })
        .await;
        gateways.push(gateway);
    }
    for _ in 0..args.keys {
        let key = ApiKey::generate::<Infallible>(|bytes| {
            bytes.fill_with(|| uuid::Uuid::new_v4().as_bytes()[0]);
            Ok(())
        });
        for gateway in &gateways {
            let _ = gateway.token(key.as_ref().unwrap().expose()).get("/v1/stock").await.expect(200);
        }
    }
    exchanges.load(Ordering::SeqCst)
}
