//! `atelier-fetch`: downloads one file onto a volume. The file is written next to its path, verified, and
//! renamed: readers see the previous file or the complete new one. Each attempt can be repeated, and killed
//! at any time.

mod place;

use std::{io, path::Path};

use reqwest::{Client, Response, StatusCode};
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;
use units::DownloadFailure;
use url::Url;

pub use place::MAX_SEGMENT;
use place::Place;

/// A file to download.
#[derive(Debug, Clone)]
pub struct File {
    /// Path below the root of the volume.
    pub path: String,
    /// Size.
    pub bytes: u64,
    /// SHA-256, in hexadecimal.
    pub sha256: String,
    /// Name of the download.
    pub id: String,
    /// Number of the attempt. What earlier attempts have left is removed.
    pub attempt: u32,
}

/// Why there is no file, with the cause for the log. It never has the address, whose query is a secret.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store answers with another status than success.
    #[error("the store answers {0}")]
    Status(StatusCode),
    /// The store cannot be reached, or the connection broke.
    #[error("cannot read: {0}")]
    Read(reqwest::Error),
    /// Other content than announced.
    #[error("{0}")]
    Content(String),
    /// The path is not one below the root.
    #[error("not a path below the root")]
    Path,
    /// The volume.
    #[error("cannot write: {0}")]
    Write(#[from] io::Error),
}

impl From<reqwest::Error> for Error {
    fn from(error: reqwest::Error) -> Self {
        Self::Read(error.without_url())
    }
}

impl Error {
    /// Returns the reason for the caller.
    #[must_use]
    pub fn failure(&self) -> DownloadFailure {
        match self {
            Self::Status(status) if status.is_client_error() => DownloadFailure::UrlRefused,
            Self::Status(_) | Self::Read(_) => DownloadFailure::Unreachable,
            Self::Content(_) => DownloadFailure::ContentMismatch,
            Self::Path => DownloadFailure::PathNotWritable,
            Self::Write(error) => match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                    DownloadFailure::VolumeFull
                }
                _ => DownloadFailure::PathNotWritable,
            },
        }
    }
}

/// Downloads the file below `root`. A file of this content that is there already is left as it is.
///
/// # Errors
/// Says why the file is not there. What was at the path before is unchanged then.
pub async fn fetch(http: &Client, url: Url, root: &Path, file: &File) -> Result<(), Error> {
    let place = Place::of(root, file).ok_or(Error::Path)?;
    if place.has(file).await? {
        return Ok(());
    }
    place.prepare().await?;
    let written = match write(http, url, &place, file).await {
        Ok(()) => place.publish().await.map_err(Error::from),
        Err(error) => Err(error),
    };
    if written.is_err() {
        place.discard().await;
    }
    written
}

/// Writes the part and verifies it.
async fn write(http: &Client, url: Url, place: &Place, file: &File) -> Result<(), Error> {
    let mut response: Response = http.get(url).send().await?;
    if !response.status().is_success() {
        return Err(Error::Status(response.status()));
    }
    let mut part = place.create().await?;
    let (mut hash, mut bytes) = (Sha256::new(), 0_u64);
    while let Some(chunk) = response.chunk().await? {
        bytes = bytes.saturating_add(chunk.len() as u64);
        if bytes > file.bytes {
            return Err(Error::Content(format!("more than {} bytes", file.bytes)));
        }
        hash.update(&chunk);
        part.write_all(&chunk).await?;
    }
    if bytes != file.bytes {
        return Err(Error::Content(format!("{bytes} bytes instead of {}", file.bytes)));
    }
    let sha256 = hex::encode(hash.finalize());
    if sha256 != file.sha256 {
        return Err(Error::Content(format!("the SHA-256 is {sha256}")));
    }
    part.flush().await?;
    Ok(part.sync_all().await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_volume_is_told_from_a_path_that_cannot_be_written() {
        let failure = |kind: io::ErrorKind| Error::from(io::Error::from(kind)).failure();
        assert_eq!(failure(io::ErrorKind::StorageFull), DownloadFailure::VolumeFull);
        assert_eq!(failure(io::ErrorKind::QuotaExceeded), DownloadFailure::VolumeFull);
        assert_eq!(failure(io::ErrorKind::PermissionDenied), DownloadFailure::PathNotWritable);
        assert_eq!(failure(io::ErrorKind::NotADirectory), DownloadFailure::PathNotWritable);
        assert_eq!(Error::Status(StatusCode::FORBIDDEN).failure(), DownloadFailure::UrlRefused);
        assert_eq!(Error::Status(StatusCode::SERVICE_UNAVAILABLE).failure(), DownloadFailure::Unreachable);
    }
}
