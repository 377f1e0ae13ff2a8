//! Every problem type of the platform, declared once.
//!
//! The slug and the status of a type are stable: clients match on them. Titles and advice may change.
//! `docs/PROBLEMS.md` is generated from this table.

use http::StatusCode;
use serde::{Serialize, Serializer};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, SchemaFormat, Type, extensions::ExtensionsBuilder, schema::Schema},
};

/// Prefix of every problem type's URI; the rest of the URI is the slug.
pub const TYPE_BASE: &str = "https://atelier.dev/problems/";

/// A member that problems of one type have in addition to the standard ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Name of the JSON member.
    pub name: &'static str,
    /// JSON type: `string`, `integer` or `array`.
    pub json_type: &'static str,
    /// The meaning of the member.
    pub description: &'static str,
}

macro_rules! problems {
    ($($variant:ident = $status:ident $slug:literal, $title:literal, $next:literal
        $(, { $($member:ident: $json_type:ident $description:literal),+ })?;)+) => {
        /// The type of a problem. The only source of problem types: no problem is made without one.
        ///
        /// Serializes as its URI, the value of the problem's `type` member. Displays as its slug.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ProblemType {
            $(#[doc = $title] $variant,)+
        }

        impl ProblemType {
            /// All types, in the order of their declaration.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the stable name, the last segment of the URI.
            #[must_use]
            pub const fn slug(self) -> &'static str {
                match self { $(Self::$variant => $slug),+ }
            }

            /// Returns the HTTP status of a response with this problem.
            #[must_use]
            pub const fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status),+ }
            }

            /// Returns the kind of problem in a few words.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title),+ }
            }

            /// Returns what the caller can do next, unless the occurrence says otherwise.
            #[must_use]
            pub const fn next(self) -> &'static str {
                match self { $(Self::$variant => $next),+ }
            }

            /// Returns the members that problems of this type may have in addition to the standard ones.
            #[must_use]
            pub const fn members(self) -> &'static [Member] {
                match self {
                    $(Self::$variant => &[$($(Member {
                        name: stringify!($member),
                        json_type: stringify!($json_type),
                        description: $description,
                    }),+)?]),+
                }
            }
        }
    };
}

problems! {
    // requests that no service can carry out
    BadRequest = BAD_REQUEST "bad-request", "Malformed request",
        "Correct the request as `detail` says and send it again.";
    InvalidField = UNPROCESSABLE_ENTITY "invalid-field", "Invalid field",
        "Correct the fields in `errors` and send the request again.";
    BodyTooLarge = PAYLOAD_TOO_LARGE "body-too-large", "Request body too large",
        "Send a smaller body. Upload files to a storage.";
    BodyTooSlow = REQUEST_TIMEOUT "body-too-slow", "Request body did not arrive in time",
        "Send the request again, with its whole body.";
    UnsupportedMediaType = UNSUPPORTED_MEDIA_TYPE "unsupported-media-type", "Request body is not JSON",
        "Send the body as JSON with the header `Content-Type: application/json`.";
    NoSuchRoute = NOT_FOUND "no-such-route", "No such route",
        "Read /openapi.json for the paths of this API.";
    MethodNotAllowed = METHOD_NOT_ALLOWED "method-not-allowed", "Method not allowed",
        "Read /openapi.json for the methods of this path.";
    NotFound = NOT_FOUND "not-found", "Not found",
        "Check the id. List the collection to see what exists.";
    Unauthenticated = UNAUTHORIZED "unauthenticated", "Not signed in",
        "Sign in with POST /v1/sessions and send the access token as `Authorization: Bearer …`.";
    Forbidden = FORBIDDEN "forbidden", "Not allowed",
        "Ask an owner of the tenant or an administrator of the platform.";
    InsufficientScope = FORBIDDEN "insufficient-scope", "Scope missing",
        "Create an API key with this scope, or sign in.",
        { scope: string "The missing scope." };
    PersonRequired = FORBIDDEN "person-required", "Not for API keys",
        "Sign in with POST /v1/sessions and send the access token of that session instead of an API key.";
    ApiKeyLimited = FORBIDDEN "api-key-limited", "Not for API keys with a limit",
        "Sign in, or use an API key without `requests_per_second` that was not created by a key with such a limit.";
    RecentSignInRequired = FORBIDDEN "recent-sign-in-required", "Sign in again first",
        "Sign in again, and send the request in the new session.",
        { within_seconds: integer "Maximum time since the sign-in, in seconds." };
    NameTaken = CONFLICT "name-taken", "Name already in use",
        "Choose another name.";

    // conditional and idempotent writes
    IfMatchRequired = PRECONDITION_REQUIRED "if-match-required", "If-Match is missing",
        "Read the resource and send its ETag as `If-Match`, or send `If-Match: *` to overwrite.";
    ChangedMeanwhile = PRECONDITION_FAILED "changed-meanwhile", "Resource has changed",
        "Read the resource again, apply your change to it, and send its new ETag as `If-Match`.";
    IdempotencyKeyRequired = BAD_REQUEST "idempotency-key-required", "Idempotency-Key is missing",
        "Send `Idempotency-Key` with a new value for each write, for example a UUID. Send the same value when you repeat the write.";
    IdempotencyKeyInvalid = BAD_REQUEST "idempotency-key-invalid", "Idempotency-Key is not valid",
        "Send an `Idempotency-Key` of 1 to 255 visible ASCII characters, for example a UUID.";
    IdempotencyKeyInUse = CONFLICT "idempotency-key-in-use", "Request still in progress",
        "Wait a second, then send the same request with the same key again.";
    IdempotencyKeyReused = UNPROCESSABLE_ENTITY "idempotency-key-reused", "Idempotency-Key belongs to another request",
        "Use a new key for a new write.";

    // the platform itself
    Internal = INTERNAL_SERVER_ERROR "internal", "Internal error",
        "Send the request again with the same Idempotency-Key. If it fails again, report the `x-request-id`.";
    Unreadable = INTERNAL_SERVER_ERROR "unreadable", "Stored record cannot be read",
        "Report the id of the resource and the `x-request-id` to an administrator of the platform. Until the record is repaired, repeating the request does not help. Other resources are not affected.";
    Unavailable = SERVICE_UNAVAILABLE "unavailable", "Service unavailable",
        "Retry in a few seconds with the same Idempotency-Key.";
    NoAnswer = GATEWAY_TIMEOUT "no-answer", "No response in time",
        "Send the same request again with the same Idempotency-Key.";
    Overloaded = SERVICE_UNAVAILABLE "overloaded", "Platform overloaded",
        "Wait for the time in `Retry-After`, then send the same request again with the same Idempotency-Key.";
    TooManyRequests = TOO_MANY_REQUESTS "too-many-requests", "Too many requests",
        "Wait for the time in `Retry-After`, then send requests more slowly.";

    // sessions
    WrongCredentials = UNAUTHORIZED "wrong-credentials", "Wrong e-mail address or password",
        "Check both. An administrator can set a new password.";
    SecondFactorRequired = UNAUTHORIZED "second-factor-required", "Second factor required",
        "Send the request again with `totp` (a new code of your authenticator app, or a recovery code), or with `passkey`.";
    TotpEnabled = CONFLICT "totp-enabled", "Second factor is enabled",
        "Remove it with POST /v1/me/totp/remove first.";
    PasskeysDisabled = CONFLICT "passkeys-disabled", "Passkeys are not configured",
        "Sign in with a password. An administrator of the platform can configure `[passkeys]` of the identity service.";
    PasskeyRefused = UNAUTHORIZED "passkey-refused", "Passkey not accepted",
        "Begin again with POST /v1/sessions/passkey-challenges. If the passkey was deleted, sign in in another way.";
    TooManyPasskeys = CONFLICT "too-many-passkeys", "Too many passkeys",
        "Delete passkeys that are no longer used.",
        { limit: integer "Passkeys that a user may have." };
    LastSignInMethod = CONFLICT "last-sign-in-method", "Last way to sign in",
        "Register a passkey or link an account first, or ask an administrator of the platform to set a password.";
    AccountTaken = CONFLICT "account-taken", "Account belongs to another user",
        "Sign in with the account, remove it there with DELETE /v1/me/linked-accounts/{id}, then link it again.";
    TooManyAttempts = TOO_MANY_REQUESTS "too-many-attempts", "Too many failed attempts",
        "Wait for the time in `Retry-After`, then try again.",
        { retry_after: integer "Seconds until the next attempt is accepted." };
    SignInFailed = UNAUTHORIZED "sign-in-failed", "Sign-in with the provider failed",
        "Begin again with GET /v1/sign-in/{provider}.";
    NoAccount = FORBIDDEN "no-account", "No account",
        "Ask an administrator of the platform for an account with the e-mail address that the provider has verified.";
    SessionEnded = UNAUTHORIZED "session-ended", "Session has ended",
        "Sign in again with POST /v1/sessions.";
    UserDisabled = FORBIDDEN "user-disabled", "Account disabled",
        "Ask an administrator of the platform.";
    NotAMember = FORBIDDEN "not-a-member", "Not a member of this tenant",
        "Omit `tenant_id`, or read GET /v1/me for your tenants.";
    TenantSuspended = FORBIDDEN "tenant-suspended", "Tenant suspended",
        "Ask an administrator of the platform.";

    ApiKeyInvalid = UNAUTHORIZED "api-key-invalid", "API key not valid",
        "Create another one with POST /v1/api-keys.";
    TooManyApiKeys = CONFLICT "too-many-api-keys", "Too many API keys",
        "Delete keys that are no longer used.",
        { limit: integer "Keys that a user may have." };

    TooManyMqCredentials = CONFLICT "too-many-mq-credentials", "Too many credentials for the message broker",
        "Delete credentials that are no longer used.",
        { limit: integer "Credentials that a tenant may have." };

    // tenants, users, members, signing keys
    TenantActive = CONFLICT "tenant-active", "Tenant is active",
        "Delete its instances and storages, suspend it (PATCH with \"state\": \"suspended\"), then delete it.";
    TenantHasMembers = CONFLICT "tenant-has-members", "Tenant has members",
        "Remove its members first.";
    EmailTaken = CONFLICT "email-taken", "E-mail address already in use",
        "Find the user with GET /v1/users?email_prefix=….";
    LastAdministrator = CONFLICT "last-administrator", "Last administrator",
        "Make another user an administrator first.";
    LastOwner = CONFLICT "last-owner", "Last owner of the tenant",
        "Make another member an owner first.",
        { tenant_id: string "The tenant that would lose its last owner." };
    AlreadyAMember = CONFLICT "already-a-member", "Already a member",
        "Change the role with PATCH /v1/tenants/{id}/members/{user_id}.";
    TooManyInvitations = CONFLICT "too-many-invitations", "Too many open invitations",
        "Withdraw invitations with DELETE /v1/tenants/{id}/invitations/{invitation_id}, or wait until some are answered.";
    RotationUnderWay = CONFLICT "rotation-under-way", "Key rotation in progress",
        "Wait until GET /v1/signing-keys shows the new key as active.";

    // GPU specifications, datacenters, stock
    GpuSpecInUse = CONFLICT "gpu-spec-in-use", "GPU specification in use",
        "Retire it, remove its stock with POST /v1/stock/removals, then try again. Or create another specification.";
    GpuSpecRetired = CONFLICT "gpu-spec-retired", "GPU specification retired",
        "Reactivate it with PATCH /v1/gpu-specs/{id}, or choose another specification.";
    DatacenterInUse = CONFLICT "datacenter-in-use", "Datacenter has stock",
        "Drain it, remove its stock with POST /v1/stock/removals, then try again.";
    DatacenterDraining = CONFLICT "datacenter-draining", "Datacenter is draining",
        "Reactivate it with PATCH /v1/datacenters/{id}, or choose another datacenter.";
    StockInUse = CONFLICT "stock-in-use", "Not enough free units",
        "Remove at most as many units as are free, or wait until instances release theirs.",
        { free: integer "Units that are free now.", available: integer "Units that are idle now (Operator API)." };
    UnitInUse = CONFLICT "unit-in-use", "Unit in use",
        "Stop or delete the instance, or wait until it releases the unit, then remove the unit again.",
        { instance_id: string "Instance that holds the unit, or null if one occupies it without a claim." };
    StockExhausted = CONFLICT "stock-exhausted", "No free unit",
        "Choose one of the alternatives, or retry when another instance has stopped.",
        { alternatives: array "Free units of other specifications or in other datacenters.",
          waiting: integer "Units of this specification that have no place in the cluster yet." };
    AlreadyClaimed = CONFLICT "already-claimed", "Instance holds another unit",
        "Release the other unit first.";
    StockNotHeld = CONFLICT "stock-not-held", "Not all units hold their resources",
        "Read `failed` for the reasons. Units in the cluster become available when it has room; add the others again.";
    TooManyOperations = CONFLICT "too-many-operations", "Too many operations in progress",
        "Wait until some operations in GET /v1/stock-operations have finished.",
        { limit: integer "Operations of this kind that may be in progress.",
          open: integer "Operations of this kind that are in progress." };

    // instances
    InstanceState = CONFLICT "instance-state", "Instance state does not allow this",
        "Wait until the operation in progress (`operation_id`) has ended, then try again.",
        { state: string "Current state of the instance." };
    InstanceManaged = CONFLICT "instance-managed", "Instance is managed by the platform",
        "Leave the instance to the service that manages it, or ask an administrator of the platform to stop it.",
        { managed_by: string "The service that manages the instance." };
    InstanceExists = CONFLICT "instance-exists", "Instance id is in use",
        "Choose a new id.";
    HoldNotOffered = CONFLICT "hold-not-offered", "Units of this specification cannot be held",
        "Stop the instance without a hold. GPU specifications with a `hold_price_fraction` offer holds.";
    IdleStopNotSet = CONFLICT "idle-stop-not-set", "Instance has no idle stop",
        "There is nothing to postpone. `idle_stop` of PATCH /v1/instances/{id} sets one.";
    InstanceNotRunning = CONFLICT "instance-not-running", "Instance is not running",
        "Start the instance. After a failed start, its `log_tail` shows the last lines.",
        { message: string "Message of the cluster." };
    InstanceFailed = CONFLICT "instance-failed", "Instance failed",
        "Read `reason` and `log_tail`, change what they name, and start the instance again.",
        { reason: string "Reason code of the failure.", log_tail: string "Last lines of the log." };
    InstanceBrokeOff = BAD_GATEWAY "instance-broke-off", "Instance closed the connection",
        "Check whether the request took effect, then send it again.";
    NotOpened = UNAUTHORIZED "not-opened", "Instance not opened",
        "Create a ticket with POST /v1/instances/{id}/tickets and open its URL.";
    CrossOrigin = FORBIDDEN "cross-origin", "Cross-origin request",
        "Send the request from a page of the platform, or of the instance itself.";
    WebsocketRequired = UPGRADE_REQUIRED "websocket-required", "WebSocket required",
        "Connect with a WebSocket client and the same Authorization header.";
    TooManyStreams = TOO_MANY_REQUESTS "too-many-streams", "Too many open streams",
        "Close some of them, or wait for the time in `Retry-After`, then try again.",
        { limit: integer "Streams of this kind that the tenant may have open at a time.",
          retry_after: integer "Seconds to wait before the next attempt." };
    TerminalSessionEnded = GONE "terminal-session-ended", "Terminal session has ended",
        "Open a new terminal, without `session`.";
    LogArchiveDisabled = CONFLICT "log-archive-disabled", "No logs are kept",
        "Read the log without `attempt`, while the instance runs. An administrator of the platform can configure `[log_archive]`.";
    EventsDeleted = GONE "events-deleted", "Position is not in the log",
        "Read the list of events again, and continue after its newest event.",
        { oldest: integer "The oldest `sequence` after which the log is complete.",
          newest: integer "`sequence` of the newest event." };
    IsolationUnavailable = CONFLICT "isolation-unavailable", "No isolated runtime for code of tenants",
        "Choose another datacenter, if `datacenters` names one, or ask an administrator of the platform.",
        { datacenters: array "Names of datacenters in which code of tenants runs." };
    RegistryCredentialExists = CONFLICT "registry-credential-exists", "Registry credential exists",
        "Choose another name, or delete the credential that has it.";
    RegistryCredentialMissing = CONFLICT "registry-credential-missing", "Registry credential of the instance was deleted",
        "Change `image` of the stopped instance: name another credential, or none.";
    TooManyRegistryCredentials = CONFLICT "too-many-registry-credentials", "Too many registry credentials",
        "Delete credentials that are no longer used.",
        { limit: integer "Credentials that a tenant may have." };
    SshKeyExists = CONFLICT "ssh-key-exists", "SSH key exists",
        "Nothing is left to do: the key is in the list already. Delete it there to rename it.";
    TooManySshKeys = CONFLICT "too-many-ssh-keys", "Too many SSH keys",
        "Delete keys that are no longer used.",
        { limit: integer "Keys that a user, or an instance, may have." };
    TooManyWebhooks = CONFLICT "too-many-webhooks", "Too many webhooks",
        "Delete webhooks that are no longer used.",
        { limit: integer "Webhooks that a tenant may have." };
    TooManyJobs = CONFLICT "too-many-jobs", "Too many jobs",
        "Wait until some jobs have ended, or cancel some, then send the request again.",
        { limit: integer "Jobs of a tenant that may be open at a time." };
    TooManyShareLinks = CONFLICT "too-many-share-links", "Too many share links",
        "Delete links that are no longer used.",
        { limit: integer "Links that an instance may have." };
    ServiceVersionExists = CONFLICT "service-version-exists", "Service version exists",
        "Change the existing entry, or choose another version.";

    // storages
    QuotaExceeded = CONFLICT "quota-exceeded", "Quota of the tenant exceeded",
        "Delete what is not needed and wait until it is gone, or ask an administrator for a larger quota.",
        { quota: string "The limited quantity: `storages`, `storage_gib` (the sum of their sizes in GiB), `instances`, `gpus`, or `gpus of` a model.",
          limit: integer "The quota.", used: integer "Current usage, including what is being stopped or deleted.",
          requested: integer "The part that the request adds." };
    CostLimitExceeded = CONFLICT "cost-limit-exceeded", "Limit of the cost per hour exceeded",
        "Stop instances that are not needed and wait until they have stopped, choose a cheaper specification, or ask an administrator for a higher limit.",
        { limit: string "Maximum cost per hour of all instances of the tenant.", used: string "Cost per hour of the running instances.",
          requested: string "The part that the request adds.", currency: string "Currency (ISO 4217)." };
    BudgetExhausted = CONFLICT "budget-exhausted", "Budget of the tenant exhausted",
        "Wait until `renews_at`, choose a cheaper specification, or ask an administrator for a larger budget. See GET /v1/budget.",
        { renews_at: string "When the next month begins and starts are possible again, or null if that is not known.",
          limit: string "Maximum cost per hour of all instances of the tenant with the rest of the budget.",
          used: string "Cost per hour of the running instances.", requested: string "The part that the request adds.",
          currency: string "Currency (ISO 4217)." };
    AllowanceExpired = SERVICE_UNAVAILABLE "allowance-expired", "Spending limit of the tenant is not known",
        "Try again later. Running instances continue.",
        { expired_at: string "Time until which the limit was known." };
    StorageNotAvailable = CONFLICT "storage-not-available", "Storage not available",
        "Wait until its state is `available`.";
    StorageInUse = CONFLICT "storage-in-use", "Storage in use",
        "Stop or delete the instances that use it first.",
        { instance_ids: array "Ids of the instances that use the storage." };
    StorageDeleting = CONFLICT "storage-deleting", "Storage is being deleted",
        "Use another storage.";
    StorageFailed = CONFLICT "storage-failed", "Storage failed",
        "Read `reason`. The platform retries; delete the storage if you no longer want it.",
        { reason: string "Reason code of the failure." };
    StorageSpecInUse = CONFLICT "storage-spec-in-use", "Storage specification in use",
        "Retire it (PATCH with \"state\": \"retired\"), so that no new storages use it.";
    StorageSpecRetired = CONFLICT "storage-spec-retired", "Storage specification retired",
        "List /v1/storage-specs?state=active and choose another.";
    NoObjectStore = CONFLICT "no-object-store", "No object store configured",
        "Create a volume, or ask an administrator to configure an object store.";
    NoBucketSpec = CONFLICT "no-bucket-spec", "No specification of buckets",
        "Ask an administrator to create a storage specification of the kind `bucket`.";
    NotABucket = CONFLICT "not-a-bucket", "Storage is not a bucket",
        "Mount a volume in an instance. Only buckets have credentials.";
    TooManyCredentials = CONFLICT "too-many-credentials", "Too many credentials",
        "Delete credentials that are not in use.";

    // jobs
    NoPool = CONFLICT "no-pool", "No pool runs the application",
        "Ask an administrator of the platform to create a pool with workers.";
    JobEnded = CONFLICT "job-ended", "Job has ended",
        "Submit a new job.",
        { state: string "State of the job." };
    JobNotQueued = CONFLICT "job-not-queued", "Job does not wait",
        "Cancel it and submit another.",
        { state: string "State of the job." };
    ReqNoReused = CONFLICT "req-no-reused", "Request number used for another job",
        "Use a new `req_no` for each job. A repetition has the same content.",
        { job_id: string "Id of the job that has the number." };
    AttemptNotYours = CONFLICT "attempt-not-yours", "Attempt belongs to another worker or session",
        "Stop the attempt and drop its results; register again if the session has ended.";
    UploadMissing = CONFLICT "upload-missing", "Result was not uploaded",
        "Request a URL for each result, upload it, and repeat the call.",
        { names: array "Names of the results that are missing, or have another size." };
    InputMissing = UNPROCESSABLE_ENTITY "input-missing", "Input does not exist",
        "Create the uploads, send their contents to their `put_url`, and name models that exist.",
        { inputs: array "Ids of the uploads and models that do not exist or are empty." };
    ModelMissing = UNPROCESSABLE_ENTITY "model-missing", "No pool has the model",
        "Name one of `models`, or one that `GET /v1/base-models` lists, or leave the field out for the default.",
        { models: array "Names of the existing models of this kind, the first 50." };
    DeploymentInProgress = CONFLICT "deployment-in-progress", "Deployment in progress",
        "Wait until the other deployment to the path has ended, or delete it, or choose another path.";
    ArtifactGone = GONE "artifact-gone", "Content of the artifact is gone",
        "Submit the job again.";
    WorkerBusy = CONFLICT "worker-busy", "Worker runs a job",
        "Wait until the job has ended, or cancel it.";

    // the Operator API
    OperationIdReused = UNPROCESSABLE_ENTITY "operation-id-reused", "operationID belongs to another request",
        "Use a new operationID for a new request, and repeat a request unchanged.";
    OperationInProgress = CONFLICT "operation-in-progress", "Operation in progress",
        "Retry in a second with the same id.";
    InstanceStopping = CONFLICT "instance-stopping", "Instance is stopping",
        "Start it again when GET returns 404.";
    InstanceIdReused = UNPROCESSABLE_ENTITY "instance-id-reused", "instanceID belongs to another instance",
        "Stop the instance first, or use another instanceID.";
    StorageIdReused = UNPROCESSABLE_ENTITY "storage-id-reused", "storageID belongs to another storage",
        "Change its size with PUT, or use another storageID.";
}

impl ProblemType {
    /// Returns the type with this slug.
    #[must_use]
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.slug() == slug)
    }

    /// Returns the type with this URI.
    #[must_use]
    pub fn from_uri(uri: &str) -> Option<Self> {
        Self::from_slug(uri.strip_prefix(TYPE_BASE)?)
    }

    /// Returns the value of the problem's `type` member.
    #[must_use]
    pub fn uri(self) -> String {
        format!("{TYPE_BASE}{}", self.slug())
    }
}

impl std::fmt::Display for ProblemType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.slug())
    }
}

impl Serialize for ProblemType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{TYPE_BASE}{}", self.slug()))
    }
}

/// An open set: a newer version of the platform may return types that are not listed.
impl PartialSchema for ProblemType {
    fn schema() -> RefOr<Schema> {
        let known: Vec<String> = Self::ALL.iter().map(|known| known.uri()).collect();
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::Custom("uri".to_owned())))
            .description(Some(
                "Stable URI of the problem type. Compare the whole value; do not fetch it. New types may be added.",
            ))
            .examples([ProblemType::StockExhausted.uri()])
            .extensions(Some(ExtensionsBuilder::new().add("x-extensible-enum", known).build()))
            .into()
    }
}

impl ToSchema for ProblemType {}

/// Returns `docs/PROBLEMS.md`: the table of all problem types.
#[must_use]
pub fn reference() -> String {
    let mut text = String::from(
        "# Problem types\n\n\
         Every error response is `application/problem+json` (RFC 9457). Its `type` is\n\
         `https://atelier.dev/problems/<slug>`. Slugs, statuses and member names are stable; titles and advice\n\
         may change. Generated from `libs/problem/src/registry.rs` by\n\
         `cargo run -p atelier-api --example problems > docs/PROBLEMS.md`.\n\n\
         | slug | status | title | what to do | further members |\n|---|---|---|---|---|\n",
    );
    for known in ProblemType::ALL {
        let members: Vec<String> = known
            .members()
            .iter()
            .map(|member| format!("`{}` ({}): {}", member.name, member.json_type, member.description))
            .collect();
        text.push_str(&format!(
            "| `{known}` | {} | {} | {} | {} |\n",
            known.status().as_u16(),
            known.title(),
            known.next(),
            members.join(" "),
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn slugs_are_unique_and_lead_back_to_their_type() {
        let slugs: BTreeSet<_> = ProblemType::ALL.iter().map(|known| known.slug()).collect();
        assert_eq!(slugs.len(), ProblemType::ALL.len());
        for known in ProblemType::ALL {
            assert_eq!(ProblemType::from_slug(known.slug()), Some(*known));
            assert_eq!(ProblemType::from_uri(&known.uri()), Some(*known));
            assert_eq!(serde_json::to_value(known).unwrap(), known.uri());
        }
        assert_eq!(ProblemType::from_uri("stock-exhausted"), None);
        assert_eq!(ProblemType::from_slug("unknown"), None);
    }

    #[test]
    fn every_type_is_an_error_with_a_title_and_advice() {
        for known in ProblemType::ALL {
            assert!(known.status().is_client_error() || known.status().is_server_error(), "{known}");
            let slug = known.slug();
            assert!(slug.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{slug}");
            assert!(known.title().len() <= 60 && !known.title().ends_with('.'), "{slug}: {}", known.title());
            let next = known.next();
            assert!(
                next.starts_with(|c: char| c.is_ascii_uppercase()) && next.ends_with(['.', '…']),
                "{slug}: {next}"
            );
            let members: BTreeSet<_> = known.members().iter().map(|member| member.name).collect();
            assert_eq!(members.len(), known.members().len(), "{slug}");
            for standard in ["type", "title", "status", "detail", "next", "errors"] {
                assert!(!members.contains(standard), "{slug}");
            }
        }
    }
}
