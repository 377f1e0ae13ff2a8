//! What a list of jobs contains, and in which order. Pure.

use jobs_core::{
    kind::{Kind, Level},
    status::JobState,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// Order of a list of jobs. Jobs with equal values are sorted by creation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum JobSort {
    /// Oldest first.
    #[serde(rename = "created_at")]
    Oldest,
    /// Newest first.
    #[default]
    #[serde(rename = "-created_at")]
    Newest,
    /// Those that ended first are first; open ones are last.
    #[serde(rename = "ended_at")]
    EndedFirst,
    /// Open ones first, then those that ended last.
    #[serde(rename = "-ended_at")]
    EndedLast,
    /// Cheapest first. What costs nothing yet is as cheap as what costs nothing.
    #[serde(rename = "cost")]
    Cheapest,
    /// Most expensive first. Amounts of different currencies are compared as numbers.
    #[serde(rename = "-cost")]
    MostExpensive,
}

/// What jobs are ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderKey {
    Creation,
    End,
    Cost,
}

impl JobSort {
    pub fn key(self) -> OrderKey {
        match self {
            Self::Oldest | Self::Newest => OrderKey::Creation,
            Self::EndedFirst | Self::EndedLast => OrderKey::End,
            Self::Cheapest | Self::MostExpensive => OrderKey::Cost,
        }
    }

    pub fn is_descending(self) -> bool {
        matches!(self, Self::Newest | Self::EndedLast | Self::MostExpensive)
    }
}

/// Which jobs a list contains: those that meet all conditions.
#[derive(Debug, Default)]
pub struct Filter<'a> {
    /// A part of a list, for which an index has the order of the list, or which is small.
    pub states: &'a [JobState],
    pub kind: Option<Kind>,
    pub level: Option<Level>,
    pub application: Option<&'a str>,
    pub group: Option<&'a str>,
    pub req_no: Option<Uuid>,
}

/// A part of a list: an index has its jobs in the order of the list, or they are few.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All jobs, in the order of their creation.
    All,
    /// Those of a group or a number.
    Named,
    /// Those that have not ended.
    Open,
    /// Jobs of this kind that ended in this state.
    Ended(Kind, JobState),
}

impl Filter<'_> {
    /// Returns the parts whose union is the list.
    pub fn parts(&self, key: OrderKey) -> Vec<Part> {
        if self.group.is_some() || self.req_no.is_some() {
            return vec![Part::Named];
        }
        let is_whole = self.states.is_empty()
            && self.kind.is_none()
            && self.level.is_none()
            && self.application.is_none();
        if is_whole && key == OrderKey::Creation {
            return vec![Part::All];
        }
        let has_open = self.states.is_empty() || self.states.iter().any(|state| !state.is_ended());
        let ends = JobState::ENDS.into_iter();
        let ends = ends.filter(|state| self.states.is_empty() || self.states.contains(state));
        let kinds = Kind::ALL.into_iter().filter(|kind| self.kind.is_none_or(|asked| asked == *kind));
        let ended = ends.flat_map(|state| kinds.clone().map(move |kind| Part::Ended(kind, state)));
        has_open.then_some(Part::Open).into_iter().chain(ended).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_from_the_parts_that_it_needs() {
        let parts = |filter: &Filter<'_>, key| filter.parts(key);
        assert_eq!(parts(&Filter::default(), OrderKey::Creation), [Part::All]);
        assert_eq!(
            parts(&Filter::default(), OrderKey::Cost).len(),
            13,
            "open ones, and each kind in each end"
        );
        let failed = Filter {
            states: &[JobState::Failed, JobState::Failed],
            kind: Some(Kind::Training),
            ..Filter::default()
        };
        assert_eq!(parts(&failed, OrderKey::Creation), [Part::Ended(Kind::Training, JobState::Failed)]);
        let open = Filter { states: &[JobState::Running, JobState::Queued], ..Filter::default() };
        assert_eq!(parts(&open, OrderKey::End), [Part::Open]);
        let urgent = Filter { level: Some(Level::Urgent), ..Filter::default() };
        assert_eq!(parts(&urgent, OrderKey::Creation)[0], Part::Open);
        let named = Filter { group: Some("campaign"), states: &[JobState::Failed], ..Filter::default() };
        assert_eq!(parts(&named, OrderKey::End), [Part::Named]);
    }
}
