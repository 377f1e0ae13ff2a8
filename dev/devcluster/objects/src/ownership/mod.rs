//! Field ownership: `metadata.managedFields` and server-side apply.

mod apply;
mod fields;
mod managed;

pub use apply::{Apply, apply};
pub use fields::{ListKind, Shape};
pub use managed::{Entry, Manager, after_update, read, write};
