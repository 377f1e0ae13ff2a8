//! The journal: one JSON line per change, written without fsync; it survives a kill of the process, not of the machine.
//! An incomplete last line is ignored. A journal that has grown is rewritten with the current objects only.

use super::Key;
use crate::json::text;
use anyhow::Context;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

const COMPACT_FROM: u64 = 32 << 20;

pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    bytes: u64,
    /// Size right after the last compaction.
    floor: u64,
}

/// Kind, key and object.
pub(crate) type Stored = (String, Key, Value);

#[derive(Deserialize)]
struct Line {
    /// kind
    #[serde(default)]
    k: String,
    /// stored object
    o: Option<Value>,
    /// removed key
    d: Option<Key>,
    /// version of a removal, or of the whole state after a compaction
    rv: Option<u64>,
}

/// Reads the objects of a journal in the order of their last change, and the latest version.
pub(crate) fn read(path: &Path) -> anyhow::Result<(u64, Vec<Stored>)> {
    let mut live: BTreeMap<(String, Key), Value> = BTreeMap::new();
    let mut latest = 0;
    if !path.exists() {
        return Ok((0, Vec::new()));
    }
    let mut reader = BufReader::new(File::open(path).with_context(|| format!("open {}", path.display()))?);
    let mut text = Vec::new();
    let mut number = 0;
    loop {
        text.clear();
        number += 1;
        if reader.read_until(b'\n', &mut text)? == 0 {
            break;
        }
        let complete = text.ends_with(b"\n");
        let line: Line = match serde_json::from_slice(&text) {
            Ok(line) => line,
            // the process was killed while writing: the client got no response
            Err(_) if !complete => break,
            Err(e) => return Err(e).with_context(|| format!("{} line {number}", path.display())),
        };
        if let Some(object) = line.o {
            let meta = &object["metadata"];
            let key = (text_of(&meta["namespace"]), text_of(&meta["name"]));
            latest = latest.max(text_of(&meta["resourceVersion"]).parse().unwrap_or(0));
            live.insert((line.k, key), object);
        } else if let Some(key) = line.d {
            live.remove(&(line.k, key));
        }
        latest = latest.max(line.rv.unwrap_or(0));
    }
    Ok((latest, live.into_iter().map(|((kind, key), value)| (kind, key, value)).collect()))
}

fn text_of(v: &Value) -> String {
    text(v).to_owned()
}

impl Journal {
    /// Starts a journal with the given state, replacing the old one atomically.
    pub(crate) fn create(path: &Path, rv: u64, state: Vec<(String, Bytes)>) -> anyhow::Result<Self> {
        let (file, bytes) =
            write_state(path, rv, state).with_context(|| format!("write {}", path.display()))?;
        Ok(Self { path: path.to_owned(), file, bytes, floor: bytes })
    }

    pub(crate) fn forget_growth(&mut self) {
        self.floor = self.bytes;
    }

    pub(crate) fn has_grown(&self) -> bool {
        self.bytes > COMPACT_FROM.max(self.floor.saturating_mul(4))
    }

    pub(crate) fn put(&mut self, kind: &str, object: &Bytes) {
        let mut line = Vec::with_capacity(object.len() + kind.len() + 16);
        push_object(&mut line, kind, object);
        self.append(&line);
    }

    pub(crate) fn remove(&mut self, kind: &str, key: &Key, rv: u64) {
        let line = format!("{}\n", serde_json::json!({ "k": kind, "d": key, "rv": rv }));
        self.append(line.as_bytes());
    }

    pub(crate) fn compact(&mut self, rv: u64, state: Vec<(String, Bytes)>) {
        match write_state(&self.path, rv, state) {
            Ok((file, bytes)) => {
                (self.file, self.bytes, self.floor) = (file, bytes, bytes);
                tracing::debug!(bytes, "journal compacted");
            }
            Err(error) => {
                self.floor = self.bytes;
                tracing::error!(%error, "cannot compact journal");
            }
        }
    }

    fn append(&mut self, line: &[u8]) {
        self.bytes += line.len() as u64;
        if let Err(error) = self.file.write_all(line) {
            tracing::error!(%error, "cannot write journal; the change will be lost at a restart");
        }
    }
}

fn push_object(out: &mut Vec<u8>, kind: &str, object: &Bytes) {
    out.extend_from_slice(b"{\"k\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\",\"o\":");
    out.extend_from_slice(object);
    out.extend_from_slice(b"}\n");
}

fn write_state(path: &Path, rv: u64, state: Vec<(String, Bytes)>) -> std::io::Result<(File, u64)> {
    let fresh = path.with_extension("new");
    let mut file = std::io::BufWriter::new(File::create(&fresh)?);
    let mut bytes = 0;
    let mut line = format!("{{\"rv\":{rv}}}\n").into_bytes();
    file.write_all(&line)?;
    for (kind, object) in state {
        line.clear();
        push_object(&mut line, &kind, &object);
        bytes += line.len() as u64;
        file.write_all(&line)?;
    }
    file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
    std::fs::rename(&fresh, path)?;
    Ok((OpenOptions::new().append(true).open(path)?, bytes))
}
