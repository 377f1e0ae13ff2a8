//! What other services ask of the storage service: types on the wire, which the service uses itself, and a client. A few types have
//! only the fields or codes that callers read, as their comments say; the service has its own.
//!
//! Nothing may enter that is a rule, or that only one caller needs. A field that is added to a response has
//! `#[serde(default)]`, and an extensible enumeration of codes has a variant for unknown codes: replicas of
//! another release send neither.

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
