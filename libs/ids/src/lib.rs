//! A typed id for each kind of resource.
//!
//! An id is a UUIDv7 (so ids sort by creation time). In Postgres it is a `uuid` (with the feature `sqlx`); on the wire it is
//! `<prefix>_<32 hex digits>`, for example `inst_01939f0a7c3d7e6b8a1f4f0d5c2b1a00`; as the name of a
//! Kubernetes object, where `_` is not allowed, it is `<prefix>-<32 hex digits>`. Only this
//! crate and the SQL that binds ids use a bare `Uuid`. Nothing else may enter: nearly all crates stand on this one.

use std::{fmt, str::FromStr};

use uuid::Uuid;

/// The text is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a valid id: expected `{expected}_` followed by 32 hex digits")]
pub struct InvalidId {
    /// The expected prefix.
    pub expected: &'static str,
}

fn parse(text: &str, prefix: &'static str, separator: char) -> Result<Uuid, InvalidId> {
    let invalid = InvalidId { expected: prefix };
    let hex = text
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_prefix(separator))
        .ok_or_else(|| invalid.clone())?;
    let canonical = hex.len() == 32 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if !canonical {
        return Err(invalid);
    }
    Uuid::try_parse(hex).map_err(|_| invalid)
}

/// Returns a UUIDv8 (RFC 9562: custom layout) made from a hash of `words`.
fn derive(words: &[&str]) -> Uuid {
    use sha2::{Digest, Sha256};
    let mut hasher = Sha256::new();
    for word in words {
        hasher.update((word.len() as u64).to_be_bytes());
        hasher.update(word);
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

/// Returns a UUIDv7 of a time since 1970: a counter of 12 bits (RFC 9562, 6.2), then bits of a hash of `words`.
fn derive_at(time: std::time::Duration, counter: u64, words: &[&str]) -> Uuid {
    let mut random = [0; 10];
    random.copy_from_slice(&derive(words).as_bytes()[..10]);
    let [.., high, low] = (counter & 0xfff).to_be_bytes();
    (random[0], random[1]) = (high, low);
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
}

macro_rules! ids {
    ($(#[doc = $doc:literal] $name:ident = $prefix:literal;)*) => {$(
        #[doc = $doc]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
        pub struct $name(Uuid);

        impl $name {
            /// The prefix on the wire, without the `_`.
            pub const PREFIX: &'static str = $prefix;

            /// Returns a new id. It sorts after those that this process made before.
            #[must_use]
            #[expect(clippy::new_without_default, reason = "an id is never a default value")]
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }

            /// Returns the id derived from `words`, always the same, for objects that another system names.
            #[must_use]
            pub fn derived(words: &[&str]) -> Self {
                Self(derive(words))
            }

            /// Returns the id derived from a time since 1970, a counter and `words`, always the same. It sorts by the time
            /// in milliseconds, then by the counter's last 12 bits.
            #[must_use]
            pub fn derived_at(time: std::time::Duration, counter: u64, words: &[&str]) -> Self {
                Self(derive_at(time, counter, words))
            }

            /// Returns the id with this stored UUID.
            #[must_use]
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// Returns the UUID, as stored in Postgres.
            #[must_use]
            pub const fn uuid(self) -> Uuid {
                self.0
            }

            /// Returns when the id was made, as the time since 1970. None for a derived one.
            #[must_use]
            pub fn made_at(self) -> Option<std::time::Duration> {
                let (seconds, nanoseconds) = self.0.get_timestamp()?.to_unix();
                Some(std::time::Duration::new(seconds, nanoseconds))
            }

            /// Returns the id as the name of a Kubernetes object.
            #[must_use]
            pub fn k8s_name(self) -> String {
                format!(concat!($prefix, "-{}"), self.0.simple())
            }

            /// Parses the name of a Kubernetes object.
            ///
            /// # Errors
            /// If the name does not have the form that [`Self::k8s_name`] returns.
            pub fn from_k8s_name(name: &str) -> Result<Self, InvalidId> {
                parse(name, $prefix, '-').map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "_{}"), self.0.simple())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                parse(text, $prefix, '_').map(Self)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .description(Some($doc.trim()))
                    .pattern(Some(concat!("^", $prefix, "_[0-9a-f]{32}$")))
                    .examples([concat!($prefix, "_01939f0a7c3d7e6b8a1f4f0d5c2b1a00")])
                    .into()
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
        }
    )*

        #[cfg(test)]
        mod tests {
            use super::*;

            #[test]
            fn an_id_parses_from_both_forms() {
                $(
                    let id = $name::new();
                    assert_eq!(id.to_string().parse(), Ok(id));
                    assert_eq!($name::from_k8s_name(&id.k8s_name()), Ok(id));
                    assert!(id.k8s_name().len() <= 63, "a DNS label");
                )*
            }

            #[test]
            fn invalid_ids_are_refused() {
                let good = InstanceId::new().to_string();
                for bad in ["", "inst_", "inst", "inst_01939F0A7C3D7E6B8A1F4F0D5C2B1A00",
                            &good.replace("inst", "unit"), &good[..good.len() - 1], &format!("{good}0"),
                            "inst_01939f0a-7c3d-7e6b-8a1f-4f0d5c2b1a00"] {
                    assert!(bad.parse::<InstanceId>().is_err(), "{bad:?} was accepted");
                }
            }

            #[test]
            fn a_derived_id_is_stable_and_valid() {
                let id = UserId::derived(&["https://issuer", "alice"]);
                assert_eq!(id, UserId::derived(&["https://issuer", "alice"]));
                assert_ne!(id, UserId::derived(&["https://issuera", "lice"]));
                assert_eq!(id.to_string().parse(), Ok(id));
            }

            #[test]
            fn an_id_derived_at_a_time_is_stable_and_sorts_by_it() {
                let second = std::time::Duration::from_secs(1_700_000_000);
                let at = |time, counter, word| RunId::derived_at(time, counter, &[word]);
                assert_eq!(at(second, 1, "a"), at(second, 1, "a"));
                assert_ne!(at(second, 1, "a"), at(second, 1, "b"));
                let later = second + std::time::Duration::from_secs(1);
                for word in ["a", "b", "c", "d", "e", "f", "g", "h"] {
                    assert!(at(second, 4095, word) < at(later, 0, "z"));
                    assert!((0..4095).all(|n| at(second, n, word) < at(second, n + 1, "z")));
                }
                assert_eq!(at(second, 7, "a").made_at(), Some(second));
                assert_eq!(at(second, 7, "a").to_string().parse(), Ok(at(second, 7, "a")));
            }

            #[test]
            fn ids_sort_by_creation() {
                let ids: Vec<_> = (0..100).map(|_| UnitId::new()).collect();
                assert!(ids.is_sorted());
            }
        }
    };
}

ids! {
    /// Tenant id.
    TenantId = "ten";
    /// User id.
    UserId = "usr";
    /// Invitation id.
    InvitationId = "inv";
    /// Datacenter id.
    DatacenterId = "dc";
    /// GPU specification id.
    GpuSpecId = "spec";
    /// Stock unit id.
    UnitId = "unit";
    /// Instance id.
    InstanceId = "inst";
    /// Service image id: one version of a service in the catalogue.
    ImageId = "img";
    /// Run id: one metered interval in which an instance was running.
    RunId = "run";
    /// Storage specification id.
    StorageSpecId = "sspec";
    /// Storage id: a volume or a bucket.
    StorageId = "stor";
    /// Share link id.
    ShareLinkId = "share";
    /// Operation id.
    OperationId = "op";
    /// Signing key id.
    SigningKeyId = "key";
    /// Session id: a family of refresh tokens.
    SessionId = "ses";
    /// API key id.
    ApiKeyId = "akey";
    /// Passkey id.
    PasskeyId = "pkey";
    /// Linked account id: an account of a user at an OpenID provider.
    LinkedAccountId = "acct";
    /// Event id: something that happened to an instance.
    EventId = "evt";
    /// SSH key id.
    SshKeyId = "sshk";
    /// Registry credential id.
    RegistryCredentialId = "rcr";
    /// SSH session id: one connection to an instance.
    SshSessionId = "sshs";
    /// Terminal id: one command with a terminal in an instance.
    TerminalId = "term";
    /// Job id.
    JobId = "job";
    /// Pool id: workers of one kind with one scheduler.
    PoolId = "pool";
    /// Worker id: a unit that runs jobs.
    WorkerId = "work";
    /// Model id: what a worker has to load for a job.
    ModelId = "mdl";
    /// Deployment id: a model deployed to a volume.
    DeploymentId = "dpl";
    /// Artifact id: an output of a job.
    ArtifactId = "art";
    /// Id of a file that a user uploads for jobs.
    UploadId = "upl";
    /// Message queue credential id: the user name of a tenant at the message broker.
    MqCredentialId = "mqc";
    /// Id of a message that was refused.
    DeadMessageId = "mqd";
    /// Webhook id: an endpoint that events of jobs are sent to.
    WebhookId = "hook";
    /// Delivery id: a message to a webhook.
    DeliveryId = "dlv";
}
