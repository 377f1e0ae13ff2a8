//! Re-exports a type of `instance` that `instance` itself re-exports from `model`.
pub(crate) use crate::instance::Model;

pub fn depth() -> Model {
    Model
}
