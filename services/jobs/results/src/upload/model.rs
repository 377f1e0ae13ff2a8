//! Uploads: fields and limits.

use api::Checks;
use ids::UploadId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Maximum number of bytes of a name.
const MAX_NAME: usize = 100;
/// Maximum number of bytes of an upload.
const MAX_BYTES: i64 = 32 << 20;
/// Media types of uploads.
const CONTENT_TYPES: [&str; 2] = ["image/png", "image/jpeg"];

/// A file that is to be uploaded.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewUpload {
    /// Name of the file: at most 100 bytes, without `/` and control characters.
    #[schema(example = "dog.png")]
    #[serde(deserialize_with = "api::text::nfc")]
    pub(super) name: String,
    /// Media type: `image/png` or `image/jpeg`.
    #[schema(example = "image/png")]
    pub(super) content_type: String,
    /// Size in bytes, at most 32 MiB. The PUT has exactly this size.
    #[schema(minimum = 1, maximum = 33_554_432, example = 482_113)]
    pub(super) bytes: i64,
    /// SHA-256 of the content in hexadecimal. A worker checks it before it uses the file.
    #[serde(default)]
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    pub(super) sha256: Option<String>,
}

impl NewUpload {
    /// Checks the fields. Returns the hash.
    pub(super) fn check(&self, checks: &mut Checks) -> Option<Vec<u8>> {
        crate::artifact::check_file(checks, "", (&self.name, MAX_NAME), &self.content_type, self.bytes);
        let is_known = CONTENT_TYPES.contains(&self.content_type.as_str());
        checks.require(is_known, "/content_type", format!("must be {}", CONTENT_TYPES.join(" or ")));
        checks.within("/bytes", self.bytes, 1, MAX_BYTES);
        let sha256 = self.sha256.as_ref().map(|text| hex::decode(text).unwrap_or_default());
        let is_hash = sha256.as_ref().is_none_or(|hash| hash.len() == 32);
        checks.require(is_hash, "/sha256", "must be 64 hexadecimal digits");
        sha256
    }
}

/// State of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum UploadState {
    /// Its content is not there yet.
    Pending,
    /// Its content is there: jobs may name it.
    Ready,
}

/// A file for jobs.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Upload)]
pub(super) struct UploadView {
    /// Upload id.
    pub(super) id: UploadId,
    /// Name of the file.
    #[schema(example = "dog.png")]
    pub(super) name: String,
    /// Media type.
    #[schema(example = "image/png")]
    pub(super) content_type: String,
    /// Size in bytes.
    #[schema(example = 482_113)]
    pub(super) bytes: i64,
    /// SHA-256 as the client announced it, in hexadecimal, or null.
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    pub(super) sha256: Option<String>,
    /// Current state.
    pub(super) state: UploadState,
    /// It is deleted at this time, unless a job that has not ended uses it. Each job that is submitted with it
    /// postpones this by a day.
    pub(super) expires_at: Timestamp,
    /// Time of creation.
    pub(super) created_at: Timestamp,
}

/// A new upload.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CreatedUpload {
    #[serde(flatten)]
    pub(super) upload: UploadView,
    /// Where the content goes, within 15 minutes: a PUT with the `Content-Type` and the size of the request, without a token.
    /// Sent once: null in the response to a replayed request; then create another upload.
    #[schema(example = "https://objects.example.com/job-outputs/jobs/uploads/…")]
    pub(super) put_url: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointers(new: &NewUpload) -> Vec<String> {
        let mut checks = Checks::default();
        new.check(&mut checks);
        checks.into_errors().into_iter().map(|error| error.pointer).collect()
    }

    #[test]
    fn only_pictures_of_some_size_are_accepted() {
        let new = |name: &str, content_type: &str, bytes, sha256: Option<&str>| NewUpload {
            name: name.to_owned(),
            content_type: content_type.to_owned(),
            bytes,
            sha256: sha256.map(str::to_owned),
        };
        assert!(pointers(&new("a.png", "image/png", MAX_BYTES, Some(&"0a".repeat(32)))).is_empty());
        assert_eq!(
            pointers(&new("../a", "text/html", MAX_BYTES + 1, Some("xy"))),
            ["/name", "/content_type", "/bytes", "/sha256"]
        );
        assert_eq!(pointers(&new("a.jpg", "image/jpeg", 0, None)), ["/bytes"]);
    }
}
