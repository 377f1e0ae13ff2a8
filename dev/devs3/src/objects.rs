//! Objects as files, with an index in memory.
//!
//! One object is one file, named by the SHA-256 of its key: no key is too long, escapes its bucket or collides with a
//! folder. A trailer after the body holds the key and the headers. The file is written under another name and
//! renamed, so that body and headers change together.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use futures::{Stream, StreamExt as _};
use s3s::crypto::{Checksum as _, Md5};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;

const MAGIC: &[u8; 8] = b"ATELOBJ1";
/// RGW rounds each object up to whole blocks of this size (bytes) for quotas.
const BLOCK: u64 = 4096;

/// An object without its body.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Meta {
    pub(crate) key: String,
    pub(crate) size: u64,
    pub(crate) etag: String,
    pub(crate) modified_ms: i64,
    pub(crate) headers: Headers,
    /// Users other than the owner of the bucket who may read it.
    #[serde(default)]
    pub(crate) readers: Vec<String>,
}

/// The headers that a writer sets and a reader receives.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Headers {
    pub(crate) content_type: Option<String>,
    pub(crate) content_encoding: Option<String>,
    pub(crate) content_disposition: Option<String>,
    pub(crate) content_language: Option<String>,
    pub(crate) cache_control: Option<String>,
    pub(crate) metadata: BTreeMap<String, String>,
}

/// Objects and bytes of a bucket.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Usage {
    pub(crate) objects: u64,
    pub(crate) bytes: u64,
    /// Bytes in whole blocks, as quotas count them.
    pub(crate) rounded: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.objects += other.objects;
        self.bytes += other.bytes;
        self.rounded += other.rounded;
    }
}

pub(crate) fn rounded(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK) * BLOCK
}

#[derive(Default)]
struct Contents {
    objects: BTreeMap<String, Arc<Meta>>,
    usage: Usage,
}

impl Contents {
    fn put(&mut self, meta: Arc<Meta>) {
        self.take(&meta.key);
        self.usage += Usage { objects: 1, bytes: meta.size, rounded: rounded(meta.size) };
        self.objects.insert(meta.key.clone(), meta);
    }

    fn take(&mut self, key: &str) {
        if let Some(old) = self.objects.remove(key) {
            self.usage.objects -= 1;
            self.usage.bytes -= old.size;
            self.usage.rounded -= rounded(old.size);
        }
    }
}

/// A body on disk that is not an object yet. Dropping it removes the file.
pub(crate) struct Draft {
    path: PathBuf,
    pub(crate) size: u64,
    pub(crate) md5: [u8; 16],
}

impl Drop for Draft {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// One page of a listing.
#[derive(Default)]
pub(crate) struct Page {
    pub(crate) objects: Vec<Arc<Meta>>,
    pub(crate) prefixes: Vec<String>,
    /// The last name of this page if more names follow.
    pub(crate) next: Option<String>,
}

/// All objects of all buckets.
pub(crate) struct Objects {
    root: PathBuf,
    index: Mutex<HashMap<String, Contents>>,
}

impl Objects {
    /// Reads the index from the files of `buckets` and removes the folders of other buckets: their removal was
    /// interrupted.
    pub(crate) fn open(data_dir: &Path, buckets: Vec<String>) -> anyhow::Result<Self> {
        let objects = Self { root: data_dir.to_owned(), index: Mutex::default() };
        let drafts = objects.root.join("drafts");
        if drafts.exists() {
            std::fs::remove_dir_all(&drafts)?;
        }
        for folder in [drafts, objects.root.join("objects"), objects.uploads()] {
            std::fs::create_dir_all(folder)?;
        }
        for entry in std::fs::read_dir(objects.root.join("objects"))? {
            let entry = entry?;
            if !buckets.iter().any(|b| entry.file_name() == b.as_str()) {
                std::fs::remove_dir_all(entry.path())?;
            }
        }
        for bucket in buckets {
            std::fs::create_dir_all(objects.folder(&bucket))?;
            let mut contents = Contents::default();
            for entry in std::fs::read_dir(objects.folder(&bucket))? {
                let path = entry?.path();
                let meta = read_meta(&path).with_context(|| format!("{} is damaged", path.display()))?;
                contents.put(Arc::new(meta));
            }
            objects.index().insert(bucket, contents);
        }
        Ok(objects)
    }

    fn index(&self) -> MutexGuard<'_, HashMap<String, Contents>> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn folder(&self, bucket: &str) -> PathBuf {
        self.root.join("objects").join(bucket)
    }

    fn file(&self, bucket: &str, key: &str) -> PathBuf {
        self.folder(bucket).join(hex::encode(Sha256::digest(key)))
    }

    pub(crate) fn uploads(&self) -> PathBuf {
        self.root.join("uploads")
    }

    /// Creates an empty bucket; does nothing if it exists.
    pub(crate) fn add_bucket(&self, bucket: &str) -> io::Result<()> {
        std::fs::create_dir_all(self.folder(bucket))?;
        self.index().entry(bucket.to_owned()).or_default();
        Ok(())
    }

    /// Removes the bucket with all its objects.
    pub(crate) fn remove_bucket(&self, bucket: &str) -> io::Result<()> {
        self.index().remove(bucket);
        match std::fs::remove_dir_all(self.folder(bucket)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    pub(crate) fn usage(&self, bucket: &str) -> Usage {
        self.index().get(bucket).map(|c| c.usage).unwrap_or_default()
    }

    pub(crate) fn meta(&self, bucket: &str, key: &str) -> Option<Arc<Meta>> {
        self.index().get(bucket)?.objects.get(key).cloned()
    }

    /// The object and its open file, which stays readable when the object is replaced or removed.
    pub(crate) fn read(&self, bucket: &str, key: &str) -> io::Result<Option<(Arc<Meta>, File)>> {
        let index = self.index();
        let Some(meta) = index.get(bucket).and_then(|c| c.objects.get(key)) else {
            return Ok(None);
        };
        Ok(Some((meta.clone(), File::open(self.file(bucket, key))?)))
    }

    pub(crate) fn remove(&self, bucket: &str, key: &str) -> io::Result<()> {
        let mut index = self.index();
        let Some(contents) = index.get_mut(bucket) else {
            return Ok(());
        };
        if contents.objects.contains_key(key) {
            std::fs::remove_file(self.file(bucket, key))?;
            contents.take(key);
        }
        Ok(())
    }

    /// Writes a body to a draft. Errors of the stream are returned unchanged.
    pub(crate) async fn draft<S, E>(&self, mut body: S) -> Result<Draft, E>
    where
        S: Stream<Item = Result<bytes::Bytes, E>> + Unpin,
        E: From<io::Error>,
    {
        let path = self.root.join("drafts").join(uuid::Uuid::new_v4().simple().to_string());
        let mut draft = Draft { path, size: 0, md5: [0; 16] };
        let mut file = tokio::fs::File::create(&draft.path).await?;
        let mut md5 = Md5::new();
        while let Some(chunk) = body.next().await {
            let chunk = chunk?;
            md5.update(&chunk);
            draft.size += chunk.len() as u64;
            file.write_all(&chunk).await?;
        }
        file.flush().await?;
        draft.md5 = md5.finalize();
        Ok(draft)
    }

    /// Turns a draft into the object. `allow` gets the current object and the bucket's usage and may refuse; the
    /// check and the change are atomic.
    pub(crate) fn commit<E: From<io::Error>>(
        &self,
        bucket: &str,
        draft: &Draft,
        meta: Meta,
        allow: impl FnOnce(Option<&Meta>, Usage) -> Result<(), E>,
    ) -> Result<Arc<Meta>, E> {
        let trailer = serde_json::to_vec(&meta).map_err(io::Error::from)?;
        let mut file = std::fs::OpenOptions::new().append(true).open(&draft.path)?;
        io::Write::write_all(&mut file, &trailer)?;
        io::Write::write_all(&mut file, &(trailer.len() as u64).to_le_bytes())?;
        io::Write::write_all(&mut file, MAGIC)?;
        let mut index = self.index();
        let Some(contents) = index.get_mut(bucket) else {
            return Err(io::Error::from(io::ErrorKind::NotFound).into());
        };
        allow(contents.objects.get(&meta.key).map(|m| &**m), contents.usage)?;
        std::fs::rename(&draft.path, self.file(bucket, &meta.key))?;
        let meta = Arc::new(meta);
        contents.put(meta.clone());
        Ok(meta)
    }

    /// Moves a draft to `path`, as a part of an upload.
    pub(crate) fn keep(draft: &Draft, path: &Path) -> io::Result<()> {
        std::fs::rename(&draft.path, path)
    }

    /// Up to `limit` names after `after`. Names with `delimiter` after the prefix are grouped into common prefixes.
    pub(crate) fn list(
        &self,
        bucket: &str,
        prefix: &str,
        delimiter: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Page {
        let mut page = Page::default();
        let index = self.index();
        let Some(contents) = index.get(bucket) else {
            return page;
        };
        let mut last: Option<String> = None;
        for (key, meta) in contents.objects.range(prefix.to_owned()..) {
            let Some(rest) = key.strip_prefix(prefix) else {
                break;
            };
            let folded = delimiter
                .filter(|d| !d.is_empty())
                .and_then(|d| rest.find(d).map(|at| &key[..prefix.len() + at + d.len()]));
            let name = folded.unwrap_or(key);
            // a common prefix at or before the marker was on an earlier page with all its names
            if after.is_some_and(|after| name <= after) || last.as_deref() == Some(name) {
                continue;
            }
            if page.objects.len() + page.prefixes.len() >= limit {
                page.next = last;
                break;
            }
            match folded {
                Some(folded) => page.prefixes.push(folded.to_owned()),
                None => page.objects.push(meta.clone()),
            }
            last = Some(name.to_owned());
        }
        page
    }
}

fn read_meta(path: &Path) -> anyhow::Result<Meta> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::End(-16))?;
    let mut tail = [0; 16];
    file.read_exact(&mut tail)?;
    let (length, magic) = tail.split_at(8);
    anyhow::ensure!(magic == MAGIC, "no trailer");
    let length = u64::from_le_bytes(length.try_into()?);
    let start = file.metadata()?.len().checked_sub(length + 16).context("trailer too long")?;
    file.seek(SeekFrom::Start(start))?;
    let mut trailer = Vec::new();
    file.take(length).read_to_end(&mut trailer)?;
    let meta: Meta = serde_json::from_slice(&trailer)?;
    anyhow::ensure!(meta.size == start, "body and trailer disagree");
    Ok(meta)
}
