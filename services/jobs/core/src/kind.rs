//! What a job is: its kind and level, its group, and the workers that run it together. Pure.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Kind of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(type_name = "text", rename_all = "snake_case"))]
#[schema(as = JobKind)]
pub enum Kind {
    /// Makes a model.
    Training,
    /// Makes pictures.
    Generation,
    /// Anything else.
    Batch,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Training, Self::Generation, Self::Batch];

    /// The name in JSON and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::Generation => "generation",
            Self::Batch => "batch",
        }
    }
}

/// Level of a job. It comes first in the order of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(type_name = "text", rename_all = "snake_case"))]
#[schema(as = JobLevel)]
pub enum Level {
    /// Before all others, within the tenant's allowance; above it, ordinary.
    Urgent,
    /// The default.
    Ordinary,
    /// After all others; ordinary when it has waited for six hours.
    Background,
}

impl Level {
    /// The name in JSON and labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Urgent => "urgent",
            Self::Ordinary => "ordinary",
            Self::Background => "background",
        }
    }

    /// Returns the level for a priority, for a request without a level.
    pub fn of_priority(priority: u8) -> Self {
        match priority {
            0..=2 => Self::Background,
            3..=6 => Self::Ordinary,
            _ => Self::Urgent,
        }
    }
}

/// Whether the jobs of a group may run on other nodes than its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(type_name = "text", rename_all = "snake_case"))]
#[schema(as = JobGroupMode)]
pub enum GroupMode {
    /// One group to one node: its jobs run there only, and those of no other strict group do.
    Strict,
    /// The node of the group is tried first.
    Prefer,
}

/// The group of a job: jobs of a tenant that belong on one node. Groups of different modes are different groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub name: String,
    pub mode: GroupMode,
}

/// Workers that run a job together, each with a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = JobGang)]
pub struct Gang {
    /// Number of workers.
    #[schema(minimum = 2, maximum = 64)]
    pub size: u8,
    /// Whether all of them have to be on one node.
    #[serde(default)]
    pub same_node: bool,
}

impl Gang {
    /// Sizes.
    pub const SIZES: (u8, u8) = (2, 64);

    /// The gang of stored columns; none of one worker.
    pub fn of(size: i16, same_node: bool) -> Option<Self> {
        u8::try_from(size).ok().filter(|size| *size > 1).map(|size| Self { size, same_node })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_has_a_level() {
        let levels = (0..=9).map(Level::of_priority);
        let count = |level| levels.clone().filter(|found| *found == level).count();
        assert_eq!((count(Level::Background), count(Level::Ordinary), count(Level::Urgent)), (3, 4, 3));
    }
}
