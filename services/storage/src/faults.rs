//! Sudden death on order, for tests: a worker that dies after its n-th effect on the outside, as by
//! kill -9. In production nothing is ever ordered.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

/// When the worker dies. Clones share the count.
#[derive(Debug, Clone)]
pub struct Faults(Arc<AtomicI64>);

/// The worker is dead.
#[derive(Debug)]
pub(crate) struct Killed;

impl Default for Faults {
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(i64::MAX)))
    }
}

impl Faults {
    /// Death right after `effects` effects.
    #[must_use]
    pub fn after(effects: u32) -> Self {
        Self(Arc::new(AtomicI64::new(effects.into())))
    }

    /// Whether it has come to pass.
    #[must_use]
    pub fn fired(&self) -> bool {
        self.0.load(Ordering::Relaxed) <= 0
    }

    /// Counts an effect.
    pub(crate) fn effect(&self) -> Result<(), Killed> {
        if self.0.fetch_sub(1, Ordering::Relaxed) <= 1 { Err(Killed) } else { Ok(()) }
    }
}
