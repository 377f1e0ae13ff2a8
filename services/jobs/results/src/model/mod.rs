//! Models of tenants: results of trainings, which generations can name. Their files are results of the jobs that made them.

mod http;
mod store;
mod view;

pub(crate) use http::routes;
pub use store::{StoredModel, Trained, exists, find_all, insert, lock_name};
pub use view::ModelKind;
