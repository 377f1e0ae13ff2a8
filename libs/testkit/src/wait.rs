//! Waits for conditions.

use std::time::Duration;

use tokio::time::Instant;

/// Longer waits are printed, and `cargo xtask pace` shows them with the slowest cases.
const TOLD: Duration = Duration::from_millis(500);

/// Polls until `poll` returns a value, for at most 30 seconds. `what` describes the condition in the panic.
pub async fn eventually<T, F>(what: &str, poll: F) -> T
where
    F: AsyncFnMut() -> Option<T>,
{
    within(Duration::from_secs(30), what, poll).await
}

/// As [`eventually`], with another limit.
#[expect(clippy::print_stdout, reason = "part of a case's output")]
pub async fn within<T, F>(limit: Duration, what: &str, mut poll: F) -> T
where
    F: AsyncFnMut() -> Option<T>,
{
    let begun = Instant::now();
    loop {
        if let Some(value) = poll().await {
            if begun.elapsed() > TOLD {
                println!("waited {:.1} s: {what}", begun.elapsed().as_secs_f64());
            }
            return value;
        }
        assert!(begun.elapsed() < limit, "timed out after {} s: {what}", limit.as_secs());
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
}
