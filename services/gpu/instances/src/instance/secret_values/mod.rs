//! Values of the secrets of instances, encrypted with the configured key.
//!
//! - `encryption`: how values are encrypted, and what identifies a request with them; `store`: SQL; `renew`: values under an earlier key.

mod encryption;
mod renew;
pub mod store;

pub(crate) use encryption::Replacement;
pub use encryption::{Identity, context, encrypt};
pub use renew::reencrypt;
