//! Objects in buckets.

use ids::TenantId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a signed URL allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UrlKind {
    /// PUT of exactly `bytes` bytes.
    Upload,
    /// As `upload`, but the object is out of the tenant's reach until it is delivered.
    Stage,
    /// GET as an attachment.
    Download,
}

/// A URL to sign.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UrlRequest {
    /// Owner of the bucket. A bucket of another tenant is not found.
    pub tenant_id: TenantId,
    /// What it allows.
    pub kind: UrlKind,
    /// Name of the object, below `jobs/`.
    #[schema(example = "jobs/job_0195b0c2/1/0.png")]
    pub object: String,
    /// Media type of the object.
    #[schema(example = "image/png")]
    pub content_type: String,
    /// Size of the object.
    #[schema(minimum = 0)]
    pub bytes: i64,
}

/// A URL with a signature.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SignedUrl {
    /// The URL. An upload sends the `content-type` and `content-length` of the request.
    pub url: String,
    /// Time until which it can be used.
    pub expires_at: Timestamp,
}

/// An object of a bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BucketObject {
    /// Its name.
    #[schema(example = "jobs/job_0195b0c2/1/0.png")]
    pub name: String,
    /// Its size.
    pub bytes: i64,
    /// Its ETag, with quotes: another one for other content; null if the object store does not return it.
    #[schema(example = "\"900150983cd24fb0d6963f7d28e17f72\"")]
    pub etag: Option<String>,
    /// When it was written; null if the object store does not return it.
    pub written_at: Option<Timestamp>,
}

/// Objects of a bucket.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Objects {
    /// The first 1,000, by name.
    pub items: Vec<BucketObject>,
}

/// Progress of a deletion.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Deletion {
    /// Whether no such object is left. If not, repeat the call.
    pub done: bool,
}

/// A staged object that is to be delivered.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliveryRequest {
    /// Owner of the bucket. A bucket of another tenant is not found.
    pub tenant_id: TenantId,
    /// Name of the object, below `jobs/`.
    #[schema(example = "jobs/job_0195b0c2/1/0.png")]
    pub object: String,
    /// Size of the object.
    #[schema(minimum = 0)]
    pub bytes: i64,
}

/// Outcome of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryOutcome {
    /// The object is in the bucket.
    Delivered,
    /// Nothing of this name and size was staged.
    NotStaged,
    /// The bucket has no room for it.
    BucketFull,
    /// The bucket has disappeared from the object store.
    BucketMissing,
    /// A policy or setting of the bucket refuses it.
    Refused,
}

/// The result of a delivery.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Delivery {
    /// The outcome. All except `delivered` stay the same until a person fixes the cause.
    pub outcome: DeliveryOutcome,
    /// The answer of the object store, if it has refused the object.
    pub message: Option<String>,
}
