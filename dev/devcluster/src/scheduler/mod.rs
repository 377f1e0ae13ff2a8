//! The scheduler: assigns pods without a node to nodes with room, pods of high priority first. A pod that does not fit
//! waits for a change that could help. A nominated pod (`status.nominatedNodeName`) keeps its place against pods of
//! the same or lower priority.

mod attempt;
mod cache;
mod claims;
mod fit;
mod preempt;

use crate::hub::Hub;
use crate::isolation::isolated;
use crate::store::{Event, Object, Op};
use cache::Cache;
use std::sync::Arc;

/// Runs until the cluster stops.
pub(crate) async fn run(hub: Arc<Hub>) {
    let mut feed = hub.store.feed(&["nodes", claims::CLAIMS, claims::SLICES, "pods"]);
    let mut cache = Cache::default();
    loop {
        let next = schedule(&hub, &mut cache);
        let retry = async {
            match next {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = hub.stop.cancelled() => return,
            () = retry => {}
            event = feed.next() => observe(&mut cache, &event),
        }
    }
}

fn observe(cache: &mut Cache, event: &Event) {
    let mut helps = false;
    let mut see = |cache: &mut Cache, object: &Arc<Object>, gone: bool| {
        let observed = isolated("scheduler", object, || cache.observe(object, gone));
        helps |= observed.unwrap_or_default();
    };
    match event {
        Event::Resync(objects) => {
            *cache = Cache::default();
            objects.iter().for_each(|object| see(cache, object, false));
        }
        Event::Changes(changes) => {
            changes.iter().for_each(|c| see(cache, &c.object, c.op == Op::Deleted));
        }
    }
    if helps {
        cache.wake_all();
    }
}

/// Tries every pod that is due. Returns when the next one is.
fn schedule(hub: &Hub, cache: &mut Cache) -> Option<tokio::time::Instant> {
    loop {
        let due = cache.due();
        if due.is_empty() {
            return cache.next_due();
        }
        for uid in due {
            let Some(pod) = cache.waiting(&uid).cloned() else { continue };
            let tried = isolated("scheduler", &pod.object, || attempt::attempt(hub, cache, &pod));
            if tried.is_none() {
                cache.park(&uid);
            }
        }
    }
}
