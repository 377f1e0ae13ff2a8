//! Admin Ops: the calls of Ceph RGW's administration API that Atelier makes, with RGW's status codes and response
//! bodies, including the odd ones. Everything else is `NotImplemented`.

use std::collections::HashMap;

use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, Method, StatusCode, Uri, header};
use http_body_util::BodyExt as _;
use rand::RngExt as _;
use s3s::route::S3Route;
use s3s::service::S3Service;
use s3s::{Body, S3Request, S3Response, S3Result, s3_error};
use serde_json::{Value, json};

use crate::error::Failure;
use crate::objects::Usage;
use crate::state::{ADMIN, Bucket, Key, Quota, User};
use crate::store::Store;

pub(crate) struct Route(pub(crate) std::sync::Arc<Store>);

/// An error response: the status and RGW's `Code`.
struct Refusal(StatusCode, String);

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Self {
        tracing::error!(%error, "cannot write state");
        Self(StatusCode::INTERNAL_SERVER_ERROR, "InternalError".into())
    }
}

impl From<s3s::S3Error> for Refusal {
    fn from(error: s3s::S3Error) -> Self {
        let status = error.status_code().unwrap_or(StatusCode::BAD_REQUEST);
        Self(status, error.code().as_str().to_owned())
    }
}

type Answer = Result<Option<Value>, Refusal>;

fn no_such_user() -> Refusal {
    Refusal(StatusCode::NOT_FOUND, "NoSuchUser".into())
}

fn invalid() -> Refusal {
    Refusal(StatusCode::BAD_REQUEST, "InvalidArgument".into())
}

fn is_admin(uri: &Uri) -> bool {
    uri.path() == "/admin" || uri.path().starts_with("/admin/")
}

#[async_trait::async_trait]
impl S3Route for Route {
    fn is_match(&self, _: &Method, uri: &Uri, _: &HeaderMap, _: &mut http::Extensions) -> bool {
        is_admin(uri)
    }

    async fn check_access(&self, req: &mut S3Request<Body>) -> S3Result<()> {
        let document = self.0.state.read();
        let user = req.credentials.as_ref().and_then(|c| document.by_key(&c.access_key));
        match user {
            Some((user, _)) if user.uid == ADMIN => Ok(()),
            _ => Err(s3_error!(AccessDenied)),
        }
    }

    async fn call(&self, req: S3Request<Body>) -> S3Result<S3Response<Body>> {
        let query = Query::of(&req.uri);
        let answer = match (req.method.as_str(), req.uri.path().trim_end_matches('/')) {
            ("PUT", "/admin/user") if query.has("key") => self.0.add_key(&query),
            ("DELETE", "/admin/user") if query.has("key") => self.0.remove_key(&query),
            ("PUT", "/admin/user") if query.has("quota") => self.0.user_quota(&query),
            (_, "/admin/user") if query.has_any(&["quota", "subuser", "caps"]) => unknown(),
            ("GET", "/admin/user") => self.0.show_user(&query),
            ("PUT", "/admin/user") => self.0.create_user(&query),
            ("POST", "/admin/user") => self.0.modify_user(&query),
            ("DELETE", "/admin/user") => self.0.remove_user(&query),
            ("PUT", "/admin/bucket") if query.has("quota") => self.0.bucket_quota(&query),
            (_, "/admin/bucket") if query.has_any(&["quota", "index", "object", "policy"]) => unknown(),
            ("GET", "/admin/metadata/user") => self.0.list_users(&query),
            ("GET", "/admin/bucket") => self.0.show_bucket(&query),
            ("DELETE", "/admin/bucket") => self.0.purge_bucket(&query),
            _ => unknown(),
        };
        let (status, body) = match answer {
            Ok(None) => return Ok(S3Response::new(Body::empty())),
            Ok(Some(body)) => (StatusCode::OK, body),
            Err(Refusal(status, code)) => (status, error_body(&code)),
        };
        let mut response = S3Response::with_status(Body::from(body.to_string()), status);
        let json = header::HeaderValue::from_static("application/json");
        response.headers.insert(header::CONTENT_TYPE, json);
        Ok(response)
    }
}

fn unknown() -> Answer {
    Err(Refusal(StatusCode::NOT_IMPLEMENTED, "NotImplemented".into()))
}

fn error_body(code: &str) -> Value {
    json!({ "Code": code, "Message": "", "RequestId": "", "HostId": "devs3" })
}

/// Calls the service. On an Admin Ops path, s3s's XML errors (a wrong signature) become JSON, as in RGW.
pub(crate) async fn answer(service: &S3Service, request: axum::extract::Request) -> Response {
    let admin = is_admin(request.uri());
    let response = match service.call(request.map(Body::http_body_unsync)).await {
        Ok(response) => response,
        Err(error) => {
            tracing::error!(?error, "request failed");
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        }
    };
    let (mut parts, body) = response.into_parts();
    let is_json = parts.headers.get(header::CONTENT_TYPE).is_some_and(|v| v == "application/json");
    if !admin || parts.status.is_success() || is_json {
        return Response::from_parts(parts, axum::body::Body::new(body));
    }
    let text = body.collect().await.map(http_body_util::Collected::to_bytes);
    let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
    let code = text
        .split_once("<Code>")
        .and_then(|(_, rest)| rest.split_once("</Code>"))
        .map_or("AccessDenied", |(code, _)| code);
    parts.headers.clear();
    (parts.status, axum::Json(error_body(code))).into_response()
}

struct Query(HashMap<String, String>);

impl Query {
    fn of(uri: &Uri) -> Self {
        let pairs = url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        Self(pairs.into_owned().collect())
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has(name))
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    fn needed(&self, name: &str) -> Result<&str, Refusal> {
        self.text(name).ok_or_else(invalid)
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, Refusal> {
        match self.text(name).map(str::to_lowercase).as_deref() {
            None => Ok(None),
            Some("1" | "true") => Ok(Some(true)),
            Some("0" | "false") => Ok(Some(false)),
            Some(_) => Err(invalid()),
        }
    }

    fn number(&self, name: &str) -> Result<Option<i64>, Refusal> {
        self.text(name).map(|text| text.parse().map_err(|_| invalid())).transpose()
    }
}

fn random(alphabet: &[u8], length: usize) -> String {
    let mut rng = rand::rng();
    (0..length).map(|_| char::from(alphabet[rng.random_range(0..alphabet.len())])).collect()
}

fn new_key(access: Option<&str>, secret: Option<&str>) -> Key {
    const UPPER: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const ANY: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    Key {
        access_key: access.map_or_else(|| random(UPPER, 20), str::to_owned),
        secret_key: secret.map_or_else(|| random(ANY, 40), str::to_owned),
    }
}

impl Store {
    fn create_user(&self, query: &Query) -> Answer {
        let uid = query.needed("uid")?.to_owned();
        let generate = query.flag("generate-key")?.unwrap_or(true);
        let access = query.text("access-key");
        let user = self.state.change(|document| {
            if document.users.contains_key(&uid) {
                let code = "UserAlreadyExists".to_owned();
                return Err(Refusal(StatusCode::CONFLICT, code));
            }
            let display_name = query.needed("display-name")?.to_owned();
            if access.is_some_and(|key| document.by_key(key).is_some()) {
                return Err(Refusal(StatusCode::CONFLICT, "KeyExists".into()));
            }
            let mut user = User {
                uid: uid.clone(),
                display_name,
                email: query.text("email").unwrap_or_default().to_owned(),
                suspended: query.flag("suspended")?.unwrap_or(false),
                max_buckets: query.number("max-buckets")?.unwrap_or(1000),
                keys: Vec::new(),
                user_quota: Quota::default(),
                bucket_quota: Quota::default(),
            };
            if generate || access.is_some() {
                user.keys.push(new_key(access, query.text("secret-key")));
            }
            document.users.insert(uid, user.clone());
            Ok(user)
        })?;
        Ok(Some(user_body(&user)))
    }

    /// Names in pages. RGW's marker is opaque; here it is the last name.
    fn list_users(&self, query: &Query) -> Answer {
        let limit = query.number("max-entries")?.and_then(|limit| usize::try_from(limit).ok());
        let document = self.state.read();
        let mut names: Vec<&String> = document.users.keys().collect();
        names.sort();
        let Some(limit) = limit else { return Ok(Some(json!(names))) };
        names.retain(|name| query.text("marker").is_none_or(|after| name.as_str() > after));
        let truncated = names.len() > limit;
        names.truncate(limit);
        let mut body = json!({ "keys": names, "truncated": truncated, "count": names.len() });
        if truncated {
            body["marker"] = json!(names.last());
        }
        Ok(Some(body))
    }

    fn show_user(&self, query: &Query) -> Answer {
        let uid = query.needed("uid")?;
        let document = self.state.read();
        let user = document.users.get(uid).ok_or_else(no_such_user)?;
        let mut body = user_body(user);
        if query.flag("stats")? == Some(true) {
            let mut total = Usage::default();
            for (name, _) in document.owned_by(uid) {
                total += self.objects.usage(name);
            }
            body["stats"] = usage_body(total);
        }
        Ok(Some(body))
    }

    fn modify_user(&self, query: &Query) -> Answer {
        let uid = query.needed("uid")?;
        if query.has_any(&["access-key", "secret-key", "generate-key", "op-mask", "key-type"]) {
            return unknown();
        }
        let user = self.state.change(|document| {
            let user = document.users.get_mut(uid).ok_or_else(no_such_user)?;
            if let Some(name) = query.text("display-name") {
                name.clone_into(&mut user.display_name);
            }
            if let Some(email) = query.text("email") {
                email.clone_into(&mut user.email);
            }
            if let Some(suspended) = query.flag("suspended")? {
                user.suspended = suspended;
            }
            if let Some(limit) = query.number("max-buckets")? {
                user.max_buckets = limit;
            }
            Ok::<_, Refusal>(user.clone())
        })?;
        Ok(Some(user_body(&user)))
    }

    fn remove_user(&self, query: &Query) -> Answer {
        let uid = query.needed("uid")?;
        let purge = query.flag("purge-data")?.unwrap_or(false);
        if uid == ADMIN {
            return Err(Refusal(StatusCode::FORBIDDEN, "AccessDenied".into()));
        }
        let owned: Vec<String> = {
            let document = self.state.read();
            document.users.get(uid).ok_or_else(no_such_user)?;
            document.owned_by(uid).map(|(name, _)| name.clone()).collect()
        };
        if !owned.is_empty() && !purge {
            // RGW's own code for this
            let code = "BucketAlreadyExists".to_owned();
            return Err(Refusal(StatusCode::CONFLICT, code));
        }
        for bucket in owned {
            self.delete_bucket(&bucket, true)?;
        }
        self.state.change(|document| {
            document.users.remove(uid);
            Ok::<_, Refusal>(())
        })?;
        Ok(None)
    }

    fn add_key(&self, query: &Query) -> Answer {
        if query.text("key-type").is_some_and(|kind| kind != "s3") || query.has("subuser") {
            return unknown();
        }
        let uid = query.needed("uid")?;
        let key = new_key(query.text("access-key"), query.text("secret-key"));
        let generate = query.flag("generate-key")?.unwrap_or(true);
        if !generate && query.text("secret-key").is_none() {
            return Err(invalid());
        }
        let user = self.state.change(|document| {
            if !document.users.contains_key(uid) {
                return Err(no_such_user());
            }
            match document.by_key(&key.access_key) {
                Some((other, _)) if other.uid != uid => {
                    return Err(Refusal(StatusCode::CONFLICT, "KeyExists".into()));
                }
                _ => {}
            }
            let user = document.users.get_mut(uid).ok_or_else(no_such_user)?;
            user.keys.retain(|k| k.access_key != key.access_key);
            user.keys.push(key);
            user.keys.sort_by(|a, b| a.access_key.cmp(&b.access_key));
            Ok(user.clone())
        })?;
        Ok(Some(keys_body(&user)))
    }

    fn remove_key(&self, query: &Query) -> Answer {
        let access = query.needed("access-key")?;
        let invalid_key = || Refusal(StatusCode::FORBIDDEN, "InvalidAccessKeyId".into());
        self.state.change(|document| {
            let uid = match (query.text("uid"), document.by_key(access)) {
                (Some(uid), _) if !document.users.contains_key(uid) => return Err(no_such_user()),
                (Some(uid), Some((user, _))) if user.uid != uid => return Err(invalid_key()),
                (_, Some((user, _))) => user.uid.clone(),
                (_, None) => return Err(invalid_key()),
            };
            if let Some(user) = document.users.get_mut(&uid) {
                user.keys.retain(|k| k.access_key != access);
            }
            Ok(())
        })?;
        Ok(None)
    }

    /// `max-size` is in bytes. Absent parameters keep their value.
    fn user_quota(&self, query: &Query) -> Answer {
        let uid = query.needed("uid")?;
        let kind = query.needed("quota-type")?;
        let kilobytes = query.number("max-size-kb")?.map(bytes_of);
        let size = query.number("max-size")?.or(kilobytes);
        self.state.change(|document| {
            let user = document.users.get_mut(uid).ok_or_else(no_such_user)?;
            let quota = match kind {
                "user" => &mut user.user_quota,
                "bucket" => &mut user.bucket_quota,
                _ => return Err(invalid()),
            };
            quota.max_size = size.unwrap_or(quota.max_size);
            quota.max_objects = query.number("max-objects")?.unwrap_or(quota.max_objects);
            quota.enabled = query.flag("enabled")?.unwrap_or(quota.enabled);
            Ok(())
        })?;
        Ok(None)
    }

    /// Like RGW, ignores `max-size` and uses `max-size-kb`; without it, a bucket that has no quota yet gets a quota
    /// of 0 bytes, which refuses every upload.
    fn bucket_quota(&self, query: &Query) -> Answer {
        let (uid, name) = (query.needed("uid")?, query.needed("bucket")?);
        let no_such_key = || Refusal(StatusCode::NOT_FOUND, "NoSuchKey".into());
        self.state.change(|document| {
            if !document.users.contains_key(uid) {
                return Err(no_such_key());
            }
            let bucket = document.buckets.get_mut(name).ok_or_else(no_such_key)?;
            if bucket.owner != uid {
                return Err(no_such_key());
            }
            let before = bucket.quota;
            let kept = if before.max_size < 0 { 0 } else { before.max_size };
            bucket.quota = Quota {
                max_size: query.number("max-size-kb")?.map_or(kept, bytes_of),
                max_objects: query.number("max-objects")?.unwrap_or(before.max_objects),
                enabled: query.flag("enabled")?.unwrap_or(before.enabled),
            };
            Ok(())
        })?;
        Ok(None)
    }

    fn show_bucket(&self, query: &Query) -> Answer {
        let document = self.state.read();
        if let Some(name) = query.text("bucket") {
            let found = document
                .buckets
                .get(name)
                .ok_or_else(|| Refusal(StatusCode::NOT_FOUND, "NoSuchBucket".into()))?;
            return Ok(Some(bucket_body(name, found, self.objects.usage(name))));
        }
        let with_stats = query.flag("stats")? == Some(true);
        let listed =
            document.buckets.iter().filter(|(_, b)| query.text("uid").is_none_or(|uid| b.owner == uid)).map(
                |(name, bucket)| {
                    if with_stats { bucket_body(name, bucket, self.objects.usage(name)) } else { json!(name) }
                },
            );
        Ok(Some(listed.collect()))
    }

    fn purge_bucket(&self, query: &Query) -> Answer {
        let purge = query.flag("purge-objects")?.unwrap_or(false);
        self.delete_bucket(query.needed("bucket")?, purge)?;
        Ok(None)
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        failure.0.into()
    }
}

fn bytes_of(kilobytes: i64) -> i64 {
    if kilobytes < 0 { -1 } else { kilobytes.saturating_mul(1024) }
}

fn keys_body(user: &User) -> Value {
    user.keys
        .iter()
        .map(|key| json!({ "user": user.uid, "access_key": key.access_key, "secret_key": key.secret_key }))
        .collect()
}

fn quota_body(quota: Quota) -> Value {
    json!({
        "enabled": quota.enabled,
        "check_on_raw": false,
        "max_size": quota.max_size,
        "max_size_kb": quota.max_size.max(0) / 1024,
        "max_objects": quota.max_objects,
    })
}

fn user_body(user: &User) -> Value {
    json!({
        "tenant": "",
        "user_id": user.uid,
        "display_name": user.display_name,
        "email": user.email,
        "suspended": i32::from(user.suspended),
        "max_buckets": user.max_buckets,
        "subusers": [],
        "keys": keys_body(user),
        "swift_keys": [],
        "caps": [],
        "op_mask": "read, write, delete",
        "default_placement": "",
        "default_storage_class": "",
        "placement_tags": [],
        "bucket_quota": quota_body(user.bucket_quota),
        "user_quota": quota_body(user.user_quota),
        "temp_url_keys": [],
        "type": "rgw",
        "mfa_ids": [],
    })
}

fn usage_body(usage: Usage) -> Value {
    json!({
        "size": usage.bytes,
        "size_actual": usage.rounded,
        "size_utilized": usage.bytes,
        "size_kb": usage.bytes.div_ceil(1024),
        "size_kb_actual": usage.rounded.div_ceil(1024),
        "size_kb_utilized": usage.bytes.div_ceil(1024),
        "num_objects": usage.objects,
    })
}

fn bucket_body(name: &str, bucket: &Bucket, usage: Usage) -> Value {
    let usage = if usage.objects == 0 { json!({}) } else { json!({ "rgw.main": usage_body(usage) }) };
    json!({
        "bucket": name,
        "tenant": "",
        "placement_rule": "default-placement",
        "id": bucket.id,
        "marker": bucket.id,
        "index_type": "Normal",
        "owner": bucket.owner,
        "mtime": bucket.created.to_string(),
        "creation_time": bucket.created.to_string(),
        "usage": usage,
        "bucket_quota": quota_body(bucket.quota),
    })
}
