//! `check`: compares what Postgres, the clusters and the object store have, and reports each disagreement.
//!
//! The services change the data while it is read, so changes in progress look like disagreements. Findings of the first
//! pass are checked again after a grace period; only those that remain are reported. Objects are read page by page, and
//! only their ids are kept.

mod objects;
mod pods;
mod records;
mod units;
mod volumes;

use std::{collections::BTreeMap, fmt, time::Duration};

use crds::Clusters;
use jiff::Timestamp;
use kube::{Api, Resource, api::ListParams};
use serde::{Serialize, de::DeserializeOwned};
use sqlx::{Decode, Encode, PgConnection, Postgres, Type};

use crate::Config;

/// Objects of a cluster and rows that are read at a time.
const PAGE: u32 = 500;

/// A disagreement.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The invariant, as docs/INVARIANTS.md names it.
    pub invariant: &'static str,
    /// The subject: an id, or the names of an object and its cluster.
    pub subject: String,
    /// The kind of disagreement.
    pub detail: String,
    /// Since when, if that is recorded.
    pub since: Option<Timestamp>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { invariant, subject, detail, since } = self;
        write!(f, "{invariant}: {subject} {detail}")?;
        if let Some(since) = since {
            write!(f, " (since {since:.0})")?;
        }
        write!(f, ". {}", action(invariant))
    }
}

/// Instructions for the violation of an invariant.
#[must_use]
pub fn action(invariant: &str) -> &'static str {
    let found = ACTIONS.iter().find(|(name, _)| *name == invariant);
    found.map_or("See docs/INVARIANTS.md.", |(_, action)| action)
}

/// Each invariant with the instructions for a violation.
pub static ACTIONS: &[(&str, &str)] = &[
    (
        "claim-without-instance",
        "Stop the instance; if it does not exist, report it: the unit is lost to others.",
    ),
    ("instance-without-claim", "Stop and start the instance."),
    ("stock-counts", "Report it: starts may be refused although units are free."),
    ("unit-places", "Report it: the list of units is wrong."),
    ("queue-entries", "Stop or delete the instance."),
    ("runs-overlap", "Report it before the next bill: time is charged twice."),
    ("runs-open", "Report it before the next bill: time is charged that did not run, or not charged."),
    ("usage-records", "Report it before the next bill: a change of a run was not published."),
    ("usage-days", "Report it: reports of usage are not the sum of the runs."),
    ("usage-totals", "Report it: the usage that users see is not the sum of their runs."),
    ("queues", "See the runbook ReconcilesStuck: no replica of the service does its work."),
    ("attachments", "Delete the instance, or stop and start it."),
    ("tenants", "See docs/BACKUP.md: a tenant was lost in a restore."),
    ("audit-log", "See the runbook AuditLogBroken."),
    (
        "unit-objects",
        "The stock service repairs it within minutes; if not, see the runbook StockDisagreement.",
    ),
    ("unit-occupants", "If the instance does not exist any more, remove it: `atelier-admin evict`."),
    ("instance-in-two-units", "Report it. `atelier-admin evict` removes an instance that does not exist."),
    (
        "instance-pods",
        "The operator deletes it within a minute; if not, see the runbook OperatorReconcilesFailing.",
    ),
    (
        "volume-objects",
        "If it has no row, bring it back: `atelier-admin adopt-storage`. Otherwise it was lost.",
    ),
    (
        "volume-claims",
        "The operator creates it again; a claim without a resource has to be looked at by hand.",
    ),
    (
        "tenant-namespaces",
        "If the tenant was deleted: `kubectl delete namespace`, after a look at what is in it.",
    ),
    ("buckets", "If it has no row, bring it back: `atelier-admin adopt-storage`. Otherwise it was lost."),
    ("bucket-users", "Delete the user with `radosgw-admin user rm`; it owns no bucket of the platform."),
    ("bucket-keys", "The storage service removes keys without a record; users create new ones."),
    ("reachable", "Make it reachable, and check again."),
];

/// Looks for disagreements, and for each again after the grace period.
///
/// # Errors
/// If the database cannot be read. A cluster or an object store that does not answer is a finding.
pub async fn run(config: &Config, grace: Duration) -> anyhow::Result<Vec<Finding>> {
    let first = look(config, grace).await?;
    if first.is_empty() || grace.is_zero() {
        return Ok(first);
    }
    tokio::time::sleep(grace).await;
    let second = look(config, grace).await?;
    let same =
        |one: &Finding, other: &Finding| (one.invariant, &one.subject) == (other.invariant, &other.subject);
    Ok(second.into_iter().filter(|found| first.iter().any(|before| same(before, found))).collect())
}

async fn look(config: &Config, grace: Duration) -> anyhow::Result<Vec<Finding>> {
    let reader = config.database.reader()?;
    let mut conn = config.database.connect(&reader).await?;
    let mut findings = records::check(&mut conn, grace).await?;
    let clusters = Clusters::new(&config.clusters);
    let mut occupants = units::Occupants::default();
    for name in config.clusters.keys() {
        let result = check_cluster(&mut conn, &clusters, name, &mut occupants, &mut findings).await;
        if let Err(error) = result {
            findings.push(unreachable(&format!("cluster {name}"), &error));
        }
    }
    findings.extend(occupants.twice());
    if let Some(store) = &config.object_store
        && let Err(error) = objects::check(&mut conn, store, &mut findings).await
    {
        findings.push(unreachable("object store", &error));
    }
    findings.sort();
    findings.dedup();
    Ok(findings)
}

async fn check_cluster(
    conn: &mut PgConnection,
    clusters: &Clusters,
    name: &str,
    occupants: &mut units::Occupants,
    findings: &mut Vec<Finding>,
) -> anyhow::Result<()> {
    let client = clusters.client(name).await?;
    units::check(conn, &client, name, occupants, findings).await?;
    pods::check(conn, &client, name, occupants, findings).await?;
    volumes::check(conn, &client, name, findings).await
}

fn unreachable(what: &str, error: &anyhow::Error) -> Finding {
    Finding {
        invariant: "reachable",
        subject: what.to_owned(),
        detail: format!("could not be checked: {error:#}"),
        since: None,
    }
}

/// The objects of a cluster, page by page.
struct Pages<K> {
    api: Api<K>,
    params: Option<ListParams>,
}

impl<K> Pages<K>
where
    K: Resource + Clone + DeserializeOwned + fmt::Debug,
{
    fn new(api: Api<K>, labels: Option<&str>) -> Self {
        let mut params = ListParams::default().limit(PAGE);
        params.label_selector = labels.map(str::to_owned);
        Self { api, params: Some(params) }
    }

    /// Returns the next page; none after the last.
    async fn next(&mut self) -> anyhow::Result<Option<Vec<K>>> {
        let Some(params) = self.params.take() else { return Ok(None) };
        let page = self.api.list(&params).await?;
        let token = page.metadata.continue_.filter(|token| !token.is_empty());
        self.params = token.map(|token| params.continue_token(&token));
        Ok(Some(page.items))
    }
}

/// A row of a query: a row's id, a text, and the time since when.
type Row<I> = (I, String, jiff_sqlx::Timestamp);

/// Rows of a cluster that a query returns page by page. Its parameters are the name of the cluster, the id after which a page
/// begins (null for the first), and the size of a page; its order is that of ids.
struct Rows<'c, I> {
    sql: &'static str,
    cluster: &'c str,
    after: Option<I>,
}

impl<'c, I> Rows<'c, I>
where
    I: Copy + Send + Unpin + Type<Postgres> + for<'q> Encode<'q, Postgres> + for<'r> Decode<'r, Postgres>,
{
    fn new(sql: &'static str, cluster: &'c str) -> Self {
        Self { sql, cluster, after: None }
    }

    /// Returns the next page; empty after the last.
    async fn next(&mut self, conn: &mut PgConnection) -> sqlx::Result<Vec<Row<I>>> {
        let page: Vec<Row<I>> = sqlx::query_as(self.sql)
            .bind(self.cluster)
            .bind(self.after)
            .bind(i64::from(PAGE))
            .fetch_all(conn)
            .await?;
        self.after = page.last().map(|(id, ..)| *id).or(self.after);
        Ok(page)
    }
}

/// Counts findings by their invariant.
#[must_use]
pub fn summary(findings: &[Finding]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for finding in findings {
        *counts.entry(finding.invariant).or_default() += 1;
    }
    counts
}

/// Returns the time of a Kubernetes object's creation.
fn created<K: Resource>(object: &K) -> Option<Timestamp> {
    object.meta().creation_timestamp.as_ref().map(|time| time.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_invariant_is_documented() {
        let document = include_str!("../../../docs/INVARIANTS.md");
        for (invariant, _) in ACTIONS {
            assert!(
                document.contains(&format!("| `{invariant}` |")),
                "{invariant} is not in docs/INVARIANTS.md"
            );
        }
        let documented = document.lines().filter(|line| line.starts_with("| `")).count();
        assert_eq!(documented, ACTIONS.len(), "docs/INVARIANTS.md has others");
    }

    #[test]
    fn a_finding_is_one_line_that_says_what_to_do() {
        let finding = Finding {
            invariant: "unit-occupants",
            subject: "main/unit-1".into(),
            detail: "is occupied by inst-1, which does not exist".into(),
            since: Some(Timestamp::UNIX_EPOCH),
        };
        assert_eq!(
            finding.to_string(),
            "unit-occupants: main/unit-1 is occupied by inst-1, which does not exist (since 1970-01-01T00:00:00Z). If the \
             instance does not exist any more, remove it: `atelier-admin evict`."
        );
    }
}
