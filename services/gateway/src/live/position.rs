//! The position in a stream: how far each source was read.

use std::{collections::BTreeMap, fmt, str::FromStr};

use super::topic::Source;

/// Longest text of a position, in bytes: the positions of all sources while hundreds of transactions run.
const LONGEST: usize = 16 * 1024;

/// The `id` of the last event of each source, as text `gpu=42;jobs=795:799:795,797`. Sources that were not read yet are missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Position(pub(super) BTreeMap<Source, String>);

/// The text is not the `id` of an event of this stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoPosition;

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (source, id)) in self.0.iter().enumerate() {
            let joint = if n == 0 { "" } else { ";" };
            write!(f, "{joint}{}={id}", source.name())?;
        }
        Ok(())
    }
}

impl FromStr for Position {
    type Err = NoPosition;

    /// Leaves out sources that this version does not know.
    fn from_str(text: &str) -> Result<Self, NoPosition> {
        if text.len() > LONGEST {
            return Err(NoPosition);
        }
        let mut position = Self::default();
        for part in text.split(';') {
            let (name, id) = part.split_once('=').ok_or(NoPosition)?;
            if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(NoPosition);
            }
            let source = Source::ALL.into_iter().find(|source| source.name() == name);
            if let Some(source) = source
                && position.0.insert(source, id.to_owned()).is_some()
            {
                return Err(NoPosition);
            }
        }
        Ok(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_back() {
        for text in [
            "gpu=42",
            "gpu=42;jobs=17!7:9:7~9:12:11~42",
            "jobs=795:799:795,797",
            "storage=17@7:7:;stock=17@7:9:7",
        ] {
            assert_eq!(text.parse::<Position>().unwrap().to_string(), text);
        }
        assert_eq!("gpu=1;later=2".parse::<Position>().unwrap().to_string(), "gpu=1");
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["", "42", "gpu=", "gpu=1;", "gpu=1;gpu=2", "gpu=1 2", "gpu=\n1"] {
            assert_eq!(text.parse::<Position>(), Err(NoPosition), "{text:?}");
        }
        assert_eq!(format!("gpu={}", "1".repeat(LONGEST)).parse::<Position>(), Err(NoPosition));
    }
}
