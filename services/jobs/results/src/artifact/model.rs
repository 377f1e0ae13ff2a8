//! Artifacts: outputs of attempts.

use api::{Checks, Problem};
use ids::{ArtifactId, JobId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Maximum number of artifacts of an attempt.
const MAX_ARTIFACTS: usize = 64;
/// Maximum number of bytes of the name of a result: the limit of file names.
const MAX_NAME: usize = 255;
/// Maximum number of bytes of an artifact: the limit of one PUT.
pub(super) const MAX_BYTES: i64 = 5 << 30;
/// Media type of files without a specific one.
pub(super) const CONTENT_TYPE: &str = "application/octet-stream";

/// An output of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    pub name: String,
    pub content_type: String,
    pub sha256: Vec<u8>,
    pub bytes: i64,
}

/// An output, as a worker reports it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    name: String,
    content_type: String,
    /// In hexadecimal.
    sha256: String,
    bytes: i64,
}

/// Checks the outputs of an attempt.
///
/// # Errors
/// Names all invalid fields, below `/artifacts`.
pub fn read(reports: &[Report]) -> Result<Vec<Artifact>, Problem> {
    let mut checks = Checks::default();
    checks.within("/artifacts", reports.len(), 0, MAX_ARTIFACTS);
    let mut read: Vec<Artifact> = Vec::new();
    for (n, report) in reports.iter().enumerate() {
        let at = format!("/artifacts/{n}");
        let Report { name, content_type, bytes, .. } = report;
        check_result(&mut checks, &at, name, content_type, *bytes);
        let is_new = read.iter().all(|other| other.name != *name);
        checks.require(is_new, format!("{at}/name"), "duplicate name");
        let sha256 = hex::decode(&report.sha256).unwrap_or_default();
        checks.require(sha256.len() == 32, format!("{at}/sha256"), "must be 64 hexadecimal digits");
        read.push(Artifact { name: name.clone(), content_type: content_type.clone(), sha256, bytes: *bytes });
    }
    checks.finish()?;
    Ok(read)
}

/// Checks a worker's description of a result.
pub(super) fn check_result(checks: &mut Checks, at: &str, name: &str, content_type: &str, bytes: i64) {
    check(checks, at, (name, MAX_NAME), content_type, bytes);
}

/// Checks the description of a file by a worker or user. Its name must be a valid file name: text without `/`
/// and control characters.
pub fn check(checks: &mut Checks, at: &str, (name, most): (&str, usize), content_type: &str, bytes: i64) {
    let is_name = !name.contains(|c: char| c == '/' || c.is_control()) && !matches!(name, "." | "..");
    let is_short = (1..=most).contains(&name.len());
    let rule = format!("must have 1 to {most} bytes, no / and no control characters, and not be . or ..");
    checks.require(is_name && is_short, format!("{at}/name"), rule);
    let pointer = format!("{at}/content_type");
    checks.length(&pointer, content_type, 100);
    let is_visible = content_type.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    checks.require(is_visible, pointer, "must be visible ASCII");
    checks.within(&format!("{at}/bytes"), bytes, 0, MAX_BYTES);
}

/// Prefix of the names of an attempt's objects.
pub(super) fn folder(job: JobId, attempt: i32) -> String {
    format!("jobs/{job}/{attempt}/")
}

/// A result of a job.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Artifact)]
pub(super) struct ArtifactView {
    /// Artifact id.
    pub(super) id: ArtifactId,
    /// Name, unique in the job.
    #[schema(example = "0.png")]
    pub(super) name: String,
    /// Media type.
    #[schema(example = "image/png")]
    pub(super) content_type: String,
    /// SHA-256 of the content as the worker computed it, in hexadecimal.
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    pub(super) sha256: String,
    /// Size in bytes.
    pub(super) bytes: i64,
    /// Time of creation.
    pub(super) created_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_has_the_name_of_a_file() {
        let is_allowed = |name: &str| {
            let mut checks = Checks::default();
            check_result(&mut checks, "", name, "image/png", 0);
            checks.into_errors().is_empty()
        };
        let longest = "\u{e9}".repeat(127);
        for name in ["0.png", "a b.png", "\u{fc}\u{1f600}", "%41+&?#", ".hidden", "a..b", " ", &longest] {
            assert!(is_allowed(name), "{name:?}");
        }
        for name in ["", ".", "..", "a/b", "a\nb", "\0", "\u{85}", &longest.repeat(2)] {
            assert!(!is_allowed(name), "{name:?}");
        }
    }
}
