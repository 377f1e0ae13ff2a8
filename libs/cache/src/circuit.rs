//! The circuit breaker: when a store that does not answer is tried again.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// How long the store is not used after a missing answer: first this time, then twice as long after each
/// further one, up to [`PAUSE`]. So a machine that is briefly busy causes only a short pause.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause.
pub const PAUSE: Duration = Duration::from_secs(1);

/// Stops calls to a store that does not answer. Open after a failure, until a call gets an answer: one call tries per
/// pause, and the pauses grow.
#[derive(Debug, Default)]
pub struct Circuit(Mutex<Option<Open>>);

#[derive(Debug)]
struct Open {
    next_try: Instant,
    pause: Duration,
}

impl Circuit {
    /// Whether a call may be made. While the circuit is open, the admitted caller is the one that tries.
    pub fn admits(&self, now: Instant) -> bool {
        match &mut *self.state() {
            None => true,
            Some(open) if open.next_try <= now => {
                open.pause = (open.pause * 2).min(PAUSE);
                open.next_try = now + open.pause;
                true
            }
            Some(_) => false,
        }
    }

    /// Returns whether it was open.
    pub fn close(&self) -> bool {
        self.state().take().is_some()
    }

    /// Returns whether it was closed.
    pub fn open(&self, now: Instant) -> bool {
        let mut state = self.state();
        let was_closed = state.is_none();
        state.get_or_insert(Open { next_try: now + FIRST_PAUSE, pause: FIRST_PAUSE });
        was_closed
    }

    fn state(&self) -> MutexGuard<'_, Option<Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_call_in_a_pause_tries_a_store_that_does_not_answer() {
        let (circuit, begun) = (Circuit::default(), Instant::now());
        assert!(circuit.admits(begun) && circuit.admits(begun));
        assert!(circuit.open(begun), "the first failure");
        assert!(!circuit.open(begun), "another call of the same moment");
        assert!(!circuit.admits(begun + FIRST_PAUSE / 2));
        let later = begun + FIRST_PAUSE;
        assert!(circuit.admits(later), "one tries");
        assert!(!circuit.admits(later), "and no other");
        // the one that tries was dropped: another does
        assert!(circuit.admits(later + FIRST_PAUSE * 2));
        assert!(circuit.close());
        assert!(circuit.admits(later + PAUSE) && circuit.admits(later + PAUSE));
        assert!(!circuit.close());
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_to_a_second_and_begin_anew_after_an_answer() {
        let (circuit, begun) = (Circuit::default(), Instant::now());
        let tries = |begun: Instant| -> Vec<u64> {
            circuit.open(begun);
            let ms = (0..4_000).filter(|ms| circuit.admits(begun + Duration::from_millis(*ms)));
            ms.collect()
        };
        assert_eq!(tries(begun), [50, 150, 350, 750, 1_550, 2_550, 3_550]);
        assert!(circuit.close());
        assert_eq!(tries(begun)[..2], [50, 150]);
    }
}
