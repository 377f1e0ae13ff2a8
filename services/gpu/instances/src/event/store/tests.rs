//! The log on a real database, with transactions that commit in any order.

use std::collections::HashMap;

use db::Db;
use gpu_core::event::{Deleted, Detail, Updated};
use ids::UserId;
use testkit::TestDb;

use super::*;
use crate::{MIGRATIONS, NAME};

fn entry(name: &str) -> Entry {
    Detail::Deleted(Deleted { name: name.to_owned() }).into()
}

async fn write(db: &Db, tenant: TenantId, instance: InstanceId, name: &str) -> db::Tx {
    let mut tx = db.tenant(tenant).await.unwrap();
    append(&mut tx, tenant, Some(instance), &By::user(UserId::new()), &[entry(name)]).await.unwrap();
    tx
}

fn name(event: &Value) -> String {
    event["data"]["name"].as_str().unwrap().to_owned()
}

async fn log(db: &Db, tenant: TenantId) -> Vec<(i64, String)> {
    let mut tx = db.tenant(tenant).await.unwrap();
    let end = extent(&mut tx, tenant).await.unwrap().newest;
    let events = read(&mut tx, tenant, Filter::default(), (0, end), 10_000).await.unwrap();
    events.iter().map(|event| (event.sequence, name(&event.view()))).collect()
}

/// Reads the feed on from a cursor.
async fn feed(db: &Db, cursor: &mut String, limit: u32) -> Vec<Value> {
    let mut tx = db.worker().await.unwrap();
    let page = OUTBOX.read::<Value>(&mut tx, &cursor.parse().unwrap(), limit).await.unwrap();
    *cursor = page.next_cursor;
    page.items.into_iter().map(|item| item.change).collect()
}

#[tokio::test]
async fn a_tenants_events_become_visible_in_their_order_and_no_other_tenant_waits() {
    let database = TestDb::new();
    let (_, db) = database.open(NAME, &MIGRATIONS).await;
    let (tenant, other) = (TenantId::new(), TenantId::new());
    let (one, two) = (InstanceId::new(), InstanceId::new());
    let mut cursor = String::new();
    let first = write(&db, tenant, one, "first").await;
    let second = tokio::spawn({
        let db = db.clone();
        async move { write(&db, tenant, two, "second").await.commit().await.unwrap() }
    });
    database.wait_for_blocked_query().await;
    // another tenant's transaction begins later and commits before
    write(&db, other, InstanceId::new(), "other").await.commit().await.unwrap();
    let seen: Vec<_> = feed(&db, &mut cursor, 10).await.iter().map(name).collect();
    assert_eq!(seen, ["other"]);
    assert_eq!(log(&db, tenant).await, []);
    first.commit().await.unwrap();
    second.await.unwrap();
    assert_eq!(log(&db, tenant).await, [(1, "first".into()), (2, "second".into())]);
    // what committed late is not lost, and nothing comes again
    let seen: Vec<_> = feed(&db, &mut cursor, 10).await.iter().map(name).collect();
    assert_eq!(seen, ["first", "second"]);
    assert_eq!(feed(&db, &mut cursor, 10).await, Vec::<Value>::new());
}

#[tokio::test]
async fn what_is_rolled_back_leaves_no_event_and_no_gap() {
    let database = TestDb::new();
    let (_, db) = database.open(NAME, &MIGRATIONS).await;
    let (tenant, instance) = (TenantId::new(), InstanceId::new());
    write(&db, tenant, instance, "a").await.rollback().await.unwrap();
    write(&db, tenant, instance, "b").await.commit().await.unwrap();
    write(&db, tenant, instance, "c").await.rollback().await.unwrap();
    let mut tx = db.tenant(tenant).await.unwrap();
    let by = By::administrator("tidy");
    let updated = Updated { name: "e".into(), previous_name: "d".into(), ..Updated::default() };
    let updated = Detail::Updated(updated);
    append(&mut tx, tenant, Some(instance), &by, &[entry("d"), updated.into()]).await.unwrap();
    append(&mut tx, tenant, Some(instance), &by, &[]).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(log(&db, tenant).await, [(1, "b".into()), (2, "d".into()), (3, "e".into())]);
}

/// Many writers of several tenants, some of whom give up; a reader of the feed and one of each log read all the while.
#[tokio::test(flavor = "multi_thread")]
async fn readers_lose_nothing_and_see_nothing_twice_while_many_write() {
    const WRITERS: usize = 12;
    const EACH: usize = 25;
    let database = TestDb::new();
    let (_, db) = database.open(NAME, &MIGRATIONS).await;
    let tenants = [TenantId::new(), TenantId::new(), TenantId::new()];
    let writers = futures::future::join_all((0..WRITERS).map(|writer| {
        let (db, tenant, instance) = (db.clone(), tenants[writer % tenants.len()], InstanceId::new());
        async move {
            for n in 0..EACH {
                let tx = write(&db, tenant, instance, &format!("{writer}-{n}")).await;
                tokio::task::yield_now().await;
                if n % 5 == 3 { tx.rollback().await.unwrap() } else { tx.commit().await.unwrap() }
            }
        }
    }));
    let all = WRITERS * EACH * 4 / 5;
    let read_feed = async {
        let (mut cursor, mut seen) = (String::new(), Vec::new());
        while seen.len() < all {
            seen.extend(feed(&db, &mut cursor, 7).await);
        }
        seen.extend(feed(&db, &mut cursor, 7).await);
        seen
    };
    let read_logs = futures::future::join_all(tenants.map(|tenant| {
        let db = db.clone();
        async move {
            let mut seen: Vec<i64> = Vec::new();
            while seen.len() < all / tenants.len() {
                let mut tx = db.tenant(tenant).await.unwrap();
                let end = extent(&mut tx, tenant).await.unwrap().newest;
                let after = seen.last().copied().unwrap_or(0);
                let events = read(&mut tx, tenant, Filter::default(), (after, end), 5).await.unwrap();
                seen.extend(events.iter().map(|event| event.sequence));
            }
            seen
        }
    }));
    let (_, fed, logs) = tokio::join!(writers, read_feed, read_logs);
    for log in logs {
        assert!(log.iter().copied().eq(1..=i64::try_from(all / tenants.len()).unwrap()), "{log:?}");
    }
    assert_eq!(fed.len(), all);
    let (mut ends, mut changes): (HashMap<String, i64>, HashMap<String, i64>) =
        (HashMap::new(), HashMap::new());
    for event in &fed {
        let end = ends.entry(event["tenant_id"].to_string()).or_default();
        *end += 1;
        assert_eq!(event["sequence"], *end, "in the order of the tenant's log");
        // and so in the order of the instance's changes
        let change: i64 = name(event).split_once('-').unwrap().1.parse().unwrap();
        let before = changes.insert(event["instance_id"].to_string(), change);
        assert!(before.is_none_or(|before| before < change));
    }
}

#[tokio::test]
async fn old_events_are_deleted_in_bounded_batches_and_the_log_knows() {
    let database = TestDb::new();
    let (_, db) = database.open(NAME, &MIGRATIONS).await;
    let (tenant, other, instance) = (TenantId::new(), TenantId::new(), InstanceId::new());
    for n in 0..6 {
        write(&db, tenant, instance, &n.to_string()).await.commit().await.unwrap();
    }
    write(&db, other, InstanceId::new(), "x").await.commit().await.unwrap();
    let mut admin = database.admin().await;
    let age = "update gpu.events set at = now() - interval '2 days' where sequence <= 5 and tenant_id = $1";
    sqlx::query(age).bind(tenant.uuid()).execute(&mut admin).await.unwrap();
    let day = 86_400.0;
    let mut deleted = Vec::new();
    for _ in 0..4 {
        let mut tx = db.worker().await.unwrap();
        deleted.push(delete_old(&mut tx, day, 2).await.unwrap());
        tx.commit().await.unwrap();
    }
    assert_eq!(deleted, [2, 2, 1, 0]);
    let mut tx = db.tenant(tenant).await.unwrap();
    assert_eq!(extent(&mut tx, tenant).await.unwrap(), Extent { newest: 6, deleted_to: 5 });
    assert!(is_known(&mut tx, tenant, instance).await.unwrap());
    drop(tx);
    let mut tx = db.tenant(other).await.unwrap();
    assert_eq!(extent(&mut tx, other).await.unwrap(), Extent { newest: 1, deleted_to: 0 });
    // one replica at a time
    let mut one = db.worker().await.unwrap();
    let mut two = db.worker().await.unwrap();
    assert_eq!(delete_old(&mut one, 0.0, 1).await.unwrap(), 1);
    assert_eq!(delete_old(&mut two, 0.0, 1).await.unwrap(), 0);
}

#[tokio::test]
async fn an_event_cannot_be_changed_and_only_housekeeping_deletes_it() {
    let database = TestDb::new();
    let (_, db) = database.open(NAME, &MIGRATIONS).await;
    let tenant = TenantId::new();
    write(&db, tenant, InstanceId::new(), "a").await.commit().await.unwrap();
    for statement in ["update events set type = 'x'", "delete from events", "delete from event_logs"] {
        let mut own = db.tenant(tenant).await.unwrap();
        let refused = sqlx::query(statement).execute(&mut *own).await.unwrap_err();
        assert!(refused.to_string().contains("permission denied"), "{statement}: {refused}");
    }
    let mut worker = db.worker().await.unwrap();
    assert!(sqlx::query("update events set type = 'x'").execute(&mut *worker).await.is_err());
    // statements that name no tenant
    for (tx, visible) in
        [(db.tenant(tenant).await.unwrap(), 1), (db.tenant(TenantId::new()).await.unwrap(), 0)]
    {
        let mut tx = tx;
        for table in ["select count(*) from events", "select count(*) from event_logs"] {
            let count: i64 = sqlx::query_scalar(table).fetch_one(&mut *tx).await.unwrap();
            assert_eq!(count, visible, "{table}");
        }
    }
    // nor can a tenant write into another's log
    let mut foreign = db.tenant(TenantId::new()).await.unwrap();
    let by = By::system();
    let written = append(&mut foreign, tenant, Some(InstanceId::new()), &by, &[entry("mine")]).await;
    assert!(written.unwrap_err().to_string().contains("row-level security"));
}
