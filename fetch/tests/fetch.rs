//! Downloads from a small server into a folder.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

use std::{
    io,
    path::{Path, PathBuf},
};

use atelier_fetch::{File, fetch};
use axum::{Router, body::Body, http::StatusCode, routing::get};
use bytes::Bytes;
use futures::stream;
use sha2::{Digest as _, Sha256};
use units::DownloadFailure;
use url::Url;

const CONTENT: &[u8] = b"the adapter";

/// A server; its address.
async fn server() -> Url {
    let broken = || async {
        let begun = [Ok(Bytes::from_static(&CONTENT[..4])), Err(io::Error::other("the connection breaks"))];
        Body::from_stream(stream::iter(begun))
    };
    let routes = Router::new()
        .route("/good", get(|| async { CONTENT }))
        .route("/broken", get(broken))
        .route("/expired", get(|| async { StatusCode::FORBIDDEN }))
        .route("/busy", get(|| async { StatusCode::SERVICE_UNAVAILABLE }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    format!("http://{address}").parse().unwrap()
}

fn file(attempt: u32) -> File {
    File {
        path: "models/Lora/dog.safetensors".into(),
        bytes: CONTENT.len() as u64,
        sha256: hex::encode(Sha256::digest(CONTENT)),
        id: "dpl-1".into(),
        attempt,
    }
}

struct Volume {
    folder: tempfile::TempDir,
    server: Url,
}

impl Volume {
    async fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), server: server().await }
    }

    async fn fetch(&self, path: &str, file: &File) -> Result<(), DownloadFailure> {
        let http = service::http_client().unwrap();
        let url = self.server.join(path).unwrap();
        fetch(&http, url, self.folder.path(), file).await.map_err(|error| error.failure())
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn names(&self) -> Vec<String> {
        names(&self.at("models/Lora"))
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_file_replaces_the_one_before_and_is_downloaded_once() {
    let volume = Volume::new().await;
    let target = volume.at(&file(1).path);
    std::fs::create_dir_all(target.parent().unwrap()).unwrap();
    std::fs::write(&target, "another one").unwrap();
    assert_eq!(volume.fetch("/good", &file(1)).await, Ok(()));
    assert_eq!(std::fs::read(&target).unwrap(), CONTENT);
    assert_eq!(volume.names(), ["dog.safetensors"]);
    // the address has expired since
    assert_eq!(volume.fetch("/expired", &file(2)).await, Ok(()));
}

#[tokio::test]
async fn what_is_not_complete_and_verified_leaves_nothing() {
    let volume = Volume::new().await;
    let target = volume.at(&file(1).path);
    std::fs::create_dir_all(target.parent().unwrap()).unwrap();
    std::fs::write(&target, "the one before").unwrap();
    let other_hash = File { sha256: hex::encode(Sha256::digest("x")), ..file(1) };
    let (longer, shorter) = (File { bytes: 99, ..file(1) }, File { bytes: 3, ..file(1) });
    for (path, file, failure) in [
        ("/good", &other_hash, DownloadFailure::ContentMismatch),
        ("/good", &longer, DownloadFailure::ContentMismatch),
        ("/good", &shorter, DownloadFailure::ContentMismatch),
        ("/broken", &file(1), DownloadFailure::Unreachable),
        ("/expired", &file(1), DownloadFailure::UrlRefused),
        ("/busy", &file(1), DownloadFailure::Unreachable),
    ] {
        assert_eq!(volume.fetch(path, file).await, Err(failure), "{path}");
        assert_eq!(volume.names(), ["dog.safetensors"], "{path}");
        assert_eq!(std::fs::read(&target).unwrap(), b"the one before", "{path}");
    }
}

#[tokio::test]
async fn the_part_of_a_killed_attempt_is_removed_by_the_next() {
    let volume = Volume::new().await;
    std::fs::create_dir_all(volume.at("models/Lora")).unwrap();
    for name in ["dog.safetensors.part-dpl-1-1", "dog.safetensors.part-dpl-2-1", "cat.part-dpl-1-1"] {
        std::fs::write(volume.at("models/Lora").join(name), "half").unwrap();
    }
    assert_eq!(volume.fetch("/good", &file(2)).await, Ok(()));
    assert_eq!(volume.names(), ["cat.part-dpl-1-1", "dog.safetensors", "dog.safetensors.part-dpl-2-1"]);
}

#[tokio::test]
async fn a_path_that_cannot_be_written_is_refused() {
    let volume = Volume::new().await;
    std::fs::write(volume.at("models"), "a file where a folder would be").unwrap();
    std::fs::create_dir_all(volume.at("folder")).unwrap();
    for path in ["models/Lora/dog.safetensors", "folder", "/etc/passwd", "../dog", "a/../../dog", ""] {
        let file = File { path: path.into(), ..file(1) };
        assert_eq!(volume.fetch("/good", &file).await, Err(DownloadFailure::PathNotWritable), "{path}");
    }
    assert_eq!(names(&volume.at("folder")), [""; 0]);
    assert_eq!(names(volume.folder.path()), ["folder", "models"], "no part is left");
}
