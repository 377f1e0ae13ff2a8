//! Migrations on a real database.

use std::borrow::Cow;

use atelier_db::{Tx, act_for};
use ids::TenantId;
use sqlx::{
    SqlStr,
    migrate::{Migration, MigrationType, Migrator},
};
use testkit::TestDb;

/// Altering a large table takes longer than seconds, and each service waits for the migrations of the others.
#[tokio::test]
async fn the_statement_timeout_applies_to_requests_but_not_to_migrations() {
    let note = "create table seen as select current_setting('statement_timeout') as value;
        grant select on seen to atelier_stock_app";
    let migrations = Migrator::with_migrations(vec![Migration::new(
        1,
        Cow::Borrowed("note the limit"),
        MigrationType::Simple,
        SqlStr::from_static(note),
        false,
    )]);
    let database = TestDb::new();
    let (_, db) = database.open("stock", &migrations).await;
    let mut tx = db.platform().await.unwrap();
    let limits: (String, String) =
        sqlx::query_as("select value, current_setting('statement_timeout') from seen")
            .fetch_one(&mut *tx)
            .await
            .unwrap();
    assert_eq!(limits, ("0".to_owned(), "30s".to_owned()));
}

/// A compiled query loads LLVM into its connection: 70 MiB for each that stays open.
#[tokio::test]
async fn no_query_of_a_service_is_compiled() {
    let database = TestDb::new();
    let (_, db) = database.open("stock", &Migrator::with_migrations(Vec::new())).await;
    for mut tx in [db.platform().await.unwrap(), db.worker().await.unwrap()] {
        let jit: String = sqlx::query_scalar("show jit").fetch_one(&mut *tx).await.unwrap();
        assert_eq!(jit, "off");
    }
}

#[tokio::test]
async fn pools_that_are_closed_do_not_answer() {
    let database = TestDb::new();
    let (_, db) = database.open("stock", &Migrator::with_migrations(Vec::new())).await;
    db.ping().await.unwrap();
    db.close().await;
    assert!(matches!(db.ping().await, Err(sqlx::Error::PoolClosed)));
    assert!(matches!(db.worker().await, Err(sqlx::Error::PoolClosed)));
}

#[tokio::test]
async fn a_transaction_is_in_the_scope_of_its_caller() {
    let database = TestDb::new();
    let (_, db) = database.open("stock", &Migrator::with_migrations(Vec::new())).await;
    let scope = async |tx: &mut Tx| -> (Option<String>, Option<String>) {
        sqlx::query_as(
            "select current_setting('atelier.tenant', true), current_setting('atelier.admin', true)",
        )
        .fetch_one(&mut **tx)
        .await
        .unwrap()
    };
    let id = TenantId::new();
    let tenant = Some(id.uuid().to_string());
    let mut tx = db.tenant(id).await.unwrap();
    assert_eq!(scope(&mut tx).await, (tenant.clone(), None));
    tx.commit().await.unwrap();
    let mut tx = db.admin().await.unwrap();
    assert_eq!(scope(&mut tx).await.1.as_deref(), Some("on"));
    act_for(&mut tx, id).await.unwrap();
    assert_eq!(scope(&mut tx).await, (tenant, Some("on".to_owned())));
}

/// Schemas of later releases, and schemas whose migrations were replaced, are not changed.
#[tokio::test]
async fn a_schema_with_other_migrations_is_refused() {
    let migration = |version, sql| {
        let text = SqlStr::from_static(sql);
        Migration::new(version, Cow::Borrowed("a table"), MigrationType::Simple, text, false)
    };
    let first = || migration(1, "create table first ()");
    let second = || migration(2, "create table second ()");
    let database = TestDb::new();
    let applied = Migrator::with_migrations(vec![first(), second()]);
    let config = database.service("stock", &applied).await;
    let replaced = vec![migration(1, "create table other ()"), second()];
    for (version, others) in [(2, vec![first()]), (1, replaced)] {
        let refused =
            config.migrate("stock", &Migrator::with_migrations(others)).await.unwrap_err().to_string();
        let expected = format!("its migration {version} is not one of this program's");
        assert!(refused.contains(&expected), "{refused}");
    }
    config.migrate("stock", &applied).await.unwrap();
}
