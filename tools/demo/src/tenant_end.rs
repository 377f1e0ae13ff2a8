//! A tenant that is deleted with all that it owns.

use anyhow::{Context, ensure};
use machine::{
    access::SignIn,
    client::{Api, text},
};
use reqwest::Method;
use serde_json::{Value, json};

use super::{browser::Browser, instance, storage};

/// Names of the tenants that this step creates begin with it.
const NAME: &str = "demo-guest";

/// A tenant with a running instance, a volume and a bucket with a key.
pub(super) struct Guest {
    tenant: String,
    api: Api,
    browser: Browser,
    key: Key,
}

/// An access key of a bucket.
struct Key {
    id: String,
    bucket_url: String,
}

impl Key {
    /// The object store's answer to a request with a wrong signature of this key. It shows whether the key
    /// exists.
    #[expect(clippy::disallowed_methods, reason = "the object store compares it with its own clock")]
    async fn refusal(&self) -> anyhow::Result<String> {
        let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let (id, day, wrong) = (&self.id, &now[..8], "0".repeat(64));
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={id}/{day}/default/s3/aws4_request, \
             SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature={wrong}"
        );
        let request = machine::http::client()?
            .get(&self.bucket_url)
            .header("authorization", authorization)
            .header("x-amz-content-sha256", "UNSIGNED-PAYLOAD")
            .header("x-amz-date", &now);
        let answer = request.send().await?;
        ensure!(answer.status() == 403, "the object store answers {}", answer.status());
        Ok(answer.text().await?)
    }
}

/// Deletes the objects of an interrupted demo.
pub(super) async fn delete_leftovers(admin: &Api) -> anyhow::Result<()> {
    for tenant in admin.list(&format!("/v1/tenants?name_prefix={NAME}")).await? {
        if tenant["state"] != "deleting" {
            let path = format!("/v1/tenants/{}", text(&tenant, "id")?);
            admin.patch(&path, json!({ "state": "suspended" })).await?;
        }
        delete(admin, text(&tenant, "id")?).await?;
    }
    Ok(())
}

/// Creates the tenant and its owner, who starts an instance of the specification and opens it.
pub(super) async fn create(
    admin: &Api,
    visitor: &Api,
    spec: &str,
    datacenter: &str,
) -> anyhow::Result<Guest> {
    let sign_in =
        SignIn { email: "guest@demo.example".into(), password: "a guest's own long password".into() };
    let user = match admin.list("/v1/users?email_prefix=guest@demo.example").await?.into_iter().next() {
        Some(user) => user,
        None => {
            let body =
                json!({ "email": sign_in.email, "password": sign_in.password, "display_name": "Guest" });
            admin.post("/v1/users", body, 201).await?
        }
    };
    let tenant = admin.post("/v1/tenants", json!({ "name": NAME }), 201).await?;
    let tenant = text(&tenant, "id")?.to_owned();
    let member = json!({ "user_id": user["id"], "role": "owner" });
    admin.post(&format!("/v1/tenants/{tenant}/members"), member, 201).await?;
    let api = visitor.sign_in(&sign_in).await?;
    let volume = storage::create(&api, datacenter).await?;
    let key = bucket_with_key(&api).await?;
    let refusal = key.refusal().await?;
    ensure!(refusal.contains("SignatureDoesNotMatch"), "the key does not exist: {refusal}");
    let (id, operation) = instance::create(&api, spec, &volume).await?;
    instance::expect_running(&api, &id, &operation).await?;
    let browser = instance::open(&api, &id).await?;
    Ok(Guest { tenant, api, browser, key })
}

/// Creates a bucket and an access key.
async fn bucket_with_key(api: &Api) -> anyhow::Result<Key> {
    let specs = api.list("/v1/storage-specs").await?;
    let spec = specs.iter().find(|spec| spec["kind"] == "bucket").context("no specification of buckets")?;
    let body = json!({ "name": "demo-pictures", "storage_spec": spec["name"], "size_gib": 1 });
    let bucket = api.post("/v1/storages", body, 202).await?;
    api.follow("storage-operations", &bucket["operation_id"]).await?;
    let key = api.act(&format!("/v1/storages/{}/credentials", text(&bucket, "id")?), 201).await?;
    let bucket_url = format!("{}/{}", text(&key, "endpoint")?, text(&key, "bucket")?);
    Ok(Key { id: text(&key, "access_key_id")?.to_owned(), bucket_url })
}

/// Suspends the tenant, and deletes it at once.
pub(super) async fn suspend_and_delete(admin: &Api, guest: &Guest) -> anyhow::Result<()> {
    let path = format!("/v1/tenants/{}", guest.tenant);
    admin.patch(&path, json!({ "state": "suspended", "stop_instances": false })).await?;
    delete(admin, &guest.tenant).await
}

async fn delete(admin: &Api, tenant: &str) -> anyhow::Result<()> {
    let operation = admin.delete(&format!("/v1/tenants/{tenant}?storage_grace_hours=0"), 202).await?;
    admin.follow("tenant-operations", &operation["id"]).await.map(drop)
}

/// Fails if anything of the tenant is left.
pub(super) async fn expect_nothing_left(admin: &Api, guest: &Guest) -> anyhow::Result<()> {
    let tenant = &guest.tenant;
    admin.expect_missing(&format!("/v1/tenants/{tenant}")).await?;
    for list in ["platform-instances", "platform-storages"] {
        let left: Vec<Value> = admin.list(&format!("/v1/{list}?tenant_id={tenant}")).await?;
        ensure!(left.is_empty(), "{list} of the tenant are left: {left:?}");
    }
    let answer = guest.api.send(Method::GET, "/v1/instances", None, None).await?;
    ensure!(answer.status == 401, "the token is still accepted: {}", answer.text);
    let (status, page) = guest.browser.get("/").await?;
    ensure!(status == 401, "the cookie still opens the instance ({status}): {page}");
    let refusal = guest.key.refusal().await?;
    ensure!(refusal.contains("InvalidAccessKeyId"), "the key still exists: {refusal}");
    Ok(())
}
