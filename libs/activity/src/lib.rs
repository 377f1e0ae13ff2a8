//! The instances in use through this process: open connections, and when the last one ended. The records are
//! reported from time to time, and deleted once they are reported.
//!
//! Nothing may enter that knows where they are reported to, or what a connection carries.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use ids::InstanceId;

/// The use of instances through this process. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Tracker(Arc<Mutex<HashMap<InstanceId, Use>>>);

#[derive(Debug, Clone, Copy)]
struct Use {
    open: u32,
    /// When a connection was opened or closed last.
    at: Instant,
}

/// The use of one instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Activity {
    /// The instance.
    pub instance: InstanceId,
    /// Connections that are open.
    pub open: u32,
    /// Time since the last use; zero while a connection is open.
    pub ago: Duration,
    at: Instant,
}

impl Tracker {
    fn lock(&self) -> MutexGuard<'_, HashMap<InstanceId, Use>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a connection to an instance until the result, and all clones of it, are dropped.
    #[must_use]
    pub fn open(&self, instance: InstanceId) -> Open {
        let mut uses = self.lock();
        let used = uses.entry(instance).or_insert(Use { open: 0, at: Instant::now() });
        used.open += 1;
        used.at = Instant::now();
        drop(uses);
        Open { _counted: Arc::new(Counted { tracker: self.clone(), instance }) }
    }

    /// Returns the instances that are in use, or were used since the last report.
    #[must_use]
    pub fn activities(&self) -> Vec<Activity> {
        let now = Instant::now();
        let uses = self.lock();
        let activity = |(instance, used): (&InstanceId, &Use)| Activity {
            instance: *instance,
            open: used.open,
            ago: if used.open > 0 { Duration::ZERO } else { now.saturating_duration_since(used.at) },
            at: used.at,
        };
        uses.iter().map(activity).collect()
    }

    /// Deletes what was reported, except instances that were used again meanwhile or have open connections.
    pub fn reported(&self, activities: &[Activity]) {
        let mut uses = self.lock();
        for activity in activities {
            if uses.get(&activity.instance).is_some_and(|used| used.open == 0 && used.at == activity.at) {
                uses.remove(&activity.instance);
            }
        }
    }
}

/// An open connection.
#[derive(Debug, Clone)]
pub struct Open {
    _counted: Arc<Counted>,
}

#[derive(Debug)]
struct Counted {
    tracker: Tracker,
    instance: InstanceId,
}

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some(used) = self.tracker.lock().get_mut(&self.instance) {
            used.open = used.open.saturating_sub(1);
            used.at = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_stays_and_what_was_reported_is_forgotten() {
        let (tracker, one, other) = (Tracker::default(), InstanceId::new(), InstanceId::new());
        let first = tracker.open(one);
        let clone = first.clone();
        drop(tracker.open(other));
        let seen = |instance| {
            let found = tracker.activities().into_iter().find(|activity| activity.instance == instance);
            found.map(|activity| activity.open)
        };
        assert_eq!((seen(one), seen(other)), (Some(1), Some(0)));
        tracker.reported(&tracker.activities());
        assert_eq!((seen(one), seen(other)), (Some(1), None));
        drop(first);
        assert_eq!(seen(one), Some(1), "a clone is open");
        let report = tracker.activities();
        drop(clone);
        tracker.reported(&report);
        assert_eq!(seen(one), Some(0), "it ended after the report was made");
        let report = tracker.activities();
        drop(tracker.open(one));
        tracker.reported(&report);
        assert_eq!(seen(one), Some(0), "it was used again after the report was made");
        tracker.reported(&tracker.activities());
        assert_eq!(tracker.activities(), []);
    }
}
