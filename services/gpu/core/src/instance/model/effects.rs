//! What follows from a change of an instance.

use ids::OperationId;
use problem::ProblemDetails;

use crate::{event::Entry, meter::Metering};

/// The result of a command.
#[derive(Debug, Clone, PartialEq)]
pub enum Accepted {
    /// The instance has a new operation.
    New(Effects),
    /// The same command is in progress, and its operation is the current one. Nothing has changed.
    InProgress,
}

/// How an operation ends.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// As requested.
    Succeeded,
    /// With a problem.
    Failed(Box<ProblemDetails>),
    /// Superseded by a later operation on the same instance.
    Cancelled,
}

/// An operation that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct EndedOperation {
    /// Id.
    pub id: OperationId,
    /// How it ended.
    pub end: End,
}

/// Effects to store together with a change of the instance.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Effects {
    /// Operations that have ended.
    pub ended: Vec<EndedOperation>,
    /// Changes of the meter.
    pub metering: Vec<Metering>,
    /// What is added to the tenant's log of events.
    pub log: Vec<Entry>,
}

impl Effects {
    /// Adds later effects.
    pub fn extend(&mut self, later: Self) {
        self.ended.extend(later.ended);
        self.metering.extend(later.metering);
        self.log.extend(later.log);
    }
}
