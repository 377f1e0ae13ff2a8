//! The texts that a program contains: its data has a query in the same form as the cache, regardless of how
//! its literal was written.

use std::{
    collections::{BTreeSet, HashMap},
    path::Path,
};

use anyhow::Context;

/// Bytes by which a text is looked up.
const KEY: usize = 8;

/// Texts to search for.
#[derive(Debug)]
pub(super) struct Texts<'a> {
    texts: Vec<&'a [u8]>,
    /// By their first bytes.
    by_key: HashMap<[u8; KEY], Vec<usize>>,
    /// Whether a text begins with this byte.
    begins: [bool; 256],
}

impl<'a> Texts<'a> {
    /// Texts of at least eight bytes; shorter ones are not found.
    pub(super) fn new(texts: impl Iterator<Item = &'a str>) -> Self {
        let texts: Vec<_> = texts.map(str::as_bytes).collect();
        let (mut by_key, mut begins) = (HashMap::<_, Vec<_>>::new(), [false; 256]);
        for (number, text) in texts.iter().enumerate() {
            if let Some(key) = text.first_chunk() {
                by_key.entry(*key).or_default().push(number);
                begins[usize::from(key[0])] = true;
            }
        }
        Self { texts, by_key, begins }
    }

    /// The numbers of the texts that the file contains.
    pub(super) fn found_in(&self, file: &Path) -> anyhow::Result<BTreeSet<usize>> {
        let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
        Ok(self.found(&bytes))
    }

    fn found(&self, bytes: &[u8]) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for (at, byte) in bytes.iter().enumerate() {
            if !self.begins[usize::from(*byte)] {
                continue;
            }
            let rest = &bytes[at..];
            let Some(numbers) = rest.first_chunk().and_then(|key| self.by_key.get(key)) else { continue };
            found.extend(numbers.iter().filter(|&&number| rest.starts_with(self.texts[number])));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_wherever_they_are() {
        let texts = Texts::new(["select 1 from a", "select 1 from b", "update a", "select 2"].into_iter());
        let found = texts.found(b"..select 1 from bupdate aselect 1 from ");
        assert_eq!(found, BTreeSet::from([1, 2]));
        assert_eq!(texts.found(b""), BTreeSet::new());
    }
}
