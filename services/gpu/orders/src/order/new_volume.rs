//! A volume that is created together with an instance.

use api::{Checks, FieldError, IdempotencyKey, Problem, ProblemDetails, ProblemType};
use ids::StorageId;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use stock_api::Datacenter;
use storage_api::NewStorage;
use utoipa::ToSchema;

use super::{
    Parts,
    references::{check_storage_spec, check_words},
};

/// Longest idempotency key that is sent to the storage service.
const MAX_KEY: usize = 255;

/// A volume to create with an instance.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewVolume {
    /// Name, unique in the tenant.
    #[serde(deserialize_with = "api::text::nfc")]
    name: String,
    /// Storage specification of volumes, by id or name.
    storage_spec: String,
    /// Size in GiB, within the sizes of the specification. Optional if the size is fixed.
    #[serde(default)]
    size_gib: Option<i64>,
    /// Absolute path in the container. That of the service if absent.
    #[serde(default)]
    pub(super) mount_path: Option<String>,
}

impl NewVolume {
    /// Checks fields without calls to other services.
    pub(super) fn check(&self, checks: &mut Checks) {
        check_words(checks, [("/new_storage/storage_spec", Some(&self.storage_spec))]);
    }

    /// Checks the specification, with the access token of the user.
    pub(super) async fn check_spec(&self, app: &Parts, subject: &SecretString) -> Result<(), Problem> {
        check_storage_spec(app, subject, "/new_storage/storage_spec", &self.storage_spec).await
    }

    /// Creates the volume under a key that is derived from that of the instance: a repetition returns the same volume.
    pub(super) async fn create(
        &self,
        app: &Parts,
        subject: &SecretString,
        key: &IdempotencyKey,
        datacenter: Option<&Datacenter>,
    ) -> Result<StorageId, Problem> {
        let new = NewStorage {
            name: self.name.clone(),
            storage_spec: self.storage_spec.clone(),
            size_gib: self.size_gib,
            datacenter: datacenter.map(|datacenter| datacenter.name.clone()),
        };
        match app.storage.create(&new, &derived(key.as_str()), subject).await {
            Ok(storage) => Ok(storage.id),
            Err(peer::Error::Problem(problem))
                if problem.status < 500 && !problem.is(ProblemType::InsufficientScope) =>
            {
                Err(refused(&problem))
            }
            Err(cause) => Err(cause.into_problem("The storage service")),
        }
    }
}

fn derived(key: &str) -> String {
    let key: String = key.chars().take(MAX_KEY - "new-storage:".len()).collect();
    format!("new-storage:{key}")
}

/// Maps the storage service's refusal to a problem of this request.
fn refused(problem: &ProblemDetails) -> Problem {
    if problem.errors.is_empty() {
        let limit = [ProblemType::QuotaExceeded, ProblemType::TenantSuspended, ProblemType::BudgetExhausted];
        return match limit.into_iter().find(|kind| problem.is(*kind)) {
            Some(kind) => Problem::new(kind, &problem.detail),
            None => Problem::invalid_field("/new_storage", &problem.detail),
        };
    }
    let errors = problem.errors.iter().map(|error| {
        let pointer = match error.pointer.as_str() {
            "/datacenter" => "/datacenter".to_owned(),
            pointer => format!("/new_storage{pointer}"),
        };
        FieldError { pointer, detail: error.detail.clone() }
    });
    Problem::invalid(errors.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_points_to_the_fields_of_this_request() {
        let field = |pointer: &str| FieldError { pointer: pointer.into(), detail: "no".into() };
        let problem = Problem::invalid(vec![field("/size_gib"), field("/datacenter")]);
        let pointers: Vec<_> = ProblemDetails::from(refused(&problem.into())).errors;
        let pointers: Vec<_> = pointers.iter().map(|error| error.pointer.as_str()).collect();
        assert_eq!(pointers, ["/new_storage/size_gib", "/datacenter"]);
        let taken = refused(&Problem::new(ProblemType::NameTaken, "taken").into());
        assert_eq!(ProblemDetails::from(taken).errors[0].pointer, "/new_storage");
        assert!(
            refused(&Problem::new(ProblemType::QuotaExceeded, "full").into()).is(ProblemType::QuotaExceeded)
        );
    }

    #[test]
    fn a_derived_key_is_no_longer_than_a_key_may_be() {
        assert_eq!(derived("a"), "new-storage:a");
        assert_eq!(derived(&"k".repeat(255)).len(), MAX_KEY);
    }
}
