//! Row-level security: what a transaction cannot see, whatever its query.

use atelier_identity::{MIGRATIONS, NAME};
use db::Db;
use ids::{TenantId, UserId};
use testkit::TestDb;
use uuid::Uuid;

async fn filled() -> (TestDb, Db, [(TenantId, UserId); 2]) {
    let test = TestDb::new().await;
    let (_, db) = test.open(NAME, &MIGRATIONS).await;
    let mut tx = db.worker().await.unwrap();
    let mut made = Vec::new();
    for name in ["one", "two"] {
        let (tenant, user) = (TenantId::new(), UserId::new());
        sqlx::query("insert into tenants (id, name) values ($1, $2)")
            .bind(tenant)
            .bind(name)
            .execute(&mut *tx)
            .await
            .unwrap();
        sqlx::query("insert into users (id, email, display_name, password_hash) values ($1, $2, $2, '')")
            .bind(user)
            .bind(format!("{name}@x.test"))
            .execute(&mut *tx)
            .await
            .unwrap();
        sqlx::query("insert into members (tenant_id, user_id, role) values ($1, $2, 'owner')")
            .bind(tenant)
            .bind(user)
            .execute(&mut *tx)
            .await
            .unwrap();
        let session = Uuid::now_v7();
        sqlx::query(
            "insert into sessions (id, user_id, tenant_id, expires_at) values ($1, $2, $3, now() + '1 day')",
        )
        .bind(session)
        .bind(user)
        .bind(tenant)
        .execute(&mut *tx)
        .await
        .unwrap();
        sqlx::query("insert into refresh_tokens (hash, session_id) values ($1, $2)")
            .bind(session.as_bytes().as_slice())
            .bind(session)
            .execute(&mut *tx)
            .await
            .unwrap();
        sqlx::query(
            "insert into invitations (id, tenant_id, email, role, invited_by, expires_at)
             select gen_random_uuid(), $1, address, 'member', $2, now() + '1 day'
             from unnest(array['One@x.test', 'nobody@x.test']) address",
        )
        .bind(tenant)
        .bind(user)
        .execute(&mut *tx)
        .await
        .unwrap();
        made.push((tenant, user));
    }
    tx.commit().await.unwrap();
    (test, db, [made[0], made[1]])
}

async fn count(tx: &mut db::Tx, query: &'static str) -> i64 {
    sqlx::query_scalar(query).fetch_one(&mut **tx).await.unwrap()
}

const MEMBERS: &str = "select count(*) from members";
const SESSIONS: &str = "select count(*) from sessions";
const TOKENS: &str = "select count(*) from refresh_tokens";
const INVITATIONS: &str = "select count(*) from invitations";

#[tokio::test]
async fn a_query_without_a_predicate_sees_only_its_scope() {
    let (_test, db, [(tenant, user), _]) = filled().await;
    let mut tx = db.tenant(tenant).await.unwrap();
    assert_eq!(count(&mut tx, MEMBERS).await, 1);
    assert_eq!(count(&mut tx, SESSIONS).await, 0);
    assert_eq!(count(&mut tx, TOKENS).await, 0);
    assert_eq!(count(&mut tx, INVITATIONS).await, 2);
    let gone = sqlx::query("delete from members").execute(&mut *tx).await.unwrap();
    assert_eq!(gone.rows_affected(), 1);
    drop(tx);

    let mut tx = db.platform().await.unwrap();
    for query in [MEMBERS, SESSIONS, TOKENS, INVITATIONS] {
        assert_eq!(count(&mut tx, query).await, 0, "{query} outside any scope");
    }
    sqlx::query("select set_config('atelier.user', $1, true)")
        .bind(user.uuid().to_string())
        .execute(&mut *tx)
        .await
        .unwrap();
    assert_eq!(count(&mut tx, MEMBERS).await, 1);
    assert_eq!(count(&mut tx, SESSIONS).await, 1);
    assert_eq!(count(&mut tx, TOKENS).await, 0, "a token is visible to its session only");
    assert_eq!(count(&mut tx, INVITATIONS).await, 2, "of both tenants, to the user's address only");
    // which may be declined, and not changed
    let raised = sqlx::query("update invitations set role = 'owner'").execute(&mut *tx).await.unwrap();
    assert_eq!(raised.rows_affected(), 0);
    let declined = sqlx::query("delete from invitations").execute(&mut *tx).await.unwrap();
    assert_eq!(declined.rows_affected(), 2);
    tx.commit().await.unwrap();

    // a setting ends with its transaction, also on the same connection
    let mut tx = db.platform().await.unwrap();
    assert_eq!(count(&mut tx, MEMBERS).await, 0);
    drop(tx);
    let mut tx = db.worker().await.unwrap();
    assert_eq!(count(&mut tx, MEMBERS).await, 2);
}

#[tokio::test]
async fn users_cannot_invite_themselves() {
    let (_test, db, [(own, user), (foreign, inviter)]) = filled().await;
    let mut tx = db.tenant(own).await.unwrap();
    sqlx::query("select set_config('atelier.user', $1, true)")
        .bind(user.uuid().to_string())
        .execute(&mut *tx)
        .await
        .unwrap();
    let refused = sqlx::query(
        "insert into invitations (id, tenant_id, email, role, invited_by, expires_at)
         values (gen_random_uuid(), $1, 'new@x.test', 'owner', $2, now() + '1 day')",
    )
    .bind(foreign)
    .bind(inviter)
    .execute(&mut *tx)
    .await;
    assert!(refused.unwrap_err().to_string().contains("row-level security"));
}

#[tokio::test]
async fn users_cannot_add_themselves_to_a_tenant() {
    let (_test, db, [(own, user), (foreign, _)]) = filled().await;
    let mut tx = db.tenant(own).await.unwrap();
    sqlx::query("select set_config('atelier.user', $1, true)")
        .bind(user.uuid().to_string())
        .execute(&mut *tx)
        .await
        .unwrap();
    let refused = sqlx::query("insert into members (tenant_id, user_id, role) values ($1, $2, 'owner')")
        .bind(foreign)
        .bind(user)
        .execute(&mut *tx)
        .await;
    assert!(refused.unwrap_err().to_string().contains("row-level security"));
}
