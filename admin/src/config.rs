//! The configuration file.

use std::collections::BTreeMap;

use atelier_storage::ObjectStoreConfig;
use crds::ClusterConfig;
use encryption::EncryptionKey;
use provision::READER;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use sqlx::{Connection, PgConnection, postgres::PgConnectOptions};

/// The configuration of `atelier-admin`. Each command names the parts that it needs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The database of the services.
    pub database: Database,
    /// The clusters of the datacenters, by the names that the services have for them.
    #[serde(default)]
    pub clusters: BTreeMap<String, ClusterConfig>,
    /// The object store of the storage service.
    #[serde(default)]
    pub object_store: Option<ObjectStoreConfig>,
    /// The encryption keys of the services that have some, as in their configurations: for `rotate-keys`.
    #[serde(default)]
    pub encryption_keys: BTreeMap<String, Vec<EncryptionKey>>,
    /// Contents of a support bundle.
    #[serde(default)]
    pub bundle: BundleConfig,
}

/// Contents of a support bundle, in addition to the data of the other commands.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BundleConfig {
    /// Addresses of processes that serve `/readyz` and `/metrics`, by a name of your choice.
    pub processes: BTreeMap<String, String>,
}

/// Connection to the database.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Database {
    /// `postgres://host:port/database`, without user and password.
    pub url: String,
    /// Password of the role `atelier_reader`, which reads everything and writes nothing: for `check` and `backup`.
    #[serde(default)]
    pub reader_password: Option<SecretString>,
    /// A superuser: for `restore`, and for commands that change rows.
    #[serde(default)]
    pub superuser: Option<Login>,
}

/// A role and its password.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// Name of the role.
    pub user: String,
    /// Its password.
    pub password: SecretString,
}

impl Database {
    fn options(&self, user: &str, password: &SecretString) -> sqlx::Result<PgConnectOptions> {
        Ok(self
            .url
            .parse::<PgConnectOptions>()?
            .username(user)
            .password(password.expose_secret())
            .application_name("atelier-admin")
            .options([("timezone", "UTC")]))
    }

    /// The role that reads, with its password.
    pub(crate) fn reader(&self) -> anyhow::Result<Login> {
        let password = self.reader_password.clone();
        let password =
            password.ok_or_else(|| anyhow::anyhow!("database.reader_password is not configured"))?;
        Ok(Login { user: READER.to_owned(), password })
    }

    /// The superuser.
    pub(crate) fn superuser(&self) -> anyhow::Result<Login> {
        let login = self.superuser.clone();
        login.ok_or_else(|| anyhow::anyhow!("database.superuser is not configured: this command needs one"))
    }

    /// Connects as this role.
    pub(crate) async fn connect(&self, login: &Login) -> anyhow::Result<PgConnection> {
        Ok(PgConnection::connect_with(&self.options(&login.user, &login.password)?).await?)
    }

    /// Host, port and name of the database, for programs of Postgres.
    pub(crate) fn target(&self) -> anyhow::Result<Target> {
        let options: PgConnectOptions = self.url.parse()?;
        let database = options.get_database();
        let database = database.ok_or_else(|| anyhow::anyhow!("database.url names no database"))?;
        Ok(Target {
            host: options.get_host().to_owned(),
            port: options.get_port(),
            database: database.to_owned(),
            tls: self.tls()?,
        })
    }

    /// The security settings of the URL, as environment variables of Postgres' programs.
    fn tls(&self) -> anyhow::Result<Vec<(&'static str, String)>> {
        let url: url::Url = self.url.parse()?;
        let variable = |key: &str| match key {
            "sslmode" | "ssl-mode" => Some("PGSSLMODE"),
            "sslrootcert" | "ssl-root-cert" | "ssl-ca" => Some("PGSSLROOTCERT"),
            "sslcert" | "ssl-cert" => Some("PGSSLCERT"),
            "sslkey" | "ssl-key" => Some("PGSSLKEY"),
            _ => None,
        };
        Ok(url.query_pairs().filter_map(|(key, value)| Some((variable(&key)?, value.into_owned()))).collect())
    }
}

/// The address of a database.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) database: String,
    pub(crate) tls: Vec<(&'static str, String)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_postgres_secure_the_connection_as_the_url_says() {
        let tls = |url: &str| {
            Database { url: url.to_owned(), reader_password: None, superuser: None }.target().unwrap().tls
        };
        assert!(tls("postgres://db:5432/atelier").is_empty());
        let verified =
            tls("postgres://db/atelier?sslmode=verify-full&sslrootcert=/etc/atelier/postgres/ca.crt");
        let expected = [("PGSSLMODE", "verify-full"), ("PGSSLROOTCERT", "/etc/atelier/postgres/ca.crt")];
        assert_eq!(verified, expected.map(|(name, value)| (name, value.to_owned())));
    }
}
