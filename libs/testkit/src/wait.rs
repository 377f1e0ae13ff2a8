//! Waits for conditions.

use std::time::Duration;

/// Polls until `poll` returns a value, for at most 30 seconds. `what` describes the condition in the panic.
pub async fn eventually<T, F>(what: &str, poll: F) -> T
where
    F: AsyncFnMut() -> Option<T>,
{
    within(Duration::from_secs(30), what, poll).await
}

/// As [`eventually`], with another limit.
pub async fn within<T, F>(limit: Duration, what: &str, mut poll: F) -> T
where
    F: AsyncFnMut() -> Option<T>,
{
    let deadline = tokio::time::Instant::now() + limit;
    loop {
        if let Some(value) = poll().await {
            return value;
        }
        assert!(tokio::time::Instant::now() < deadline, "timed out after {} s: {what}", limit.as_secs());
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
}
