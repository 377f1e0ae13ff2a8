//! Downloads in requests and responses.

use api::{Checks, Problem};
use jiff::Timestamp;
use serde::Serialize;
use storage_api::{DownloadRequest, DownloadState};
use utoipa::ToSchema;

use super::model::DownloadReason;
use crate::object::check_name;

/// Longest path.
const MAX_PATH: usize = 512;
/// Longest name of a file or folder: `atelier-fetch` adds to it while it downloads.
const MAX_SEGMENT: usize = 200;

/// Progress of a download.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Download)]
pub(super) struct DownloadView {
    /// State.
    pub(super) state: DownloadState,
    /// Why it is pending or failed; null if there is nothing to say.
    pub(super) reason: Option<DownloadReason>,
    /// The reason in words.
    pub(super) message: Option<String>,
    /// When it was done or failed.
    pub(super) finished_at: Option<Timestamp>,
}

/// Returns the SHA-256 of a request, if all is valid.
pub(super) fn check(request: &DownloadRequest) -> Result<[u8; 32], Problem> {
    let mut checks = Checks::default();
    check_name(&mut checks, "/object", &request.object);
    let is_name = |name: &str| !name.is_empty() && name != "." && name != ".." && name.len() <= MAX_SEGMENT;
    let is_path = request.path.len() <= MAX_PATH
        && request.path.split('/').all(is_name)
        && !request.path.chars().any(char::is_control);
    checks.require(is_path, "/path", "must be a path below the root of the volume");
    checks.within("/bytes", request.bytes, 0, i64::MAX);
    let mut sha256 = [0; 32];
    let decoded = hex::decode_to_slice(&request.sha256, &mut sha256);
    checks.require(decoded.is_ok(), "/sha256", "must be 64 hexadecimal digits");
    checks.finish()?;
    Ok(sha256)
}
