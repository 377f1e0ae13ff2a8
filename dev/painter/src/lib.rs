//! The computations of the stand-ins for Stable Diffusion WebUI and for a trainer: pictures of layered noise, and
//! adapters that are fitted to pictures. A separate crate, because it is slow without optimization.

pub mod adapter;
pub mod fit;
pub mod jpeg;
mod painter;
pub mod picture;
mod rows;

pub use painter::Painter;
pub use rows::Rows;
