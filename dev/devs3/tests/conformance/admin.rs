//! Admin Ops: users, keys, quotas, buckets and status codes.

use serde_json::{Value, json};

use crate::harness::{Store, code};

fn refused((status, body): (u16, Value)) -> (u16, String) {
    (status, body["Code"].as_str().unwrap_or_default().to_owned())
}

fn is(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

#[tokio::test]
async fn users_are_created_shown_changed_and_removed() {
    let store = Store::open().await;
    let user = store.user().await;
    let uid = user.uid.as_str();
    let again = [("uid", uid), ("display-name", "again")];
    assert_eq!(refused(store.admin("PUT", "user", &again).await), is(409, "UserAlreadyExists"));
    let nameless = [("uid", "t-nameless-nobody")];
    assert_eq!(refused(store.admin("PUT", "user", &nameless).await), is(400, "InvalidArgument"));
    let same_key =
        [("uid", "t-second"), ("display-name", "x"), ("access-key", &user.access), ("secret-key", "x")];
    assert_eq!(refused(store.admin("PUT", "user", &same_key).await), is(409, "KeyExists"));

    let (status, shown) = store.admin("GET", "user", &[("uid", uid), ("stats", "true")]).await;
    assert_eq!(status, 200);
    assert_eq!(shown["user_id"], uid);
    assert_eq!(shown["suspended"], 0);
    assert_eq!(shown["keys"], json!([{"user": uid, "access_key": user.access, "secret_key": user.secret}]));
    assert_eq!(shown["stats"]["num_objects"], 0);
    assert_eq!(shown["user_quota"]["max_size"], -1);

    let rename = [("uid", uid), ("display-name", "new name"), ("max-buckets", "7")];
    let (_, changed) = store.admin("POST", "user", &rename).await;
    assert_eq!((&changed["display_name"], &changed["max_buckets"]), (&json!("new name"), &json!(7)));

    assert_eq!(store.admin("DELETE", "user", &[("uid", uid)]).await.0, 200);
    for method in ["GET", "DELETE", "POST"] {
        assert_eq!(refused(store.admin(method, "user", &[("uid", uid)]).await), is(404, "NoSuchUser"));
    }
    assert_eq!(refused(store.admin("GET", "user", &[]).await), is(400, "InvalidArgument"));
}

#[tokio::test]
async fn a_suspended_user_is_refused_at_once() {
    let store = Store::open().await;
    let user = store.user().await;
    let bucket = user.bucket().await;
    store.admin("POST", "user", &[("uid", &user.uid), ("suspended", "1")]).await;
    let refused = user.s3.list_objects_v2().bucket(&bucket).send().await.unwrap_err();
    assert_eq!(code(&refused), "UserSuspended");
    assert_eq!(user.put(&bucket, "k", "v").await, "UserSuspended");
    store.admin("POST", "user", &[("uid", &user.uid), ("suspended", "0")]).await;
    assert_eq!(user.put(&bucket, "k", "v").await, "ok");
    store.forget(&user).await;
}

#[tokio::test]
async fn keys_are_added_replaced_and_removed() {
    let store = Store::open().await;
    let user = store.user().await;
    let bucket = user.bucket().await;
    let uid = user.uid.as_str();
    let (status, keys) =
        store.admin("PUT", "user", &[("key", ""), ("uid", uid), ("generate-key", "true")]).await;
    assert_eq!((status, keys.as_array().unwrap().len()), (200, 2), "{keys}");

    // a given key pair; the same access key again replaces the secret
    let mine = uuid::Uuid::new_v4().simple().to_string().to_uppercase()[..20].to_owned();
    for secret in ["first-secret", "second-secret"] {
        let query = [
            ("key", ""),
            ("uid", uid),
            ("access-key", &mine),
            ("secret-key", secret),
            ("generate-key", "false"),
        ];
        let (status, keys) = store.admin("PUT", "user", &query).await;
        assert_eq!((status, keys.as_array().unwrap().len()), (200, 3), "{keys}");
        let s3 = store.s3(&mine, secret);
        s3.head_bucket().bucket(&bucket).send().await.unwrap();
    }
    let old = store.s3(&mine, "first-secret").list_buckets().send().await.unwrap_err();
    assert_eq!(code(&old), "SignatureDoesNotMatch");

    assert_eq!(
        store.admin("DELETE", "user", &[("key", ""), ("uid", uid), ("access-key", &mine)]).await.0,
        200
    );
    let gone = store.s3(&mine, "second-secret").list_buckets().send().await.unwrap_err();
    assert_eq!(code(&gone), "InvalidAccessKeyId");
    let again = store.admin("DELETE", "user", &[("key", ""), ("uid", uid), ("access-key", &mine)]).await;
    assert_eq!(refused(again), is(403, "InvalidAccessKeyId"));
    let nobody = [("key", ""), ("uid", "t-nobody"), ("generate-key", "true")];
    assert_eq!(refused(store.admin("PUT", "user", &nobody).await), is(404, "NoSuchUser"));
    store.forget(&user).await;
}

#[tokio::test]
async fn buckets_are_shown_and_purged() {
    let store = Store::open().await;
    let user = store.user().await;
    let bucket = user.bucket().await;
    assert_eq!(user.put(&bucket, "some/object", "hello").await, "ok");
    let (status, shown) = store.admin("GET", "bucket", &[("bucket", &bucket), ("stats", "true")]).await;
    assert_eq!(status, 200);
    assert_eq!(shown["owner"], user.uid.as_str());
    assert_eq!(shown["usage"]["rgw.main"]["size"], 5);
    assert_eq!(shown["usage"]["rgw.main"]["size_actual"], 4096);
    assert_eq!(shown["usage"]["rgw.main"]["num_objects"], 1);
    let (_, listed) = store.admin("GET", "bucket", &[("uid", &user.uid)]).await;
    assert_eq!(listed, json!([bucket]));
    let (_, stats) = store.admin("GET", "bucket", &[("uid", &user.uid), ("stats", "true")]).await;
    assert_eq!(stats[0]["bucket"], bucket.as_str());

    let owner = store.admin("DELETE", "user", &[("uid", &user.uid)]).await;
    assert_eq!(refused(owner), is(409, "BucketAlreadyExists"), "odd, but so");
    let full = store.admin("DELETE", "bucket", &[("bucket", &bucket)]).await;
    assert_eq!(refused(full), is(409, "BucketNotEmpty"));
    let purge = [("bucket", bucket.as_str()), ("purge-objects", "true")];
    assert_eq!(store.admin("DELETE", "bucket", &purge).await.0, 200);
    assert_eq!(refused(store.admin("DELETE", "bucket", &purge).await), is(404, "NoSuchBucket"));
    assert_eq!(refused(store.admin("GET", "bucket", &purge[..1]).await), is(404, "NoSuchBucket"));

    let second = user.bucket().await;
    user.put(&second, "k", "v").await;
    store.forget(&user).await;
    assert_eq!(refused(store.admin("GET", "bucket", &[("bucket", &second)]).await), is(404, "NoSuchBucket"));
}

#[tokio::test]
async fn a_bucket_quota_is_enforced() {
    let store = Store::open().await;
    let user = store.user().await;
    let bucket = user.bucket().await;
    let quota = |kb: &'static str| {
        let query = [
            ("quota", ""),
            ("uid", &user.uid),
            ("bucket", &bucket),
            ("max-size-kb", kb),
            ("max-objects", "-1"),
            ("enabled", "true"),
        ];
        query.map(|(k, v)| (k, v.to_owned()))
    };
    let set = async |kb: &'static str| {
        let query = quota(kb);
        let query: Vec<_> = query.iter().map(|(k, v)| (*k, v.as_str())).collect();
        store.admin("PUT", "bucket", &query).await.0
    };
    assert_eq!(set("16").await, 200);
    let (_, shown) = store.admin("GET", "bucket", &[("bucket", &bucket)]).await;
    assert_eq!(shown["bucket_quota"]["enabled"], true);
    assert_eq!(shown["bucket_quota"]["max_size"], 16384);
    assert_eq!(shown["bucket_quota"]["max_size_kb"], 16);
    // each object counts in whole blocks of 4 KiB
    for n in 0..4 {
        assert_eq!(user.put(&bucket, &format!("k{n}"), "x").await, "ok");
    }
    assert_eq!(user.put(&bucket, "k4", "x").await, "QuotaExceeded");
    assert_eq!(set("20").await, 200);
    assert_eq!(user.put(&bucket, "k4", "x").await, "ok");
    assert_eq!(user.put(&bucket, "k5", "x").await, "QuotaExceeded");
    assert_eq!(set("-1").await, 200);
    assert_eq!(user.put(&bucket, "k5", vec![0; 100_000]).await, "ok");

    // without a size it becomes 0, which refuses every upload
    let fresh = user.bucket().await;
    let careless = [("quota", ""), ("uid", &user.uid), ("bucket", &fresh), ("enabled", "true")];
    assert_eq!(store.admin("PUT", "bucket", &careless).await.0, 200);
    assert_eq!(user.put(&fresh, "k", "x").await, "QuotaExceeded");

    let missing = [("quota", ""), ("uid", &user.uid), ("bucket", "nope"), ("max-size-kb", "1")];
    assert_eq!(refused(store.admin("PUT", "bucket", &missing).await), is(404, "NoSuchKey"));
    let ownerless = [("quota", ""), ("bucket", bucket.as_str()), ("max-size-kb", "1")];
    assert_eq!(refused(store.admin("PUT", "bucket", &ownerless).await), is(400, "InvalidArgument"));
    store.forget(&user).await;
}

#[tokio::test]
async fn a_user_quota_is_enforced() {
    let store = Store::open().await;
    let user = store.user().await;
    let bucket = user.bucket().await;
    let quota = [
        ("quota", ""),
        ("quota-type", "user"),
        ("uid", &user.uid),
        ("max-size", "8192"),
        ("max-objects", "-1"),
        ("enabled", "true"),
    ];
    assert_eq!(store.admin("PUT", "user", &quota).await, (200, Value::Null));
    let (_, shown) = store.admin("GET", "user", &[("uid", &user.uid)]).await;
    assert_eq!(
        (&shown["user_quota"]["max_size"], &shown["user_quota"]["enabled"]),
        (&json!(8192), &json!(true))
    );
    assert_eq!(user.put(&bucket, "a", "x").await, "ok");
    assert_eq!(user.put(&bucket, "big", vec![0; 9000]).await, "QuotaExceeded");
    let typeless = [("quota", ""), ("uid", user.uid.as_str()), ("max-size", "1")];
    assert_eq!(refused(store.admin("PUT", "user", &typeless).await), is(400, "InvalidArgument"));
    store.forget(&user).await;
}

#[tokio::test]
async fn only_the_administrator_may_call_admin_ops() {
    let store = Store::open().await;
    let user = store.user().await;
    let query = [("uid", user.uid.as_str())];
    let plain = store.signed("GET", "user", &query, &user.access, &user.secret).await;
    assert_eq!(refused(plain), is(403, "AccessDenied"));
    let unknown = store.signed("GET", "user", &query, "NOSUCHKEY", "x").await;
    assert_eq!(refused(unknown), is(403, "InvalidAccessKeyId"));
    let forged = store.signed("GET", "user", &query, &user.access, "wrong").await;
    assert_eq!(refused(forged), is(403, "SignatureDoesNotMatch"));
    store.forget(&user).await;
}
