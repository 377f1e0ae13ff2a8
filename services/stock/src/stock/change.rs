//! Additions and removals of stock, each in the transaction of its request.

use std::time::Duration;

use api::{Checks, Operation, Problem, ProblemType};
use ids::UnitId;
use sqlx::PgConnection;
use stock_api::{Datacenter, DatacenterRef, GpuSpec, GpuSpecRef};

use super::model::StockChange;
use crate::{
    config::StockConfig,
    datacenter, gpu_spec,
    operation::{self, ChangeKind, StockProgress},
    unit,
};

/// The specification and the datacenter of a change, locked until the transaction ends.
struct Target {
    gpu_spec: GpuSpec,
    datacenter: Datacenter,
}

impl Target {
    async fn find(conn: &mut PgConnection, change: &StockChange) -> Result<Self, Problem> {
        let gpu_spec = gpu_spec::store::find_by_reference_for_share(&mut *conn, &change.gpu_spec).await?;
        let datacenter = datacenter::store::find_by_reference_for_share(conn, &change.datacenter).await?;
        let mut checks = Checks::default();
        checks.require(gpu_spec.is_some(), "/gpu_spec", "is not the name or id of a GPU specification");
        checks.require(datacenter.is_some(), "/datacenter", "is not the name or id of a datacenter");
        match (gpu_spec, datacenter) {
            (Some(gpu_spec), Some(datacenter)) => Ok(Self { gpu_spec, datacenter }),
            _ => Err(Problem::invalid(checks.into_errors())),
        }
    }

    /// The problem that only `free` units are free.
    fn in_use(&self, free: i64) -> Problem {
        let (gpu_spec, datacenter) = (&self.gpu_spec.name, &self.datacenter.name);
        let detail = format!("{free} units of {gpu_spec} in {datacenter} are free.");
        Problem::new(ProblemType::StockInUse, detail)
            .next(format!("Remove at most {free} units, or wait until instances release theirs."))
            .with("free", free)
    }

    fn progress(&self, units: i64) -> StockProgress {
        StockProgress::new(
            units,
            GpuSpecRef { id: self.gpu_spec.id, name: self.gpu_spec.name.clone() },
            DatacenterRef { id: self.datacenter.id, name: self.datacenter.name.clone() },
        )
    }
}

/// Adds units, which count as failed if they are not held in time.
pub(super) async fn add(
    conn: &mut PgConnection,
    config: &StockConfig,
    change: &StockChange,
) -> Result<Operation, Problem> {
    let target = Target::find(&mut *conn, change).await?;
    if !gpu_spec::takes_stock(&target.gpu_spec) {
        return Err(Problem::new(ProblemType::GpuSpecRetired, "A retired specification takes no new stock."));
    }
    if !datacenter::takes_stock(&target.datacenter) {
        return Err(Problem::new(
            ProblemType::DatacenterDraining,
            "A draining datacenter takes no new stock.",
        ));
    }
    operation::check_open(&mut *conn, config, ChangeKind::AddStock).await?;
    let units: Vec<UnitId> = (0..change.count).map(|_| UnitId::new()).collect();
    unit::store::insert(&mut *conn, &units, target.gpu_spec.id, target.datacenter.id).await?;
    let progress = target.progress(change.count);
    let hold_within = Duration::from_secs(config.hold_deadline_seconds.into());
    Ok(operation::store::insert(conn, ChangeKind::AddStock, &progress, &units, Some(hold_within)).await?)
}

/// Removes free units, inactive ones first.
pub(super) async fn remove(
    conn: &mut PgConnection,
    config: &StockConfig,
    change: &StockChange,
) -> Result<Operation, Problem> {
    let target = Target::find(&mut *conn, change).await?;
    operation::check_open(&mut *conn, config, ChangeKind::RemoveStock).await?;
    let units =
        unit::store::take_out(&mut *conn, target.gpu_spec.id, target.datacenter.id, change.count).await?;
    let free = i64::try_from(units.len()).unwrap_or(i64::MAX);
    if free < change.count {
        return Err(target.in_use(free));
    }
    let progress = target.progress(change.count);
    let operation =
        operation::store::insert(&mut *conn, ChangeKind::RemoveStock, &progress, &units, None).await?;
    operation::store::abandon(conn, &units, operation.id).await?;
    Ok(operation)
}
