//! Templates: the migrated database of a service or of several, created once per server and copied for each
//! test. Migrating takes several times as long as a copy.

use std::hash::{DefaultHasher, Hash, Hasher};

use provision::provision;
use sqlx::{Connection, PgConnection, migrate::Migrator, postgres::PgConnectOptions};

use super::{config, execute, passwords};

/// Creates the database `name` as a copy of the template of these services, which is made if it is not there.
pub(super) async fn clone(admin: &PgConnectOptions, name: &str, services: &[(&'static str, &Migrator)]) {
    let template = template(services);
    let mut conn = PgConnection::connect_with(admin).await.unwrap();
    if !is_complete(&mut conn, &template).await {
        // until the connection is closed: others wait for the template
        let lock = sqlx::query("select pg_advisory_lock(hashtextextended($1, 0))").bind(&template);
        lock.execute(&mut conn).await.unwrap();
        if !is_complete(&mut conn, &template).await {
            make(admin, &mut conn, &template, services).await;
        }
    }
    // copies the files: writing everything to the log takes three times as long
    execute(&mut conn, format!("create database {name} template {template} strategy file_copy")).await;
    // rights on a database are not copied with it
    let roles: Vec<_> = services
        .iter()
        .flat_map(|(service, _)| ["owner", "app", "worker"].map(|role| format!("atelier_{service}_{role}")))
        .collect();
    let roles = roles.join(", ");
    let rights =
        format!("revoke all on database {name} from public; grant connect on database {name} to {roles}");
    execute(&mut conn, rights).await;
    conn.close().await.unwrap();
}

/// The template's name, which differs with the services and their migrations.
fn template(services: &[(&'static str, &Migrator)]) -> String {
    let mut hasher = DefaultHasher::new();
    for (service, migrations) in services {
        service.hash(&mut hasher);
        for migration in migrations.iter() {
            (migration.version, &migration.checksum).hash(&mut hasher);
        }
    }
    format!("template_{:016x}", hasher.finish())
}

/// Marked as a template when it is complete.
async fn is_complete(conn: &mut PgConnection, template: &str) -> bool {
    let exists = "select exists(select from pg_database where datname = $1 and datistemplate)";
    sqlx::query_scalar(exists).bind(template).fetch_one(conn).await.unwrap()
}

async fn make(
    admin: &PgConnectOptions,
    conn: &mut PgConnection,
    template: &str,
    services: &[(&'static str, &Migrator)],
) {
    // left by a test that was killed
    execute(conn, format!("drop database if exists {template}")).await;
    execute(conn, format!("create database {template}")).await;
    let mut inside = PgConnection::connect_with(&admin.clone().database(template)).await.unwrap();
    let config = config(format!("postgres://{}:{}/{template}", admin.get_host(), admin.get_port()));
    for (service, migrations) in services {
        provision(&mut inside, service, &passwords()).await.unwrap();
        config.migrate(service, migrations).await.unwrap();
    }
    inside.close().await.unwrap();
    execute(conn, format!("alter database {template} with is_template true")).await;
}
