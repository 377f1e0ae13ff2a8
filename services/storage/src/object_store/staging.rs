//! Objects on their way into buckets of tenants. They are in a bucket of the platform's own user, which no key of a
//! tenant opens, and are copied by the object store, as the tenant's user, when they are delivered.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{
    Error, KeyPair, ObjectStore,
    s3::{as_user, refused},
};

/// The characters of a name that the header of a copy encodes.
const IN_SOURCE: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The platform's own user, and its bucket of the same name.
#[derive(Clone)]
pub(crate) struct Staging {
    pub(crate) name: String,
    pub(crate) key: KeyPair,
}

/// An object, and the hash of its content.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    bytes: i64,
    etag: Option<String>,
}

/// A place for an object.
pub(crate) struct Target<'a> {
    /// The user who owns the bucket.
    pub(crate) user: &'a str,
    pub(crate) key: &'a KeyPair,
    pub(crate) bucket: &'a str,
    pub(crate) name: &'a str,
    /// Its size.
    pub(crate) bytes: i64,
}

impl ObjectStore {
    /// Opens the bucket for objects to deliver. The first call creates it.
    pub(crate) async fn open_staging(&self, name: &str) -> Result<Staging, Error> {
        let open = async || {
            let key = self.ensure_key(name).await?;
            self.create_bucket(&key, name).await?;
            Ok(Staging { name: name.to_owned(), key })
        };
        self.staging.get_or_try_init(open).await.cloned()
    }

    /// Copies a staged object to its place. An existing object with the same content is left unchanged.
    /// Returns false if there is none of this size.
    pub(crate) async fn deliver(
        &self,
        staging: &Staging,
        staged: &str,
        target: &Target<'_>,
    ) -> Result<bool, Error> {
        let Target { user, key, bucket, name, bytes } = target;
        let there = self.head(key, bucket, name).await?;
        let found = self.head(&staging.key, &staging.name, staged).await?;
        let Some(found) = found.filter(|found| found.bytes == *bytes) else {
            return Ok(there.is_some_and(|there| there.bytes == *bytes));
        };
        if there.as_ref() == Some(&found) && found.etag.is_some() {
            return Ok(true);
        }
        let grant = self.s3.put_object_acl().bucket(&staging.name).key(staged);
        let grant = grant.grant_full_control(grantee(&staging.name)).grant_read(grantee(user));
        grant.customize().config_override(as_user(&staging.key)).send().await.map_err(refused)?;
        let source = format!("{}/{}", staging.name, utf8_percent_encode(staged, IN_SOURCE));
        let copy = self.s3.copy_object().bucket(*bucket).key(*name).copy_source(source);
        copy.customize().config_override(as_user(key)).send().await.map_err(refused)?;
        Ok(true)
    }

    /// Returns an object; none if it is not there, or the user may not read it.
    async fn head(&self, key: &KeyPair, bucket: &str, object: &str) -> Result<Option<Found>, Error> {
        let call = self.s3.head_object().bucket(bucket).key(object).customize();
        match call.config_override(as_user(key)).send().await {
            Ok(head) => Ok(Some(Found {
                bytes: head.content_length().unwrap_or_default(),
                etag: head.e_tag().map(str::to_owned),
            })),
            // without a body, and so without a code
            Err(error)
                if error.raw_response().is_some_and(|raw| matches!(raw.status().as_u16(), 403 | 404)) =>
            {
                Ok(None)
            }
            Err(error) => Err(refused(error)),
        }
    }
}

/// A user, as a grant names it.
fn grantee(uid: &str) -> String {
    format!("id=\"{uid}\"")
}
