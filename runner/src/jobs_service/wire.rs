//! The JSON of requests and responses.

use ids::JobId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Code of an attempt whose workers have not all begun.
pub(crate) const INCOMPLETE: &str = "gang-incomplete";
/// Code of a result that the service does not find.
pub(crate) const UPLOAD_MISSING: &str = "upload-missing";

/// Names of the models that a worker has, by kind, sorted. None: not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Models {
    pub(crate) checkpoints: Option<Vec<String>>,
    pub(crate) base_models: Option<Vec<String>>,
}

/// An attempt of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Attempt {
    pub(crate) job_id: JobId,
    pub(crate) attempt: i32,
}

/// A job to run.
#[derive(Debug, Deserialize)]
pub(crate) struct Work {
    pub(crate) job_id: JobId,
    pub(crate) attempt: i32,
    pub(crate) application: String,
    pub(crate) method: String,
    pub(crate) parameters: Map<String, Value>,
    /// For an attempt with several workers.
    #[serde(default)]
    pub(crate) gang: Option<Gang>,
}

/// The place of the worker among those of the attempt.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Gang {
    pub(crate) rank: u32,
    pub(crate) world_size: u32,
}

impl Work {
    /// Whether this worker reports progress, checkpoints and results.
    pub(crate) fn leads(&self) -> bool {
        self.gang.is_none_or(|gang| gang.rank == 0)
    }
}

/// Why an attempt has to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StopReason {
    Cancelled,
    Preempted,
    NotYours,
}

/// Work for the worker.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Instruction {
    Work(Work),
    Stop { reason: StopReason },
}

/// The phase of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phase {
    Loading,
    Working,
    Uploading,
}

/// Progress of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) phase: Phase,
    pub(crate) step: u32,
    pub(crate) steps: u32,
}

/// A file that an attempt needs.
#[derive(Debug, Deserialize)]
pub(crate) struct Input {
    /// Id of the upload, result or model; the steps of a checkpoint.
    pub(crate) id: Value,
    pub(crate) name: String,
    pub(super) bytes: u64,
    /// In hexadecimal, if it is known.
    pub(super) sha256: Option<String>,
    /// ETag of the content when the file was ready, if it is known.
    pub(super) etag: Option<String>,
    pub(super) url: String,
}

/// The files that an attempt needs.
#[derive(Debug, Deserialize)]
pub(crate) struct Inputs {
    pub(crate) uploads: Vec<Input>,
    /// Results of other jobs.
    pub(crate) artifacts: Vec<Input>,
    pub(crate) models: Vec<Input>,
    /// The furthest first.
    pub(crate) checkpoints: Vec<Input>,
}

impl Inputs {
    pub(super) fn all(&self) -> impl Iterator<Item = &Input> {
        self.uploads.iter().chain(&self.artifacts).chain(&self.models).chain(&self.checkpoints)
    }
}

/// Files of a program that are not results.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Refused {
    pub(crate) name: String,
    pub(crate) reason: &'static str,
}

/// A result that was uploaded.
#[derive(Debug, Serialize)]
pub(crate) struct Artifact {
    pub(crate) name: String,
    pub(crate) content_type: &'static str,
    /// In hexadecimal.
    pub(crate) sha256: String,
    pub(crate) bytes: usize,
}
