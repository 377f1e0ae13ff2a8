//! Waits for conditions.

use std::time::Duration;

/// Polls until `poll` returns a value, for at most 30 seconds. `what` describes the condition in the panic.
pub async fn eventually<T, F>(what: &str, mut poll: F) -> T
where
    F: AsyncFnMut() -> Option<T>,
{
    let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(value) = poll().await {
            return value;
        }
        assert!(tokio::time::Instant::now() < deadline, "timed out after 30 s: {what}");
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
}
