//! The results of an attempt, and their upload.

use std::path::PathBuf;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use crate::jobs_service::{Artifact, Attempt, Error, Phase, Progress, Refused, Session, UPLOAD_MISSING};

/// A result.
pub(crate) struct Output {
    pub(crate) name: String,
    pub(crate) content_type: &'static str,
    pub(crate) content: Content,
}

/// The content of a result. Files are read one at a time.
pub(crate) enum Content {
    Bytes(Bytes),
    File(PathBuf),
}

impl Content {
    fn read(&self) -> std::io::Result<Bytes> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.clone()),
            Self::File(path) => std::fs::read(path).map(Bytes::from),
        }
    }
}

/// The results of an attempt.
#[derive(Default)]
pub(crate) struct Results {
    pub(crate) outputs: Vec<Output>,
    /// Files that are not results.
    pub(crate) refused: Vec<Refused>,
}

/// Uploads the results, and ends the attempt with them.
pub(crate) async fn upload(session: &Session, attempt: Attempt, results: &Results) -> Result<(), Error> {
    let uploading = Progress { phase: Phase::Uploading, step: 0, steps: 0 };
    match session.progress(attempt, uploading).await {
        Ok(()) | Err(Error::Unavailable(_)) => {}
        Err(other) => return Err(other),
    }
    match send(session, attempt, results).await {
        // for example no space: the user can act on it. An upload that was lost may succeed next time
        Err(Error::Refused { code, detail }) => {
            tracing::warn!(job.id = %attempt.job_id, code, detail, "results refused");
            session.fail(attempt, &code, &detail, (code == UPLOAD_MISSING, false)).await
        }
        Err(error @ (Error::Unavailable(_) | Error::Stale(_))) => {
            tracing::warn!(error = format!("{error:?}"), "cannot upload");
            let message = "A result could not be uploaded.";
            session.fail(attempt, "upload-failed", message, (true, false)).await
        }
        done => done,
    }
}

/// Uploads the results, and ends the attempt with them. If the service does not find them, once more.
async fn send(session: &Session, attempt: Attempt, results: &Results) -> Result<(), Error> {
    let artifacts = upload_all(session, attempt, &results.outputs).await?;
    match session.complete(attempt, &artifacts, &results.refused).await {
        Err(Error::Refused { code, .. }) if code == UPLOAD_MISSING => {
            upload_all(session, attempt, &results.outputs).await?;
            session.complete(attempt, &artifacts, &results.refused).await?;
        }
        ended => ended?,
    }
    tracing::info!(job.id = %attempt.job_id, artifacts = artifacts.len(), "attempt completed");
    Ok(())
}

async fn upload_all(session: &Session, attempt: Attempt, outputs: &[Output]) -> Result<Vec<Artifact>, Error> {
    let mut artifacts = Vec::new();
    for Output { name, content_type, content } in outputs {
        let content = content.read().map_err(|error| Error::Unavailable(error.into()))?;
        let sha256 = hex::encode(Sha256::digest(&content));
        let artifact = Artifact { name: name.clone(), content_type, sha256, bytes: content.len() };
        session.upload(attempt, &artifact, content).await?;
        artifacts.push(artifact);
    }
    Ok(artifacts)
}
