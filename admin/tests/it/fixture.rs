//! A database with the schemas of the services, and no services.

use atelier_admin::{
    Config,
    config::{BundleConfig, Database, Login},
    schemas,
};
use sqlx::{Connection, PgConnection};
use testkit::TestDb;

pub(crate) struct Fixture {
    pub(crate) db: TestDb,
    pub(crate) config: Config,
}

impl Fixture {
    /// All schemas, empty.
    pub(crate) async fn new() -> Self {
        let db = TestDb::new();
        db.create_with(&schemas::all()).await;
        Self::on(db).await
    }

    /// A database without schemas.
    pub(crate) async fn empty() -> Self {
        Self::on(TestDb::new()).await
    }

    async fn on(db: TestDb) -> Self {
        db.reader().await;
        let (user, password) = db.superuser();
        let config = Config {
            database: Database {
                url: db.url(),
                reader_password: Some("test".into()),
                superuser: Some(Login { user, password }),
            },
            clusters: [].into(),
            object_store: None,
            encryption_keys: [].into(),
            bundle: BundleConfig::default(),
        };
        Self { db, config }
    }

    pub(crate) async fn execute(&self, sql: &'static str) {
        let mut conn: PgConnection = self.db.admin().await;
        sqlx::raw_sql(sql).execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
    }

    pub(crate) async fn count(&self, sql: &'static str) -> i64 {
        let mut conn: PgConnection = self.db.admin().await;
        let count = sqlx::query_scalar(sql).fetch_one(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        count
    }
}
