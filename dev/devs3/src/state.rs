//! Users, keys, bucket owners and quotas: one JSON document. Each change replaces and syncs the file before the
//! response is sent, so that a kill leaves either the old or the new document.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::cors_rule::Rule;

/// The user that may call Admin Ops.
pub(crate) const ADMIN: &str = "admin";

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Document {
    pub(crate) users: BTreeMap<String, User>,
    pub(crate) buckets: BTreeMap<String, Bucket>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct User {
    pub(crate) uid: String,
    pub(crate) display_name: String,
    pub(crate) email: String,
    pub(crate) suspended: bool,
    pub(crate) max_buckets: i64,
    pub(crate) keys: Vec<Key>,
    pub(crate) user_quota: Quota,
    pub(crate) bucket_quota: Quota,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Key {
    pub(crate) access_key: String,
    pub(crate) secret_key: String,
}

/// Limits; −1 means no limit. Sizes are in bytes.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Quota {
    pub(crate) enabled: bool,
    pub(crate) max_size: i64,
    pub(crate) max_objects: i64,
}

impl Default for Quota {
    fn default() -> Self {
        Self { enabled: false, max_size: -1, max_objects: -1 }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Bucket {
    pub(crate) owner: String,
    pub(crate) id: String,
    pub(crate) created: jiff::Timestamp,
    pub(crate) quota: Quota,
    #[serde(default)]
    pub(crate) cors: Vec<Rule>,
}

impl Document {
    pub(crate) fn by_key(&self, access_key: &str) -> Option<(&User, &Key)> {
        self.users.values().find_map(|user| {
            let key = user.keys.iter().find(|k| k.access_key == access_key)?;
            Some((user, key))
        })
    }

    pub(crate) fn owned_by<'a>(&'a self, uid: &'a str) -> impl Iterator<Item = (&'a String, &'a Bucket)> {
        self.buckets.iter().filter(move |(_, b)| b.owner == uid)
    }
}

/// The document in memory and its file.
pub(crate) struct State {
    path: PathBuf,
    document: Mutex<Document>,
}

impl State {
    /// Reads the file and sets the keys of the administrator to the configured ones.
    pub(crate) fn open(folder: &Path, access_key: &str, secret_key: &str) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let path = folder.join("state.json");
        let mut document: Document = match std::fs::read(&path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).with_context(|| format!("{} is damaged", path.display()))?
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Document::default(),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        let admin = document.users.entry(ADMIN.to_owned()).or_insert_with(|| User {
            uid: ADMIN.to_owned(),
            display_name: ADMIN.to_owned(),
            email: String::new(),
            suspended: false,
            max_buckets: 1000,
            keys: Vec::new(),
            user_quota: Quota::default(),
            bucket_quota: Quota::default(),
        });
        admin.keys = vec![Key { access_key: access_key.to_owned(), secret_key: secret_key.to_owned() }];
        let state = Self { path, document: Mutex::new(document) };
        state.write(&state.read())?;
        Ok(state)
    }

    pub(crate) fn read(&self) -> MutexGuard<'_, Document> {
        self.document.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names of all buckets.
    pub(crate) fn buckets(&self) -> Vec<String> {
        self.read().buckets.keys().cloned().collect()
    }

    /// Applies a change to a copy, writes it to disk, then makes it visible. Nothing changes if `apply` fails or the
    /// file cannot be written.
    pub(crate) fn change<T, E: From<std::io::Error>>(
        &self,
        apply: impl FnOnce(&mut Document) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut document = self.read();
        let mut next = document.clone();
        let result = apply(&mut next)?;
        self.write(&next)?;
        *document = next;
        Ok(result)
    }

    fn write(&self, document: &Document) -> std::io::Result<()> {
        let aside = self.path.with_extension("part");
        // it holds secret keys
        let mut file =
            std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
        file.write_all(&serde_json::to_vec_pretty(document)?)?;
        file.sync_all()?;
        std::fs::rename(&aside, &self.path)?;
        if let Some(folder) = self.path.parent() {
            std::fs::File::open(folder)?.sync_all()?;
        }
        Ok(())
    }
}
