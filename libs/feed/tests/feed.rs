//! The feed of an outbox table, on a real database.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail loudly")]

use std::{borrow::Cow, time::Duration};

use atelier_feed::{Changes, Cursor, Feed, Outbox, Start, Wait};
use db::{Db, Tx};
use service::Process;
use sqlx::{
    SqlStr,
    migrate::{Migration, MigrationType, Migrator},
};
use testkit::TestDb;
use tokio_util::sync::CancellationToken;

const OUTBOX: Outbox = Outbox { table: "events", channel: "events" };

async fn database() -> (TestDb, Db) {
    let schema = "create table events (id bigint generated always as identity primary key,
            xact xid8 not null default pg_current_xact_id(), at timestamptz not null default clock_timestamp(),
            payload jsonb not null);
        create index events_xact on events (xact);
        create table restores (epoch bigint primary key)";
    let migration =
        Migration::new(1, Cow::Borrowed("events"), MigrationType::Simple, SqlStr::from_static(schema), false);
    let database = TestDb::new();
    let (_, db) = database.open("stock", &Migrator::with_migrations(vec![migration])).await;
    (database, db)
}

async fn publish(db: &Db, events: &[i32]) {
    let mut tx = db.worker().await.unwrap();
    for event in events {
        OUTBOX.publish(&mut tx, event).await.unwrap();
    }
    tx.commit().await.unwrap();
}

async fn read(db: &Db, after: &str, limit: u32) -> Changes<i32> {
    let mut tx = db.worker().await.unwrap();
    OUTBOX.read(&mut tx, &after.parse().unwrap(), limit).await.unwrap()
}

fn values(changes: &Changes<i32>) -> Vec<i32> {
    changes.items.iter().map(|item| item.change).collect()
}

#[tokio::test]
async fn each_change_is_returned_once() {
    let (_database, db) = database().await;
    publish(&db, &[1, 2]).await;
    let first = read(&db, "", 10).await;
    assert_eq!((values(&first), first.complete), (vec![1, 2], true));
    assert!(first.items[0].at <= first.items[1].at);
    let second = read(&db, &first.next_cursor, 10).await;
    assert_eq!((values(&second), second.complete), (vec![], true));
    publish(&db, &[3]).await;
    assert_eq!(values(&read(&db, &first.next_cursor, 10).await), [3]);
    assert_eq!(values(&read(&db, &second.next_cursor, 10).await), [3]);
}

#[tokio::test]
async fn a_change_that_commits_late_is_not_lost_and_delays_no_other() {
    let (_database, db) = database().await;
    let mut late = db.worker().await.unwrap();
    OUTBOX.publish(&mut late, &1).await.unwrap();
    publish(&db, &[2]).await;
    let first = read(&db, "", 10).await;
    assert_eq!(values(&first), [2]);
    publish(&db, &[3]).await;
    let second = read(&db, &first.next_cursor, 10).await;
    assert_eq!(values(&second), [3]);
    late.commit().await.unwrap();
    let third = read(&db, &second.next_cursor, 10).await;
    assert_eq!(values(&third), [1]);
    assert_eq!(values(&read(&db, &third.next_cursor, 10).await), Vec::<i32>::new());
}

#[tokio::test]
async fn pages_of_a_read_belong_to_one_snapshot() {
    let (_database, db) = database().await;
    let mut late = db.worker().await.unwrap();
    OUTBOX.publish(&mut late, &0).await.unwrap();
    publish(&db, &[1, 2, 3, 4, 5]).await;
    let first = read(&db, "", 2).await;
    assert_eq!((values(&first), first.complete), (vec![1, 2], false));
    late.commit().await.unwrap();
    publish(&db, &[6]).await;
    let second = read(&db, &first.next_cursor, 2).await;
    assert_eq!((values(&second), second.complete), (vec![3, 4], false));
    let third = read(&db, &second.next_cursor, 2).await;
    assert_eq!((values(&third), third.complete), (vec![5], true));
    assert_eq!(values(&read(&db, &third.next_cursor, 10).await), [0, 6]);
}

/// A reader on one connection, whose plans are made while there are few events, as they are in a new installation.
struct Reader {
    tx: Tx,
    cursor: Cursor,
}

impl Reader {
    async fn start(db: &Db) -> Self {
        let mut reader = Self { tx: db.worker().await.unwrap(), cursor: Cursor::default() };
        for _ in 0..10 {
            reader.read(10).await;
        }
        reader
    }

    async fn read(&mut self, limit: u32) -> Vec<i32> {
        let changes = OUTBOX.read(&mut self.tx, &self.cursor, limit).await.unwrap();
        self.cursor = changes.next_cursor.parse().unwrap();
        values(&changes)
    }

    /// The position after all that is published, once no older transaction runs: the server is shared with other tests.
    async fn end(&mut self) -> Cursor {
        let is_old =
            "select exists (select from events where xact >= pg_snapshot_xmin(pg_current_snapshot()))";
        testkit::eventually("older transactions have ended", async || {
            let is_old: bool = sqlx::query_scalar(is_old).fetch_one(&mut *self.tx).await.unwrap();
            (!is_old).then_some(())
        })
        .await;
        OUTBOX.end(&mut self.tx).await.unwrap()
    }

    /// Number of rows that were read from the table.
    async fn rows(&mut self) -> i64 {
        let rows =
            "select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) from pg_stat_xact_user_tables
                    where relid = 'events'::regclass";
        sqlx::query_scalar(rows).fetch_one(&mut *self.tx).await.unwrap()
    }
}

async fn publish_many(db: &Db, count: i32) {
    let mut tx = db.worker().await.unwrap();
    let many = "insert into events (payload) select to_jsonb(n) from generate_series(1, $1) n";
    sqlx::query(many).bind(count).execute(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn a_read_costs_what_is_new_however_much_was_read() {
    let (_database, db) = database().await;
    let mut reader = Reader::start(&db).await;
    publish_many(&db, 20_000).await;
    reader.cursor = reader.end().await;
    let before = reader.rows().await;
    for n in 0..10 {
        publish(&db, &[n]).await;
        assert_eq!(reader.read(100).await, [n]);
        assert_eq!(reader.read(100).await, [0; 0]);
    }
    let rows = reader.rows().await - before;
    // a read starts again at what was published since the oldest transaction of the server began: at most the 10 events
    assert!(rows < 1_000, "{rows} rows were read for 10 events");
}

#[tokio::test]
async fn pages_of_a_backlog_cost_what_they_return() {
    let (_database, db) = database().await;
    let mut reader = Reader::start(&db).await;
    publish_many(&db, 20_000).await;
    reader.cursor = reader.end().await;
    publish_many(&db, 20_000).await;
    // the first page returns the new events
    assert_eq!(reader.read(100).await.len(), 100);
    let before = reader.rows().await;
    for page in 1..=20 {
        let first = page * 100;
        assert_eq!(reader.read(100).await, (first + 1..=first + 100).collect::<Vec<_>>());
    }
    let rows = reader.rows().await - before;
    assert!(rows < 4_000, "{rows} rows were read for 2,000 events");
}

fn after(cursor: &str) -> Start {
    Start::After(cursor.parse().unwrap())
}

#[tokio::test]
async fn a_reader_waits_for_a_change_until_its_time_is_over() {
    let (_database, db) = database().await;
    let process = Process::default();
    let feed = Feed::new(&db, OUTBOX);
    process.workers.start("test", [feed.task("changes")]);
    let wait = |seconds| Wait { at_most: Duration::from_secs(seconds), stop: CancellationToken::new() };
    let (begin, minute) = (Start::After(Cursor::default()), wait(60));
    let first = tokio::time::timeout(Duration::from_secs(30), feed.changes::<i32>(&begin, &minute));
    let nothing = first.await.expect("a reader at the beginning does not wait").unwrap();
    let start = after(&nothing.next_cursor);
    let long = wait(60);
    let (found, ()) = tokio::join!(feed.changes::<i32>(&start, &long), publish(&db, &[7]));
    assert_eq!(values(&found.unwrap()), [7]);
    // a reader that starts at the latest position gets no earlier events
    let latest = feed.changes::<i32>(&Start::Latest, &minute).await.unwrap();
    assert_eq!(values(&latest), Vec::<i32>::new());
    let (start, long) = (after(&latest.next_cursor), wait(60));
    let (found, ()) = tokio::join!(feed.changes::<i32>(&start, &long), publish(&db, &[8]));
    assert_eq!(values(&found.unwrap()), [8]);
    // shutdown ends a wait at once
    let stopped = wait(60);
    stopped.stop.cancel();
    let end = after(&read(&db, "", 10).await.next_cursor);
    assert_eq!(values(&feed.changes::<i32>(&end, &stopped).await.unwrap()), Vec::<i32>::new());
    process.shutdown.begin();
    process.shutdown.finish().await;
}

#[tokio::test]
async fn a_reader_goes_on_after_a_last_page_that_was_full() {
    let (_database, db) = database().await;
    let feed = Feed::new(&db, OUTBOX);
    let wait = |seconds| Wait { at_most: Duration::from_secs(seconds), stop: CancellationToken::new() };
    publish_many(&db, 500).await;
    let full = feed.changes::<i32>(&Start::After(Cursor::default()), &wait(1)).await.unwrap();
    assert_eq!((full.items.len(), full.complete), (500, false));
    publish(&db, &[7]).await;
    let (start, long) = (after(&full.next_cursor), wait(30));
    let next = feed.changes::<i32>(&start, &long);
    let next = tokio::time::timeout(Duration::from_secs(10), next).await;
    assert_eq!(values(&next.expect("the reader does not see what is there").unwrap()), [7]);
}

#[tokio::test]
async fn old_changes_are_deleted() {
    let (_database, db) = database().await;
    publish(&db, &[1, 2, 3]).await;
    let mut tx = db.worker().await.unwrap();
    assert_eq!(OUTBOX.delete_old(&mut tx, Duration::from_secs(3600), 10).await.unwrap(), 0);
    sqlx::query("update events set at = now() - interval '2 hours' where id < 3")
        .execute(&mut *tx)
        .await
        .unwrap();
    assert_eq!(OUTBOX.delete_old(&mut tx, Duration::from_secs(3600), 1).await.unwrap(), 1);
    assert_eq!(OUTBOX.delete_old(&mut tx, Duration::from_secs(3600), 10).await.unwrap(), 1);
    tx.commit().await.unwrap();
    assert_eq!(values(&read(&db, "", 10).await), [3]);
}

/// A cursor of another server may be ahead of all transactions of this one, and would hide new events.
#[tokio::test]
async fn a_cursor_from_before_a_restore_counts_as_the_beginning() {
    let (_database, db) = database().await;
    publish(&db, &[1]).await;
    let mut tx = db.worker().await.unwrap();
    sqlx::query("insert into restores values (1700000000)").execute(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
    let feed = Feed::new(&db, OUTBOX);
    let wait = Wait { at_most: Duration::ZERO, stop: CancellationToken::new() };
    for lost in ["900000:900000:", "1600000000!900000:900000:", "1600000000!~900000:900000:~7"] {
        let changes: Changes<i32> = feed.changes(&after(lost), &wait).await.unwrap();
        assert_eq!(values(&changes), [1], "{lost}");
        assert!(changes.next_cursor.starts_with("1700000000!"), "{}", changes.next_cursor);
        let next: Changes<i32> = feed.changes(&after(&changes.next_cursor), &wait).await.unwrap();
        assert_eq!(values(&next), [0; 0]);
    }
}

/// A reader may stop at any change, and misses no change that was published meanwhile.
#[tokio::test]
async fn a_reader_goes_on_after_any_change_of_a_page() {
    let (_database, db) = database().await;
    publish(&db, &[1, 2, 3]).await;
    let mut tx = db.worker().await.unwrap();
    let page = OUTBOX.page::<i32>(&mut tx, &Cursor::default(), 10).await.unwrap();
    assert!(page.complete);
    drop(tx);
    publish(&db, &[4, 5]).await;
    for (stopped, (position, change)) in page.items.iter().enumerate() {
        assert_eq!(change.change, i32::try_from(stopped).unwrap() + 1);
        let (mut position, mut found): (Cursor, _) =
            (position.to_string().parse().unwrap(), vec![change.change]);
        let mut tx = db.worker().await.unwrap();
        loop {
            let page = OUTBOX.page::<i32>(&mut tx, &position, 10).await.unwrap();
            found.extend(page.items.iter().map(|(_, change)| change.change));
            position = page.next;
            if page.complete {
                break;
            }
        }
        assert_eq!(found, (change.change..=5).collect::<Vec<_>>());
    }
    let mut tx = db.worker().await.unwrap();
    let end = OUTBOX.end(&mut tx).await.unwrap();
    assert!(OUTBOX.page::<i32>(&mut tx, &end, 10).await.unwrap().items.is_empty());
}

/// Number of transactions of the service's roles, including those of the test itself.
async fn transactions(admin: &mut sqlx::PgConnection) -> i64 {
    // sessions report their counts when they end
    sqlx::query_scalar("select sum(xact_commit + xact_rollback)::bigint from pg_stat_database where datname = current_database()")
        .fetch_one(admin)
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_at_the_end_cost_no_reads_and_get_each_change_at_once() {
    let (database, db) = database().await;
    let (process, feed) = (Process::default(), Feed::new(&db, OUTBOX));
    process.workers.start("test", [feed.task("changes")]);
    publish(&db, &[1]).await;
    let wait = |time| Wait { at_most: Duration::from_millis(time), stop: CancellationToken::new() };
    let first: Changes<i32> = feed.changes(&Cursor::default().into(), &wait(0)).await.unwrap();
    let mut cursor = first.next_cursor;
    // waits until the worker listens
    testkit::eventually("the feed listens", async || {
        let read: Changes<i32> =
            feed.changes(&cursor.parse::<Cursor>().unwrap().into(), &wait(1)).await.unwrap();
        let is_known = read.next_cursor == cursor;
        cursor = read.next_cursor;
        is_known.then_some(())
    })
    .await;
    // without a connection nothing can be read
    let mut admin = database.admin().await;
    let before = transactions(&mut admin).await;
    for _ in 0..200 {
        let read: Changes<i32> =
            feed.changes(&cursor.parse::<Cursor>().unwrap().into(), &wait(1)).await.unwrap();
        assert_eq!(
            (values(&read), read.next_cursor.as_str(), read.complete),
            (vec![], cursor.as_str(), true)
        );
    }
    // Postgres counts once a second
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let reads = transactions(&mut admin).await - before;
    assert!(reads < 50, "{reads} transactions");
    for event in 2..20 {
        let start = Start::from(cursor.parse::<Cursor>().unwrap());
        let (wait, events) = (wait(20_000), [event]);
        let (read, ()) = tokio::join!(feed.changes::<i32>(&start, &wait), publish(&db, &events));
        let read = read.unwrap();
        assert_eq!(values(&read), [event]);
        cursor = read.next_cursor;
    }
    process.shutdown.begin();
}
