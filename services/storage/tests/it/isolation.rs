//! Resources of another tenant look like resources that do not exist.

use auth::Role;
use ids::{StorageId, TenantId};
use serde_json::{Value, json};
use sqlx::Connection as _;

use crate::fixture::{Fixture, make, remove, specs};

#[tokio::test]
async fn a_storage_of_another_tenant_is_not_found() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let (owner, stranger) =
        (fixture.member(&service, TenantId::new()), fixture.member(&service, TenantId::new()));
    let made = make(&owner, "art", "archive", 1).await;
    let credential =
        owner.post(&format!("/v1/storages/{}/credentials", made.str("id")), Value::Null).await.expect(201);
    let key = credential.str("access_key_id");
    let operation = made.str("operation_id");
    for id in
        [made.str("id").to_owned(), StorageId::new().to_string(), "stor_nonsense".to_owned(), "x".to_owned()]
    {
        let path = format!("/v1/storages/{id}");
        let mut answers = vec![
            stranger.get(&path).await,
            stranger.patch(&path, "*", json!({ "name": "mine" })).await,
            stranger.delete(&path).await,
            stranger.post(&format!("{path}/credentials"), Value::Null).await,
            stranger.get(&format!("{path}/credentials")).await,
            stranger.delete(&format!("{path}/credentials/{key}")).await,
        ];
        if id == made.str("id") {
            answers.push(stranger.get(&format!("/v1/storage-operations/{operation}")).await);
        }
        for answer in answers {
            let answer = answer.expect_problem(404, "not-found");
            assert_eq!(answer.body["detail"], "Nothing with this id exists here.");
        }
    }
    for list in ["/v1/storages", "/v1/storage-operations"] {
        assert_eq!(stranger.get(list).await.expect(200).body["items"], json!([]));
    }
    // names are unique in a tenant only
    make(&stranger, "art", "archive", 1).await;
    remove(&owner, made.str("id")).await;
}

#[tokio::test]
async fn viewers_read_and_do_not_write() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let viewer = service.client.token(&fixture.issuer.user(tenant, Role::Viewer));
    let made = make(&member, "art", "archive", 1).await;
    let path = format!("/v1/storages/{}", made.str("id"));
    let _ = viewer.get(&path).await.expect(200);
    let order = json!({ "name": "x", "storage_spec": "archive", "size_gib": 1 });
    for answer in [
        viewer.post("/v1/storages", order).await,
        viewer.patch(&path, "*", json!({ "name": "y" })).await,
        viewer.delete(&path).await,
        viewer.post(&format!("{path}/credentials"), Value::Null).await,
        fixture.admin(&service).get(&path).await,
    ] {
        answer.expect_problem(403, "forbidden");
    }
    remove(&member, made.str("id")).await;
}

/// The statements have no tenant predicate of their own.
#[tokio::test]
async fn row_level_security_hides_the_rows_of_other_tenants() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let (tenant, other) = (TenantId::new(), TenantId::new());
    let member = fixture.member(&service, tenant);
    let made = make(&member, "art", "archive", 1).await;
    let path = format!("/v1/storages/{}", made.str("id"));
    let _ = member.post(&format!("{path}/credentials"), Value::Null).await.expect(201);
    let peer = service.client.service("gpu");
    let attachment = format!("/internal{path}/attachments/{}", ids::InstanceId::new());
    let request = json!({ "tenant_id": tenant, "mode": "read_only" });
    let _ = peer.put(&attachment, request).await.expect(200);

    let db = db::Db::connect(atelier_storage::NAME, &fixture.config.database).unwrap();
    let counts = async |tx: &mut sqlx::PgConnection| {
        let counts: Vec<i64> = sqlx::query_scalar(
            "select count(*) from storages union all select count(*) from operations
             union all select count(*) from attachments union all select count(*) from credentials
             union all select count(*) from idempotency_keys where scope like 'ten%'",
        )
        .fetch_all(tx)
        .await
        .unwrap();
        counts
    };
    let mut own = db.tenant(tenant).await.unwrap();
    assert!(counts(&mut own).await.iter().all(|n| *n >= 1));
    drop(own);
    let mut foreign = db.tenant(other).await.unwrap();
    assert_eq!(counts(&mut foreign).await, [0; 5]);
    let touched = sqlx::query("update storages set name = 'mine'").execute(&mut *foreign).await.unwrap();
    assert_eq!(touched.rows_affected(), 0);
    let forged = sqlx::query("insert into attachments (storage_id, instance_id, tenant_id, mode) select id, id, $1, 'read_only' from storages union all values ($2, $2, $1, 'read_only')")
        .bind(tenant)
        .bind(made.str("id").parse::<StorageId>().unwrap())
        .execute(&mut *foreign)
        .await;
    assert!(forged.is_err(), "a row for another tenant was written");
    drop(foreign);
    let mut nobody = db.platform().await.unwrap();
    assert_eq!(counts(&mut nobody).await, [0; 5]);
    drop(nobody);
    let _ = peer.delete(&attachment).await.expect(204);
    remove(&member, made.str("id")).await;
}

#[tokio::test]
async fn the_roles_have_no_rights_in_other_schemas() {
    let fixture = Fixture::new().await;
    let mut admin = fixture.db.admin().await;
    sqlx::raw_sql(
        "create schema stock; create table stock.secrets (x int); grant usage on schema public to public",
    )
    .execute(&mut admin)
    .await
    .unwrap();
    for role in ["atelier_storage_app", "atelier_storage_worker", "atelier_storage_owner"] {
        let url: url::Url = fixture.config.database.url.parse().unwrap();
        let mut url = url;
        url.set_username(role).unwrap();
        url.set_password(Some("test")).unwrap();
        let mut conn = sqlx::PgConnection::connect(url.as_str()).await.unwrap();
        let refused = sqlx::query("select * from stock.secrets").execute(&mut conn).await.unwrap_err();
        assert_eq!(refused.as_database_error().unwrap().code().as_deref(), Some("42501"), "{role}");
        let bypass: bool =
            sqlx::query_scalar("select rolbypassrls or rolsuper from pg_roles where rolname = current_user")
                .fetch_one(&mut conn)
                .await
                .unwrap();
        assert!(!bypass, "{role}");
    }
    let unforced: Vec<String> = sqlx::query_scalar(
        "select c.relname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
         join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
         where n.nspname = 'storage' and c.relkind = 'r' and not (c.relrowsecurity and c.relforcerowsecurity)",
    )
    .fetch_all(&mut admin)
    .await
    .unwrap();
    assert!(unforced.is_empty(), "{unforced:?}");
}
