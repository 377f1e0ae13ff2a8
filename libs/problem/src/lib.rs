//! Problems as values: their types, their JSON, and the checks of fields that lead to them.
//!
//! For rules, which refuse without HTTP or a database: nothing may enter that needs either. `libs/api` turns
//! them into responses.

pub mod checks;
mod details;
mod registry;
pub mod text;

pub use checks::{Checks, Invalid};
pub use details::{FieldError, ProblemDetails};
pub use registry::{Member, ProblemType, TYPE_BASE, reference};
