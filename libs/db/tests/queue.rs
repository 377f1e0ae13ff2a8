//! The row queue, on a real database with several replicas.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail loudly")]

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use atelier_db::{
    Db, DbConfig,
    queue::{Leased, Outcome, Queue, Settings, Table},
};
use ids::InstanceId;
use service::Process;
use sqlx::{
    Connection, SqlStr,
    migrate::{Migration, MigrationType, Migrator},
};
use testkit::{TestDb, eventually};
use tokio::sync::Semaphore;

const JOBS: Table = Table { name: "jobs", channel: "jobs", lane: "q.cluster" };

struct Fixture {
    database: TestDb,
    config: DbConfig,
    db: Db,
}

impl Fixture {
    async fn new() -> Self {
        let schema = "create table jobs (id uuid primary key, cluster text not null, wake_at timestamptz,
                lease_owner uuid, lease_until timestamptz, failures int not null default 0);
            create index jobs_due on jobs (coalesce(lease_until, wake_at))
                where coalesce(lease_until, wake_at) is not null";
        let migration = Migration::new(
            1,
            Cow::Borrowed("jobs"),
            MigrationType::Simple,
            SqlStr::from_static(schema),
            false,
        );
        let database = TestDb::new();
        let (config, db) = database.open("stock", &Migrator::with_migrations(vec![migration])).await;
        Self { database, config, db }
    }

    fn settings() -> Settings {
        Settings {
            lease: Duration::from_millis(600),
            // longer than any test waits: the queue must not depend on polling
            poll: Duration::from_secs(60),
            min_delay: Duration::from_millis(20),
            max_delay: Duration::from_millis(80),
            ..Settings::default()
        }
    }

    fn queue(&self, settings: Settings, process: &Process) -> Queue<InstanceId> {
        Queue::new(&self.db, JOBS, settings, &process.metrics)
    }

    /// A replica that reconciles until its process ends.
    fn replica<R>(
        &self,
        settings: Settings,
        reconcile: impl Fn(Leased<InstanceId>) -> R + Clone + Send + Sync + 'static,
    ) -> (Process, Queue<InstanceId>)
    where
        R: Future<Output = anyhow::Result<Outcome>> + Send + 'static,
    {
        let process = Process::default();
        let queue = self.queue(settings, &process);
        process.workers.start("test", queue.tasks("jobs", reconcile));
        (process, queue)
    }

    async fn insert(&self, ids: &[InstanceId], cluster: &str, due: bool) {
        let mut tx = self.db.worker().await.unwrap();
        sqlx::query(
            "insert into jobs (id, cluster, wake_at) select id, $2, case when $3 then now() end from unnest($1) id",
        )
        .bind(ids.to_vec())
        .bind(cluster)
        .bind(due)
        .execute(&mut *tx)
        .await
        .unwrap();
        JOBS.notify(&mut tx).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn enqueue(&self, id: InstanceId) {
        let mut tx = self.db.worker().await.unwrap();
        JOBS.enqueue(&mut tx, &[id]).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Waits until no row is leased or due.
    async fn quiet(&self) {
        eventually("nothing is leased or due", async || {
            let mut tx = self.db.worker().await.unwrap();
            let busy: bool = sqlx::query_scalar(
                "select exists(select from jobs where lease_until is not null or wake_at is not null)",
            )
            .fetch_one(&mut *tx)
            .await
            .unwrap();
            (!busy).then_some(())
        })
        .await;
    }

    /// When the lease of a row expires, in seconds since 1970.
    async fn lease_until(&self, id: InstanceId) -> f64 {
        let mut tx = self.db.worker().await.unwrap();
        sqlx::query_scalar("select extract(epoch from lease_until)::float8 from jobs where id = $1")
            .bind(id)
            .fetch_one(&mut *tx)
            .await
            .unwrap()
    }

    async fn failures(&self, id: InstanceId) -> i32 {
        let mut tx = self.db.worker().await.unwrap();
        sqlx::query_scalar("select failures from jobs where id = $1")
            .bind(id)
            .fetch_one(&mut *tx)
            .await
            .unwrap()
    }
}

fn ids(count: usize) -> Vec<InstanceId> {
    (0..count).map(|_| InstanceId::new()).collect()
}

async fn end(process: Process) {
    process.shutdown.begin();
    process.shutdown.finish().await;
}

#[tokio::test]
async fn each_due_row_is_reconciled_once_by_one_of_the_replicas() {
    let fixture = Fixture::new().await;
    let rows = ids(200);
    let seen: Arc<Mutex<HashMap<InstanceId, usize>>> = Arc::default();
    let replicas: Vec<_> = (0..3)
        .map(|_| {
            let seen = Arc::clone(&seen);
            // no lease may expire here on a busy machine
            let lease = Duration::from_secs(30);
            fixture.replica(Settings { concurrency: 8, lease, ..Fixture::settings() }, move |leased| {
                *seen.lock().unwrap().entry(leased.key).or_default() += 1;
                async { Ok(Outcome::Done) }
            })
        })
        .collect();
    fixture.insert(&rows, "uk-1", true).await;
    fixture.quiet().await;
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen.len(), rows.len());
    assert!(seen.values().all(|times| *times == 1), "{seen:?}");
    for (process, _) in replicas {
        end(process).await;
    }
    drop(fixture.database);
}

#[tokio::test]
async fn what_is_enqueued_during_a_reconcile_is_reconciled_again() {
    let fixture = Fixture::new().await;
    let row = InstanceId::new();
    let (started, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let (count, wait) = (Arc::clone(&started), Arc::clone(&gate));
    let (process, queue) = fixture.replica(Fixture::settings(), move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        let wait = Arc::clone(&wait);
        async move {
            wait.acquire().await?.forget();
            Ok(Outcome::RequeueAfter(Duration::from_secs(3600)))
        }
    });
    let reaches = async |times: usize| {
        eventually("the reconcile has started", async || {
            (started.load(Ordering::SeqCst) == times).then_some(())
        })
        .await;
    };
    fixture.insert(&[row], "uk-1", true).await;
    reaches(1).await;
    fixture.enqueue(row).await;
    gate.add_permits(1);
    reaches(2).await;
    queue.wake(row);
    gate.add_permits(1);
    reaches(3).await;
    gate.add_permits(1);
    // the row is idle and not due, but a wake-up still reconciles it
    eventually("the row is released", async || {
        queue.wake(row);
        (started.load(Ordering::SeqCst) >= 4).then_some(())
    })
    .await;
    gate.add_permits(10);
    end(process).await;
}

#[tokio::test]
async fn a_poison_row_is_retried_with_backoff_and_delays_no_other() {
    let fixture = Fixture::new().await;
    let rows = ids(50);
    let (panics, fails) = (rows[0], rows[1]);
    let tries = Arc::new(AtomicUsize::new(0));
    let done: Arc<Mutex<Vec<InstanceId>>> = Arc::default();
    let (counted, finished) = (Arc::clone(&tries), Arc::clone(&done));
    let settings = Settings { concurrency: 1, ..Fixture::settings() };
    let (process, _) = fixture.replica(settings, move |leased| {
        let poison = leased.key == panics && counted.fetch_add(1, Ordering::SeqCst) < 5;
        let finished = Arc::clone(&finished);
        async move {
            assert!(!poison, "poison");
            anyhow::ensure!(leased.key != fails || leased.failures >= 2, "not yet");
            finished.lock().unwrap().push(leased.key);
            Ok(Outcome::Done)
        }
    });
    fixture.insert(&rows, "uk-1", true).await;
    eventually("all rows are done", async || (done.lock().unwrap().len() == rows.len()).then_some(())).await;
    assert_eq!(tries.load(Ordering::SeqCst), 6);
    let order = done.lock().unwrap().clone();
    assert!(!order[..40].contains(&panics), "healthy rows come first");
    fixture.quiet().await;
    assert_eq!(
        (fixture.failures(panics).await, fixture.failures(fails).await),
        (0, 0),
        "success clears failures"
    );
    let metrics = process.metrics.text();
    assert!(metrics.contains("queue_reconciles_total{queue=\"jobs\",result=\"failed\"} 7"), "{metrics}");
    assert_eq!(
        process.workers.status("test.jobs.reconcile"),
        Some((true, 0)),
        "the worker itself has not failed"
    );
    end(process).await;
}

#[tokio::test]
async fn a_lane_that_hangs_leaves_room_for_the_others() {
    let fixture = Fixture::new().await;
    let (hung, sound) = (ids(40), ids(40));
    let all_hung = hung.clone();
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let done = Arc::new(AtomicUsize::new(0));
    let (now, peak, count) = (Arc::clone(&running), Arc::clone(&most), Arc::clone(&done));
    let settings = Settings { concurrency: 8, lane_concurrency: 3, ..Fixture::settings() };
    // there are more of them than one read returns
    fixture.insert(&hung, "hung", true).await;
    fixture.insert(&sound, "sound", true).await;
    let (process, _) = fixture.replica(settings, move |leased| {
        let hangs = all_hung.contains(&leased.key);
        let (now, peak, count) = (Arc::clone(&now), Arc::clone(&peak), Arc::clone(&count));
        async move {
            if hangs {
                peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::future::pending::<()>().await;
            }
            count.fetch_add(1, Ordering::SeqCst);
            Ok(Outcome::Done)
        }
    });
    eventually("the sound lane is done", async || (done.load(Ordering::SeqCst) == 40).then_some(())).await;
    assert_eq!((running.load(Ordering::SeqCst), most.load(Ordering::SeqCst)), (3, 3));
    eventually("only the hung rows are running", async || {
        process.metrics.text().contains("queue_running{queue=\"jobs\"} 3\n").then_some(())
    })
    .await;
    process.shutdown.begin();
}

#[tokio::test]
async fn what_waits_is_measured() {
    let fixture = Fixture::new().await;
    fixture.insert(&ids(3), "uk-1", true).await;
    let mut tx = fixture.db.worker().await.unwrap();
    sqlx::query("update jobs set wake_at = now() - interval '100 seconds'").execute(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
    let settings = Settings { concurrency: 1, ..Fixture::settings() };
    let (process, _) = fixture.replica(settings, |_| std::future::pending());
    let text = eventually("two of three rows wait", async || {
        Some(process.metrics.text()).filter(|text| text.contains("queue_due_rows{queue=\"jobs\"} 2\n"))
    })
    .await;
    assert!(text.contains("queue_oldest_due_seconds{queue=\"jobs\"} 10"), "{text}");
    assert!(text.contains("queue_reconciles_total{queue=\"jobs\",result=\"lease_lost\"} 0"), "{text}");
    process.shutdown.begin();
}

/// Rows of a full lane are not read; they are when the lane has room again.
#[tokio::test]
async fn a_lane_that_was_full_goes_on_at_once() {
    let fixture = Fixture::new().await;
    let (slow, quick) = (ids(3), ids(1));
    let (gate, all_slow) = (Arc::new(Semaphore::new(0)), slow.clone());
    let (begun, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (open, first, count) = (Arc::clone(&gate), Arc::clone(&begun), Arc::clone(&done));
    let settings = Settings { concurrency: 4, lane_concurrency: 1, ..Fixture::settings() };
    let (process, _) = fixture.replica(settings, move |leased| {
        let waits = all_slow.contains(&leased.key);
        let (open, first, count) = (Arc::clone(&open), Arc::clone(&first), Arc::clone(&count));
        async move {
            first.fetch_add(1, Ordering::SeqCst);
            if waits {
                open.acquire().await?.forget();
            }
            count.fetch_add(1, Ordering::SeqCst);
            Ok(Outcome::Done)
        }
    });
    fixture.insert(&slow, "slow", true).await;
    eventually("the lane is full", async || (begun.load(Ordering::SeqCst) == 1).then_some(())).await;
    // a read of the queue leaves out the full lane
    fixture.insert(&quick, "quick", true).await;
    eventually("the other lane is done", async || (done.load(Ordering::SeqCst) == 1).then_some(())).await;
    assert_eq!(begun.load(Ordering::SeqCst), 2, "the full lane has got nothing more");
    gate.add_permits(3);
    eventually("all are done", async || (done.load(Ordering::SeqCst) == 4).then_some(())).await;
    process.shutdown.begin();
}

#[tokio::test]
async fn the_rows_of_a_killed_replica_are_taken_over() {
    let fixture = Fixture::new().await;
    let row = InstanceId::new();
    let taken = Arc::new(AtomicUsize::new(0));
    // a runtime of its own, so that everything in it can be dropped at once
    let doomed = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (config, count) = (fixture.config.clone(), Arc::clone(&taken));
    doomed.spawn(async move {
        let (process, db) = (Process::default(), Db::connect("stock", &config).unwrap());
        let queue: Queue<InstanceId> = Queue::new(&db, JOBS, Fixture::settings(), &process.metrics);
        let tasks = queue.tasks("jobs", move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            std::future::pending()
        });
        process.workers.start("test", tasks);
        process.shutdown.token().cancelled().await;
    });
    fixture.insert(&[row], "uk-1", true).await;
    eventually("the first replica has it", async || (taken.load(Ordering::SeqCst) == 1).then_some(())).await;
    let done = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&done);
    let settings = Settings { poll: Duration::from_millis(100), ..Fixture::settings() };
    let (process, _) = fixture.replica(settings, move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        async { Ok(Outcome::Done) }
    });
    let leased = fixture.lease_until(row).await;
    eventually("the lease is renewed for three times its length", async || {
        let renewed = fixture.lease_until(row).await - leased;
        (renewed > 3.0 * Fixture::settings().lease.as_secs_f64()).then_some(())
    })
    .await;
    assert_eq!(done.load(Ordering::SeqCst), 0, "the row is reconciled by one replica at a time");
    doomed.shutdown_background();
    eventually("the other replica has done it", async || (done.load(Ordering::SeqCst) == 1).then_some(()))
        .await;
    end(process).await;
}

/// The next poll is a minute away.
#[tokio::test]
async fn a_row_is_reconciled_again_when_it_asked_for_it() {
    let fixture = Fixture::new().await;
    let row = InstanceId::new();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let (process, _) = fixture.replica(Fixture::settings(), move |_| {
        let round = counted.fetch_add(1, Ordering::SeqCst);
        async move {
            match round {
                0 => Ok(Outcome::RequeueAfter(Duration::from_millis(200))),
                1 => Err(anyhow::anyhow!("a failure, which is retried with backoff")),
                _ => Ok(Outcome::Done),
            }
        }
    });
    fixture.insert(&[row], "uk-1", true).await;
    eventually("it was reconciled three times", async || (count.load(Ordering::SeqCst) == 3).then_some(()))
        .await;
    fixture.quiet().await;
    end(process).await;
}

#[tokio::test]
async fn a_row_that_is_woken_while_it_runs_is_reconciled_again() {
    let fixture = Fixture::new().await;
    let row = ids(1);
    let (gate, begun) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (open, count) = (Arc::clone(&gate), Arc::clone(&begun));
    // the queue looks at a leased row when its lease expires
    let settings = Settings { lease: Duration::from_secs(600), ..Fixture::settings() };
    let (process, queue) = fixture.replica(settings, move |_| {
        let (open, count) = (Arc::clone(&open), Arc::clone(&count));
        async move {
            count.fetch_add(1, Ordering::SeqCst);
            open.acquire().await?.forget();
            Ok(Outcome::Done)
        }
    });
    fixture.insert(&row, "uk", true).await;
    eventually("it runs", async || (begun.load(Ordering::SeqCst) == 1).then_some(())).await;
    queue.wake(row[0]);
    // the wake-up has been seen when this row runs too
    let other = ids(1);
    fixture.insert(&other, "uk", true).await;
    eventually("the other runs", async || (begun.load(Ordering::SeqCst) == 2).then_some(())).await;
    gate.add_permits(1);
    eventually("it runs again", async || (begun.load(Ordering::SeqCst) == 3).then_some(())).await;
    gate.add_permits(2);
    fixture.quiet().await;
    process.shutdown.begin();
}

#[tokio::test]
async fn more_rows_are_woken_than_there_are_slots() {
    let fixture = Fixture::new().await;
    let rows = ids(9);
    fixture.insert(&rows, "uk", false).await;
    let counts = Arc::new(Mutex::new(HashMap::<InstanceId, usize>::new()));
    let counted = Arc::clone(&counts);
    let settings = Settings { concurrency: 2, ..Fixture::settings() };
    let (process, queue) = fixture.replica(settings, move |leased| {
        *counted.lock().unwrap().entry(leased.key).or_default() += 1;
        async { Ok(Outcome::Done) }
    });
    rows.iter().for_each(|row| queue.wake(*row));
    eventually("all are reconciled", async || (counts.lock().unwrap().len() == 9).then_some(())).await;
    fixture.quiet().await;
    assert!(counts.lock().unwrap().values().all(|count| *count == 1), "each once: {counts:?}");
    process.shutdown.begin();
}

#[tokio::test]
async fn a_queue_without_work_does_not_read() {
    let fixture = Fixture::new().await;
    let (process, _) = fixture.replica(Fixture::settings(), |_| async { Ok(Outcome::Done) });
    fixture.insert(&ids(3), "uk", true).await;
    fixture.quiet().await;
    let mut admin = fixture.database.admin().await;
    // the last read may have begun before the table is locked
    eventually("no session waits for the table", async || {
        let mut locked = admin.begin().await.unwrap();
        sqlx::query("lock table stock.jobs in access exclusive mode").execute(&mut *locked).await.unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        let waiting: i64 = sqlx::query_scalar(
            "select count(*) from pg_locks where not granted and relation = 'stock.jobs'::regclass",
        )
        .fetch_one(&mut *locked)
        .await
        .unwrap();
        locked.rollback().await.unwrap();
        (waiting == 0).then_some(())
    })
    .await;
    process.shutdown.begin();
}

#[tokio::test]
async fn a_leased_row_says_whether_it_was_due() {
    let fixture = Fixture::new().await;
    let (due, idle) = (InstanceId::new(), InstanceId::new());
    fixture.insert(&[due], "uk-1", true).await;
    fixture.insert(&[idle], "uk-1", false).await;
    let process = Process::default();
    let queue = fixture.queue(Fixture::settings(), &process);
    let first = queue.lease(due).await.unwrap().unwrap();
    assert!(first.due);
    assert!(!queue.lease(idle).await.unwrap().unwrap().due);
    assert!(queue.lease(due).await.unwrap().is_none(), "it is leased");
    assert!(queue.lease(InstanceId::new()).await.unwrap().is_none(), "it does not exist");
    let mut tx = fixture.db.worker().await.unwrap();
    assert!(first.release(&mut tx, None).await.unwrap());
    tx.commit().await.unwrap();
    assert!(!queue.lease(due).await.unwrap().unwrap().due);
    let expire = "update jobs set lease_until = now(), lease_owner = gen_random_uuid()";
    let mut tx = fixture.db.worker().await.unwrap();
    sqlx::query(expire).execute(&mut *tx).await.unwrap();
    assert!(!first.release(&mut tx, None).await.unwrap(), "another worker has it");
    drop(tx);
    drop(fixture.database);
}

#[tokio::test]
async fn a_row_can_be_released_in_the_transaction_of_its_result() {
    let fixture = Fixture::new().await;
    let rows = ids(20);
    let (db, done) = (fixture.db.clone(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&done);
    // no renewal finds the row released before it is counted
    let settings = Settings { lease: Duration::from_secs(10), ..Fixture::settings() };
    let (process, _) = fixture.replica(settings, move |leased| {
        let (db, count) = (db.clone(), Arc::clone(&count));
        async move {
            let mut tx = db.worker().await?;
            anyhow::ensure!(leased.release(&mut tx, None).await?, "lease lost");
            tx.commit().await?;
            count.fetch_add(1, Ordering::SeqCst);
            Ok(Outcome::Released)
        }
    });
    fixture.insert(&rows, "uk-1", true).await;
    let all = async || (done.load(Ordering::SeqCst) == rows.len()).then_some(());
    eventually("all rows are done", all).await;
    fixture.quiet().await;
    fixture.insert(&[InstanceId::new()], "uk-1", false).await;
    fixture.quiet().await;
    assert_eq!(done.load(Ordering::SeqCst), rows.len(), "a row without a time is not due");
    end(process).await;
}
