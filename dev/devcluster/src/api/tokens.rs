//! Bearer tokens: the administrator's, static ones from the configuration, and those issued to service accounts.

use crate::error::Failure;
use crate::hub::{Hub, seconds};
use crate::rbac::User;
use crate::store::Inner;
use http::{HeaderMap, header};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// Issued tokens live in the store (journaled, never served) under a kind of their own.
const ISSUED: &str = "!tokens";

fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |acc, (x, y)| acc | (x ^ y)) == 0
}

/// Who the request is from. `Impersonate-User` is honoured for the administrator.
pub(crate) fn authenticate(hub: &Hub, headers: &HeaderMap) -> Result<User, Failure> {
    let token = headers
        .get(header::AUTHORIZATION)
        .and_then(|v| v.to_str().ok())
        .and_then(|v| v.strip_prefix("Bearer "))
        .ok_or_else(Failure::unauthorized)?;
    let user = if same(token, &hub.admin_token) { Some(User::admin()) } else { known(hub, token) };
    let user = user.ok_or_else(Failure::unauthorized)?;
    let Some(other) = headers.get("impersonate-user").and_then(|v| v.to_str().ok()) else { return Ok(user) };
    if user != User::admin() {
        return Err(Failure::forbidden(
            "",
            "users",
            other,
            &format!("User \"{}\" cannot impersonate", user.name),
        ));
    }
    let mut groups: Vec<String> = headers
        .get_all("impersonate-group")
        .iter()
        .filter_map(|v| v.to_str().ok().map(str::to_owned))
        .collect();
    if let Some((ns, name)) = other.strip_prefix("system:serviceaccount:").and_then(|s| s.split_once(':')) {
        return Ok(User::service_account(ns, name));
    }
    groups.push("system:authenticated".into());
    Ok(User { name: other.to_owned(), groups })
}

fn known(hub: &Hub, token: &str) -> Option<User> {
    for t in &hub.config.tokens {
        if same(&t.token, token) {
            let mut groups = t.groups.clone();
            groups.push("system:authenticated".into());
            return Some(User { name: t.user.clone(), groups });
        }
    }
    let tx = hub.store.lock();
    let issued = tx.get(ISSUED, "", token)?;
    let expires: Timestamp = issued.value["expires"].as_str()?.parse().ok()?;
    let (namespace, name) = (issued.value["namespace"].as_str()?, issued.value["account"].as_str()?);
    let account = tx.get("serviceaccounts", namespace, name)?;
    let alive = expires > Timestamp::now() && account.uid() == issued.value["uid"].as_str()?;
    alive.then(|| User::service_account(namespace, name))
}

/// Issues a token for a service account, and forgets expired ones.
pub(crate) fn issue(
    tx: &mut Inner,
    namespace: &str,
    name: &str,
    uid: &str,
    lifetime: i64,
) -> Result<Value, Failure> {
    let now = Timestamp::now();
    let expired: Vec<_> = tx
        .list(ISSUED, "")
        .filter(|t| {
            t.value["expires"].as_str().and_then(|e| e.parse::<Timestamp>().ok()).is_none_or(|e| e <= now)
        })
        .map(|t| t.key())
        .collect();
    for key in expired {
        tx.remove(ISSUED, &key);
    }
    let expires = now
        .checked_add(SignedDuration::from_secs(lifetime))
        .map_err(|_| Failure::bad_request("expirationSeconds is too large"))?;
    let token = secret();
    tx.put(
        ISSUED,
        json!({
            "metadata": { "name": token, "uid": uuid::Uuid::new_v4().to_string() },
            "namespace": namespace, "account": name, "uid": uid, "expires": expires.to_string(),
        }),
    );
    Ok(json!({ "token": token, "expirationTimestamp": seconds(expires) }))
}

/// 256 random bits as text.
pub(crate) fn secret() -> String {
    format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple())
}
