//! Missing inputs of jobs.

use api::{Problem, ProblemType};

/// Uploads, results and models that do not exist, or have no content.
#[derive(Debug, thiserror::Error)]
#[error("inputs missing: {0:?}")]
pub struct InputMissing(pub Vec<String>);

impl From<InputMissing> for Problem {
    fn from(InputMissing(ids): InputMissing) -> Self {
        Self::new(
            ProblemType::InputMissing,
            format!("These inputs do not exist, are empty or were replaced: {}.", ids.join(", ")),
        )
        .with("inputs", ids)
    }
}
