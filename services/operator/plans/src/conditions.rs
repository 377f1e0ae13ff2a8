//! Conditions of a resource's status.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// The conditions of one status, and the generation and time with which they are set.
pub struct Conditions<'a> {
    /// The conditions.
    pub all: &'a mut Vec<Condition>,
    /// The observed generation.
    pub generation: Option<i64>,
    /// Now.
    pub now: Timestamp,
}

impl Conditions<'_> {
    /// Sets a condition. Its transition time changes only with its status.
    pub fn set(&mut self, type_: &str, status: bool, reason: &str, message: &str) {
        let status = if status { "True" } else { "False" };
        let known = self.all.iter_mut().find(|condition| condition.type_ == type_);
        let since = known
            .as_ref()
            .filter(|condition| condition.status == status)
            .map(|condition| condition.last_transition_time.clone());
        let condition = Condition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            observed_generation: self.generation,
            last_transition_time: since.unwrap_or_else(|| whole_seconds(self.now)),
        };
        match known {
            Some(known) => *known = condition,
            None => self.all.push(condition),
        }
    }
}

/// The time in whole seconds, as resources store it.
#[must_use]
pub fn whole_seconds(time: Timestamp) -> Time {
    Time(Timestamp::from_second(time.as_second()).unwrap_or(time))
}
