//! The platform that is drilled, and everything with which it is disturbed and inspected.

use std::{collections::BTreeMap, path::Path, rc::Rc};

use anyhow::{Context, ensure};
use machine::{access::Access, client::Api, control::Control, own::Started, process};
use nix::sys::signal::{Signal, kill};
use reqwest::Method;
use serde_json::Value;
use sqlx::{Connection, PgConnection, postgres::PgConnectOptions};

use super::{proxy::Proxy, users::Users};

/// The processes that a fault may concern.
fn processes() -> impl Iterator<Item = &'static str> {
    let others =
        ["postgres", "devcluster", "devs3", "operator", "gateway-1", "gateway-2", "gateway-3", "balancer"];
    platform::stateful().map(|service| service.name.as_str()).chain(others)
}

/// The proxies between the platform's programs and their dependencies.
pub(super) struct Proxies {
    pub(super) postgres: Proxy,
    pub(super) cluster: Proxy,
    pub(super) object_store: Proxy,
}

pub(super) struct Environment {
    controls: BTreeMap<&'static str, Rc<Control>>,
    pub(super) proxies: Proxies,
    pub(super) access: Access,
    pub(super) users: Users,
    database: PgConnectOptions,
    pub(super) cluster: Cluster,
    /// Folder of the third gateway's certificate.
    pub(super) tls: std::path::PathBuf,
}

impl Environment {
    pub(super) fn new(platform: Started, proxies: Proxies, users: Users, tls: &Path) -> anyhow::Result<Self> {
        let controls = processes().map(|name| anyhow::Ok((name, platform.control(name)?)));
        Ok(Self {
            controls: controls.collect::<Result<_, _>>()?,
            proxies,
            users,
            cluster: Cluster {
                http: machine::http::client()?,
                base: platform.cluster_url,
                token: platform.cluster_token,
            },
            access: platform.access,
            database: platform.database,
            tls: tls.to_owned(),
        })
    }

    pub(super) fn control(&self, name: &str) -> anyhow::Result<&Control> {
        self.controls.get(name).map(|control| &**control).with_context(|| format!("no process {name}"))
    }

    /// The administrator, signed in now: an older token may have expired.
    pub(super) async fn administrator(&self) -> anyhow::Result<Api> {
        Api::new(&self.access.gateway)?.sign_in(&self.access.administrator).await
    }

    /// A connection of a superuser to the platform's database.
    pub(super) async fn database(&self) -> anyhow::Result<PgConnection> {
        Ok(PgConnection::connect_with(&self.database).await?)
    }

    /// Connection options of a superuser.
    pub(super) fn superuser(&self) -> PgConnectOptions {
        self.database.clone()
    }

    /// Sends a signal to processes and, for Postgres, to all of its processes.
    pub(super) fn signal(&self, names: &[&str], signal: Signal) -> anyhow::Result<()> {
        for name in names {
            let pid = self.control(name)?.pid().with_context(|| format!("{name} does not run"))?;
            let of_it = if *name == "postgres" { process::children(pid) } else { Vec::new() };
            kill(pid, signal)?;
            for child in of_it {
                // one that has ended in between
                let _ = kill(child, signal);
            }
        }
        Ok(())
    }
}

/// The development cluster, as its administrator and not through the proxy.
pub(super) struct Cluster {
    http: reqwest::Client,
    base: String,
    token: String,
}

impl Cluster {
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Value> {
        let mut request =
            self.http.request(method.clone(), format!("{}{path}", self.base)).bearer_auth(&self.token);
        if let Some(body) = body {
            let kind =
                if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
            request = request.header("content-type", kind).body(serde_json::to_vec(body)?);
        }
        let answer = request.send().await?;
        let status = answer.status();
        let text = answer.text().await?;
        ensure!(status.is_success(), "{method} {path}: {status} {text}");
        Ok(serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    /// All objects of a collection.
    pub(super) async fn list(&self, path: &str) -> anyhow::Result<Vec<Value>> {
        let list = self.send(Method::GET, path, None).await?;
        Ok(list["items"].as_array().context("not a list")?.clone())
    }
}
