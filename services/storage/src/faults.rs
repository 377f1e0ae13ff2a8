//! Fault injection for tests: a reconciler that stops right after its n-th effect on a cluster or the object store.
//! A test then ends the replica, as `kill -9` would, and checks that another one carries on from there. In
//! production no fault is set.

use std::{
    future,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

/// When the reconciler stops. Clones share the count.
#[derive(Debug, Clone)]
pub struct Faults(Arc<AtomicI64>);

impl Default for Faults {
    /// No fault.
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(i64::MAX)))
    }
}

impl Faults {
    /// Stops after `effects` effects.
    #[must_use]
    pub fn after(effects: u32) -> Self {
        Self(Arc::new(AtomicI64::new(effects.into())))
    }

    /// Whether the reconciler has stopped.
    #[must_use]
    pub fn fired(&self) -> bool {
        self.0.load(Ordering::Relaxed) <= 0
    }

    /// Counts an effect that has just been carried out. Never completes once the fault has fired.
    pub(crate) async fn effect(&self) {
        if self.0.fetch_sub(1, Ordering::Relaxed) <= 1 {
            future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn it_fires_after_the_given_number_of_effects() {
        let faults = Faults::after(2);
        assert!(faults.effect().now_or_never().is_some() && !faults.fired());
        assert!(faults.effect().now_or_never().is_none() && faults.fired());
        assert!(faults.effect().now_or_never().is_none(), "and stays so");
        let none = Faults::default();
        assert!(none.effect().now_or_never().is_some() && !none.fired());
    }
}
