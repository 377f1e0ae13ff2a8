//! Migrations keep the data of an existing database.

use atelier_storage::{MIGRATIONS, NAME};
use sqlx::{Row as _, migrate::Migrator};
use testkit::TestDb;

#[tokio::test]
async fn the_row_queue_keeps_storages_and_operations() {
    let db = TestDb::new();
    let first = Migrator::with_migrations(MIGRATIONS.iter().take(1).cloned().collect());
    let config = db.service(NAME, &first).await;
    let mut admin = db.admin().await;
    sqlx::raw_sql(
        "set search_path = storage;
         insert into storage_specs (id, name, kind, min_size_gib, max_size_gib, price_per_gib_month, currency,
                                    access_mode)
         values ('00000000-0000-0000-0000-000000000001', 'ssd', 'volume', 1, 9, 0.10, 'USD', 'read_write_many');
         insert into storages (id, tenant_id, name, spec_id, kind, size_gib, cluster, datacenter, access_mode,
                               price_per_gib_month, currency, state, reason, message, operation_id, lease_owner,
                               lease_until)
         select gen_random_uuid(), gen_random_uuid(), 'v', '00000000-0000-0000-0000-000000000001', 'volume', 5,
                'uk-1', 'uk-1', 'read_write_many', 0.10, 'USD', 'pending', reason, 'm', gen_random_uuid(),
                '0193a0c4d5e67f8091a2b3c4d5e6f708', now()
         from unnest(array['VolumeRequested', 'ObjectStoreUnavailable', 'VolumeRemoving', 'Pending', 'Failed', null])
              reason;
         insert into operations (id, tenant_id, storage_id, kind, state)
         values (gen_random_uuid(), gen_random_uuid(), '0193a0c4-d5e6-7f80-91a2-b3c4d5e6f708', 'create_storage',
                 'pending')",
    )
    .execute(&mut admin)
    .await
    .unwrap();
    config.migrate(NAME, &MIGRATIONS).await.unwrap();
    let storages = "select coalesce(reason, '') as reason, lease_owner::text as owner, failures
                    from storage.storages order by reason";
    let storages = sqlx::query(storages).fetch_all(&mut admin).await.unwrap();
    let reasons: Vec<String> = storages.iter().map(|row| row.get("reason")).collect();
    let expected = [
        "",
        "object_store_unavailable",
        "volume_accepted",
        "volume_deleting",
        "volume_failed",
        "volume_requested",
    ];
    assert_eq!(reasons, expected);
    for row in &storages {
        assert_eq!(row.get::<String, _>("owner"), "0193a0c4-d5e6-7f80-91a2-b3c4d5e6f708");
        assert_eq!(row.get::<i32, _>("failures"), 0);
    }
    let target: String =
        sqlx::query_scalar("select target from storage.operations").fetch_one(&mut admin).await.unwrap();
    assert_eq!(target, "stor_0193a0c4d5e67f8091a2b3c4d5e6f708");
}
