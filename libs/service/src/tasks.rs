//! The background tasks of a service, as one list: `app.rs` names all of them, and [`Workers`] runs them.
//!
//! The name of a task contains its owner and its duty, in the words of [`Duty`]: `<service>.<owner>.<duty>`,
//! and `.<cluster>` if there is one for each cluster. Its metrics and its part of `/statusz` have this name
//! ([`Workers`]).

use std::{fmt, future::ready, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::{Round, Workers};

/// The purpose of a task. There are no other words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Duty {
    /// Carries out a desired state or due work: a row queue, a comparison.
    Reconcile,
    /// Reads changes elsewhere, and passes them on: notifications, a feed, a cluster.
    Follow,
    /// Deletes old or unneeded data.
    Retention,
    /// Maintains what belongs to the process or describes it: metrics, caches, reports about itself.
    Housekeeping,
    /// Serves connections.
    Serve,
}

impl fmt::Display for Duty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reconcile => "reconcile",
            Self::Follow => "follow",
            Self::Retention => "retention",
            Self::Housekeeping => "housekeeping",
            Self::Serve => "serve",
        })
    }
}

type Spawn = Box<dyn FnOnce(&Workers, String) + Send>;

/// A background task, which [`Workers::start`] runs. Its work gets a clone of `parts` whenever it begins.
pub struct Task {
    owner: String,
    duty: Duty,
    cluster: Option<String>,
    spawn: Spawn,
}

impl Task {
    /// A task without an end. Shutdown stops it at its current await point; if it returns or fails, it is started again.
    pub fn new<P, R>(
        owner: impl Into<String>,
        duty: Duty,
        parts: &P,
        run: impl Fn(P) -> R + Send + Sync + 'static,
    ) -> Self
    where
        P: Clone + Send + Sync + 'static,
        R: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        Self::until_stop(owner, duty, parts, move |parts, stop| {
            let running = run(parts);
            async move { stop.run_until_cancelled(running).await.unwrap_or(Ok(())) }
        })
    }

    /// As [`Task::new`], but `run` gets the token that shutdown cancels, and ends by itself: shutdown waits for it.
    pub fn until_stop<P, R>(
        owner: impl Into<String>,
        duty: Duty,
        parts: &P,
        run: impl Fn(P, CancellationToken) -> R + Send + Sync + 'static,
    ) -> Self
    where
        P: Clone + Send + Sync + 'static,
        R: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        let parts = parts.clone();
        let spawn = Box::new(move |workers: &Workers, name| {
            workers.spawn(name, move |stop| run(parts.clone(), stop));
        });
        Self { owner: owner.into(), duty, cluster: None, spawn }
    }

    /// A task of rounds: at once, and then every `period`; the pause is skipped after [`Round::More`]. A round that fails is
    /// repeated after `period`, but after 30 s at the latest.
    pub fn every<P, R>(
        owner: impl Into<String>,
        duty: Duty,
        period: Duration,
        parts: &P,
        round: impl Fn(P) -> R + Send + Sync + 'static,
    ) -> Self
    where
        P: Clone + Send + Sync + 'static,
        R: Future<Output = anyhow::Result<Round>> + Send + 'static,
    {
        Self::paced(owner, duty, (period, period), |_| ready(()), parts, round)
    }

    /// As [`Task::every`], but also waits for `rest` after each pause: for work that is never due while the
    /// process rests. Two rounds are at most `longest` apart; otherwise a round counts as late.
    pub fn paced<P, R, W>(
        owner: impl Into<String>,
        duty: Duty,
        (period, longest): (Duration, Duration),
        rest: impl Fn(P) -> W + Send + Sync + 'static,
        parts: &P,
        round: impl Fn(P) -> R + Send + Sync + 'static,
    ) -> Self
    where
        P: Clone + Send + Sync + 'static,
        R: Future<Output = anyhow::Result<Round>> + Send + 'static,
        W: Future<Output = ()> + Send + 'static,
    {
        let (parts, resting) = (parts.clone(), parts.clone());
        let spawn = Box::new(move |workers: &Workers, name| {
            let rest = move || rest(resting.clone());
            workers.spawn_paced(name, (period, longest), rest, move || round(parts.clone()));
        });
        Self { owner: owner.into(), duty, cluster: None, spawn }
    }

    /// The task of one cluster.
    #[must_use]
    pub fn of_cluster(self, cluster: &str) -> Self {
        Self { cluster: Some(cluster.to_owned()), ..self }
    }

    fn name(&self, service: &str) -> String {
        let Self { owner, duty, cluster, .. } = self;
        match cluster {
            Some(cluster) => format!("{service}.{owner}.{duty}.{cluster}"),
            None => format!("{service}.{owner}.{duty}"),
        }
    }
}

impl Workers {
    /// Runs the tasks of a service until shutdown.
    ///
    /// # Panics
    /// If two have the same name.
    pub fn start(&self, service: &str, tasks: impl IntoIterator<Item = Task>) {
        for task in tasks {
            let name = task.name(service);
            (task.spawn)(self, name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Process;

    #[tokio::test(start_paused = true)]
    async fn tasks_have_names_of_the_vocabulary_and_run_until_shutdown() {
        let process = Process::default();
        let (began, mut runs) = tokio::sync::watch::channel(0);
        let count = move |began: tokio::sync::watch::Sender<u32>| began.send_modify(|runs| *runs += 1);
        process.workers.start(
            "quota",
            [
                Task::new("quotas", Duty::Reconcile, &began, move |began| async move {
                    count(began);
                    std::future::pending().await
                }),
                Task::until_stop("quotas", Duty::Serve, &began, move |began, stop| async move {
                    count(began);
                    stop.cancelled().await;
                    Ok(())
                }),
                Task::new("units", Duty::Follow, &(), |()| std::future::pending()).of_cluster("main"),
                Task::every(
                    "keys",
                    Duty::Retention,
                    Duration::from_secs(60),
                    &began,
                    move |began| async move {
                        count(began);
                        Ok(Round::Done)
                    },
                ),
            ],
        );
        let names = [
            "quota.keys.retention",
            "quota.quotas.reconcile",
            "quota.quotas.serve",
            "quota.units.follow.main",
        ];
        assert_eq!(process.workers.names(), names);
        runs.wait_for(|runs| *runs == 3).await.unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;
        runs.wait_for(|runs| *runs == 4).await.unwrap();
        process.shutdown.begin();
        process.shutdown.finish().await;
        assert!(names.iter().all(|name| process.workers.status(name) == Some((false, 0))));
    }
}
