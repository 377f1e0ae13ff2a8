//! A replica of a service, in a runtime of its own.

use service::Process;
use tokio::runtime::{Builder, Runtime};

/// A replica. When it is dropped it ends as with `kill -9`: requests and transactions in progress break off.
#[derive(Debug)]
pub(crate) struct Replica {
    runtime: Option<Runtime>,
}

impl Replica {
    /// Starts a replica, and returns what `start` returns: its base URL, if it serves requests.
    pub(crate) async fn start<T: Send + 'static>(
        start: impl FnOnce(Process) -> futures::future::BoxFuture<'static, T> + Send + 'static,
    ) -> (Self, T) {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let started = runtime.spawn(async move { start(Process::default()).await }).await.unwrap();
        (Self { runtime: Some(runtime) }, started)
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
