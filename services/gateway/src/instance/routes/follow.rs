//! Follows the changes of routes.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
    time::Duration,
};

use api::ErrorChain;
use backon::{BackoffBuilder, ExponentialBuilder, Retryable};
use futures::future::join_all;
use gpu_api::{HostLabel, RouteChange};
use service::{Duty, Task};
use tokio::time::{Instant, sleep};

use super::{Inner, OpenRoute, Routes};

/// How long one request for changes waits for some.
const WAIT: Duration = Duration::from_secs(5);
/// Time after an answer of the gpu service for which the feed counts as followed.
const GRACE: Duration = Duration::from_secs(7);
const MIN_DELAY: Duration = Duration::from_millis(100);
const MAX_DELAY: Duration = Duration::from_secs(2);
/// Failed lookups of a changed route after which its connections are closed.
const ATTEMPTS: usize = 20;

impl Routes {
    /// The task that does it.
    pub(crate) fn task(&self) -> Task {
        Task::new("routes", Duty::Follow, self, |routes| async move {
            routes.follow().await;
            Ok(())
        })
    }

    async fn follow(&self) {
        let (mut cursor, mut delays) = (String::new(), delays());
        loop {
            let asked = Instant::now();
            match self.0.gpu.route_changes(&cursor, WAIT).await {
                Ok(changes) => {
                    cursor = changes.next_cursor;
                    delays = self::delays();
                    self.apply(changes.items.into_iter().map(|item| item.change));
                    if changes.complete {
                        self.0.followed(asked);
                    }
                }
                Err(error) => {
                    tracing::warn!(error = %ErrorChain(&error), "cannot read changes of routes; retrying");
                    // the cursor may be from before a restore of the database
                    cursor.clear();
                    sleep(delays.next().unwrap_or(MAX_DELAY)).await;
                }
            }
        }
    }

    /// Invalidates the changed routes, and checks their open connections.
    fn apply(&self, changes: impl Iterator<Item = RouteChange>) {
        let mut concerned: HashMap<String, Vec<Arc<OpenRoute>>> = HashMap::new();
        for change in changes {
            self.0.changed.insert(change);
            for route in self.0.open.concerned(change) {
                concerned.entry(route.label.clone()).or_default().push(route);
            }
        }
        if !concerned.is_empty() {
            let routes = self.clone();
            // the feed does not wait for it
            tokio::spawn(async move {
                join_all(concerned.into_iter().map(|(label, open)| routes.check(label, open))).await;
            });
        }
    }

    /// Closes the connections on the routes of a host name, unless the routes stay valid.
    async fn check(&self, label: String, open: Vec<Arc<OpenRoute>>) {
        let Some(host) = HostLabel::parse(&label) else { return };
        let find = async || self.find(host, &label).await;
        let now = find.retry(delays().take(ATTEMPTS)).await;
        if let Err(error) = &now {
            tracing::warn!(error = %ErrorChain(error), label, "what is open on a changed route is cut: its state is unknown");
        }
        let now = now.ok().flatten();
        for route in open {
            route.keep_shares(now.as_ref().map_or(&[], |now| &now.share_links));
            if !route.goes_on_as(now.as_deref().map(|now| &**now)) {
                route.end();
            }
        }
    }
}

impl Inner {
    /// Records that all changes until `asked` are known.
    fn followed(&self, asked: Instant) {
        *self.followed_until.write().unwrap_or_else(PoisonError::into_inner) = Some(asked + WAIT + GRACE);
    }
}

fn delays() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(MIN_DELAY)
        .with_max_delay(MAX_DELAY)
        .with_jitter()
        .without_max_times()
        .build()
}
