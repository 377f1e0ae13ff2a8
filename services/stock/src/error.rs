//! The errors of the service, and what callers are told about them.

use std::sync::Arc;

use api::{FieldError, Problem, ProblemType};
use ids::InstanceId;
use sqlx::error::ErrorKind;

use crate::claim::Exhausted;

/// Why the service did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The resource does not exist.
    #[error("not found")]
    NotFound,
    /// Another resource of this kind has the name.
    #[error("{kind} with this name exists")]
    NameTaken {
        /// Kind of the resource, with an article.
        kind: &'static str,
    },
    /// The specification has units.
    #[error("the specification has units")]
    GpuSpecInUse,
    /// The specification takes no new stock.
    #[error("the specification is retired")]
    GpuSpecRetired,
    /// The datacenter has units.
    #[error("the datacenter has units")]
    DatacenterInUse,
    /// The datacenter takes no new stock.
    #[error("the datacenter is draining")]
    DatacenterDraining,
    /// Fewer units are free than are to be removed.
    #[error("{free} units of {gpu_spec} in {datacenter} are free")]
    StockInUse {
        /// Units that are free.
        free: i64,
        /// Name of the specification.
        gpu_spec: String,
        /// Name of the datacenter.
        datacenter: String,
    },
    /// An instance has the unit.
    #[error("the unit is in use")]
    UnitInUse {
        /// The instance that holds it; none: one occupies it without a claim.
        instance: Option<InstanceId>,
    },
    /// As many operations of this kind are in progress as may be.
    #[error("{open} operations are in progress")]
    TooManyOperations {
        /// The limit.
        limit: i64,
        /// Operations in progress.
        open: i64,
    },
    /// No unit can be claimed.
    #[error("no unit is free")]
    StockExhausted(Arc<Exhausted>),
    /// The instance holds a unit of another specification or for another tenant.
    #[error("the instance holds another unit")]
    AlreadyClaimed,
    /// Fields of the request name things that do not exist.
    #[error("invalid fields")]
    Invalid(Vec<FieldError>),
    /// A batch of claims or releases ended without an answer.
    #[error("a batch of claims or releases ended without an answer")]
    BatchLost,
    /// The database failed.
    #[error("the database failed")]
    Database(#[source] Arc<sqlx::Error>),
}

impl Error {
    /// Maps a database error: a violated constraint of this kind becomes `meaning`.
    pub(crate) fn if_violated(kind: ErrorKind, meaning: Self) -> impl FnOnce(sqlx::Error) -> Self {
        move |error| match &error {
            sqlx::Error::Database(cause) if cause.kind() == kind => meaning,
            _ => error.into(),
        }
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(Arc::new(error))
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound => Self::not_found(),
            Error::NameTaken { kind } => {
                Self::new(ProblemType::NameTaken, format!("{kind} with this name exists."))
            }
            Error::GpuSpecInUse => Self::new(
                ProblemType::GpuSpecInUse,
                "While a specification has units, only its price, currency and state can change.",
            ),
            Error::GpuSpecRetired => {
                Self::new(ProblemType::GpuSpecRetired, "A retired specification takes no new stock.")
            }
            Error::DatacenterInUse => Self::new(
                ProblemType::DatacenterInUse,
                "While a datacenter has units, its name and cluster cannot change, and it cannot be deleted.",
            ),
            Error::DatacenterDraining => {
                Self::new(ProblemType::DatacenterDraining, "A draining datacenter takes no new stock.")
            }
            Error::StockInUse { free, gpu_spec, datacenter } => Self::new(
                ProblemType::StockInUse,
                format!("{free} units of {gpu_spec} in {datacenter} are free."),
            )
            .next(format!("Remove at most {free} units, or wait until instances release theirs."))
            .with("free", free),
            Error::UnitInUse { instance } => {
                let detail = match instance {
                    Some(instance) => format!("The instance {instance} holds this unit."),
                    None => "An instance occupies this unit.".to_owned(),
                };
                Self::new(ProblemType::UnitInUse, detail).with("instance_id", instance)
            }
            Error::TooManyOperations { limit, open } => Self::new(
                ProblemType::TooManyOperations,
                format!("{open} operations of this kind are in progress; {limit} may be."),
            )
            .with("limit", limit)
            .with("open", open),
            Error::StockExhausted(exhausted) => {
                let detail = if exhausted.draining {
                    "The datacenter is draining: its units cannot be claimed."
                } else {
                    "No unit of this GPU specification is free."
                };
                Self::new(ProblemType::StockExhausted, detail)
                    .with("alternatives", &exhausted.alternatives)
                    .with("waiting", exhausted.waiting)
            }
            Error::AlreadyClaimed => Self::new(
                ProblemType::AlreadyClaimed,
                "The instance holds a unit of another specification or for another tenant.",
            ),
            Error::Invalid(errors) => Self::invalid(errors),
            Error::BatchLost => Self::unavailable("The stock service", Error::BatchLost),
            Error::Database(cause) => cause.into(),
        }
    }
}
