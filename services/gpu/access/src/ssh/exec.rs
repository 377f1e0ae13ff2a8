//! Commands in the container of an instance.

use std::time::Duration;

use api::ErrorChain;
use clusters::{Command, ExecInput, ExecOutput, PodError};
use gpu_core::instance::InstanceState;
use instances::instance::Container;

/// Time between signs of life to the cluster.
pub(super) const PING: Duration = Duration::from_secs(60);
/// Why there is no container, as a sentence for the user.
pub(super) fn not_running(state: InstanceState) -> &'static str {
    match state {
        InstanceState::Stopped => "The instance is stopped. Start it, then connect again.",
        InstanceState::Pending | InstanceState::Starting => {
            "The instance is starting. Connect again in a moment."
        }
        InstanceState::Stopping => "The instance is stopping. Start it again, then connect again.",
        InstanceState::Deleting => "The instance is being deleted.",
        InstanceState::Running => "The instance cannot be reached at the moment. Connect again in a moment.",
    }
}

/// Runs a command in the container.
///
/// # Errors
/// Why it cannot be run, as a sentence for the user.
pub(super) async fn open(
    container: &Container,
    words: &[String],
    terminal: bool,
) -> Result<(ExecInput, ExecOutput), String> {
    let command = Command { words, terminal };
    container.cluster.run(&container.pod, &command).await.map_err(|error| match error {
        PodError::NotRunning(_) => not_running(InstanceState::Running).to_owned(),
        error => {
            tracing::warn!(error = %ErrorChain(&error), "cannot run a command in the instance");
            "The instance's datacenter does not answer. Connect again in a moment.".to_owned()
        }
    })
}

/// The format from which the `printf` of a shell makes these bytes. ASCII, and the same between single or double quotes.
pub(super) fn printf_format(bytes: &[u8]) -> String {
    let mut format = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"/._,:@+= ".contains(byte) {
            format.push(char::from(*byte));
        } else {
            format.push_str(&format!("\\{byte:03o}"));
        }
    }
    format
}
