//! A sample crate with known imports. It is read, not built.
mod alias;
mod instance;
mod router;

pub use router::Router;

pub fn build() -> Router {
    router::build()
}
