// Generated from the gateway's OpenAPI document by `cargo xtask console-client`: do not edit.

/** Every type of problem, by its slug: status, title, and what to do. */
export const problems = {
  /** Correct the request as `detail` says and send it again. */
  "bad-request": { status: 400, title: "Malformed request" },
  /** Correct the fields in `errors` and send the request again. */
  "invalid-field": { status: 422, title: "Invalid field" },
  /** Send a smaller body. Upload files to a storage. */
  "body-too-large": { status: 413, title: "Request body too large" },
  /** Send the request again, with its whole body. */
  "body-too-slow": { status: 408, title: "Request body did not arrive in time" },
  /** Send the body as JSON with the header `Content-Type: application/json`. */
  "unsupported-media-type": { status: 415, title: "Request body is not JSON" },
  /** Read /openapi.json for the paths of this API. */
  "no-such-route": { status: 404, title: "No such route" },
  /** Read /openapi.json for the methods of this path. */
  "method-not-allowed": { status: 405, title: "Method not allowed" },
  /** Check the id. List the collection to see what exists. */
  "not-found": { status: 404, title: "Not found" },
  /** Sign in with POST /v1/sessions and send the access token as `Authorization: Bearer …`. */
  "unauthenticated": { status: 401, title: "Not signed in" },
  /** Ask an owner of the tenant or an administrator of the platform. */
  "forbidden": { status: 403, title: "Not allowed" },
  /** Create an API key with this scope, or sign in. */
  "insufficient-scope": { status: 403, title: "Scope missing" },
  /** Sign in with POST /v1/sessions and send the access token of that session instead of an API key. */
  "person-required": { status: 403, title: "Not for API keys" },
  /** Sign in, or use an API key without `requests_per_second` that was not created by a key with such a limit. */
  "api-key-limited": { status: 403, title: "Not for API keys with a limit" },
  /** Sign in again, and send the request in the new session. */
  "recent-sign-in-required": { status: 403, title: "Sign in again first" },
  /** Choose another name. */
  "name-taken": { status: 409, title: "Name already in use" },
  /** Read the resource and send its ETag as `If-Match`, or send `If-Match: *` to overwrite. */
  "if-match-required": { status: 428, title: "If-Match is missing" },
  /** Read the resource again, apply your change to it, and send its new ETag as `If-Match`. */
  "changed-meanwhile": { status: 412, title: "Resource has changed" },
  /** Send `Idempotency-Key` with a new value for each write, for example a UUID. Send the same value when you repeat the write. */
  "idempotency-key-required": { status: 400, title: "Idempotency-Key is missing" },
  /** Send an `Idempotency-Key` of 1 to 255 visible ASCII characters, for example a UUID. */
  "idempotency-key-invalid": { status: 400, title: "Idempotency-Key is not valid" },
  /** Wait a second, then send the same request with the same key again. */
  "idempotency-key-in-use": { status: 409, title: "Request still in progress" },
  /** Use a new key for a new write. */
  "idempotency-key-reused": { status: 422, title: "Idempotency-Key belongs to another request" },
  /** Send the request again with the same Idempotency-Key. If it fails again, report the `x-request-id`. */
  "internal": { status: 500, title: "Internal error" },
  /** Report the id of the resource and the `x-request-id` to an administrator of the platform. Until the record is repaired, repeating the request does not help. Other resources are not affected. */
  "unreadable": { status: 500, title: "Stored record cannot be read" },
  /** Retry in a few seconds with the same Idempotency-Key. */
  "unavailable": { status: 503, title: "Service unavailable" },
  /** Send the same request again with the same Idempotency-Key. */
  "no-answer": { status: 504, title: "No response in time" },
  /** Wait for the time in `Retry-After`, then send the same request again with the same Idempotency-Key. */
  "overloaded": { status: 503, title: "Platform overloaded" },
  /** Wait for the time in `Retry-After`, then send requests more slowly. */
  "too-many-requests": { status: 429, title: "Too many requests" },
  /** Check both. An administrator can set a new password. */
  "wrong-credentials": { status: 401, title: "Wrong e-mail address or password" },
  /** Send the request again with `totp` (a new code of your authenticator app, or a recovery code), or with `passkey`. */
  "second-factor-required": { status: 401, title: "Second factor required" },
  /** Remove it with POST /v1/me/totp/remove first. */
  "totp-enabled": { status: 409, title: "Second factor is enabled" },
  /** Sign in with a password. An administrator of the platform can configure `[passkeys]` of the identity service. */
  "passkeys-disabled": { status: 409, title: "Passkeys are not configured" },
  /** Begin again with POST /v1/sessions/passkey-challenges. If the passkey was deleted, sign in in another way. */
  "passkey-refused": { status: 401, title: "Passkey not accepted" },
  /** Delete passkeys that are no longer used. */
  "too-many-passkeys": { status: 409, title: "Too many passkeys" },
  /** Register a passkey or link an account first, or ask an administrator of the platform to set a password. */
  "last-sign-in-method": { status: 409, title: "Last way to sign in" },
  /** Sign in with the account, remove it there with DELETE /v1/me/linked-accounts/{id}, then link it again. */
  "account-taken": { status: 409, title: "Account belongs to another user" },
  /** Wait for the time in `Retry-After`, then try again. */
  "too-many-attempts": { status: 429, title: "Too many failed attempts" },
  /** Begin again with GET /v1/sign-in/{provider}. */
  "sign-in-failed": { status: 401, title: "Sign-in with the provider failed" },
  /** Ask an administrator of the platform for an account with the e-mail address that the provider has verified. */
  "no-account": { status: 403, title: "No account" },
  /** Sign in again with POST /v1/sessions. */
  "session-ended": { status: 401, title: "Session has ended" },
  /** Ask an administrator of the platform. */
  "user-disabled": { status: 403, title: "Account disabled" },
  /** Omit `tenant_id`, or read GET /v1/me for your tenants. */
  "not-a-member": { status: 403, title: "Not a member of this tenant" },
  /** Ask an administrator of the platform. */
  "tenant-suspended": { status: 403, title: "Tenant suspended" },
  /** Create another one with POST /v1/api-keys. */
  "api-key-invalid": { status: 401, title: "API key not valid" },
  /** Delete keys that are no longer used. */
  "too-many-api-keys": { status: 409, title: "Too many API keys" },
  /** Delete credentials that are no longer used. */
  "too-many-mq-credentials": { status: 409, title: "Too many credentials for the message broker" },
  /** Delete its instances and storages, suspend it (PATCH with "state": "suspended"), then delete it. */
  "tenant-active": { status: 409, title: "Tenant is active" },
  /** Remove its members first. */
  "tenant-has-members": { status: 409, title: "Tenant has members" },
  /** Find the user with GET /v1/users?email_prefix=…. */
  "email-taken": { status: 409, title: "E-mail address already in use" },
  /** Make another user an administrator first. */
  "last-administrator": { status: 409, title: "Last administrator" },
  /** Make another member an owner first. */
  "last-owner": { status: 409, title: "Last owner of the tenant" },
  /** Change the role with PATCH /v1/tenants/{id}/members/{user_id}. */
  "already-a-member": { status: 409, title: "Already a member" },
  /** Withdraw invitations with DELETE /v1/tenants/{id}/invitations/{invitation_id}, or wait until some are answered. */
  "too-many-invitations": { status: 409, title: "Too many open invitations" },
  /** Wait until GET /v1/signing-keys shows the new key as active. */
  "rotation-under-way": { status: 409, title: "Key rotation in progress" },
  /** Retire it, remove its stock with POST /v1/stock/removals, then try again. Or create another specification. */
  "gpu-spec-in-use": { status: 409, title: "GPU specification in use" },
  /** Reactivate it with PATCH /v1/gpu-specs/{id}, or choose another specification. */
  "gpu-spec-retired": { status: 409, title: "GPU specification retired" },
  /** Drain it, remove its stock with POST /v1/stock/removals, then try again. */
  "datacenter-in-use": { status: 409, title: "Datacenter has stock" },
  /** Reactivate it with PATCH /v1/datacenters/{id}, or choose another datacenter. */
  "datacenter-draining": { status: 409, title: "Datacenter is draining" },
  /** Remove at most as many units as are free, or wait until instances release theirs. */
  "stock-in-use": { status: 409, title: "Not enough free units" },
  /** Stop or delete the instance, or wait until it releases the unit, then remove the unit again. */
  "unit-in-use": { status: 409, title: "Unit in use" },
  /** Choose one of the alternatives, or retry when another instance has stopped. */
  "stock-exhausted": { status: 409, title: "No free unit" },
  /** Release the other unit first. */
  "already-claimed": { status: 409, title: "Instance holds another unit" },
  /** Read `failed` for the reasons. Units in the cluster become available when it has room; add the others again. */
  "stock-not-held": { status: 409, title: "Not all units hold their resources" },
  /** Wait until some operations in GET /v1/stock-operations have finished. */
  "too-many-operations": { status: 409, title: "Too many operations in progress" },
  /** Wait until the operation in progress (`operation_id`) has ended, then try again. */
  "instance-state": { status: 409, title: "Instance state does not allow this" },
  /** Leave the instance to the service that manages it, or ask an administrator of the platform to stop it. */
  "instance-managed": { status: 409, title: "Instance is managed by the platform" },
  /** Choose a new id. */
  "instance-exists": { status: 409, title: "Instance id is in use" },
  /** Stop the instance without a hold. GPU specifications with a `hold_price_fraction` offer holds. */
  "hold-not-offered": { status: 409, title: "Units of this specification cannot be held" },
  /** There is nothing to postpone. `idle_stop` of PATCH /v1/instances/{id} sets one. */
  "idle-stop-not-set": { status: 409, title: "Instance has no idle stop" },
  /** Start the instance. After a failed start, its `log_tail` shows the last lines. */
  "instance-not-running": { status: 409, title: "Instance is not running" },
  /** Read `reason` and `log_tail`, change what they name, and start the instance again. */
  "instance-failed": { status: 409, title: "Instance failed" },
  /** Check whether the request took effect, then send it again. */
  "instance-broke-off": { status: 502, title: "Instance closed the connection" },
  /** Create a ticket with POST /v1/instances/{id}/tickets and open its URL. */
  "not-opened": { status: 401, title: "Instance not opened" },
  /** Send the request from a page of the platform, or of the instance itself. */
  "cross-origin": { status: 403, title: "Cross-origin request" },
  /** Connect with a WebSocket client and the same Authorization header. */
  "websocket-required": { status: 426, title: "WebSocket required" },
  /** Close some of them, or wait for the time in `Retry-After`, then try again. */
  "too-many-streams": { status: 429, title: "Too many open streams" },
  /** Open a new terminal, without `session`. */
  "terminal-session-ended": { status: 410, title: "Terminal session has ended" },
  /** Read the log without `attempt`, while the instance runs. An administrator of the platform can configure `[log_archive]`. */
  "log-archive-disabled": { status: 409, title: "No logs are kept" },
  /** Read the list of events again, and continue after its newest event. */
  "events-deleted": { status: 410, title: "Position is not in the log" },
  /** Choose another datacenter, if `datacenters` names one, or ask an administrator of the platform. */
  "isolation-unavailable": { status: 409, title: "No isolated runtime for code of tenants" },
  /** Choose another name, or delete the credential that has it. */
  "registry-credential-exists": { status: 409, title: "Registry credential exists" },
  /** Change `image` of the stopped instance: name another credential, or none. */
  "registry-credential-missing": { status: 409, title: "Registry credential of the instance was deleted" },
  /** Delete credentials that are no longer used. */
  "too-many-registry-credentials": { status: 409, title: "Too many registry credentials" },
  /** Nothing is left to do: the key is in the list already. Delete it there to rename it. */
  "ssh-key-exists": { status: 409, title: "SSH key exists" },
  /** Delete keys that are no longer used. */
  "too-many-ssh-keys": { status: 409, title: "Too many SSH keys" },
  /** Delete webhooks that are no longer used. */
  "too-many-webhooks": { status: 409, title: "Too many webhooks" },
  /** Wait until some jobs have ended, or cancel some, then send the request again. */
  "too-many-jobs": { status: 409, title: "Too many jobs" },
  /** Delete links that are no longer used. */
  "too-many-share-links": { status: 409, title: "Too many share links" },
  /** Change the existing entry, or choose another version. */
  "service-version-exists": { status: 409, title: "Service version exists" },
  /** Delete what is not needed and wait until it is gone, or ask an administrator for a larger quota. */
  "quota-exceeded": { status: 409, title: "Quota of the tenant exceeded" },
  /** Stop instances that are not needed and wait until they have stopped, choose a cheaper specification, or ask an administrator for a higher limit. */
  "cost-limit-exceeded": { status: 409, title: "Limit of the cost per hour exceeded" },
  /** Wait until `renews_at`, choose a cheaper specification, or ask an administrator for a larger budget. See GET /v1/budget. */
  "budget-exhausted": { status: 409, title: "Budget of the tenant exhausted" },
  /** Try again later. Running instances continue. */
  "allowance-expired": { status: 503, title: "Spending limit of the tenant is not known" },
  /** Wait until its state is `available`. */
  "storage-not-available": { status: 409, title: "Storage not available" },
  /** Stop or delete the instances that use it first. */
  "storage-in-use": { status: 409, title: "Storage in use" },
  /** Use another storage. */
  "storage-deleting": { status: 409, title: "Storage is being deleted" },
  /** Read `reason`. The platform retries; delete the storage if you no longer want it. */
  "storage-failed": { status: 409, title: "Storage failed" },
  /** Retire it (PATCH with "state": "retired"), so that no new storages use it. */
  "storage-spec-in-use": { status: 409, title: "Storage specification in use" },
  /** List /v1/storage-specs?state=active and choose another. */
  "storage-spec-retired": { status: 409, title: "Storage specification retired" },
  /** Create a volume, or ask an administrator to configure an object store. */
  "no-object-store": { status: 409, title: "No object store configured" },
  /** Ask an administrator to create a storage specification of the kind `bucket`. */
  "no-bucket-spec": { status: 409, title: "No specification of buckets" },
  /** Mount a volume in an instance. Only buckets have credentials. */
  "not-a-bucket": { status: 409, title: "Storage is not a bucket" },
  /** Delete credentials that are not in use. */
  "too-many-credentials": { status: 409, title: "Too many credentials" },
  /** Ask an administrator of the platform to create a pool with workers. */
  "no-pool": { status: 409, title: "No pool runs the application" },
  /** Submit a new job. */
  "job-ended": { status: 409, title: "Job has ended" },
  /** Cancel it and submit another. */
  "job-not-queued": { status: 409, title: "Job does not wait" },
  /** Use a new `req_no` for each job. A repetition has the same content. */
  "req-no-reused": { status: 409, title: "Request number used for another job" },
  /** Stop the attempt and drop its results; register again if the session has ended. */
  "attempt-not-yours": { status: 409, title: "Attempt belongs to another worker or session" },
  /** Request a URL for each result, upload it, and repeat the call. */
  "upload-missing": { status: 409, title: "Result was not uploaded" },
  /** Create the uploads, send their contents to their `put_url`, and name models that exist. */
  "input-missing": { status: 422, title: "Input does not exist" },
  /** Name one of `models`, or one that `GET /v1/base-models` lists, or leave the field out for the default. */
  "model-missing": { status: 422, title: "No pool has the model" },
  /** Wait until the other deployment to the path has ended, or delete it, or choose another path. */
  "deployment-in-progress": { status: 409, title: "Deployment in progress" },
  /** Submit the job again. */
  "artifact-gone": { status: 410, title: "Content of the artifact is gone" },
  /** Wait until the job has ended, or cancel it. */
  "worker-busy": { status: 409, title: "Worker runs a job" },
  /** Use a new operationID for a new request, and repeat a request unchanged. */
  "operation-id-reused": { status: 422, title: "operationID belongs to another request" },
  /** Retry in a second with the same id. */
  "operation-in-progress": { status: 409, title: "Operation in progress" },
  /** Start it again when GET returns 404. */
  "instance-stopping": { status: 409, title: "Instance is stopping" },
  /** Stop the instance first, or use another instanceID. */
  "instance-id-reused": { status: 422, title: "instanceID belongs to another instance" },
  /** Change its size with PUT, or use another storageID. */
  "storage-id-reused": { status: 422, title: "storageID belongs to another storage" },
} as const;

/** Last segment of the problem's type. */
export type ProblemSlug = keyof typeof problems;

/** Members that problems of one type may have in addition to the standard ones. */
export interface ProblemMembers {
  "insufficient-scope": {
    /** The missing scope. */
    scope?: string | null;
  };
  "recent-sign-in-required": {
    /** Maximum time since the sign-in, in seconds. */
    within_seconds?: number | null;
  };
  "too-many-passkeys": {
    /** Passkeys that a user may have. */
    limit?: number | null;
  };
  "too-many-attempts": {
    /** Seconds until the next attempt is accepted. */
    retry_after?: number | null;
  };
  "too-many-api-keys": {
    /** Keys that a user may have. */
    limit?: number | null;
  };
  "too-many-mq-credentials": {
    /** Credentials that a tenant may have. */
    limit?: number | null;
  };
  "last-owner": {
    /** The tenant that would lose its last owner. */
    tenant_id?: string | null;
  };
  "stock-in-use": {
    /** Units that are free now. */
    free?: number | null;
    /** Units that are idle now (Operator API). */
    available?: number | null;
  };
  "unit-in-use": {
    /** Instance that holds the unit, or null if one occupies it without a claim. */
    instance_id?: string | null;
  };
  "stock-exhausted": {
    /** Free units of other specifications or in other datacenters. */
    alternatives?: unknown[];
    /** Units of this specification that have no place in the cluster yet. */
    waiting?: number | null;
  };
  "too-many-operations": {
    /** Operations of this kind that may be in progress. */
    limit?: number | null;
    /** Operations of this kind that are in progress. */
    open?: number | null;
  };
  "instance-state": {
    /** Current state of the instance. */
    state?: string | null;
  };
  "instance-managed": {
    /** The service that manages the instance. */
    managed_by?: string | null;
  };
  "instance-not-running": {
    /** Message of the cluster. */
    message?: string | null;
  };
  "instance-failed": {
    /** Reason code of the failure. */
    reason?: string | null;
    /** Last lines of the log. */
    log_tail?: string | null;
  };
  "too-many-streams": {
    /** Streams of this kind that the tenant may have open at a time. */
    limit?: number | null;
    /** Seconds to wait before the next attempt. */
    retry_after?: number | null;
  };
  "events-deleted": {
    /** The oldest `sequence` after which the log is complete. */
    oldest?: number | null;
    /** `sequence` of the newest event. */
    newest?: number | null;
  };
  "isolation-unavailable": {
    /** Names of datacenters in which code of tenants runs. */
    datacenters?: unknown[];
  };
  "too-many-registry-credentials": {
    /** Credentials that a tenant may have. */
    limit?: number | null;
  };
  "too-many-ssh-keys": {
    /** Keys that a user, or an instance, may have. */
    limit?: number | null;
  };
  "too-many-webhooks": {
    /** Webhooks that a tenant may have. */
    limit?: number | null;
  };
  "too-many-jobs": {
    /** Jobs of a tenant that may be open at a time. */
    limit?: number | null;
  };
  "too-many-share-links": {
    /** Links that an instance may have. */
    limit?: number | null;
  };
  "quota-exceeded": {
    /** The limited quantity: `storages`, `storage_gib` (the sum of their sizes in GiB), `instances`, `gpus`, or `gpus of` a model. */
    quota?: string | null;
    /** The quota. */
    limit?: number | null;
    /** Current usage, including what is being stopped or deleted. */
    used?: number | null;
    /** The part that the request adds. */
    requested?: number | null;
  };
  "cost-limit-exceeded": {
    /** Maximum cost per hour of all instances of the tenant. */
    limit?: string | null;
    /** Cost per hour of the running instances. */
    used?: string | null;
    /** The part that the request adds. */
    requested?: string | null;
    /** Currency (ISO 4217). */
    currency?: string | null;
  };
  "budget-exhausted": {
    /** When the next month begins and starts are possible again, or null if that is not known. */
    renews_at?: string | null;
    /** Maximum cost per hour of all instances of the tenant with the rest of the budget. */
    limit?: string | null;
    /** Cost per hour of the running instances. */
    used?: string | null;
    /** The part that the request adds. */
    requested?: string | null;
    /** Currency (ISO 4217). */
    currency?: string | null;
  };
  "allowance-expired": {
    /** Time until which the limit was known. */
    expired_at?: string | null;
  };
  "storage-in-use": {
    /** Ids of the instances that use the storage. */
    instance_ids?: unknown[];
  };
  "storage-failed": {
    /** Reason code of the failure. */
    reason?: string | null;
  };
  "job-ended": {
    /** State of the job. */
    state?: string | null;
  };
  "job-not-queued": {
    /** State of the job. */
    state?: string | null;
  };
  "req-no-reused": {
    /** Id of the job that has the number. */
    job_id?: string | null;
  };
  "upload-missing": {
    /** Names of the results that are missing, or have another size. */
    names?: unknown[];
  };
  "input-missing": {
    /** Ids of the uploads and models that do not exist or are empty. */
    inputs?: unknown[];
  };
  "model-missing": {
    /** Names of the existing models of this kind, the first 50. */
    models?: unknown[];
  };
}
