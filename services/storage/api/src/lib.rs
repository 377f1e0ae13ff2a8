//! What other services ask of the storage service: types on the wire, which the service uses itself, and a client. A few types have
//! only the fields or codes that callers read, as their comments say; the service has its own.
//!
//! What may not enter: rules, and whatever only one caller needs. A field that is added to an answer has `#[serde(default)]`, and
//! a code that may be added a variant for codes that are not known: replicas of another release send neither.

mod client;
mod object;
mod storage;

pub use client::Client;
pub use object::{
    BucketObject, Deletion, Delivery, DeliveryOutcome, DeliveryRequest, Objects, SignedUrl, UrlKind,
    UrlRequest,
};
pub use storage::{
    AttachRequest, Attachment, AttachmentMode, Download, DownloadReason, DownloadRequest, DownloadState,
    NewStorage, OutputBucket, Storage, StorageKind, StorageReason, StorageSpec, StorageState,
};
