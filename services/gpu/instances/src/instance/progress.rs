//! The progress of the operation on an instance.

use api::OperationProgress;
use gpu_core::instance::{Instance, InstanceState};

/// Returns the progress of its current operation: the state with its reason.
pub(super) fn progress(instance: &Instance) -> OperationProgress {
    let reason = instance.state.reason();
    OperationProgress {
        phase: Some(InstanceState::from(&instance.state).as_str().to_owned()),
        reason: reason.map(|reason| reason.code.to_wire()),
        message: reason.map(|reason| reason.message.clone()),
        ..OperationProgress::default()
    }
}

#[cfg(test)]
mod tests {
    use gpu_core::{
        instance::{
            State,
            fixture::{claim, instance, pod},
        },
        reason::{Reason, ReasonCode},
    };

    use super::*;

    #[test]
    fn the_progress_of_an_operation_is_the_state_with_its_reason() {
        let waiting = Reason::new(ReasonCode::WaitingForPlace, "No node has room.");
        let starting = State::Starting { claim: claim(), reason: Some(waiting), restarting: false };
        let shown = progress(&instance(starting));
        assert_eq!(shown.phase.as_deref(), Some("starting"));
        assert_eq!(shown.reason.as_deref(), Some("waiting_for_place"));
        assert_eq!(shown.message.as_deref(), Some("No node has room."));
        let shown = progress(&instance(State::Running { claim: claim(), pod: pod() }));
        assert_eq!((shown.reason, shown.message), (None, None));
    }

    #[test]
    fn operations_have_each_reason() {
        assert_eq!(api::operation_reason::missing::<ReasonCode>(), Vec::<serde_json::Value>::new());
    }
}
