//! Resources of another tenant look like resources that do not exist.

use auth::Role;
use ids::{JobId, TenantId};
use serde_json::{Value, json};
use sqlx::Connection as _;

use crate::fixture::{Fixture, fox, pool, submit};

#[tokio::test]
async fn a_job_of_another_tenant_is_not_found() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let _ = pool(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let (owner, stranger) = (fixture.member(&service, tenant), fixture.member(&service, TenantId::new()));
    let made = submit(&owner, json!({})).await;
    for id in [made.str("id").to_owned(), JobId::new().to_string(), "job_nonsense".to_owned()] {
        for answer in [
            stranger.get(&format!("/v1/jobs/{id}")).await,
            stranger.post(&format!("/v1/jobs/{id}/cancel"), Value::Null).await,
        ] {
            let answer = answer.expect_problem(404, "not-found");
            assert_eq!(answer.body["detail"], "Nothing with this id exists here.");
        }
    }
    assert_eq!(stranger.get("/v1/jobs").await.expect(200).body["items"], json!([]));
    assert_eq!(owner.get(&format!("/v1/jobs/{}", made.str("id"))).await.expect(200).str("state"), "queued");

    let viewer = service.client.token(&fixture.issuer.user(tenant, Role::Viewer));
    let _ = viewer.get("/v1/jobs").await.expect(200);
    viewer.post("/v1/jobs", fox()).await.expect_problem(403, "forbidden");
    let path = format!("/v1/jobs/{}/cancel", made.str("id"));
    viewer.post(&path, Value::Null).await.expect_problem(403, "forbidden");
    service.stop().await;
}

/// The statements have no tenant predicate of their own.
#[tokio::test]
async fn row_level_security_hides_the_rows_of_other_tenants() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let _ = pool(&fixture.admin(&service)).await;
    let (tenant, other) = (TenantId::new(), TenantId::new());
    submit(&fixture.member(&service, tenant), json!({})).await;
    let db = db::Db::connect(atelier_jobs::NAME, &fixture.config.database).unwrap();
    let counts = async |tx: &mut sqlx::PgConnection| -> Vec<i64> {
        let counts = "select count(*) from jobs union all select count(*) from job_inputs
             union all select count(*) from idempotency_keys where scope like 'ten%'";
        sqlx::query_scalar(counts).fetch_all(tx).await.unwrap()
    };
    let mut own = db.tenant(tenant).await.unwrap();
    assert_eq!(counts(&mut own).await, [1; 3]);
    drop(own);
    let mut foreign = db.tenant(other).await.unwrap();
    assert_eq!(counts(&mut foreign).await, [0; 3]);
    let touched = sqlx::query("update jobs set priority = 9").execute(&mut *foreign).await.unwrap();
    assert_eq!(touched.rows_affected(), 0);
    drop(foreign);

    let mut admin = fixture.db.admin().await;
    let unforced: Vec<String> = sqlx::query_scalar(
        "select c.relname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
         join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
         where n.nspname = 'jobs' and c.relkind = 'r' and not (c.relrowsecurity and c.relforcerowsecurity)",
    )
    .fetch_all(&mut admin)
    .await
    .unwrap();
    assert!(unforced.is_empty(), "{unforced:?}");
    admin.close().await.unwrap();
    service.stop().await;
}
