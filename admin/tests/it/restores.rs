//! Backup and restore without services, and violations of the invariants of rows.

use std::time::Duration;

use atelier_admin::{backup, check, restore};
use jiff::Timestamp;
use sqlx::{Connection, PgConnection};

use crate::fixture::Fixture;

#[tokio::test]
async fn a_backup_is_restored_into_another_database_and_prepared() {
    let source = Fixture::new().await;
    source
        .execute(
            "insert into identity.tenants (id, name) values (gen_random_uuid(), 'studio');
             insert into identity.revocations (xact, payload) values ('900000000', '{}');
             insert into gpu.event_logs (tenant_id, last) values (gen_random_uuid(), 7);
             insert into gpu.feed_cursors (feed, cursor) values ('stock.grants', '900000000:900000000:')",
        )
        .await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("backup");
    backup::backup(&source.config, &path).await.unwrap();
    let again = backup::backup(&source.config, &path).await.unwrap_err();
    assert!(again.to_string().contains("not empty"), "{again}");

    let target = Fixture::empty().await;
    let now = Timestamp::now();
    let restored = restore::restore(&target.config, &path, false, now).await.unwrap();
    assert!(matches!(restored, restore::Restored::Ready));
    assert_eq!(target.count("select count(*) from identity.tenants where name = 'studio'").await, 1);
    // published rows are visible, whatever their transaction ids were before the restore
    let hidden = "select count(*) from identity.revocations where not pg_visible_in_snapshot(xact, pg_current_snapshot())";
    assert_eq!((source.count(hidden).await, target.count(hidden).await), (1, 0));
    assert_eq!(target.count("select count(*) from gpu.feed_cursors").await, 0);
    assert!(target.count("select last from gpu.event_logs").await > now.as_millisecond() - 1000);
    assert_eq!(target.count("select count(*) from gpu.restores").await, 1);
    let connect =
        "select count(*) from unnest(array['app', 'worker']) role, unnest(array['gpu', 'stock']) service
        where has_database_privilege('atelier_' || service || '_' || role, current_database(), 'connect')";
    assert_eq!(target.count(connect).await, 4);
    assert_eq!(check::run(&target.config, Duration::ZERO).await.unwrap(), []);
}

#[tokio::test]
async fn a_backup_of_a_later_release_is_refused_and_one_of_an_earlier_release_waits_for_its_migrations() {
    let source = Fixture::new().await;
    source.execute("delete from gpu._sqlx_migrations where version = (select max(version) from gpu._sqlx_migrations)").await;
    let folder = tempfile::tempdir().unwrap();
    let older = folder.path().join("older");
    backup::backup(&source.config, &older).await.unwrap();
    source
        .execute(
            "insert into gpu._sqlx_migrations (version, description, success, checksum, execution_time)
             values (9999, 'later', true, '', 0)",
        )
        .await;
    let newer = folder.path().join("newer");
    backup::backup(&source.config, &newer).await.unwrap();

    let target = Fixture::empty().await;
    let refused = restore::restore(&target.config, &newer, false, Timestamp::now()).await.unwrap_err();
    assert!(refused.to_string().contains("newer than this program"), "{refused}");
    let restored = restore::restore(&target.config, &older, false, Timestamp::now()).await.unwrap();
    assert!(matches!(restored, restore::Restored::NeedsMigrations));
    // until it is prepared, no service can connect
    let connect =
        "select has_database_privilege('atelier_gpu_worker', current_database(), 'connect')::int::bigint";
    assert_eq!(target.count(connect).await, 0);
    let unprepared = restore::prepare(&target.config, Timestamp::now()).await.unwrap_err();
    assert!(unprepared.to_string().contains("migrations are missing"), "{unprepared}");
    assert_eq!(target.count(connect).await, 0);
}

/// Versions are raised above those that services and consumers of usage may have seen since the backup. Instances that ran at the
/// time of the backup are not assumed to be running.
#[tokio::test]
async fn restored_instances_and_runs_are_behind_nothing_that_others_know() {
    let fixture = Fixture::new().await;
    fixture
        .execute(
            "insert into gpu.instances (id, tenant_id, name, spec, phase, attempt, restart, meter, operation_id, operation_kind,
                 lease_owner, lease_until)
             select gen_random_uuid(), '00000000-0000-7000-8000-000000000001', state, '{}',
                 jsonb_build_object('state', state, 'hold', 1), 7, 0, '{}', gen_random_uuid(), 'create',
                 gen_random_uuid(), now() + interval '1 hour'
             from unnest(array['stopped', 'starting', 'running']) state;
             insert into gpu.runs (cluster, datacenter, id, tenant_id, instance_id, attempt, unit_id, price_per_hour, currency, started_at, confirmed_at,
                 ended_at, kind)
             select 'uk-1', 'uk-1', gen_random_uuid(), tenant_id, id, n, gen_random_uuid(), 1, 'EUR', now() - interval '1 hour',
                 now() - interval '50 minutes', case n when 1 then now() - interval '50 minutes' end,
                 case n when 3 then 'held' else 'running' end
             from gpu.instances, generate_series(1, 3) n where name = 'running';
             insert into gpu.events (xact, tenant_id, sequence, instance_id, type, payload)
             select '900000000', tenant_id, 1, id, 'instance.created', '{}' from gpu.instances where name = 'running';
             insert into gpu.route_changes (xact, payload) values ('900000000', '{}');
             update gpu.usage_records set xact = '900000000'",
        )
        .await;
    let now = Timestamp::now();
    restore::prepare(&fixture.config, now).await.unwrap();

    let true_of = async |condition: &'static str| fixture.count(condition).await;
    // a start that was made after the backup has another number
    assert_eq!(true_of("select attempt from gpu.instances where name = 'stopped'").await, 1007);
    // whether an instance runs is decided by what its cluster reports about the recorded start
    let guarded = "select count(*) from gpu.instances where attempt = 7 and restored_attempt = 7";
    assert_eq!(true_of(guarded).await, 2);
    assert_eq!(true_of("select count(*) from gpu.instances where phase ? 'hold'").await, 0);
    let due = "select count(*) from gpu.instances where lease_until is null and wake_at <= now()";
    assert_eq!(true_of(due).await, 3);
    // a hold ends at its last confirmation; a run stays open
    let held =
        "select count(*) from gpu.runs where attempt = 3 and ended_at = confirmed_at and hold_end = 'unseen'";
    assert_eq!(true_of(held).await, 1);
    assert_eq!(true_of("select count(*) from gpu.runs where attempt = 2 and ended_at is null").await, 1);
    // versions start above 100 for each minute from 2025 to the restore: no more can have been published
    let lowest = (now.as_second() - 1_735_689_600) / 60 * 100;
    assert_eq!(true_of("select version::bigint from gpu.runs where attempt = 3").await, lowest + 1);
    fixture
        .execute(
            "update gpu.runs set ended_at = now() where attempt = 2;
             insert into gpu.runs (cluster, datacenter, id, tenant_id, instance_id, attempt, unit_id, price_per_hour, currency, started_at, confirmed_at)
             select 'uk-1', 'uk-1', gen_random_uuid(), tenant_id, id, 4, gen_random_uuid(), 1, 'EUR', now(), now() from gpu.instances
             where name = 'running'",
        )
        .await;
    let above = "select min(version)::bigint from gpu.runs where attempt in (2, 4)";
    assert_eq!(true_of(above).await, lowest + 1);
    // published rows are visible, whatever their transaction ids were before the restore
    let hidden = "select (select count(*) from gpu.events where xact > pg_current_xact_id())
        + (select count(*) from gpu.route_changes where xact > pg_current_xact_id())
        + (select count(*) from gpu.usage_records where xact > pg_current_xact_id())";
    assert_eq!(true_of(hidden).await, 0);
    // a second preparation does not undo what services have done since
    restore::prepare(&fixture.config, now).await.unwrap();
    assert_eq!(true_of("select count(*) from gpu.restores").await, 1);
}

/// Each statement breaks one invariant.
const VIOLATIONS: &[(&str, &str)] = &[
    (
        "claim-without-instance",
        "update stock.units set state = 'used', holder_instance = gen_random_uuid(), holder_tenant = gen_random_uuid(),
             holder_since = now()",
    ),
    ("stock-counts", "update stock.stock_counts set inactive = inactive + 1"),
    ("unit-places", "delete from stock.unit_places"),
    (
        "queue-entries",
        "insert into stock.queue_entries (instance_id, tenant_id, gpu_spec_id, priority, turn, attempt)
         select gen_random_uuid(), gen_random_uuid(), id, 0, 1, 1 from stock.gpu_specs",
    ),
    ("queues", "update stock.units set wake_at = now() - interval '1 hour'"),
    (
        "instance-without-claim",
        "update gpu.instances set phase = jsonb_build_object('state', 'running', 'claim',
             jsonb_build_object('unit_id', (select 'unit_' || replace(id::text, '-', '') from stock.units), 'unit_name', 'u'))",
    ),
    (
        "runs-open",
        "insert into gpu.runs (cluster, datacenter, id, tenant_id, instance_id, attempt, unit_id, price_per_hour, currency, started_at, confirmed_at)
         select 'uk-1', 'uk-1', gen_random_uuid(), tenant_id, id, 1, gen_random_uuid(), 1, 'EUR', now(), now() from gpu.instances",
    ),
    (
        "runs-overlap",
        "insert into gpu.runs (cluster, datacenter, id, tenant_id, instance_id, attempt, unit_id, price_per_hour, currency, started_at, confirmed_at, ended_at)
         select 'uk-1', 'uk-1', gen_random_uuid(), tenant_id, id, n, gen_random_uuid(), 1, 'EUR', now() - n * interval '1 minute', now(), now()
         from gpu.instances, generate_series(2, 3) n",
    ),
    ("usage-days", "update gpu.usage_days set amount = amount + 1"),
    ("usage-totals", "update gpu.usage_totals set seconds = seconds + 1"),
    ("usage-records", "delete from gpu.usage_records where version = 1 and run_id in (select id from gpu.runs order by id limit 1)"),
    ("tenants", "update gpu.instances set tenant_id = gen_random_uuid()"),
    (
        "attachments",
        "insert into storage.attachments (storage_id, instance_id, tenant_id, mode)
         select id, gen_random_uuid(), tenant_id, 'read_write' from storage.storages",
    ),
    (
        "audit-log",
        "alter table gpu.audit_entries disable trigger all; update gpu.audit_entries set entry = '{}'",
    ),
];

#[tokio::test]
async fn each_violation_is_found() {
    let fixture = Fixture::new().await;
    fixture
        .execute(
            "insert into identity.tenants (id, name) values ('00000000-0000-7000-8000-000000000001', 'studio');
             insert into stock.datacenters (id, name, region, cluster) values (gen_random_uuid(), 'dc', 'uk', 'main');
             insert into stock.gpu_specs (id, name, gpu_model, gpu_count, gpu_cores, video_memory_mib, cpu_millis, memory_mib,
                 disk_gib, allocation, price_per_hour, currency)
             values (gen_random_uuid(), 'small', 'x', 1, 1, 1, 1, 1, 1, '{}', 1, 'EUR');
             insert into stock.units (id, gpu_spec_id, datacenter_id, state)
             select gen_random_uuid(), s.id, d.id, 'inactive' from stock.gpu_specs s, stock.datacenters d;
             insert into storage.storage_specs (id, name, kind, min_size_gib, max_size_gib, price_per_gib_month, currency, access_mode)
             values (gen_random_uuid(), 'ssd', 'volume', 1, 10, 1, 'EUR', 'read_write_many');
             insert into storage.storages (id, tenant_id, name, spec_id, kind, size_gib, cluster, datacenter, access_mode,
                 price_per_gib_month, currency, state, operation_id, wake_at)
             select gen_random_uuid(), '00000000-0000-7000-8000-000000000001', 's', id, 'volume', 1, 'main', 'dc', 'read_write_many',
                 1, 'EUR', 'available', gen_random_uuid(), null from storage.storage_specs;
             insert into gpu.instances (id, tenant_id, name, spec, phase, attempt, restart, meter, operation_id, operation_kind)
             values (gen_random_uuid(), '00000000-0000-7000-8000-000000000001', 'i', '{}',
                 '{\"state\": \"stopped\"}', 1, 0, '{\"open\": null}', gen_random_uuid(), 'create');
             insert into gpu.runs (cluster, datacenter, id, tenant_id, instance_id, attempt, unit_id, price_per_hour, currency, started_at, confirmed_at, ended_at)
             select 'uk-1', 'uk-1', gen_random_uuid(), tenant_id, id, 1, gen_random_uuid(), 1, 'EUR', now() - interval '1 hour',
                 now() - interval '50 minutes', now() - interval '50 minutes' from gpu.instances;
             set search_path = gpu;
             select audit_append('{\"operation\": \"x\"}', '{}')",
        )
        .await;
    assert_eq!(check::run(&fixture.config, Duration::ZERO).await.unwrap(), [], "nothing is broken yet");
    for (invariant, statement) in VIOLATIONS {
        fixture.execute(statement).await;
        let found = check::run(&fixture.config, Duration::ZERO).await.unwrap();
        assert!(found.iter().any(|found| found.invariant == *invariant), "{invariant} is not in {found:#?}");
    }
    // the role that checks cannot write
    let reader = format!("{}?user=atelier_reader&password=test", fixture.db.url());
    let mut conn = PgConnection::connect(&reader).await.unwrap();
    let written = sqlx::query("set default_transaction_read_only = off").execute(&mut conn).await;
    written.unwrap();
    let refused = sqlx::query("delete from gpu.runs").execute(&mut conn).await.unwrap_err();
    assert!(refused.to_string().contains("permission denied"), "{refused}");
}
