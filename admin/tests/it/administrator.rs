//! The first administrator, and one who is locked out.

use atelier_admin::administrator;
use atelier_identity::PutAdministrator;
use ids::UserId;
use serde_json::{Value, json};
use sqlx::Connection as _;

use crate::fixture::Fixture;

#[tokio::test]
async fn an_administrator_is_created_and_later_let_in_again() {
    let fixture = Fixture::new().await;
    let put = async |email: &str, password: &str| {
        administrator::put(&fixture.config, email, password.to_owned().into(), "root, by sudo of ann").await
    };
    assert!(put("ann@example.com", "short").await.unwrap_err().to_string().contains("password"));
    assert_eq!(put("ann@example.com", "correct horse").await.unwrap(), PutAdministrator::Created);
    let admins = "select count(*) from identity.users where admin and not disabled and lower(email) = 'ann@example.com'";
    assert_eq!(fixture.count(admins).await, 1);
    fixture
        .execute(
            "update identity.users set admin = false, disabled = true;
             insert into identity.totp_factors (user_id, wrapped_by, secret) select id, '1', '' from identity.users;
             insert into identity.sessions (id, user_id, expires_at)
             select gen_random_uuid(), id, now() + interval '1 day' from identity.users",
        )
        .await;
    let before = fixture.count("select hashtext(password_hash)::bigint from identity.users").await;
    assert_eq!(put("Ann@example.com", "battery staple").await.unwrap(), PutAdministrator::Reset);
    assert_eq!(fixture.count(admins).await, 1);
    assert_ne!(fixture.count("select hashtext(password_hash)::bigint from identity.users").await, before);
    assert_eq!(fixture.count("select count(*) from identity.totp_factors").await, 0);
    assert_eq!(fixture.count("select count(*) from identity.sessions where ended_at is null").await, 0);

    // both are in the audit log of the platform; the refused password is not
    let mut conn = fixture.db.admin().await;
    let user: UserId =
        sqlx::query_scalar("select id from identity.users").fetch_one(&mut conn).await.unwrap();
    let entries: Vec<Value> = sqlx::query_scalar(
        "select entry::jsonb || origin from identity.audit_entries e
         join identity.audit_origins o using (tenant_id, number)
         where tenant_id = '00000000-0000-0000-0000-000000000000' order by number",
    )
    .fetch_all(&mut conn)
    .await
    .unwrap();
    let path = format!("/v1/users/{user}");
    let [created, reset] = entries.as_slice() else { panic!("{entries:#?}") };
    for (entry, status, location) in [(created, 201, json!(path)), (reset, 200, Value::Null)] {
        assert_eq!(entry["operation"], "atelier-admin administrator");
        assert_eq!((&entry["service"], &entry["user_id"]), (&json!("atelier-admin"), &Value::Null));
        assert_eq!((&entry["path"], &entry["created"]), (&json!(path), &location));
        assert_eq!((&entry["status"], &entry["is_admin"]), (&json!(status), &json!(true)));
        assert_eq!(entry["user_agent"], "root, by sudo of ann");
        let mut fields: Vec<_> =
            entry["fields"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        fields.sort_unstable();
        assert_eq!(fields, ["admin", "email", "password"]);
        assert!(!entry.to_string().contains("battery staple"), "{entry}");
    }
    sqlx::query("set search_path = identity").execute(&mut conn).await.unwrap();
    assert!(audit::verify(&mut conn).await.unwrap().broken.is_empty());
    conn.close().await.unwrap();
}
