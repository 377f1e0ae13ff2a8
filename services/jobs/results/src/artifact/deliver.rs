//! The delivery of results: staged files of an attempt become the tenant's.

use futures::{StreamExt as _, stream};
use ids::{JobId, StorageId};
use jobs_core::status::JobProblem;
use storage_api::{DeliveryOutcome, DeliveryRequest};

use super::{
    Parts,
    error::{Error, not_now},
    file::object,
    model::Artifact,
    store::{self, Output},
    upload::bucket,
};

/// Maximum number of results that are delivered at a time.
const AT_A_TIME: usize = 8;

/// How the delivery of one result has ended.
enum Delivered {
    Done,
    NotStaged(String),
    /// The bucket does not accept it, until its tenant acts.
    Refused(JobProblem),
}

/// Delivers the results of an open attempt into the bucket of its tenant. Returns why the bucket does not
/// accept them, and would not accept a repetition; none if they are delivered.
///
/// # Errors
/// [`Error::UploadMissing`] names results that were not staged, or have another size.
pub async fn deliver(
    parts: &Parts,
    job: JobId,
    number: i32,
    artifacts: &[Artifact],
) -> Result<Option<JobProblem>, Error> {
    if artifacts.is_empty() {
        return Ok(None);
    }
    let mut tx = parts.db.worker().await?;
    let output = store::output(&mut tx, job, number).await?;
    drop(tx);
    let all = || artifacts.iter().map(|artifact| artifact.name.clone()).collect();
    let output = output.ok_or_else(|| Error::UploadMissing(all()))?;
    // the tenant may have deleted it meanwhile: the next one has the same id
    if let Err(error) = bucket(parts, output.tenant).await {
        return problem_of_tenant(error).map(Some);
    }
    let deliveries: Vec<_> = artifacts.iter().map(|artifact| deliver_one(parts, &output, artifact)).collect();
    let mut deliveries = stream::iter(deliveries).buffer_unordered(AT_A_TIME);
    let mut missing = Vec::new();
    while let Some(delivered) = deliveries.next().await {
        match delivered? {
            Delivered::Done => {}
            Delivered::NotStaged(name) => missing.push(name),
            Delivered::Refused(problem) => return Ok(Some(problem)),
        }
    }
    missing.sort_unstable();
    if missing.is_empty() { Ok(None) } else { Err(Error::UploadMissing(missing)) }
}

async fn deliver_one(parts: &Parts, output: &Output, artifact: &Artifact) -> Result<Delivered, Error> {
    let Artifact { name, bytes, .. } = artifact;
    let object = object(output.job, output.attempt, name);
    let request = DeliveryRequest { tenant_id: output.tenant, object: object.clone(), bytes: *bytes };
    let delivery = parts.storage.deliver(output.storage, &request).await.map_err(not_now)?;
    Ok(match delivery.outcome {
        DeliveryOutcome::Delivered => Delivered::Done,
        DeliveryOutcome::NotStaged => Delivered::NotStaged(name.clone()),
        DeliveryOutcome::BucketFull => Delivered::Refused(problem(
            "storage-full",
            output.storage,
            &format!(
                "has no room for the result {name:?}. Delete objects, or let the storage grow, and submit the job again"
            ),
        )),
        DeliveryOutcome::BucketMissing => Delivered::Refused(problem(
            "storage-missing",
            output.storage,
            "was deleted in the object store. Delete the storage: the next result creates another",
        )),
        DeliveryOutcome::Refused => Delivered::Refused(problem(
            "storage-refused",
            output.storage,
            &format!(
                "refuses the result {name:?}. Change its policy, or the setting that forbids it, and submit the job again"
            ),
        )),
    })
}

fn problem(code: &str, bucket: StorageId, what: &str) -> JobProblem {
    JobProblem { code: code.to_owned(), message: format!("The bucket for results ({bucket}) {what}.") }
}

/// The problem of a bucket that its tenant has deleted, or may not have. Other errors are returned.
fn problem_of_tenant(error: Error) -> Result<JobProblem, Error> {
    match error {
        Error::BucketLost | Error::BucketDeleting => {
            Ok(JobProblem { code: "storage-missing".to_owned(), message: error.to_string() })
        }
        Error::Storage(peer::Error::Problem(details)) if details.is(api::ProblemType::QuotaExceeded) => {
            Ok(JobProblem { code: "quota-exceeded".to_owned(), message: details.detail })
        }
        other => Err(other.not_now()),
    }
}
