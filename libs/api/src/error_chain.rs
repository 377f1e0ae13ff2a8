//! An error with its causes in one line.

use std::{error::Error, fmt};

/// Displays an error and its sources, separated by `: `. A source whose text the error already ends with
/// is not repeated.
#[derive(Debug, Clone, Copy)]
pub struct ErrorChain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.0.to_string();
        f.write_str(&text)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            let next = error.to_string();
            if !text.ends_with(&next) {
                write!(f, ": {next}")?;
            }
            text = next;
            source = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Step {
        text: &'static str,
        #[source]
        source: Option<Box<Step>>,
    }

    fn chain(texts: &[&'static str]) -> Option<Box<Step>> {
        let (text, rest) = texts.split_first()?;
        Some(Box::new(Step { text, source: chain(rest) }))
    }

    #[test]
    fn causes_follow_their_error() {
        for (texts, expected) in [
            (vec!["a"], "a"),
            (vec!["a", "b", "c"], "a: b: c"),
            (vec!["cannot read: no file", "no file"], "cannot read: no file"),
            (vec!["a", "a", "b"], "a: b"),
        ] {
            assert_eq!(ErrorChain(&*chain(&texts).unwrap()).to_string(), expected);
        }
    }
}
