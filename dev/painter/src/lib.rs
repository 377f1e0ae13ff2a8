//! What the stand-ins for Stable Diffusion WebUI and for a trainer compute: pictures of layered noise, and adapters that are
//! fitted to pictures. Apart from their servers, as it is slow without optimization.

pub mod adapter;
pub mod fit;
pub mod jpeg;
mod painter;
pub mod picture;

pub use painter::Painter;
