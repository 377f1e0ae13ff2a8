//! A service's door to its own Postgres schema.
//!
//! Each service has three roles, none of which can bypass row-level security:
//! - `atelier_<service>_owner` owns the schema and runs its migrations;
//! - `atelier_<service>_app` serves requests: it sees one tenant's rows, that of the transaction;
//! - `atelier_<service>_worker` reconciles: policies let it see all tenants' rows.
//!
//! No role of one service has any right in another's schema.

pub mod lease;
mod provision;
pub mod queue;

use std::time::Duration;

use ids::TenantId;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use sqlx::{
    Connection, PgConnection, PgPool, Postgres, Transaction,
    migrate::Migrator,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};

pub use provision::{Passwords, provision};

/// A transaction on the service's schema.
pub type Tx = Transaction<'static, Postgres>;

/// How to reach the service's schema: one database, three roles.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DbConfig {
    /// `postgres://host:port/database`, without user and password.
    pub url: String,
    /// Password of the role that serves requests.
    pub app_password: SecretString,
    /// Password of the role that reconciles.
    pub worker_password: SecretString,
    /// Password of the role that migrates; needed by `migrate` only.
    #[serde(default)]
    pub owner_password: Option<SecretString>,
    /// Connections for requests, at most.
    #[serde(default = "default_connections")]
    pub max_connections: u32,
}

fn default_connections() -> u32 {
    10
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
                // a migration may take long, and waits for those of other services to end
                ("statement_timeout", if role == "owner" { "0" } else { "30s" }),
                ("idle_in_transaction_session_timeout", "60s"),
            ]))
    }

    /// Brings the service's schema up to date, as its owner.
    ///
    /// # Errors
    /// When the owner's password is not configured, or the database refuses.
    pub async fn migrate(&self, service: &'static str, migrations: &Migrator) -> anyhow::Result<()> {
        let password = self
            .owner_password
            .as_ref()
            .ok_or_else(|| anyhow::anyhow!("`migrate` needs database.owner_password"))?;
        let mut conn = PgConnection::connect_with(&self.options(service, "owner", password)?).await?;
        migrations.run_direct(None, &mut conn, false).await?;
        conn.close().await?;
        Ok(())
    }
}

/// The pools of one service.
#[derive(Debug, Clone)]
pub struct Db {
    app: PgPool,
    worker: PgPool,
}

impl Db {
    /// Opens the pools. Connections are made when first needed, so a database that is still starting is
    /// no error here; [`Db::ping`] tells.
    ///
    /// # Errors
    /// When the configured address is not one.
    pub fn connect(service: &'static str, config: &DbConfig) -> sqlx::Result<Self> {
        let pool = |role, password, connections| -> sqlx::Result<PgPool> {
            Ok(PgPoolOptions::new()
                .max_connections(connections)
                .acquire_timeout(Duration::from_secs(5))
                .connect_lazy_with(config.options(service, role, password)?))
        };
        Ok(Self {
            app: pool("app", &config.app_password, config.max_connections)?,
            worker: pool("worker", &config.worker_password, config.max_connections)?,
        })
    }

    /// A transaction that sees and writes the rows of one tenant only.
    ///
    /// # Errors
    /// The database's.
    pub async fn tenant(&self, tenant: TenantId) -> sqlx::Result<Tx> {
        let mut tx = self.app.begin().await?;
        sqlx::query("select set_config('atelier.tenant', $1, true)")
            .bind(tenant.uuid().to_string())
            .execute(&mut *tx)
            .await?;
        Ok(tx)
    }

    /// A transaction of the request path that concerns no tenant: platform tables only, no tenant's row.
    ///
    /// # Errors
    /// The database's.
    pub async fn platform(&self) -> sqlx::Result<Tx> {
        self.app.begin().await
    }

    /// A transaction of a reconciler, which sees every tenant's rows. Never for a user's request.
    ///
    /// # Errors
    /// The database's.
    pub async fn worker(&self) -> sqlx::Result<Tx> {
        self.worker.begin().await
    }

    /// A listener for the schema's notifications, on a connection of the worker's.
    ///
    /// # Errors
    /// The database's.
    pub async fn listen(&self, channel: &str) -> sqlx::Result<PgListener> {
        let mut listener = PgListener::connect_with(&self.worker).await?;
        listener.listen(channel).await?;
        Ok(listener)
    }

    /// Whether the database answers.
    ///
    /// # Errors
    /// When it does not.
    pub async fn ping(&self) -> sqlx::Result<()> {
        sqlx::query("select 1").execute(&self.app).await.map(drop)
    }

    /// Closes the pools and waits for what is under way.
    pub async fn close(&self) {
        self.app.close().await;
        self.worker.close().await;
    }
}
