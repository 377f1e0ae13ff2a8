//! A deployment, and the path of its file.

use api::Checks;
use ids::{DeploymentId, ModelId, StorageId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use storage_api::DownloadReason;
use utoipa::ToSchema;

/// Longest path.
const MAX_PATH: usize = 512;
/// Longest name of a file or folder in a path: the storage service adds to it while it downloads.
const MAX_SEGMENT: usize = 200;
/// Ending of the files.
const ENDING: &str = ".safetensors";
/// The folder from which Stable Diffusion WebUI loads adapters, below its data folder.
const FOLDER: &str = "models/Lora";
/// Characters of a model's name in the name of its file.
const NAME: usize = 60;

/// State of a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum DeploymentState {
    /// The file is not there yet.
    Pending,
    /// The file is on the volume, complete and verified.
    Deployed,
    /// Given up; what was at the path before is unchanged.
    Failed,
    /// Deleted by its user.
    Deleting,
}

/// Why a deployment is pending or failed. New codes may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum DeploymentReason {
    /// Pending: the volume is not available yet. One that no instance has mounted may wait for its first.
    VolumeUnavailable,
    /// Pending: others of the volume come first.
    Queued,
    /// Pending: the tenant is suspended.
    TenantSuspended,
    /// Pending: the platform is preparing the download.
    Preparing,
    /// Pending: the file is being downloaded.
    Downloading,
    /// Pending: an attempt has failed, which the message explains. The platform retries.
    Retrying,
    /// Failed: the volume was deleted, or is lost.
    VolumeGone,
    /// Failed: the file of the model was deleted.
    ModelGone,
    /// Failed: the file of the model has changed.
    ContentMismatch,
    /// Failed: no space is left on the volume.
    VolumeFull,
    /// Failed: something else is where the file or its folder would be, or it may not be written there.
    PathNotWritable,
    /// Failed: the download did not succeed in several attempts; the message says why.
    DownloadFailed,
}

impl From<DownloadReason> for DeploymentReason {
    fn from(reason: DownloadReason) -> Self {
        match reason {
            DownloadReason::VolumeUnavailable => Self::VolumeUnavailable,
            DownloadReason::Queued => Self::Queued,
            DownloadReason::TenantSuspended => Self::TenantSuspended,
            DownloadReason::ObjectStoreUnavailable
            | DownloadReason::Requested
            | DownloadReason::Scheduling
            | DownloadReason::Starting
            | DownloadReason::Unknown => Self::Preparing,
            DownloadReason::Downloading => Self::Downloading,
            DownloadReason::Retrying => Self::Retrying,
            DownloadReason::ObjectGone => Self::ModelGone,
            DownloadReason::ContentMismatch => Self::ContentMismatch,
            DownloadReason::VolumeFull => Self::VolumeFull,
            DownloadReason::PathNotWritable => Self::PathNotWritable,
            DownloadReason::UrlRefused
            | DownloadReason::Unreachable
            | DownloadReason::PodFailed
            | DownloadReason::TimedOut => Self::DownloadFailed,
        }
    }
}

/// A deployment of a model to a volume.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Deployment)]
pub(super) struct DeploymentView {
    /// Deployment id.
    pub(super) id: DeploymentId,
    /// The model.
    pub(super) model_id: ModelId,
    /// The volume.
    pub(super) storage_id: StorageId,
    /// Path of the file below the root of the volume.
    #[schema(example = "models/Lora/our-dog-5c2b1a00.safetensors")]
    pub(super) path: String,
    /// State.
    pub(super) state: DeploymentState,
    /// Why it is pending or failed; null if there is nothing to say.
    pub(super) reason: Option<DeploymentReason>,
    /// The reason in words.
    pub(super) message: Option<String>,
    /// Time of creation.
    pub(super) created_at: Timestamp,
    /// When it was deployed or failed.
    pub(super) finished_at: Option<Timestamp>,
}

/// A model to deploy to a volume.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewDeployment {
    /// The volume.
    pub(super) storage_id: StorageId,
    /// Path of the file below the root of the volume, up to 512 bytes, ending in `.safetensors`. The default is
    /// `models/Lora/<name>-<id>.safetensors`, where Stable Diffusion WebUI looks for adapters if its data folder is the
    /// root of the volume. An existing file is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "models/Lora/our-dog.safetensors")]
    pub(super) path: Option<String>,
}

impl NewDeployment {
    pub(super) fn check(&self, checks: &mut Checks) {
        let Some(path) = &self.path else { return };
        let is_name =
            |name: &str| !name.is_empty() && name != "." && name != ".." && name.len() <= MAX_SEGMENT;
        checks.require(
            path.len() <= MAX_PATH && path.split('/').all(is_name) && !path.chars().any(char::is_control),
            "/path",
            format!(
                "must be a path below the root of the volume, without `.`, `..` and control characters, of at most {MAX_PATH} \
                 bytes, {MAX_SEGMENT} in each name"
            ),
        );
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_file = name.len() > ENDING.len() && name.ends_with(ENDING);
        checks.require(is_file, "/path", format!("must end in {ENDING}"));
    }
}

/// The default path: the characters of the name that prompts and file systems accept, and the end of the id, so that
/// models of one name differ.
pub(super) fn default_path(model: ModelId, name: &str) -> String {
    let plain = name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' });
    let plain: String = plain.take(NAME).collect();
    let (name, id) = (plain.trim_matches('-'), model.uuid().simple().to_string());
    let separator = if name.is_empty() { "" } else { "-" };
    format!("{FOLDER}/{name}{separator}{}{ENDING}", &id[id.len() - 8..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(path: &str) -> Vec<String> {
        let mut checks = Checks::default();
        NewDeployment { storage_id: StorageId::new(), path: Some(path.to_owned()) }.check(&mut checks);
        checks.into_errors().into_iter().map(|error| error.pointer).collect()
    }

    #[test]
    fn a_path_is_that_of_a_safetensors_file_below_the_root() {
        for path in
            ["a.safetensors", "models/Lora/our dog.safetensors", "ü/-x.safetensors", "a/..b/c.safetensors"]
        {
            assert_eq!(errors(path), [""; 0], "{path}");
        }
        let long = format!("{}a.safetensors", "folder/".repeat(80));
        let name = format!("{}.safetensors", "a".repeat(200));
        for path in [
            "",
            "/a.safetensors",
            "a/",
            "../a.safetensors",
            "a/../b.safetensors",
            "a//b.safetensors",
            "./a.safetensors",
            "a\0.safetensors",
            "a\n.safetensors",
            "a.ckpt",
            ".safetensors",
            "a/.safetensors",
            &long,
            &name,
        ] {
            assert!(errors(path).contains(&"/path".to_owned()), "{path}");
        }
    }

    #[test]
    fn the_default_path_is_plain_and_of_this_model() {
        let model = ModelId::derived(&["a"]);
        let id = model.uuid().simple().to_string();
        let end = &id[24..];
        assert_eq!(default_path(model, "our dog"), format!("models/Lora/our-dog-{end}.safetensors"));
        assert_eq!(default_path(model, "../…"), format!("models/Lora/{end}.safetensors"));
        assert_eq!(default_path(model, &"a:b".repeat(99)).len(), "models/Lora/".len() + 60 + 9 + 12);
        for name in ["", "our dog", "<lora:x:1>", &"x".repeat(100)] {
            assert_eq!(errors(&default_path(model, name)), [""; 0], "{name}");
        }
    }
}
