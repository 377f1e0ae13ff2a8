//! The reports of the units, by datacenter. Pure except for the clusters' units.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use api::{Problem, ProblemType};
use gpu_core::unit::Unit;
use serde::Serialize;
use utoipa::ToSchema;

use clusters::Clusters;

/// Why code of tenants does not run where it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotIsolated {
    /// A sentence.
    pub message: String,
    /// Names of datacenters in which such code runs.
    pub datacenters: Vec<String>,
}

impl From<NotIsolated> for Problem {
    fn from(NotIsolated { message, datacenters }: NotIsolated) -> Self {
        Self::new(ProblemType::IsolationUnavailable, message).with("datacenters", datacenters)
    }
}

/// Checks that some unit of the datacenter, or of any, runs code of tenants. Succeeds if there are no units.
///
/// # Errors
/// Why none does.
pub fn check(clusters: &Clusters, datacenter: Option<&str>) -> Result<(), NotIsolated> {
    evaluate(&clusters.units(), datacenter)
}

/// Returns the names of the datacenters in which code of tenants runs.
pub fn datacenters(clusters: &Clusters) -> Vec<String> {
    running(&clusters.units())
}

/// Returns the names of the datacenters in which code of tenants runs, unless it runs in all. Those that
/// answer, and those that run it in all their units, come first.
pub fn limit(clusters: &Clusters) -> Option<Vec<String>> {
    limit_of(&clusters.seen())
}

fn limit_of(units: &[(Arc<Unit>, bool)]) -> Option<Vec<String>> {
    // whether some unit runs it, whether one does not, whether the cluster does not answer
    let mut datacenters: BTreeMap<&str, (bool, bool, bool)> = BTreeMap::new();
    for (unit, answers) in units {
        let (runs, refuses, is_away) = datacenters.entry(&unit.datacenter).or_default();
        let refuses_it = unit.refuses_tenant_code().is_some();
        *runs |= !refuses_it;
        *refuses |= refuses_it;
        *is_away |= !answers;
    }
    if datacenters.values().all(|(runs, ..)| *runs) {
        return None;
    }
    let running = datacenters.into_iter().filter(|(name, (runs, ..))| *runs && !name.is_empty());
    let mut names: Vec<_> = running.collect();
    names.sort_by_key(|(_, (_, refuses, is_away))| (*is_away, *refuses));
    Some(names.into_iter().map(|(name, _)| name.to_owned()).collect())
}

fn running(units: &[Arc<Unit>]) -> Vec<String> {
    let running = units.iter().filter(|unit| unit.refuses_tenant_code().is_none());
    let names: BTreeSet<&str> =
        running.map(|unit| unit.datacenter.as_str()).filter(|name| !name.is_empty()).collect();
    names.into_iter().map(str::to_owned).collect()
}

fn evaluate(units: &[Arc<Unit>], datacenter: Option<&str>) -> Result<(), NotIsolated> {
    let mut there = units.iter().filter(|unit| datacenter.is_none_or(|name| unit.datacenter == name));
    let mut first = None;
    if there.any(|unit| match unit.refuses_tenant_code() {
        None => true,
        Some(why) => {
            first.get_or_insert((&unit.datacenter, why));
            false
        }
    }) {
        return Ok(());
    }
    let Some((name, why)) = first else { return Ok(()) };
    let datacenters = running(units);
    Err(NotIsolated { message: explain(name, why, &datacenters), datacenters })
}

/// Why code of tenants does not run in a datacenter, and in which ones it does.
pub(crate) fn explain(datacenter: &str, why: &str, others: &[String]) -> String {
    let next = match others {
        [] => String::new(),
        others => format!(" It runs in: {}.", others.join(", ")),
    };
    format!("Own images and programs of tenants do not run in the datacenter {datacenter}: {why}.{next}")
}

/// Whether the units of a datacenter run code of tenants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct DatacenterIsolation {
    /// Name of the datacenter, as its units have it.
    datacenter: String,
    /// Units that run code of tenants.
    running: usize,
    /// Units that do not run code of tenants.
    refusing: usize,
    /// What the units report: each report once, the most frequent first.
    reports: Vec<IsolationReport>,
}

/// What some units report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
struct IsolationReport {
    /// Machine-readable reason. `Isolated` and `DefaultRuntimeAccepted`: the units run code of tenants.
    /// `NoIsolatedRuntime`, `RuntimeClassMissing` and `NodeUnsuitable`: they do not. `Unknown`: their operator reports
    /// nothing, or a reason that this version does not know.
    reason: String,
    /// The reason in a sentence; for `Isolated`, the RuntimeClass.
    message: String,
    /// How many units.
    units: usize,
}

/// Summarizes what units report, by datacenter.
pub(super) fn summary(units: &[Arc<Unit>]) -> Vec<DatacenterIsolation> {
    let mut counts: BTreeMap<&str, BTreeMap<(bool, &str, &str), usize>> = BTreeMap::new();
    for unit in units {
        let refusal = unit.refuses_tenant_code();
        let condition = unit.tenant_code.as_ref();
        let reason =
            condition.and_then(|condition| condition.reason).map_or("Unknown", |reason| reason.as_str());
        let message = refusal.or(condition.map(|condition| condition.message.as_str())).unwrap_or_default();
        let of_datacenter = counts.entry(&unit.datacenter).or_default();
        *of_datacenter.entry((refusal.is_none(), reason, message)).or_default() += 1;
    }
    let summaries = counts.into_iter().map(|(datacenter, counts)| {
        let sum = |runs: bool| counts.iter().filter(|(key, _)| key.0 == runs).map(|(_, units)| units).sum();
        let reports = counts.iter().map(|((_, reason, message), units)| IsolationReport {
            reason: (*reason).to_owned(),
            message: (*message).to_owned(),
            units: *units,
        });
        let mut reports: Vec<_> = reports.collect();
        reports.sort_by_key(|report| std::cmp::Reverse(report.units));
        DatacenterIsolation {
            datacenter: datacenter.to_owned(),
            running: sum(true),
            refusing: sum(false),
            reports,
        }
    });
    summaries.collect()
}

#[cfg(test)]
mod tests {
    use crds::TenantCodeReason;

    use super::*;
    use gpu_core::instance::fixture::{condition, idle_unit};

    fn unit(datacenter: &str, reason: Option<TenantCodeReason>) -> Arc<Unit> {
        let met =
            matches!(reason, Some(TenantCodeReason::Isolated | TenantCodeReason::DefaultRuntimeAccepted));
        let tenant_code = reason.and_then(|reason| condition(met, reason));
        Arc::new(Unit { datacenter: datacenter.to_owned(), tenant_code, ..idle_unit() })
    }

    #[test]
    fn one_unit_that_runs_such_code_is_enough_and_others_are_named() {
        let units = [
            unit("uk", Some(TenantCodeReason::NoIsolatedRuntime)),
            unit("de", Some(TenantCodeReason::NodeUnsuitable)),
            unit("de", Some(TenantCodeReason::Isolated)),
            unit("fr", None),
        ];
        assert_eq!(evaluate(&units, Some("de")), Ok(()));
        assert_eq!(evaluate(&units, None), Ok(()));
        assert_eq!(evaluate(&units, Some("us")), Ok(()), "it has no units");
        let refused = evaluate(&units, Some("uk")).unwrap_err();
        assert_eq!(refused.datacenters, ["de"]);
        assert!(refused.message.ends_with("told by the operator. It runs in: de."), "{}", refused.message);
        assert!(evaluate(&units, Some("fr")).unwrap_err().message.contains("does not report"));
        assert_eq!(evaluate(&units[..1], None).unwrap_err().datacenters, [""; 0]);
    }

    #[test]
    fn claims_are_limited_to_where_such_code_runs() {
        let seen = |datacenter, runs, answers| {
            let reason = if runs { TenantCodeReason::Isolated } else { TenantCodeReason::NoIsolatedRuntime };
            (unit(datacenter, Some(reason)), answers)
        };
        assert_eq!(limit_of(&[]), None);
        assert_eq!(
            limit_of(&[seen("de", true, true), seen("de", false, true), seen("fr", true, true)]),
            None
        );
        let units = [
            seen("at", true, false),
            seen("be", true, true),
            seen("be", false, true),
            seen("de", true, true),
            seen("uk", false, true),
        ];
        assert_eq!(limit_of(&units).unwrap(), ["de", "be", "at"]);
        assert_eq!(limit_of(&units[4..]).unwrap(), [""; 0]);
    }

    #[test]
    fn what_units_report_is_counted_by_datacenter() {
        let units = [
            unit("de", Some(TenantCodeReason::NodeUnsuitable)),
            unit("de", Some(TenantCodeReason::Isolated)),
            unit("de", Some(TenantCodeReason::Isolated)),
            unit("fr", None),
        ];
        let summary = summary(&units);
        let reports = |n: usize| -> Vec<(&str, usize)> {
            summary[n].reports.iter().map(|report| (report.reason.as_str(), report.units)).collect()
        };
        assert_eq!((summary[0].running, summary[0].refusing), (2, 1));
        assert_eq!(reports(0), [("Isolated", 2), ("NodeUnsuitable", 1)]);
        assert_eq!((summary[1].running, summary[1].refusing, reports(1)), (0, 1, vec![("Unknown", 1)]));
    }
}
