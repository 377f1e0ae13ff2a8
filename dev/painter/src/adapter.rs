//! Low-rank adapters of the painter: `colour += weight · up · relu(down · features)`, with 16 features of a pixel. The
//! trainer creates them, and the painter applies them.
//!
//! The file is safetensors. Its tensors have names that no loader of real models knows, and its metadata marks it as a
//! file of this stand-in.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

/// Features of a pixel.
pub const FEATURES: usize = 16;
/// The base model of these adapters.
pub const BASE_MODEL: &str = "atelier-cpu-stand-in";
/// Highest rank.
pub const MAX_RANK: usize = 64;

const DOWN: &str = "atelier_stand_in.residual.down";
const UP: &str = "atelier_stand_in.residual.up";

/// The numbers of an adapter.
#[derive(Debug, Clone, PartialEq)]
pub struct Adapter {
    rank: usize,
    /// `down`, rank × 16, then `up`, 3 × rank; both by rows.
    numbers: Vec<f32>,
}

impl Adapter {
    /// An adapter of `rank` from its numbers: `down` by rows, then `up` by rows.
    ///
    /// # Errors
    /// If there are too many or too few, or one is not finite.
    pub fn new(rank: usize, numbers: Vec<f32>) -> anyhow::Result<Self> {
        ensure!((1..=MAX_RANK).contains(&rank), "the rank must be from 1 to {MAX_RANK}");
        ensure!(
            numbers.len() == Self::size(rank),
            "an adapter of this rank has {} numbers",
            Self::size(rank)
        );
        ensure!(numbers.iter().all(|number| number.is_finite()), "a number is not finite");
        Ok(Self { rank, numbers })
    }

    /// Returns the number of values of an adapter.
    #[must_use]
    pub fn size(rank: usize) -> usize {
        rank * FEATURES + 3 * rank
    }

    /// The change of a pixel's colour.
    #[must_use]
    pub fn residual(&self, features: &[f32; FEATURES]) -> [f32; 3] {
        let (down, up) = self.numbers.split_at(self.rank * FEATURES);
        let mut change = [0.0; 3];
        for (n, row) in down.chunks_exact(FEATURES).enumerate() {
            let hidden: f32 = row.iter().zip(features).map(|(weight, feature)| weight * feature).sum();
            if hidden > 0.0 {
                for (channel, change) in change.iter_mut().enumerate() {
                    *change += up[channel * self.rank + n] * hidden;
                }
            }
        }
        change
    }

    /// The file, with further metadata. The same adapter and metadata have the same bytes.
    ///
    /// # Errors
    /// Never: the header is plain JSON.
    pub fn to_safetensors(&self, metadata: &BTreeMap<String, String>) -> anyhow::Result<Vec<u8>> {
        let mut all = metadata.clone();
        all.insert("stand_in".to_owned(), "true".to_owned());
        all.insert("base_model".to_owned(), BASE_MODEL.to_owned());
        let split = self.rank * FEATURES * 4;
        let header = BTreeMap::from([
            ("__metadata__", json!(all)),
            (DOWN, json!({ "dtype": "F32", "shape": [self.rank, FEATURES], "data_offsets": [0, split] })),
            (
                UP,
                json!({ "dtype": "F32", "shape": [3, self.rank], "data_offsets": [split, self.numbers.len() * 4] }),
            ),
        ]);
        let mut header = serde_json::to_vec(&header)?;
        // the data begin at a multiple of eight
        header.resize(header.len().next_multiple_of(8), b' ');
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header);
        file.extend(to_bytes(&self.numbers));
        Ok(file)
    }

    /// Reads a file. Returns the adapter and its metadata.
    ///
    /// # Errors
    /// If it is not an adapter of this stand-in.
    pub fn from_safetensors(file: &[u8]) -> anyhow::Result<(Self, BTreeMap<String, String>)> {
        let (length, rest) = file.split_first_chunk().context("too short")?;
        let length = usize::try_from(u64::from_le_bytes(*length))?;
        ensure!(length <= rest.len(), "the header is cut off");
        let (header, data) = rest.split_at(length);
        let header: BTreeMap<String, Value> = serde_json::from_slice(header).context("the header")?;
        let metadata = header.get("__metadata__").cloned().context("no metadata")?;
        let metadata: BTreeMap<String, String> = serde_json::from_value(metadata).context("the metadata")?;
        ensure!(metadata.get("base_model").is_some_and(|name| name == BASE_MODEL), "not for {BASE_MODEL}");
        let rank = header.get(DOWN).and_then(|down| down["shape"][0].as_u64()).context("no such tensor")?;
        let adapter = Self::new(usize::try_from(rank)?, from_bytes(data)?)?;
        let written = adapter.to_safetensors(&metadata)?;
        ensure!(written.ends_with(data) && header.contains_key(UP), "other tensors than expected");
        Ok((adapter, metadata))
    }
}

/// Numbers as bytes, little-endian.
pub(crate) fn to_bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Numbers from their bytes.
///
/// # Errors
/// If the last number is cut off.
pub(crate) fn from_bytes(bytes: &[u8]) -> anyhow::Result<Vec<f32>> {
    let (numbers, rest) = bytes.as_chunks();
    ensure!(rest.is_empty(), "a number is cut off");
    Ok(numbers.iter().map(|number| f32::from_le_bytes(*number)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_what_was_written() {
        let numbers: Vec<f32> = (0..Adapter::size(3)).map(|n| n as f32 / 7.0 - 3.0).collect();
        let adapter = Adapter::new(3, numbers).unwrap();
        let metadata = BTreeMap::from([("theme".to_owned(), "dog".to_owned())]);
        let file = adapter.to_safetensors(&metadata).unwrap();
        let (read, found) = Adapter::from_safetensors(&file).unwrap();
        assert_eq!(read, adapter);
        assert_eq!((found["theme"].as_str(), found["stand_in"].as_str()), ("dog", "true"));
        for bad in [&file[..7], &file[..60], &file[..file.len() - 1], b"\x02\0\0\0\0\0\0\0{}"] {
            assert!(Adapter::from_safetensors(bad).is_err());
        }
        let mut endless = file;
        let at = endless.len() - 4;
        endless[at..].copy_from_slice(&f32::NAN.to_le_bytes());
        assert!(Adapter::from_safetensors(&endless).is_err());
    }

    #[test]
    fn the_residual_is_up_relu_down() {
        let mut numbers = vec![0.0; Adapter::size(2)];
        (numbers[0], numbers[FEATURES]) = (2.0, -1.0);
        numbers[2 * FEATURES..].copy_from_slice(&[1.0, 10.0, 2.0, 20.0, 3.0, 30.0]);
        let adapter = Adapter::new(2, numbers).unwrap();
        let mut features = [0.0; FEATURES];
        features[0] = 1.0;
        assert_eq!(adapter.residual(&features), [2.0, 4.0, 6.0]);
        features[0] = -1.0;
        assert_eq!(adapter.residual(&features), [10.0, 20.0, 30.0]);
    }
}
