//! The query of a feed.

use std::time::Duration;

use api::Problem;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use utoipa::IntoParams;

use crate::{InvalidCursor, Start, Wait};

/// Longest wait for a change, in seconds.
const MAX_WAIT: u32 = 20;

/// Where a reader of a feed is, and how long it waits.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FeedQuery {
    /// `next_cursor` of the previous response. If absent or empty, the feed starts with the oldest entry that is kept;
    /// with `latest`, it contains new entries only.
    after: Option<String>,
    /// Seconds to wait for the next change; 0 returns at once.
    #[param(minimum = 0, maximum = 20, default = 0)]
    wait_seconds: Option<u32>,
}

impl FeedQuery {
    /// Returns the cursor and the wait, which `stop` ends early.
    ///
    /// # Errors
    /// `invalid-field`, if one of them is not valid.
    pub fn read(self, stop: CancellationToken) -> Result<(Start, Wait), Problem> {
        let after = match self.after.as_deref().unwrap_or_default() {
            "latest" => Start::Latest,
            cursor => Start::After(
                cursor
                    .parse()
                    .map_err(|error: InvalidCursor| Problem::invalid_field("after", error.to_string()))?,
            ),
        };
        let seconds = self.wait_seconds.unwrap_or(0);
        if seconds > MAX_WAIT {
            return Err(Problem::invalid_field("wait_seconds", format!("must be at most {MAX_WAIT}")));
        }
        Ok((after, Wait { at_most: Duration::from_secs(seconds.into()), stop }))
    }
}
