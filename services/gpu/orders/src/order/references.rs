//! What an order refers to in other services, checked with the access token of the user, or with this
//! service's token for an order of another service.

use api::{Checks, Problem};
use gpu_core::instance::{Offer, OrderedGpu, mount::Requested};
use ids::StorageId;
use secrecy::SecretString;
use stock_api::{Datacenter, GpuSpec, GpuSpecState};
use storage_api::StorageKind;

use super::Parts;
use crate::isolation::NotIsolated;

const STOCK: &str = "The stock service";
const STORAGE: &str = "The storage service";
const DATACENTER_MISSING: &str = "datacenter not found";

/// The references of an order to other services.
#[derive(Debug)]
pub(super) struct References {
    /// GPU specification.
    pub(super) spec: GpuSpec,
    /// Datacenter of the units that can be claimed; none if any will do.
    pub(super) datacenter: Option<Datacenter>,
    /// The requested volume, once it exists.
    pub(super) new_storage: Option<StorageId>,
    /// Why code of tenants does not run in the datacenter, if so.
    pub(super) not_isolated: Option<NotIsolated>,
}

/// The specification as it can be ordered.
pub(super) fn offer(spec: GpuSpec) -> Offer {
    Offer {
        id: spec.id,
        name: spec.name,
        gpu: OrderedGpu { model: spec.gpu_model, count: spec.gpu_count.into() },
        price_per_hour: spec.price_per_hour,
        currency: spec.currency,
    }
}

/// Returns a GPU specification that new starts can use.
pub(super) async fn find_gpu_spec(
    app: &Parts,
    subject: Option<&SecretString>,
    id_or_name: &str,
) -> Result<GpuSpec, Problem> {
    let spec = app.stock.gpu_spec(id_or_name, subject).await;
    let spec = existing(spec, STOCK, "/gpu_spec", "GPU specification not found")?;
    if spec.state == GpuSpecState::Retired {
        return Err(Problem::invalid_field("/gpu_spec", "this GPU specification is retired"));
    }
    Ok(spec)
}

/// Returns the requested datacenter, which must be that of the storages; without a request, that of the storages.
pub(super) async fn find_datacenter(
    app: &Parts,
    subject: &SecretString,
    requested: Option<&str>,
    of_storages: Option<String>,
) -> Result<Option<Datacenter>, Problem> {
    let of_storages = match of_storages {
        Some(name) => match app.stock.datacenter(&name, subject).await {
            Ok(datacenter) => Some(datacenter),
            // the storage service may know a site that has no stock
            Err(error) if error.is_not_found() => None,
            Err(cause) => return Err(cause.into_problem(STOCK)),
        },
        None => None,
    };
    let Some(requested) = requested else { return Ok(of_storages) };
    let found = app.stock.datacenter(requested, subject).await;
    let found = existing(found, STOCK, "/datacenter", DATACENTER_MISSING)?;
    match of_storages {
        Some(other) if other.id != found.id => {
            let detail = format!("must be {}, the datacenter of the storages, or absent", other.name);
            Err(Problem::invalid_field("/datacenter", detail))
        }
        _ => Ok(Some(found)),
    }
}

/// Returns the requested datacenter, for an order of another service.
pub(super) async fn find_datacenter_for_service(
    app: &Parts,
    id_or_name: &str,
) -> Result<Datacenter, Problem> {
    existing(app.stock.find_datacenter(id_or_name).await, STOCK, "/datacenter", DATACENTER_MISSING)
}

/// Checks that the storages are volumes of the tenant in one datacenter. Returns its name.
pub(super) async fn check_storages(
    app: &Parts,
    subject: &SecretString,
    requested: &[Requested],
) -> Result<Option<String>, Problem> {
    let mut datacenter: Option<String> = None;
    for Requested { pointer, mount } in requested {
        let at = format!("{pointer}/storage_id");
        let found = app.storage.find(mount.storage_id, subject).await;
        let found = existing(found, STORAGE, &at, "storage not found")?;
        if found.kind == StorageKind::Bucket {
            return Err(Problem::invalid_field(at, "a bucket cannot be mounted: choose a volume"));
        }
        if let (Some(one), Some(other)) = (&datacenter, &found.datacenter)
            && one != other
        {
            let detail =
                format!("is in the datacenter {other}, and another one in {one}: they must be in one");
            return Err(Problem::invalid_field(at, detail));
        }
        datacenter = datacenter.or(found.datacenter);
    }
    Ok(datacenter)
}

/// Checks that a storage specification is one of volumes.
pub(super) async fn check_storage_spec(
    app: &Parts,
    subject: &SecretString,
    pointer: &str,
    id_or_name: &str,
) -> Result<(), Problem> {
    let spec = app.storage.spec(id_or_name, subject).await;
    let spec = existing(spec, STORAGE, pointer, "storage specification not found")?;
    if spec.kind == StorageKind::Bucket {
        return Err(Problem::invalid_field(
            pointer,
            "a bucket cannot be mounted: choose a specification of volumes",
        ));
    }
    Ok(())
}

/// Returns the result of another service; a missing resource is an invalid field.
fn existing<T>(
    found: Result<T, peer::Error>,
    service: &'static str,
    pointer: &str,
    missing: &str,
) -> Result<T, Problem> {
    found.map_err(|cause| {
        if cause.is_not_found() {
            Problem::invalid_field(pointer, missing)
        } else {
            cause.into_problem(service)
        }
    })
}

/// Checks names of other resources.
pub(super) fn check_words<const N: usize>(checks: &mut Checks, fields: [(&str, Option<&String>); N]) {
    for (pointer, text) in fields.into_iter().filter_map(|(pointer, text)| Some((pointer, text?))) {
        let valid = (1..=63).contains(&text.len()) && !text.chars().any(char::is_control);
        checks.require(valid, pointer, "must be 1 to 63 characters, without control characters");
    }
}
