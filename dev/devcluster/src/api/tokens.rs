//! Bearer tokens: of the administrator, of the configuration, and of service accounts.

use http::{HeaderMap, header};
use jiff::{SignedDuration, Timestamp};
use objects::error::Failure;
use objects::rbac::User;
use objects::store::Inner;
use objects::time::seconds;
use serde_json::{Value, json};

use crate::hub::Hub;

/// The kind of issued tokens in the store. It is not served.
const ISSUED: &str = "!tokens";

fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |acc, (x, y)| acc | (x ^ y)) == 0
}

/// The user of a bearer token.
pub(crate) fn authenticate(hub: &Hub, headers: &HeaderMap) -> Result<User, Failure> {
    let token = headers
        .get(header::AUTHORIZATION)
        .and_then(|v| v.to_str().ok())
        .and_then(|v| v.strip_prefix("Bearer "))
        .ok_or_else(Failure::unauthorized)?;
    if same(token, &hub.admin_token) {
        return Ok(User::admin());
    }
    known(hub, token).ok_or_else(Failure::unauthorized)
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

/// Issues a token for a service account, and removes expired ones.
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
