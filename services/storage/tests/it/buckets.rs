//! Buckets, their access keys and their quotas.

use aws_sdk_s3::config::{BehaviorVersion, Region, RequestChecksumCalculation};
use aws_sdk_s3::error::{ProvideErrorMetadata as _, SdkError};
use futures::StreamExt as _;
use ids::{StorageId, TenantId};
use serde_json::{Value, json};
use testkit::{Response, eventually};

use crate::fixture::{Fixture, ended, make, remove, specs, state};

pub(crate) fn s3(credential: &Value) -> aws_sdk_s3::Client {
    let text = |name: &str| credential[name].as_str().unwrap();
    let keys = aws_credential_types::Credentials::new(
        text("access_key_id"),
        text("secret_access_key"),
        None,
        None,
        "test",
    );
    let config = aws_sdk_s3::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(text("endpoint"))
        .region(Region::new(text("region").to_owned()))
        .force_path_style(true)
        .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
        .retry_config(aws_sdk_s3::config::retry::RetryConfig::disabled())
        .credentials_provider(keys)
        .build();
    aws_sdk_s3::Client::from_conf(config)
}

pub(crate) async fn put(s3: &aws_sdk_s3::Client, bucket: &str, key: &str, size: usize) -> Result<(), String> {
    let call = s3.put_object().bucket(bucket).key(key).body(vec![7; size].into());
    call.send().await.map(drop).map_err(|error| error.code().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn a_bucket_is_created_used_grown_and_deleted() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let made = make(&member, "art", "archive", 2).await;
    let id = made.str("id");
    let bucket = made.body["bucket"]["name"].as_str().unwrap();
    assert_eq!(bucket, id.parse::<StorageId>().unwrap().k8s_name());
    let limit = async || {
        let (_, shown) = fixture.rgw("GET", "bucket", &[("bucket", bucket), ("stats", "true")]).await;
        shown["bucket_quota"]["max_size_kb"].as_i64().unwrap()
    };
    assert_eq!(limit().await, 2 * 1024 * 1024);

    let path = format!("/v1/storages/{id}");
    let credential = member.post(&format!("{path}/credentials"), Value::Null).await.expect(201);
    let s3 = s3(&credential.body);
    for n in 0..5 {
        put(&s3, bucket, &format!("pictures/{n}.png"), 100).await.unwrap();
    }
    s3.create_multipart_upload().bucket(bucket).key("never finished").send().await.unwrap();

    // a bucket that a tenant creates with its own key accepts no data
    let own = format!("own-{}", tenant.k8s_name());
    s3.create_bucket().bucket(&own).send().await.unwrap();
    assert_eq!(put(&s3, &own, "free", 1).await, Err("QuotaExceeded".to_owned()));

    let growing = member.patch(&path, "*", json!({ "size_gib": 3 })).await.expect(202);
    let grown = ended(&member, growing.str("operation_id")).await;
    assert_eq!(grown.str("state"), "succeeded");
    assert_eq!(limit().await, 3 * 1024 * 1024);

    // drift of the quota is repaired
    let careless = [
        ("quota", ""),
        ("uid", &tenant.k8s_name()),
        ("bucket", bucket),
        ("max-size-kb", "7"),
        ("enabled", "true"),
    ];
    assert_eq!(fixture.rgw("PUT", "bucket", &careless).await.0, 200);
    eventually("the quota is repaired", async || (limit().await == 3 * 1024 * 1024).then_some(())).await;

    remove(&member, id).await;
    assert_eq!(fixture.user_keys(tenant).await, None, "the user is removed with the last bucket");
    assert_eq!(fixture.buckets(tenant).await, Vec::<String>::new());
}

#[tokio::test]
async fn the_user_stays_while_it_has_a_bucket() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let first = make(&member, "one", "archive", 1).await;
    let second = make(&member, "two", "archive", 1).await;
    let credentials = |made: &Response| format!("/v1/storages/{}/credentials", made.str("id"));
    let of_first = member.post(&credentials(&first), Value::Null).await.expect(201);
    let of_second = member.post(&credentials(&second), Value::Null).await.expect(201);
    remove(&member, first.str("id")).await;
    let keys = fixture.user_keys(tenant).await.unwrap();
    assert!(
        !keys.contains(&of_first.str("access_key_id").to_owned()),
        "the keys of a deleted bucket are removed"
    );
    assert!(keys.contains(&of_second.str("access_key_id").to_owned()));
    put(&s3(&of_second.body), of_second.str("bucket"), "k", 1).await.unwrap();
    remove(&member, second.str("id")).await;
    assert_eq!(fixture.user_keys(tenant).await, None);
}

#[tokio::test]
async fn a_secret_is_sent_once() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let made = make(&member, "art", "archive", 1).await;
    let path = format!("/v1/storages/{}/credentials", made.str("id"));
    let once = member.key("my-key-1");
    let first = once.post(&path, Value::Null).await.expect(201);
    assert_eq!(first.str("secret_access_key").len(), 40);
    let again = once.post(&path, Value::Null).await.expect(201);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.str("access_key_id"), first.str("access_key_id"));
    assert_eq!(again.body["secret_access_key"], Value::Null, "{}", again.text);
    // the first key still works
    put(&s3(&first.body), first.str("bucket"), "k", 1).await.unwrap();

    let other = member.post(&path, Value::Null).await.expect(201);
    assert_ne!(other.str("access_key_id"), first.str("access_key_id"));
    let listed = member.get(&path).await.expect(200);
    assert_eq!(listed.body["items"].as_array().unwrap().len(), 2);
    assert!(!listed.text.contains("secret"), "{}", listed.text);
    let mut admin = fixture.db.admin().await;
    let stored: i64 = sqlx::query_scalar(
        "select count(*) from storage.idempotency_keys where body::text like '%' || $1 || '%'",
    )
    .bind(first.str("secret_access_key"))
    .fetch_one(&mut admin)
    .await
    .unwrap();
    assert_eq!(stored, 0, "the secret is not stored");

    let one = format!("{path}/{}", first.str("access_key_id"));
    let _ = member.delete(&one).await.expect(204);
    assert_eq!(
        put(&s3(&first.body), first.str("bucket"), "k", 1).await,
        Err("InvalidAccessKeyId".to_owned())
    );
    member.delete(&one).await.expect_problem(404, "not-found");
    put(&s3(&other.body), other.str("bucket"), "k", 1).await.unwrap();
    remove(&member, made.str("id")).await;
}

#[tokio::test]
async fn an_unavailable_object_store_is_reported_and_retried() {
    let mut fixture = Fixture::new().await;
    let real = fixture.objects.endpoint.clone();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    fixture.config.object_store.as_mut().unwrap().endpoint = format!("http://{free}");
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let body = json!({ "name": "art", "storage_spec": "archive", "size_gib": 1 });
    let ordered = member.post("/v1/storages", body).await.expect(202);
    let id = ordered.str("id");
    eventually("the reason is reported", async || {
        let seen = member.get(&format!("/v1/storages/{id}")).await;
        (seen.body["reason"] == "object_store_unavailable").then_some(())
    })
    .await;
    member
        .post(&format!("/v1/storages/{id}/credentials"), Value::Null)
        .await
        .expect_problem(409, "storage-not-available");
    service.stop().await;
    fixture.config.object_store.as_mut().unwrap().endpoint = real;
    let service = fixture.start().await;
    let member = fixture.member(&service, tenant);
    state(&member, id, "available").await;
    remove(&member, id).await;
}

#[tokio::test]
async fn a_full_bucket_is_emptied_page_by_page() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let made = make(&member, "art", "archive", 1).await;
    let path = format!("/v1/storages/{}/credentials", made.str("id"));
    let credential = member.post(&path, Value::Null).await.expect(201);
    let (s3, bucket) = (&s3(&credential.body), credential.str("bucket"));
    futures::stream::iter(0..1100)
        .for_each_concurrent(16, |n| async move {
            let end = if n % 2 == 0 { "" } else { "\u{1}" };
            put(s3, bucket, &format!("many/{n:05}{end}"), 10).await.unwrap();
        })
        .await;
    remove(&member, made.str("id")).await;
    assert!(fixture.buckets(tenant).await.is_empty());
}

#[tokio::test]
async fn keys_whose_creation_was_interrupted_are_removed() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let made = make(&member, "art", "archive", 1).await;
    let id: StorageId = made.str("id").parse().unwrap();
    let path = format!("/v1/storages/{id}/credentials");
    let kept = member.post(&path, Value::Null).await.expect(201);
    let half = format!("ATC{}", &TenantId::new().k8s_name()[20..]).to_uppercase();
    let unknown = format!("ATC{}", &TenantId::new().k8s_name()[19..]).to_uppercase();
    // one that is recorded but not active, one without a record
    let mut admin = fixture.db.admin().await;
    sqlx::query(
        "insert into storage.credentials (access_key_id, storage_id, tenant_id, state, created_at)
         values ($1, $2, $3, 'making', now() - interval '3 minutes')",
    )
    .bind(&half)
    .bind(id)
    .bind(tenant)
    .execute(&mut admin)
    .await
    .unwrap();
    for access in [&half, &unknown] {
        let uid = tenant.k8s_name();
        let query = [
            ("key", ""),
            ("uid", uid.as_str()),
            ("access-key", access),
            ("secret-key", "s"),
            ("generate-key", "false"),
        ];
        assert_eq!(fixture.rgw("PUT", "user", &query).await.0, 200);
    }
    eventually("both are removed", async || {
        let keys = fixture.user_keys(tenant).await.unwrap();
        (!keys.contains(&half) && !keys.contains(&unknown)).then_some(())
    })
    .await;
    let keys = fixture.user_keys(tenant).await.unwrap();
    assert!(keys.contains(&kept.str("access_key_id").to_owned()), "{keys:?}");
    eventually("the record is deleted", async || {
        let listed = member.get(&path).await.expect(200);
        (listed.body["items"].as_array().unwrap().len() == 1).then_some(())
    })
    .await;
    remove(&member, made.str("id")).await;
}

#[tokio::test]
async fn a_bucket_whose_policy_forbids_deletion_is_deleted() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let made = make(&member, "art", "archive", 1).await;
    let path = format!("/v1/storages/{}/credentials", made.str("id"));
    let credential = member.post(&path, Value::Null).await.expect(201);
    let (s3, bucket) = (s3(&credential.body), credential.str("bucket"));
    put(&s3, bucket, "kept", 10).await.unwrap();
    let policy = json!({ "Version": "2012-10-17", "Statement": [{
        "Effect": "Deny", "Principal": "*", "Action": ["s3:DeleteObject", "s3:DeleteBucketPolicy"],
        "Resource": [format!("arn:aws:s3:::{bucket}"), format!("arn:aws:s3:::{bucket}/*")],
    }] });
    match s3.put_bucket_policy().bucket(bucket).policy(policy.to_string()).send().await {
        // the embedded object store has no policies
        Err(error) if error.code() == Some("NotImplemented") => {}
        set => drop(set.unwrap()),
    }
    remove(&member, made.str("id")).await;
    assert_eq!(fixture.user_keys(tenant).await, None);
    assert!(fixture.buckets(tenant).await.is_empty());
}

/// A name with each byte of ASCII, and names that paths, queries, XML and lists treat in their own ways.
fn awkward_names() -> Vec<String> {
    let mut names: Vec<String> = (1..=0x7f).map(|byte: u8| char::from(byte).to_string()).collect();
    names.extend((1..=0x7f).map(|byte: u8| format!("in/{}/side", char::from(byte))));
    let others = [
        "..",
        "../..",
        "a/../b",
        "a/./b",
        "./a",
        "/",
        "//",
        "/a",
        "a/",
        "a//b",
        "%2F",
        "%",
        "%41",
        "%00",
        "a+b",
        "a b",
        " a",
        "a ",
        "  ",
        "a\r\nb",
        "?",
        "a?versionId=1&b",
        "#",
        "&amp;",
        "<a>",
        "&#1;",
        "\"'",
        "\\",
        "é",
        "e\u{301}",
        "😀",
        "👩\u{200d}🚀",
        "\u{fffe}",
        "\u{ffff}",
        "\u{feff}",
        "\u{85}",
        "\u{2028}",
        "\u{202e}",
        "\u{10ffff}",
        "_a",
        "_",
        "__a",
        "_multipart_a",
        "null",
    ];
    names.extend(others.map(str::to_owned));
    names.extend(["k".repeat(1024), "\u{1}".repeat(1024), "é".repeat(512), "../\u{2}".to_owned()]);
    names
}

#[tokio::test]
async fn a_bucket_is_deleted_whatever_its_objects_are_called() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let plain = make(&member, "plain", "archive", 1).await;
    let versioned = make(&member, "versioned", "archive", 1).await;
    for made in [&plain, &versioned] {
        let path = format!("/v1/storages/{}/credentials", made.str("id"));
        let credential = member.post(&path, Value::Null).await.expect(201);
        let (s3, bucket) = (&s3(&credential.body), credential.str("bucket"));
        if made.str("id") == versioned.str("id") {
            let enabled = aws_sdk_s3::types::VersioningConfiguration::builder()
                .status(aws_sdk_s3::types::BucketVersioningStatus::Enabled)
                .build();
            match s3.put_bucket_versioning().bucket(bucket).versioning_configuration(enabled).send().await {
                // the embedded object store has no versions
                Err(error) if error.code() == Some("NotImplemented") => {}
                set => drop(set.unwrap()),
            }
        }
        let names = awkward_names();
        futures::stream::iter(&names)
            .for_each_concurrent(16, async |name| {
                // the SDK refuses names of spaces
                if name.trim().is_empty() {
                    for (method, query) in [("PUT", ""), ("PUT", ""), ("POST", "?uploads=")] {
                        let status = fixture.s3(&credential.body, method, bucket, name, query).await;
                        assert_eq!(status, 200, "{name:?}");
                    }
                    return;
                }
                for size in [1, 2] {
                    assert_eq!(put(s3, bucket, name, size).await, Ok(()), "{name:?}");
                }
                let upload = s3.create_multipart_upload().bucket(bucket).key(name).send().await;
                // started even if the response contains characters that the SDK cannot read
                let started = |error: &SdkError<_>| {
                    error.raw_response().is_some_and(|raw| raw.status().as_u16() == 200)
                };
                assert!(upload.as_ref().err().is_none_or(started), "{name:?}: {upload:?}");
            })
            .await;
    }
    remove(&member, plain.str("id")).await;
    remove(&member, versioned.str("id")).await;
    assert!(fixture.buckets(tenant).await.is_empty());
    assert_eq!(fixture.user_keys(tenant).await, None);
}
