//! The life of an operation, on a real database.

use std::borrow::Cow;

use api::{OperationProgress, OperationState, Problem, ProblemType, problem::ProblemDetails};
use atelier_operations::{End, Filter, NewOperation, cancel_open, find, finish, list, prune, report};
use db::Db;
use ids::{InstanceId, TenantId};
use serde_json::json;
use sqlx::{
    SqlStr,
    migrate::{Migration, MigrationType, Migrator},
};
use testkit::TestDb;

async fn open(database: &TestDb) -> Db {
    let schema = "create table operations (id uuid primary key, tenant_id uuid, target text not null,
        kind text not null, state text not null, progress jsonb not null default '{}', problem jsonb,
        created_at timestamptz not null default now(), updated_at timestamptz not null default now(),
        finished_at timestamptz)";
    let migration = Migration::new(
        1,
        Cow::Borrowed("operations"),
        MigrationType::Simple,
        SqlStr::from_static(schema),
        false,
    );
    database.open("stock", &Migrator::with_migrations(vec![migration])).await.1
}

fn phase(name: &str) -> OperationProgress {
    OperationProgress { phase: Some(name.to_owned()), ..OperationProgress::default() }
}

#[tokio::test]
async fn an_operation_finishes_once_and_then_stays_as_it_is() {
    let database = TestDb::new();
    let mut tx = open(&database).await.worker().await.unwrap();
    let (tenant, target) = (TenantId::new(), InstanceId::new());
    let new = NewOperation::new(Some(tenant), target, "start_instance");
    let recorded = new.insert(&mut tx).await.unwrap();
    assert_eq!((recorded.state, recorded.target), (OperationState::Pending, target.to_string()));

    let progress = phase("starting");
    report(&mut tx, new.id, &progress).await.unwrap();
    let running = find(&mut tx, Some(tenant), new.id).await.unwrap().unwrap();
    assert_eq!((running.state, running.progress), (OperationState::Running, json!(progress)));

    let problem = Box::new(ProblemDetails::from(&Problem::new(ProblemType::StockExhausted, "None is free.")));
    assert!(finish(&mut tx, new.id, &End::Failed(problem.clone())).await.unwrap());
    assert!(!finish(&mut tx, new.id, &End::Succeeded).await.unwrap());
    report(&mut tx, new.id, &phase("late")).await.unwrap();
    cancel_open(&mut tx, &target.to_string()).await.unwrap();
    let failed = find(&mut tx, Some(tenant), new.id).await.unwrap().unwrap();
    assert_eq!(failed.state, OperationState::Failed);
    assert_eq!((failed.problem, failed.progress), (Some(json!(problem)), json!(progress)));
    assert!(failed.finished_at.is_some());
}

#[tokio::test]
async fn lists_and_reads_are_limited_to_the_owner() {
    let database = TestDb::new();
    let mut tx = open(&database).await.worker().await.unwrap();
    let (mine, other, target) = (TenantId::new(), TenantId::new(), InstanceId::new());
    let mut all = Vec::new();
    for (tenant, target) in
        [(Some(mine), target), (Some(mine), InstanceId::new()), (Some(other), target), (None, target)]
    {
        let new = NewOperation::new(tenant, target, "start_instance");
        new.insert(&mut tx).await.unwrap();
        all.push(new.id);
    }
    for (tenant, expected) in
        [(Some(mine), vec![all[1], all[0]]), (Some(other), vec![all[2]]), (None, vec![all[3]])]
    {
        let filter = Filter { tenant, target: None };
        let shown = list(&mut tx, &filter, None, 10).await.unwrap();
        assert_eq!(shown.iter().map(|operation| operation.id).collect::<Vec<_>>(), expected);
        for id in &all {
            let found = find(&mut tx, tenant, *id).await.unwrap().is_some();
            assert_eq!(found, expected.contains(id));
        }
    }
    let filter = Filter { tenant: Some(mine), target: Some(target.to_string()) };
    assert_eq!(list(&mut tx, &filter, None, 10).await.unwrap().len(), 1);
    let next = list(&mut tx, &Filter { tenant: Some(mine), target: None }, Some(all[1]), 10).await.unwrap();
    assert_eq!(next[0].id, all[0]);

    cancel_open(&mut tx, &target.to_string()).await.unwrap();
    let open = find(&mut tx, Some(mine), all[1]).await.unwrap().unwrap();
    assert_eq!(open.state, OperationState::Pending, "another target's");
    sqlx::query(
        "update operations set finished_at = now() - interval '91 days' where finished_at is not null",
    )
    .execute(&mut *tx)
    .await
    .unwrap();
    assert_eq!(prune(&mut tx, 2).await.unwrap(), 2);
    assert_eq!(prune(&mut tx, 2).await.unwrap(), 1);
    assert!(find(&mut tx, Some(mine), all[1]).await.unwrap().is_some());
}
