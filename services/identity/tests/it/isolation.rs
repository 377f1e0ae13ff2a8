//! Row-level security: rows that no query of a transaction can read.

use atelier_identity::{MIGRATIONS, NAME};
use db::Db;
use ids::{TenantId, UserId};
use testkit::TestDb;
use uuid::Uuid;

async fn filled() -> (TestDb, Db, [(TenantId, UserId); 2]) {
    let test = TestDb::new();
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
        // one entry of the tenant, one without a tenant
        sqlx::query(
            "insert into api_keys (id, tenant_id, user_id, name, secret_hash, hint, scopes)
             select gen_random_uuid(), key_of, $2, 'x', sha256(convert_to($3 || coalesce(key_of::text, ''), 'UTF8')),
                    'atl_', '{usage:read}'
             from unnest(array[$1::uuid, null]) key_of",
        )
        .bind(tenant)
        .bind(user)
        .bind(name)
        .execute(&mut *tx)
        .await
        .unwrap();
        for statement in [
            "insert into passkeys (id, user_id, credential_id, credential, name)
             values (gen_random_uuid(), $1, uuid_send($1), '{}', 'x')",
            "insert into passkey_challenges (hash, user_id, session_id, state, expires_at)
             select uuid_send($1), $1, id, '{}', now() from sessions where user_id = $1",
            "insert into removed_members (tenant_id, user_id) select tenant_id, user_id from members where user_id = $1",
        ] {
            sqlx::query(statement).bind(user).execute(&mut *tx).await.unwrap();
        }
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
const API_KEYS: &str = "select count(*) from api_keys";
const PASSKEYS: &str = "select count(*) from passkeys";
const CHALLENGES: &str = "select count(*) from passkey_challenges";
const REMOVALS: &str = "select count(*) from removed_members";

#[tokio::test]
async fn a_query_without_a_predicate_sees_only_its_scope() {
    let (_test, db, [(tenant, user), _]) = filled().await;
    let mut tx = db.tenant(tenant).await.unwrap();
    assert_eq!(count(&mut tx, MEMBERS).await, 1);
    assert_eq!(count(&mut tx, SESSIONS).await, 0);
    assert_eq!(count(&mut tx, TOKENS).await, 0);
    assert_eq!(count(&mut tx, INVITATIONS).await, 2);
    assert_eq!(count(&mut tx, API_KEYS).await, 1);
    assert_eq!(count(&mut tx, PASSKEYS).await, 0);
    assert_eq!(count(&mut tx, CHALLENGES).await, 0);
    assert_eq!(count(&mut tx, REMOVALS).await, 1);
    let gone = sqlx::query("delete from members").execute(&mut *tx).await.unwrap();
    assert_eq!(gone.rows_affected(), 1);
    drop(tx);

    let mut tx = db.platform().await.unwrap();
    for query in [MEMBERS, SESSIONS, TOKENS, INVITATIONS, API_KEYS, PASSKEYS, CHALLENGES, REMOVALS] {
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
    assert_eq!(count(&mut tx, API_KEYS).await, 2, "for the tenant and for none");
    assert_eq!(count(&mut tx, PASSKEYS).await, 1);
    assert_eq!(count(&mut tx, CHALLENGES).await, 1);
    assert_eq!(count(&mut tx, REMOVALS).await, 0, "users do not forget that they were removed");
    let moved = sqlx::query("update passkeys set user_id = user_id").execute(&mut *tx).await;
    assert!(moved.unwrap_err().to_string().contains("permission denied"));
    let mut tx = db.platform().await.unwrap();
    sqlx::query("select set_config('atelier.user', $1, true)")
        .bind(user.uuid().to_string())
        .execute(&mut *tx)
        .await
        .unwrap();
    assert_eq!(count(&mut tx, INVITATIONS).await, 2, "of both tenants, to the user's address only");
    // an invitation can be declined, but not changed
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

#[tokio::test]
async fn a_presented_key_is_seen_alone_and_owners_make_none_for_others() {
    let (_test, db, [(tenant, _), (_, stranger)]) = filled().await;
    let mut tx = db.platform().await.unwrap();
    let hash = "select encode(sha256(convert_to('one', 'UTF8')), 'hex')";
    let hash: String = sqlx::query_scalar(hash).fetch_one(&mut *tx).await.unwrap();
    sqlx::query("select set_config('atelier.api_key', $1, true)").bind(hash).execute(&mut *tx).await.unwrap();
    assert_eq!(count(&mut tx, API_KEYS).await, 1);
    let used = sqlx::query("update api_keys set last_used_at = now()").execute(&mut *tx).await.unwrap();
    assert_eq!(used.rows_affected(), 1);
    let deleted = sqlx::query("delete from api_keys").execute(&mut *tx).await.unwrap();
    assert_eq!(deleted.rows_affected(), 0);
    let raised = sqlx::query("update api_keys set scopes = '{platform:write}'").execute(&mut *tx).await;
    assert!(raised.unwrap_err().to_string().contains("permission denied"));
    drop(tx);
    let mut tx = db.tenant(tenant).await.unwrap();
    let made = sqlx::query(
        "insert into api_keys (id, tenant_id, user_id, name, secret_hash, hint, scopes)
         values (gen_random_uuid(), $1, $2, 'x', 'x', 'atl_', '{usage:read}')",
    )
    .bind(tenant)
    .bind(stranger)
    .execute(&mut *tx)
    .await;
    assert!(made.unwrap_err().to_string().contains("row-level security"));
}

#[tokio::test]
async fn a_challenge_is_seen_by_who_answers_it_alone() {
    let (_test, db, _) = filled().await;
    let mut tx = db.platform().await.unwrap();
    sqlx::query("select set_config('atelier.passkey_challenge', '0102', true)")
        .execute(&mut *tx)
        .await
        .unwrap();
    assert_eq!(count(&mut tx, CHALLENGES).await, 0);
    let add = |hash: &'static [u8]| {
        sqlx::query("insert into passkey_challenges (hash, state, expires_at) values ($1, '{}', now())")
            .bind(hash)
    };
    add(&[1, 2]).execute(&mut *tx).await.unwrap();
    assert_eq!(count(&mut tx, CHALLENGES).await, 1);
    let refused = add(&[3, 4]).execute(&mut *tx).await;
    assert!(refused.unwrap_err().to_string().contains("row-level security"));
}
