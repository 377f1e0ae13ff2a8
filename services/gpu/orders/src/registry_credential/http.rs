//! `/v1/registry-credentials`: with which a tenant pulls images of its own.

use api::{
    IdempotencyKey, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply, openapi::OpenApiRouter,
};
use auth::{HasAuth, Member};
use axum::extract::{FromRef, State};
use http::StatusCode;
use ids::{ApiKeyId, RegistryCredentialId, UserId};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    Parts,
    model::NewRegistryCredential,
    store::{self, Credential, New},
};

/// Maximum number of credentials of a tenant.
const MOST: i64 = 50;

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_registry_credentials, create_registry_credential))
        .routes(routes!(delete_registry_credential))
}

/// A credential for pulling images from a private registry.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RegistryCredential)]
struct RegistryCredentialView {
    /// Registry credential id.
    id: RegistryCredentialId,
    /// Name for people.
    name: String,
    /// Host of the registry, with its port if it has one.
    #[schema(example = "ghcr.io")]
    registry: String,
    /// User name at the registry.
    #[schema(example = "robot")]
    username: String,
    /// The user who created it: it ends with this user's rights in the tenant.
    created_by: UserId,
    /// The API key with which it was created and with which it ends, or null.
    created_by_key: Option<ApiKeyId>,
    /// Time of creation.
    created_at: Timestamp,
}

impl From<Credential> for RegistryCredentialView {
    fn from(credential: Credential) -> Self {
        Self {
            id: credential.id,
            name: credential.name,
            registry: credential.registry,
            username: credential.username,
            created_by: credential.created_by,
            created_by_key: credential.created_by_key,
            created_at: credential.created_at.to_jiff(),
        }
    }
}

/// Lists the tenant's registry credentials, newest first, without their secrets.
#[utoipa::path(
    get, path = "/v1/registry-credentials", operation_id = "list_registry_credentials", tag = "registry credentials",
    params(PageParams),
    responses((status = 200, description = "A page of credentials", body = Page<RegistryCredentialView>)),
)]
async fn list_registry_credentials(
    State(app): State<Parts>,
    member: Member,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<RegistryCredentialView>>, Problem> {
    let request = page.request()?;
    let mut tx = app.db.tenant(member.tenant).await?;
    let rows = store::list(&mut tx, member.tenant, request.after, request.rows()).await?;
    Ok(Json(request.page(rows, |credential| credential.id).map(RegistryCredentialView::from)))
}

/// Creates a credential for pulling images from a private registry. An instance names it (`registry_credential` of its
/// `image`), or uses the newest one for the registry of its image. To change a secret, create another credential and
/// delete this one: instances that name none use the new one from their next start or restart on. The credential ends
/// with its maker: when the user is removed from the tenant, disabled or becomes a viewer, or the API key is deleted or
/// expires.
#[utoipa::path(
    post, path = "/v1/registry-credentials", operation_id = "create_registry_credential", tag = "registry credentials",
    params(IdempotencyKey),
    request_body = NewRegistryCredential,
    responses((status = 201, description = "The credential", body = RegistryCredentialView)),
    extensions(("x-problems" = json!([
        ProblemType::InvalidField, ProblemType::TenantSuspended, ProblemType::RegistryCredentialExists,
        ProblemType::TooManyRegistryCredentials
    ]))),
)]
async fn create_registry_credential(
    State(app): State<Parts>,
    member: Member,
    key: IdempotencyKey,
    Json(new): Json<NewRegistryCredential>,
) -> Result<Reply, Problem> {
    member.writer()?;
    let registry = new.checked()?;
    let owner = member.tenant;
    key.once(app.db.tenant(owner).await?, owner, &new.identity(&app.cipher), async |tx| {
        tenants::check_active(tx, owner).await?;
        store::lock_credentials_of(tx, owner).await?;
        if store::count(tx, owner).await? >= MOST {
            return Err(Problem::new(
                ProblemType::TooManyRegistryCredentials,
                format!("The tenant already has {MOST} registry credentials, the maximum."),
            )
            .with("limit", MOST));
        }
        let id = RegistryCredentialId::new();
        let (name, username) = (new.name.as_str(), new.username.as_str());
        let secret = new.encrypt(owner, id, &app.cipher)?;
        let inserted = New { id, name, registry: &registry, username, secret };
        let made = store::insert(tx, owner, inserted, &member.principal).await?;
        let made = made.ok_or_else(|| {
            Problem::new(
                ProblemType::RegistryCredentialExists,
                "The tenant already has a registry credential with this name.",
            )
        })?;
        Reply::json(StatusCode::CREATED, &RegistryCredentialView::from(made))
    })
    .await
}

/// Deletes a credential. It is removed from the clusters, and no further start or restart uses it.
#[utoipa::path(
    delete, path = "/v1/registry-credentials/{id}", operation_id = "delete_registry_credential",
    tag = "registry credentials",
    params(("id" = RegistryCredentialId, Path, description = "Registry credential id"), IdempotencyKey),
    responses((status = 204, description = "Deleted")),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn delete_registry_credential(
    State(app): State<Parts>,
    member: Member,
    key: IdempotencyKey,
    Path(id): Path<RegistryCredentialId>,
) -> Result<Reply, Problem> {
    member.writer()?;
    key.once(app.db.tenant(member.tenant).await?, member.tenant, &(), async |tx| {
        if !store::delete(tx, member.tenant, id).await? {
            return Err(Problem::not_found());
        }
        Ok(Reply::no_content())
    })
    .await
}
