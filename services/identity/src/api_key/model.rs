//! API keys as clients see them, and the rules for creating them.

use api::Checks;
use auth::{Principal, Scope};
use ids::{ApiKeyId, TenantId, UserId};
use jiff::{SignedDuration, Timestamp};
use people::field::InvalidField;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Error;

/// Maximum number of keys of one user, in all tenants.
pub(super) const MAX_KEYS: i64 = 50;
/// Minimum lifetime of a key: the task checks for expiring keys more often than that.
const SHORTEST_LIFE: SignedDuration = SignedDuration::from_secs(60);
/// Longest life of an access token that a key is exchanged for, in seconds.
const TOKEN_SECONDS: i64 = 300;

/// An API key.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct ApiKey {
    /// Id of the key.
    pub(super) id: ApiKeyId,
    /// Name of the key.
    pub(super) name: String,
    /// The user for whom the key acts.
    pub(super) user_id: UserId,
    /// The tenant for which the key acts; null for an administrator's key for no tenant.
    pub(super) tenant_id: Option<TenantId>,
    /// The API key that created this one, which ends with it; null if a person created it.
    pub(super) created_by_key: Option<ApiKeyId>,
    /// What the key may be used for.
    pub(super) scopes: Vec<Scope>,
    /// Maximum number of requests per second, in addition to the limits of the user and of the API keys that created
    /// this one; null for no such limit.
    pub(super) requests_per_second: Option<u32>,
    /// The first characters of the key.
    pub(super) hint: String,
    /// The key, to be sent as `Authorization: Bearer …`. Only in the first response to the creation; null otherwise.
    pub(super) secret: Option<String>,
    /// When the key was created.
    pub(super) created_at: Timestamp,
    /// When the key expires, or null.
    pub(super) expires_at: Option<Timestamp>,
    /// When the key was last used, to the minute, or null.
    pub(super) last_used_at: Option<Timestamp>,
    /// Address of the client that last used the key, or null.
    pub(super) last_used_from: Option<String>,
}

/// An API key to create.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewApiKey {
    /// Name of the key: 1 to 100 characters.
    #[serde(deserialize_with = "api::text::nfc")]
    pub(super) name: String,
    /// What the key may be used for: at least one scope. `…:write` includes `…:read`.
    pub(super) scopes: Vec<Scope>,
    /// When the key expires: at least a minute from now (default: never, or with the API key that creates it).
    #[serde(default)]
    pub(super) expires_at: Option<Timestamp>,
    /// Maximum number of requests per second: 1 to 10,000 (default: only the limits of the user, or of the API key that
    /// creates it).
    #[serde(default)]
    pub(super) requests_per_second: Option<u32>,
}

impl NewApiKey {
    /// # Errors
    /// 422 with the fields that are not valid.
    pub(super) fn check(&self, now: Timestamp) -> Result<(), api::Problem> {
        let mut checks = Checks::default();
        checks.display_name("/name", &self.name, 100);
        checks.require(!self.scopes.is_empty(), "/scopes", "must have at least one entry");
        if let Some(rate) = self.requests_per_second {
            checks.within("/requests_per_second", rate, 1, 10_000);
        }
        if let Some(at) = self.expires_at {
            let far_enough = at.duration_since(now) >= SHORTEST_LIFE;
            checks.require(far_enough, "/expires_at", "must be at least a minute from now");
        }
        Ok(checks.finish()?)
    }

    /// Checks that the key has no more rights than its creator.
    ///
    /// # Errors
    /// Names the scope that the creator lacks.
    pub(super) fn check_granted_by(&self, creator: &Principal) -> Result<(), Error> {
        let of_administrators = |scope: &Scope| matches!(scope, Scope::PlatformRead | Scope::PlatformWrite);
        if let Some(own) = creator.scopes
            && let Some(missing) = self.scopes.iter().find(|scope| !own.allow(**scope))
        {
            return Err(Error::ScopeMissing(*missing));
        }
        if !creator.admin && self.scopes.iter().any(of_administrators) {
            return Err(
                InvalidField::new("/scopes", "platform scopes are for platform administrators").into()
            );
        }
        Ok(())
    }

    /// Returns the key, with the limits of the creating key where it has none of its own.
    ///
    /// # Errors
    /// If it would last longer, or could do more in a second.
    pub(super) fn within(&self, creator: &ApiKey, now: Timestamp) -> Result<Self, InvalidField> {
        let expires_at = match (self.expires_at, creator.expires_at) {
            (Some(own), Some(end)) if own > end => {
                let detail = format!("must not be after {end}, when the API key that creates it expires");
                return Err(InvalidField::new("/expires_at", detail));
            }
            (own, end) => own.or(end),
        };
        if expires_at.is_some_and(|at| at.duration_since(now) < SHORTEST_LIFE) {
            let detail = "the API key that creates it expires in less than a minute";
            return Err(InvalidField::new("/expires_at", detail));
        }
        let requests_per_second = match (self.requests_per_second, creator.requests_per_second) {
            (Some(own), Some(most)) if own > most => {
                let detail = format!("must be at most {most}, as for the API key that creates it");
                return Err(InvalidField::new("/requests_per_second", detail));
            }
            (own, most) => own.or(most),
        };
        Ok(Self { expires_at, requests_per_second, ..self.clone() })
    }
}

/// Lifetime in seconds of a token for which a key is exchanged; none if the key has expired.
pub(super) fn token_seconds(expires_at: Option<Timestamp>, now: Timestamp) -> Option<i64> {
    let left = expires_at.map_or(TOKEN_SECONDS, |at| at.as_second() - now.as_second());
    (left > 0).then(|| left.min(TOKEN_SECONDS))
}

#[cfg(test)]
mod tests {
    use auth::Scopes;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + seconds).unwrap()
    }

    fn new(scopes: &str) -> NewApiKey {
        NewApiKey {
            name: "ci".to_owned(),
            scopes: Scopes::from(scopes).iter().collect(),
            expires_at: None,
            requests_per_second: None,
        }
    }

    fn creator(scopes: Option<&str>, admin: bool) -> Principal {
        Principal {
            user: UserId::new(),
            tenant: None,
            admin,
            session: None,
            scopes: scopes.map(Scopes::from),
            api_key: None,
            limited: false,
            issued_at: at(0),
            expires_at: at(600),
        }
    }

    #[test]
    fn a_key_has_the_limits_of_the_one_that_creates_it() {
        let key = |expires_at, requests_per_second| ApiKey {
            id: ApiKeyId::new(),
            name: "ci".to_owned(),
            user_id: UserId::new(),
            tenant_id: None,
            created_by_key: None,
            scopes: Vec::new(),
            requests_per_second,
            hint: String::new(),
            secret: None,
            created_at: at(0),
            expires_at,
            last_used_at: None,
            last_used_from: None,
        };
        let made = |own: (Option<i64>, Option<u32>), of: (Option<i64>, Option<u32>)| {
            let (expires_at, requests_per_second) = (own.0.map(at), own.1);
            let new = NewApiKey { expires_at, requests_per_second, ..new("usage:read") };
            let made = new.within(&key(of.0.map(at), of.1), at(0)).ok()?;
            Some((made.expires_at.map(|end| end.as_second() - at(0).as_second()), made.requests_per_second))
        };
        for (own, of, expected) in [
            ((None, None), (None, None), Some((None, None))),
            ((Some(100), Some(5)), (None, None), Some((Some(100), Some(5)))),
            ((None, None), (Some(100), Some(5)), Some((Some(100), Some(5)))),
            ((Some(99), Some(4)), (Some(100), Some(5)), Some((Some(99), Some(4)))),
            ((Some(101), None), (Some(100), None), None),
            ((None, Some(6)), (None, Some(5)), None),
            ((None, None), (Some(59), None), None),
        ] {
            assert_eq!(made(own, of), expected, "{own:?} of {of:?}");
        }
    }

    #[test]
    fn fields_are_checked() {
        let good = new("usage:read");
        assert!(good.check(at(0)).is_ok());
        assert!(NewApiKey { expires_at: Some(at(60)), ..good.clone() }.check(at(0)).is_ok());
        for (bad, pointer) in [
            (NewApiKey { name: String::new(), ..good.clone() }, "/name"),
            (NewApiKey { scopes: Vec::new(), ..good.clone() }, "/scopes"),
            (NewApiKey { requests_per_second: Some(0), ..good.clone() }, "/requests_per_second"),
            (NewApiKey { requests_per_second: Some(10_001), ..good.clone() }, "/requests_per_second"),
            (NewApiKey { expires_at: Some(at(59)), ..good }, "/expires_at"),
        ] {
            assert_eq!(bad.check(at(0)).unwrap_err().errors[0].pointer, pointer);
        }
    }

    #[test]
    fn a_key_can_do_no_more_than_its_creator() {
        for (creator, scopes, allowed) in [
            (creator(None, false), "instances:write members:write", true),
            (creator(None, false), "platform:read", false),
            (creator(None, true), "platform:write", true),
            (creator(Some("api-keys:write instances:write"), false), "instances:read catalogue:read", true),
            (creator(Some("api-keys:write instances:read"), false), "instances:write", false),
            (creator(Some("api-keys:write"), true), "platform:read", false),
        ] {
            assert_eq!(new(scopes).check_granted_by(&creator).is_ok(), allowed, "{scopes} by {creator:?}");
        }
    }

    #[test]
    fn a_token_does_not_outlive_its_key() {
        for (expires_at, left) in
            [(None, Some(300)), (Some(at(301)), Some(300)), (Some(at(2)), Some(2)), (Some(at(0)), None)]
        {
            assert_eq!(token_seconds(expires_at, at(0)), left);
        }
    }
}
