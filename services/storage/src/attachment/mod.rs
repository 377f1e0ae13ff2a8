//! Attachments: instances for which a storage is kept. The gpu service writes them.

mod http;
mod model;
mod store;

pub(crate) use http::routes;
pub(crate) use model::AttachmentRef;
pub(crate) use store::of_storages;
