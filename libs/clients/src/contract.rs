//! The calls of this crate as data, which a test compares with the callees' OpenAPI documents.

use serde_json::{Value, json};
use utoipa::{
    OpenApi, ToSchema,
    openapi::{RefOr, Schema},
};

use crate::{gpu, identity, stock, storage, tenant};

/// One call of an operation.
#[derive(Debug)]
pub struct Call {
    /// The callee: the stem of its document in `openapi/`.
    pub service: &'static str,
    /// HTTP method, lower case as in OpenAPI.
    pub method: &'static str,
    /// Path with `{parameters}`.
    pub path: &'static str,
    /// JSON Schema of the request body.
    pub request: Option<Value>,
    /// JSON Schema of the members that are read from a 2xx response.
    pub response: Option<Value>,
}

#[derive(OpenApi)]
#[openapi(components(schemas(
    stock::ClaimRequest,
    stock::Claim,
    stock::ClaimRecall,
    stock::ClaimPatch,
    stock::WaitRequest,
    stock::Turn,
    stock::GpuSpecRef,
    stock::DatacenterRef,
    stock::Alternative,
    stock::Estimate,
    stock::QueueEntry,
    stock::QueueEntries,
    stock::Quote,
    stock::Grant,
    stock::GrantChange,
    stock::Grants,
    stock::SpareUnits,
    stock::WantedBack,
    stock::GpuSpec,
    stock::GpuSpecState,
    stock::Datacenter,
    storage::Storage,
    storage::StorageSpec,
    storage::NewStorage,
    storage::AttachmentMode,
    storage::AttachRequest,
    storage::Attachment,
    storage::StorageKind,
    storage::StorageState,
    storage::OutputBucket,
    storage::StorageReason,
    storage::UrlKind,
    storage::UrlRequest<'_>,
    storage::SignedUrl,
    storage::BucketObject,
    storage::Objects,
    storage::DeliveryRequest<'_>,
    storage::DeliveryOutcome,
    storage::Delivery,
    storage::Deletion,
    storage::DownloadRequest<'_>,
    storage::DownloadState,
    storage::DownloadReason,
    storage::Download,
    gpu::Route,
    gpu::RouteChange,
    gpu::PublishedRouteChange,
    gpu::RouteChanges,
    gpu::RedeemRequest,
    gpu::Redeemed,
    gpu::OpenLinkRequest,
    gpu::OpenedLink,
    gpu::LinkPerson,
    gpu::ShareLinkTicket,
    gpu::QueuePlace,
    gpu::ActivityReport,
    gpu::ReportedActivity,
    gpu::ManagedOrder,
    gpu::ManagedChange,
    gpu::Recall,
    gpu::EnvVar,
    gpu::Secret,
    gpu::ManagedInstance,
    gpu::InstanceState,
    gpu::InstanceEvent,
    gpu::InstanceEvents,
    gpu::SpentTenant,
    gpu::SpentTenants,
    identity::Rights,
    identity::Account,
    identity::AccountUser,
    identity::Role,
    identity::TokenExchange,
    identity::TokenGrant,
    tenant::TenantFate,
    tenant::TenantOrder,
    tenant::TenantProgress,
)))]
struct Types;

fn schema<T: ToSchema>() -> Option<Value> {
    let schema: RefOr<Schema> = T::schema();
    serde_json::to_value(schema).ok()
}

/// Returns the schemas to which the calls' schemas refer.
#[must_use]
pub fn components() -> Value {
    serde_json::to_value(Types::openapi()).unwrap_or_else(|_| json!({}))
}

/// Returns every call of this crate.
#[must_use]
pub fn calls() -> Vec<Call> {
    let call = |service, method, path, request, response| Call { service, method, path, request, response };
    let put_tenant = |service| {
        let (request, response) = (schema::<tenant::TenantOrder>(), schema::<tenant::TenantProgress>());
        call(service, "put", "/internal/v1/tenants/{id}", request, response)
    };
    let claim = "/internal/v1/claims/{instance_id}";
    let managed = "/internal/v1/instances/{id}";
    let objects = "/internal/v1/buckets/{id}/objects";
    let download = "/internal/v1/storages/{id}/downloads/{download_id}";
    let attachment = "/internal/v1/storages/{id}/attachments/{instance_id}";
    vec![
        call(
            "stock",
            "post",
            "/internal/v1/claims",
            schema::<stock::ClaimRequest>(),
            schema::<stock::Claim>(),
        ),
        call("stock", "get", claim, None, schema::<stock::Claim>()),
        call("stock", "patch", claim, schema::<stock::ClaimPatch>(), None),
        call("stock", "delete", claim, None, None),
        call(
            "stock",
            "put",
            "/internal/v1/queue/{instance_id}",
            schema::<stock::WaitRequest>(),
            schema::<stock::Turn>(),
        ),
        call("stock", "get", "/internal/v1/queue", None, schema::<stock::QueueEntries>()),
        call("stock", "get", "/internal/v1/queue-grants", None, schema::<stock::Grants>()),
        call("stock", "get", "/internal/v1/quotes", None, schema::<stock::Quote>()),
        call("stock", "get", "/internal/v1/spare-units", None, schema::<stock::SpareUnits>()),
        call("gpu", "get", "/internal/v1/events", None, schema::<gpu::InstanceEvents>()),
        call("stock", "get", "/internal/v1/gpu-specs/{id}", None, schema::<stock::GpuSpec>()),
        call("stock", "get", "/internal/v1/datacenters/{id}", None, schema::<stock::Datacenter>()),
        call("stock", "get", "/v1/datacenters/{id}", None, schema::<stock::Datacenter>()),
        call("storage", "get", "/v1/storages/{id}", None, schema::<storage::Storage>()),
        call("storage", "get", "/v1/storage-specs/{id}", None, schema::<storage::StorageSpec>()),
        call(
            "storage",
            "post",
            "/v1/storages",
            schema::<storage::NewStorage>(),
            schema::<storage::Storage>(),
        ),
        call(
            "storage",
            "put",
            attachment,
            schema::<storage::AttachRequest>(),
            schema::<storage::Attachment>(),
        ),
        call("storage", "delete", attachment, None, None),
        call(
            "storage",
            "put",
            "/internal/v1/tenants/{id}/output-bucket",
            None,
            schema::<storage::OutputBucket>(),
        ),
        call(
            "storage",
            "post",
            "/internal/v1/buckets/{id}/urls",
            schema::<storage::UrlRequest<'_>>(),
            schema::<storage::SignedUrl>(),
        ),
        call("storage", "get", objects, None, schema::<storage::Objects>()),
        call("storage", "delete", objects, None, schema::<storage::Deletion>()),
        call(
            "storage",
            "post",
            "/internal/v1/buckets/{id}/deliveries",
            schema::<storage::DeliveryRequest<'_>>(),
            schema::<storage::Delivery>(),
        ),
        call("storage", "delete", "/internal/v1/buckets/{id}/staged", None, schema::<storage::Deletion>()),
        call(
            "storage",
            "put",
            download,
            schema::<storage::DownloadRequest<'_>>(),
            schema::<storage::Download>(),
        ),
        call("storage", "delete", download, None, None),
        call("gpu", "get", "/internal/v1/routes/{host_label}", None, schema::<gpu::Route>()),
        call("gpu", "get", "/internal/v1/route-changes", None, schema::<gpu::RouteChanges>()),
        call(
            "gpu",
            "post",
            "/internal/v1/tickets/redeem",
            schema::<gpu::RedeemRequest>(),
            schema::<gpu::Redeemed>(),
        ),
        call(
            "gpu",
            "post",
            "/internal/v1/share-links/open",
            schema::<gpu::OpenLinkRequest>(),
            schema::<gpu::OpenedLink>(),
        ),
        call(
            "gpu",
            "post",
            "/internal/v1/share-links/tickets",
            schema::<gpu::OpenLinkRequest>(),
            schema::<gpu::ShareLinkTicket>(),
        ),
        call(
            "gpu",
            "post",
            "/internal/v1/share-links/redeem",
            schema::<gpu::RedeemRequest>(),
            schema::<gpu::OpenedLink>(),
        ),
        call("gpu", "get", "/internal/v1/allowances", None, schema::<gpu::SpentTenants>()),
        call("gpu", "put", managed, schema::<gpu::ManagedOrder>(), schema::<gpu::ManagedInstance>()),
        call("gpu", "get", managed, None, schema::<gpu::ManagedInstance>()),
        call("gpu", "patch", managed, schema::<gpu::ManagedChange>(), None),
        call("gpu", "delete", managed, None, None),
        call("identity", "get", "/v1/me", None, schema::<identity::Account>()),
        call("gpu", "post", "/internal/v1/instance-activity", schema::<gpu::ActivityReport>(), None),
        call(
            "identity",
            "get",
            "/internal/v1/tenants/{id}/members/{user_id}",
            None,
            schema::<identity::Rights>(),
        ),
        call(
            "identity",
            "post",
            "/internal/v1/token-exchanges",
            schema::<identity::TokenExchange>(),
            schema::<identity::TokenGrant>(),
        ),
        put_tenant("gpu"),
        put_tenant("storage"),
        put_tenant("jobs"),
    ]
}
