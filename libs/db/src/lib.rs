//! A service's access to its Postgres schema: pools, transactions by caller, leases, the row queue.
//!
//! Each service has three roles, none of which can bypass row-level security:
//! - `atelier_<service>_owner` owns the schema and runs its migrations;
//! - `atelier_<service>_app` serves requests: it sees the rows of the transaction's tenant, or, in an administrator's
//!   transaction, those that a policy shows to administrators;
//! - `atelier_<service>_worker` reconciles: it sees the rows of all tenants.
//!
//! No role of one service has any right in the schema of another. No table of a service may be named here, only `leases`, which
//! schemas have for this crate.

pub mod lease;
mod metrics;
mod notifications;
pub mod queue;
mod retention;
mod surplus;

use std::{sync::Arc, time::Duration};

use ids::{TenantId, UserId};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use service::{
    Health, Metrics,
    health::{DependencyKind, cause},
};
use sqlx::{
    AssertSqlSafe, Connection, PgConnection, PgPool, Postgres, Transaction,
    migrate::{MigrateError, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
};

pub use crate::{
    metrics::describe as describe_metrics,
    notifications::{Lock, Notifications},
};
use crate::{
    metrics::{Pool, PoolMetrics},
    notifications::Listener,
    surplus::Needs,
};

/// A transaction on the service's schema.
pub type Tx = Transaction<'static, Postgres>;

/// A connection that is unused for this long is closed.
const IDLE: Duration = Duration::from_secs(150);
/// A connection that was idle for longer is tested before it is used. It was tested when it was released, and
/// testing it each time would add a round trip to every transaction.
const TESTED: Duration = Duration::from_secs(1);
/// How long Postgres may take to answer a readiness check.
const PING_TIMEOUT: Duration = Duration::from_millis(1500);

/// Connection settings of a service's schema: one database, three roles.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DbConfig {
    /// `postgres://host:port/database`, without user and password.
    pub url: String,
    /// Password of the role `app`.
    pub app_password: SecretString,
    /// Password of the role `worker`.
    pub worker_password: SecretString,
    /// Password of the role `owner`; needed by `migrate` only.
    #[serde(default)]
    pub owner_password: Option<SecretString>,
    /// Maximum number of connections of each pool. One more, or briefly two, listens to notifications.
    #[serde(default = "default_connections")]
    pub max_connections: u32,
    /// Longest time in seconds until work without a notification is found (default 60).
    #[serde(default = "default_heal")]
    pub heal_seconds: u32,
}

fn default_connections() -> u32 {
    10
}

fn default_heal() -> u32 {
    60
}

impl DbConfig {
    fn options(&self, service: &str, role: &str, password: &SecretString) -> sqlx::Result<PgConnectOptions> {
        Ok(self
            .url
            .parse::<PgConnectOptions>()?
            .username(&format!("atelier_{service}_{role}"))
            .password(password.expose_secret())
            .application_name(&format!("atelier-{service}-{role}"))
            .options([
                ("search_path", service),
                ("timezone", "UTC"),
                // a migration may take long and waits for those of other services
                ("statement_timeout", if role == "owner" { "0" } else { "30s" }),
                ("idle_in_transaction_session_timeout", "60s"),
                // the locks of a machine that is gone are released soon
                ("tcp_keepalives_idle", "10"),
                ("tcp_keepalives_interval", "5"),
                ("tcp_keepalives_count", "3"),
            ]))
    }

    /// Applies the missing migrations to the service's schema, as its owner.
    ///
    /// # Errors
    /// If the owner's password is not configured, the schema has migrations that are not among these, or one fails.
    pub async fn migrate(&self, service: &'static str, migrations: &Migrator) -> anyhow::Result<()> {
        let password = self
            .owner_password
            .as_ref()
            .ok_or_else(|| anyhow::anyhow!("`migrate` needs database.owner_password"))?;
        let mut conn = PgConnection::connect_with(&self.options(service, "owner", password)?).await?;
        migrations.run_direct(None, &mut conn, false).await.map_err(|error| match error {
            MigrateError::VersionMissing(version) | MigrateError::VersionMismatch(version) => anyhow::anyhow!(
                "the schema {service} cannot be migrated: its migration {version} is not one of this program's. It was made \
                 by a later release, or before the first one"
            ),
            other => other.into(),
        })?;
        conn.close().await?;
        Ok(())
    }
}

/// The pools of one service. Clones share them.
#[derive(Debug, Clone)]
pub struct Db(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    app: PgPool,
    worker: PgPool,
    listener: Listener,
    metrics: PoolMetrics,
    heal: Duration,
    _needs: [Arc<Needs>; 2],
}

impl Db {
    /// Opens the pools. Connections are made when they are first needed, so the database may still be starting; see
    /// [`Db::ping`].
    ///
    /// # Errors
    /// If the configured URL is not valid.
    pub fn connect(service: &'static str, config: &DbConfig) -> sqlx::Result<Self> {
        let pool = |connect: PgConnectOptions, connections| {
            let options = PgPoolOptions::new()
                .max_connections(connections)
                .idle_timeout(IDLE)
                .acquire_timeout(Duration::from_secs(5))
                .test_before_acquire(false)
                .before_acquire(|connection, meta| {
                    Box::pin(async move { Ok(meta.idle_for < TESTED || connection.ping().await.is_ok()) })
                });
            Needs::watch(options, |options| options.connect_lazy_with(connect))
        };
        let app = config.options(service, "app", &config.app_password)?;
        let worker = config.options(service, "worker", &config.worker_password)?;
        let listener = worker.clone().application_name(&format!("atelier-{service}-listener"));
        let (app, app_needs) = pool(app, config.max_connections);
        let (worker, worker_needs) = pool(worker, config.max_connections);
        // a second one while a lost one is being closed
        let (listeners, _) = pool(listener, 2);
        Ok(Self(Arc::new(Inner {
            app,
            worker,
            listener: Listener::new(listeners),
            heal: Duration::from_secs(config.heal_seconds.max(1).into()),
            _needs: [app_needs, worker_needs],
            metrics: PoolMetrics::default(),
        })))
    }

    /// Registers the metrics of the pools, and Postgres as a dependency of the process.
    pub fn register(&self, metrics: &Metrics) {
        let pools = [(Pool::App, &self.0.app), (Pool::Worker, &self.0.worker)];
        metrics.register(|registry| self.0.metrics.register(registry, &pools));
        let db = self.clone();
        Health::of(metrics).depends_on("postgres", DependencyKind::Postgres, move || {
            let db = db.clone();
            async move { db.ping().await.map_err(|error| cause(&error)) }
        });
    }

    /// Begins a transaction that sees and writes the rows of one tenant only.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn tenant(&self, tenant: TenantId) -> sqlx::Result<Tx> {
        self.begin(Pool::App, Some(("atelier.tenant", tenant.uuid().to_string()))).await
    }

    /// Begins a transaction that sees and writes what belongs to one user, in tables with a policy for `atelier.user`.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn user(&self, user: UserId) -> sqlx::Result<Tx> {
        self.begin(Pool::App, Some(("atelier.user", user.uuid().to_string()))).await
    }

    /// Begins a transaction of a request that concerns no tenant: platform tables only.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn platform(&self) -> sqlx::Result<Tx> {
        self.begin(Pool::App, None).await
    }

    /// Begins a transaction of an administrator's request. It reads the rows of all tenants in tables with a policy
    /// for `atelier.admin`, and writes platform tables only.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn admin(&self) -> sqlx::Result<Tx> {
        self.begin(Pool::App, Some(("atelier.admin", "on".to_owned()))).await
    }

    /// Begins a transaction of a worker or of another service's call. It sees the rows of all tenants; never use it
    /// for a user's request.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn worker(&self) -> sqlx::Result<Tx> {
        self.begin(Pool::Worker, None).await
    }

    /// Listens to notifications on `channel`. All listeners of a process share one connection of the worker
    /// role outside the pool.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn listen(&self, channel: &'static str) -> sqlx::Result<Notifications> {
        self.0.listener.listen(channel).await
    }

    /// Takes a lock of the service, if no process has it. It ends with the [`Lock`], or with the connection
    /// that listens to notifications: when this process ends, another can take it at once. The guarded work
    /// must therefore tolerate two processes for a moment.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn lock(&self, name: &str) -> sqlx::Result<Option<Lock>> {
        self.0.listener.lock(name).await
    }

    /// Checks that the database answers.
    ///
    /// # Errors
    /// If it does not.
    pub async fn ping(&self) -> sqlx::Result<()> {
        let asked = sqlx::query("select 1").execute(&self.0.app);
        let answer = tokio::time::timeout(PING_TIMEOUT, asked).await;
        self.0.metrics.answered(matches!(answer, Ok(Ok(_))));
        answer.map_or(Err(sqlx::Error::PoolTimedOut), |answer| answer.map(drop))
    }

    /// Begins a transaction in a separate task: sqlx 0.9 returns a connection to the pool with an open transaction if a
    /// `begin` is dropped before it completes, for example when a client disconnects. Statements that others then
    /// execute on it would never be committed, and keep their locks.
    ///
    /// The setting of the caller is sent with the `begin`, in one round trip. Its value is an id or a
    /// constant. A connection that was lost since its release is replaced by another, as no statement was
    /// executed on it.
    async fn begin(&self, pool: Pool, caller: Option<(&str, String)>) -> sqlx::Result<Tx> {
        let connections = match pool {
            Pool::App => self.0.app.clone(),
            Pool::Worker => self.0.worker.clone(),
        };
        let metrics = self.0.metrics.clone();
        let set = caller.map(|(name, value)| format!("; select set_config('{name}', '{value}', true)"));
        let statement = format!("begin{}", set.unwrap_or_default());
        let begin = async move {
            for _ in 0..connections.options().get_max_connections() {
                match connections.begin_with(AssertSqlSafe(statement.clone())).await {
                    Err(error) if is_lost(&error) => {}
                    begun => return begun,
                }
            }
            connections.begin_with(AssertSqlSafe(statement)).await
        };
        let begun = tokio::spawn(async move { metrics.wait(pool, begin).await });
        begun.await.unwrap_or(Err(sqlx::Error::WorkerCrashed))
    }

    /// Longest time between two searches for work without a notification.
    #[must_use]
    pub fn heal(&self) -> Duration {
        self.0.heal
    }

    /// Closes the pools once open transactions have ended.
    pub async fn close(&self) {
        self.0.listener.close().await;
        self.0.app.close().await;
        self.0.worker.close().await;
    }
}

/// Whether a connection has ended, or Postgres has announced its end.
fn is_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) => true,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| code.starts_with("57P")),
        _ => false,
    }
}

/// From here on an administrator's transaction ([`Db::admin`]) also writes the rows of this tenant.
///
/// # Errors
/// If the database fails.
pub async fn act_for(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<()> {
    sqlx::query("select set_config('atelier.tenant', $1, true)")
        .bind(tenant.uuid().to_string())
        .execute(conn)
        .await
        .map(drop)
}

#[cfg(test)]
mod tests {
    use serde::de::value::{Error, MapDeserializer};

    use super::*;

    #[test]
    fn a_configuration_needs_the_url_and_two_passwords() {
        let fields = [("url", "postgres://localhost/a"), ("app_password", "a"), ("worker_password", "b")];
        let config = DbConfig::deserialize(MapDeserializer::<_, Error>::new(fields.into_iter())).unwrap();
        assert_eq!((config.max_connections, config.heal_seconds), (10, 60));
        assert!(config.owner_password.is_none());
    }
}
