//! Rotation of encryption keys.

use atelier_admin::rotate::{self, Rotated};
use encryption::{Cipher, Encrypted, EncryptionKey};
use ids::{InstanceId, RegistryCredentialId, TenantId, UserId, WebhookId};
use jiff::{SignedDuration, Timestamp};
use sqlx::Connection;

use crate::fixture::Fixture;

fn key(id: &str, digit: &str) -> EncryptionKey {
    EncryptionKey { id: id.to_owned(), key: format!("{}=", digit.repeat(43)).into() }
}

#[tokio::test]
async fn everything_is_encrypted_under_the_first_key_and_a_second_run_finds_nothing() {
    let mut fixture = Fixture::new().await;
    let old = Cipher::new("gpu", &[key("old", "A")]).unwrap();
    let (tenant, instance) = (TenantId::new(), InstanceId::new());
    let mut conn = fixture.db.admin().await;
    sqlx::query(
        "insert into gpu.instances (id, tenant_id, name, spec, phase, attempt, restart, meter, operation_id, operation_kind)
         values ($1, $2, 'i', '{}', '{\"state\": \"stopped\"}', 1, 0, '{}', gen_random_uuid(), 'create')",
    )
    .bind(instance)
    .bind(tenant)
    .execute(&mut conn)
    .await
    .unwrap();
    // more than a page
    for n in 0..450 {
        let name = format!("NAME_{n}");
        let Encrypted { key_id, bytes } =
            old.encrypt(b"value", &format!("{tenant} {instance} {name}")).unwrap();
        sqlx::query(
            "insert into gpu.instance_secrets (instance_id, name, tenant_id, key_id, ciphertext) values ($1, $2, $3, $4, $5)",
        )
        .bind(instance)
        .bind(name)
        .bind(tenant)
        .bind(key_id)
        .bind(bytes)
        .execute(&mut conn)
        .await
        .unwrap();
    }
    let credential = RegistryCredentialId::new();
    let Encrypted { key_id, bytes } =
        old.encrypt(b"password", &format!("registry credential {tenant} {credential}")).unwrap();
    sqlx::query(
        "insert into gpu.registry_credentials
             (id, tenant_id, name, registry, username, key_id, ciphertext, created_by, rights_at)
         values ($1, $2, 'team', 'ghcr.io', 'robot', $3, $4, gen_random_uuid(), now())",
    )
    .bind(credential)
    .bind(tenant)
    .bind(key_id)
    .bind(bytes)
    .execute(&mut conn)
    .await
    .unwrap();
    let user = UserId::new();
    let of_identity = Cipher::new("identity", &[key("old", "A")]).unwrap();
    let secret = of_identity.encrypt(b"totp", &format!("totp {user}")).unwrap();
    sqlx::query(
        "insert into identity.users (id, email, display_name, password_hash) values ($1, 'a@b.c', 'a', '')",
    )
    .bind(user)
    .execute(&mut conn)
    .await
    .unwrap();
    sqlx::query("insert into identity.totp_factors (user_id, wrapped_by, secret) values ($1, $2, $3)")
        .bind(user)
        .bind(secret.key_id)
        .bind(secret.bytes)
        .execute(&mut conn)
        .await
        .unwrap();
    let hook = WebhookId::new();
    let of_jobs = Cipher::new("jobs", &[key("old", "A")]).unwrap();
    let [current, previous] =
        [b"two", b"one"].map(|secret| of_jobs.encrypt(secret, &format!("webhook {hook}")).unwrap());
    sqlx::query(
        "insert into jobs.webhooks (id, tenant_id, url, events, wrapped_by, secret, previous_wrapped_by, previous_secret,
                                    previous_until)
         values ($1, $2, 'https://example.com/', '{}', $3, $4, $5, $6, now())",
    )
    .bind(hook)
    .bind(tenant)
    .bind(current.key_id)
    .bind(current.bytes)
    .bind(previous.key_id)
    .bind(previous.bytes)
    .execute(&mut conn)
    .await
    .unwrap();
    conn.close().await.unwrap();

    let keys = vec![key("new", "E"), key("old", "A")];
    fixture.config.encryption_keys = [("gpu".to_owned(), vec![key("new", "E")])].into();
    let error = rotate::rotate(&fixture.config).await.unwrap_err();
    assert!(format!("{error:#}").contains("\"old\" is not configured"), "{error:#}");
    let encrypting = platform::services().iter().filter(|service| service.encrypts);
    fixture.config.encryption_keys = encrypting.map(|service| (service.name.clone(), keys.clone())).collect();
    let rotated = |gpu, identity, jobs| {
        [("gpu", gpu), ("identity", identity), ("jobs", jobs)]
            .map(|(service, rows)| Rotated { service, rows })
    };
    assert_eq!(rotate::rotate(&fixture.config).await.unwrap(), rotated(451, 1, 1));
    assert_eq!(rotate::rotate(&fixture.config).await.unwrap(), rotated(0, 0, 0));

    // the old key can be removed
    let mut conn = fixture.db.admin().await;
    let (key_id, bytes): (String, Vec<u8>) =
        sqlx::query_as("select key_id, ciphertext from gpu.instance_secrets where name = 'NAME_449'")
            .fetch_one(&mut conn)
            .await
            .unwrap();
    let new = Cipher::new("gpu", &[key("new", "E")]).unwrap();
    let context = format!("{tenant} {instance} NAME_449");
    assert_eq!(new.decrypt(&Encrypted { key_id, bytes }, &context).unwrap(), b"value");
    let (key_id, bytes): (String, Vec<u8>) =
        sqlx::query_as("select key_id, ciphertext from gpu.registry_credentials")
            .fetch_one(&mut conn)
            .await
            .unwrap();
    let context = format!("registry credential {tenant} {credential}");
    assert_eq!(new.decrypt(&Encrypted { key_id, bytes }, &context).unwrap(), b"password");
    let secrets: [(String, Vec<u8>); 2] = sqlx::query_as(
        "select wrapped_by, secret from jobs.webhooks
         union all select previous_wrapped_by, previous_secret from jobs.webhooks",
    )
    .fetch_all(&mut conn)
    .await
    .unwrap()
    .try_into()
    .unwrap();
    let new = Cipher::new("jobs", &[key("new", "E")]).unwrap();
    let plain = secrets.map(|(key_id, bytes)| {
        new.decrypt(&Encrypted { key_id, bytes }, &format!("webhook {hook}")).unwrap()
    });
    assert_eq!(plain, [b"two", b"one"]);
}

#[tokio::test]
async fn the_next_signing_key_is_requested_once_at_a_time_and_recorded() {
    let fixture = Fixture::new().await;
    let now: Timestamp = "2026-11-23T12:00:00Z".parse().unwrap();
    fixture
        .execute(
            "insert into identity.signing_keys (id, public_jwk, wrapped_by, private_key, active_from)
             values (gen_random_uuid(), '{}', '1', '', '2026-11-01T00:00:00Z')",
        )
        .await;
    let [active] = rotate::signing_keys(&fixture.config).await.unwrap().try_into().unwrap();
    let rotate = async |now| rotate::rotate_signing_keys(&fixture.config, "ann", now).await.unwrap();
    let done = rotate(now).await;
    assert_eq!(done.published, [active]);
    let requests = "select count(*) from identity.signing_key_requests";
    assert_eq!((done.requested.is_some(), fixture.count(requests).await), (true, 1));
    let recorded = "select count(*) from identity.audit_entries
        where entry::jsonb ->> 'operation' = 'atelier-admin rotate-keys'";
    assert_eq!(fixture.count(recorded).await, 1);

    // while it is requested, and while it is published and does not sign yet
    assert_eq!(rotate(now).await.requested, None);
    fixture
        .execute(
            "with request as (delete from identity.signing_key_requests returning key_id)
             insert into identity.signing_keys (id, public_jwk, wrapped_by, private_key, active_from)
             select key_id, '{}', '1', '', '2026-11-23T12:10:00Z' from request",
        )
        .await;
    let published = rotate(now).await;
    assert_eq!((published.requested, published.published.len()), (None, 2));
    assert_eq!(Some(published.published[1].id), done.requested);
    let later = rotate(now + SignedDuration::from_mins(10)).await;
    assert!(later.requested.is_some());
    assert_eq!(fixture.count(recorded).await, 2);
}
