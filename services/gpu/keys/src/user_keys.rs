//! `/v1/ssh-keys`: a user's own keys. They open every instance whose terminal the user may open.

use api::{
    Checks, IdempotencyKey, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use auth::{HasAuth, User};
use axum::extract::{FromRef, State};
use db::Db;
use http::StatusCode;
use ids::{ApiKeyId, SshKeyId, UserId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    key::{self, Key, MAX_NAME},
    store::{self, StoredKey},
};

/// Maximum number of keys of a user.
const MAX_KEYS: i64 = 100;

/// A public key to add.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewSshKey {
    /// Name, 1 to 100 characters. The comment of the key if absent.
    #[serde(default, deserialize_with = "api::text::optional_nfc")]
    name: Option<String>,
    /// The key in OpenSSH format, as in `~/.ssh/id_ed25519.pub`: ed25519 or ecdsa.
    public_key: String,
}

/// A public key that opens instances.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SshKey)]
pub(super) struct SshKeyView {
    /// SSH key id.
    id: SshKeyId,
    /// Name for people.
    name: String,
    /// The key in OpenSSH format, without comment.
    public_key: String,
    /// Fingerprint, as `ssh-keygen -l` prints it.
    fingerprint: String,
    /// The user who added it. A key of an instance ends with this user's rights in the tenant.
    created_by: UserId,
    /// The API key with which it was added and with which it ends, or null.
    created_by_key: Option<ApiKeyId>,
    /// When it was added.
    created_at: Timestamp,
    /// When it was last used to open an instance, or null.
    last_used_at: Option<Timestamp>,
}

impl From<StoredKey> for SshKeyView {
    fn from(key: StoredKey) -> Self {
        Self {
            id: key.id,
            name: key.name,
            public_key: key.public_key,
            fingerprint: key.fingerprint,
            created_by: key.created_by,
            created_by_key: key.created_by_key,
            created_at: key.created_at.to_jiff(),
            last_used_at: key.last_used_at.map(jiff_sqlx::Timestamp::to_jiff),
        }
    }
}

impl NewSshKey {
    /// Returns the name and the key.
    pub(super) fn checked(&self) -> Result<(String, Key), Problem> {
        let mut checks = Checks::default();
        if let Some(name) = &self.name {
            checks.display_name("/name", name, MAX_NAME);
        }
        let key = Key::parse(&self.public_key);
        if let Err(why) = &key {
            checks.require(false, "/public_key", *why);
        }
        checks.finish()?;
        let key = key.map_err(|why| Problem::invalid_field("/public_key", why))?;
        Ok((self.name.clone().unwrap_or_else(|| key.default_name()), key))
    }
}

/// The scope of idempotency keys of the user's own requests.
fn scope(user: UserId) -> String {
    format!("own_{user}")
}

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_ssh_keys, create_ssh_key)).routes(routes!(delete_ssh_key))
}

/// Lists the user's SSH keys, newest first.
#[utoipa::path(
    get, path = "/v1/ssh-keys", operation_id = "list_ssh_keys", tag = "ssh", params(PageParams),
    responses((status = 200, description = "A page of keys", body = Page<SshKeyView>)),
)]
async fn list_ssh_keys(
    State(db): State<Db>,
    User(principal): User,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<SshKeyView>>, Problem> {
    let request = page.request()?;
    let mut tx = db.user(principal.user).await?;
    let rows = store::user_keys(&mut tx, principal.user, request.after, request.rows()).await?;
    Ok(Json(request.page(rows, |key| key.id).map(SshKeyView::from)))
}

/// Adds an SSH key to the user. It opens every instance that the user may use. A key that is added with an API key
/// opens only instances of the API key's tenant, and ends with the API key, which needs `instances:write` as well.
#[utoipa::path(
    post, path = "/v1/ssh-keys", operation_id = "create_ssh_key", tag = "ssh", params(IdempotencyKey),
    request_body = NewSshKey,
    responses((status = 201, description = "The key", body = SshKeyView)),
    extensions(("x-problems" = json!([
        ProblemType::InvalidField, ProblemType::SshKeyExists, ProblemType::TooManySshKeys
    ]))),
)]
async fn create_ssh_key(
    State(db): State<Db>,
    User(principal): User,
    key: IdempotencyKey,
    Json(new): Json<NewSshKey>,
) -> Result<Reply, Problem> {
    let user = principal.user;
    let (name, public) = new.checked()?;
    key.once(db.user(user).await?, scope(user), &new, async |tx| {
        store::lock_keys(tx, &user.to_string()).await?;
        if store::count_user_keys(tx, user).await? >= MAX_KEYS {
            return Err(key::too_many(MAX_KEYS));
        }
        let added = store::insert_user_key(tx, &principal, &name, &public).await?.ok_or_else(key::exists)?;
        Reply::json(StatusCode::CREATED, &SshKeyView::from(added))
    })
    .await
}

/// Deletes an SSH key of the user. Connections that it opened end.
#[utoipa::path(
    delete, path = "/v1/ssh-keys/{id}", operation_id = "delete_ssh_key", tag = "ssh",
    params(("id" = SshKeyId, Path, description = "SSH key id"), IdempotencyKey),
    responses((status = 204, description = "Deleted")),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn delete_ssh_key(
    State(db): State<Db>,
    User(principal): User,
    key: IdempotencyKey,
    Path(id): Path<SshKeyId>,
) -> Result<Reply, Problem> {
    let user = principal.user;
    key.once(db.user(user).await?, scope(user), &(), async |tx| {
        if !store::delete_user_key(tx, user, id).await? {
            return Err(Problem::not_found());
        }
        Ok(Reply::no_content())
    })
    .await
}
