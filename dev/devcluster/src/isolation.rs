//! Isolation of objects: a worker that panics over one object continues with the others.

use std::panic::{AssertUnwindSafe, catch_unwind};

use objects::store::Object;

/// An object with this annotation makes the named worker panic, for tests.
const POISON: &str = "devcluster.atelier.dev/poison";

/// Runs a worker's step for one object. Logs a panic and returns `None`.
pub(crate) fn isolated<T>(worker: &str, object: &Object, step: impl FnOnce() -> T) -> Option<T> {
    let step = AssertUnwindSafe(|| {
        assert!(object.value["metadata"]["annotations"][POISON] != worker, "poison object");
        step()
    });
    match catch_unwind(step) {
        Ok(result) => Some(result),
        Err(panic) => {
            let cause = service::panic_message(&*panic);
            let (kind, namespace, name) = (&object.value["kind"], object.namespace(), object.name());
            tracing::error!(worker, %kind, namespace, name, cause, "worker panicked over an object");
            None
        }
    }
}
