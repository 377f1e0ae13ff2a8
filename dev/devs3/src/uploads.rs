//! Multipart uploads on disk: a folder each, with a description of the object and one file per part
//! (`00007.<md5>`), so that an upload continues after a restart.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::objects::Headers;

const DESCRIPTION: &str = "upload.json";

#[derive(Serialize, Deserialize)]
pub(crate) struct Upload {
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) started_ms: i64,
    pub(crate) headers: Headers,
}

pub(crate) struct StoredPart {
    pub(crate) number: i32,
    pub(crate) md5: String,
    pub(crate) size: u64,
    pub(crate) path: PathBuf,
}

/// Starts an upload under a new id.
pub(crate) fn create(uploads: &Path, id: &str, upload: &Upload) -> io::Result<()> {
    let folder = uploads.join(id);
    let bytes = serde_json::to_vec(upload)?;
    std::fs::create_dir(&folder)?;
    std::fs::write(folder.join(DESCRIPTION), bytes)
}

/// The folder and description of an upload; `None` if the id, the bucket or the key is wrong.
pub(crate) fn find(uploads: &Path, id: &str, bucket: &str, key: &str) -> Option<(PathBuf, Upload)> {
    let id = uuid::Uuid::try_parse(id).ok()?;
    let folder = uploads.join(id.simple().to_string());
    let bytes = std::fs::read(folder.join(DESCRIPTION)).ok()?;
    let upload: Upload = serde_json::from_slice(&bytes).ok()?;
    (upload.bucket == bucket && upload.key == key).then_some((folder, upload))
}

/// The uploads of a bucket with their ids, by key and id.
pub(crate) fn of_bucket(uploads: &Path, bucket: &str) -> io::Result<Vec<(String, Upload)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(uploads)? {
        let entry = entry?;
        let Ok(bytes) = std::fs::read(entry.path().join(DESCRIPTION)) else {
            continue;
        };
        let upload: Upload = serde_json::from_slice(&bytes)?;
        if upload.bucket == bucket {
            found.push((entry.file_name().to_string_lossy().into_owned(), upload));
        }
    }
    found.sort_by(|a, b| (&a.1.key, &a.0).cmp(&(&b.1.key, &b.0)));
    Ok(found)
}

/// Removes all uploads of a bucket.
pub(crate) fn abort_all(uploads: &Path, bucket: &str) -> io::Result<()> {
    for (id, _) in of_bucket(uploads, bucket)? {
        std::fs::remove_dir_all(uploads.join(id))?;
    }
    Ok(())
}

/// The parts in an upload's folder, by number.
pub(crate) fn parts(folder: &Path) -> io::Result<Vec<StoredPart>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some((number, md5)) = name.split_once('.')
            && let Ok(number) = number.parse()
        {
            found.push(StoredPart {
                number,
                md5: md5.to_owned(),
                size: entry.metadata()?.len(),
                path: entry.path(),
            });
        }
    }
    found.sort_by_key(|part| part.number);
    Ok(found)
}

/// The bytes of the files, one after the other.
pub(crate) fn joined(files: Vec<PathBuf>) -> impl futures::Stream<Item = io::Result<bytes::Bytes>> + Send {
    let opened = futures::StreamExt::then(futures::stream::iter(files), |path| async move {
        let file = tokio::fs::File::open(path).await?;
        io::Result::Ok(tokio_util::io::ReaderStream::with_capacity(file, 256 * 1024))
    });
    futures::TryStreamExt::try_flatten(opened)
}
