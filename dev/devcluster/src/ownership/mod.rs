//! Field ownership: `metadata.managedFields` and server-side apply.

mod apply;
mod fields;
mod managed;

pub(crate) use apply::{Apply, apply};
pub(crate) use fields::{ListKind, Shape};
pub(crate) use managed::{Entry, Manager, after_update, read, write};
