//! Waiting on conditions.

use std::time::Duration;

/// Asks again and again until the answer is there, for at most 30 seconds. `what` names it in the failure.
pub async fn eventually<T, F>(what: &str, mut ask: F) -> T
where
    F: AsyncFnMut() -> Option<T>,
{
    let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(tokio::time::Instant::now() < deadline, "not so after 30 s: {what}");
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
}
