//! `/v1/instances/{id}/ssh-keys`: keys that open one instance while the user who added them may open it.

use api::{
    Checks, IdempotencyKey, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use auth::{HasAuth, Member, Principal};
use axum::extract::{FromRef, State};
use db::Db;
use http::StatusCode;
use ids::{InstanceId, SshKeyId, TenantId};
use instances::instance;
use sqlx::PgConnection;
use utoipa_axum::routes;

use super::{
    key::{self, Key},
    store,
    user_keys::{NewSshKey, SshKeyView},
};

/// Maximum number of keys of an instance.
const MAX_KEYS: i64 = 50;
/// Keys that an order may name.
const MAX_NEW_KEYS: usize = 20;

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_instance_ssh_keys, create_instance_ssh_key))
        .routes(routes!(delete_instance_ssh_key))
}

/// Checks the keys of a new instance.
pub fn check_new_keys(checks: &mut Checks, pointer: &str, lines: &[String]) {
    checks.require(lines.len() <= MAX_NEW_KEYS, pointer, format!("must have at most {MAX_NEW_KEYS} entries"));
    for (index, line) in lines.iter().enumerate() {
        if let Err(why) = Key::parse(line) {
            checks.require(false, format!("{pointer}/{index}"), why);
        }
    }
}

/// Adds the keys of a new instance, which have been checked; a key that is named twice is added once.
pub async fn insert_new_keys(
    conn: &mut PgConnection,
    instance: (TenantId, InstanceId),
    by: &Principal,
    lines: &[String],
) -> Result<(), Problem> {
    for key in lines.iter().filter_map(|line| Key::parse(line).ok()) {
        store::insert_instance_key(conn, instance, by, &key.default_name(), &key).await?;
    }
    Ok(())
}

/// Lists the SSH keys that open this instance only, newest first.
#[utoipa::path(
    get, path = "/v1/instances/{id}/ssh-keys", operation_id = "list_instance_ssh_keys", tag = "ssh",
    params(("id" = InstanceId, Path, description = "Instance id"), PageParams),
    responses((status = 200, description = "A page of keys", body = Page<SshKeyView>)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn list_instance_ssh_keys(
    State(db): State<Db>,
    member: Member,
    Path(id): Path<InstanceId>,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<SshKeyView>>, Problem> {
    let request = page.request()?;
    let mut tx = db.tenant(member.tenant).await?;
    instance::store::find(&mut tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
    let rows = store::instance_keys(&mut tx, id, request.after, request.rows()).await?;
    Ok(Json(request.page(rows, |key| key.id).map(SshKeyView::from)))
}

/// Adds an SSH key that opens this instance only. It ends with the rights of the user who adds it, or with the API key
/// that adds it.
#[utoipa::path(
    post, path = "/v1/instances/{id}/ssh-keys", operation_id = "create_instance_ssh_key", tag = "ssh",
    params(("id" = InstanceId, Path, description = "Instance id"), IdempotencyKey),
    request_body = NewSshKey,
    responses((status = 201, description = "The key", body = SshKeyView)),
    extensions(("x-problems" = json!([
        ProblemType::NotFound, ProblemType::InvalidField, ProblemType::SshKeyExists, ProblemType::TooManySshKeys
    ]))),
)]
async fn create_instance_ssh_key(
    State(db): State<Db>,
    member: Member,
    key: IdempotencyKey,
    Path(id): Path<InstanceId>,
    Json(new): Json<NewSshKey>,
) -> Result<Reply, Problem> {
    member.writer()?;
    let tenant = member.tenant;
    let (name, public) = new.checked()?;
    key.once(db.tenant(tenant).await?, tenant, &new, async |tx| {
        instance::store::find(tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
        store::lock_keys(tx, &id.to_string()).await?;
        if store::count_instance_keys(tx, id).await? >= MAX_KEYS {
            return Err(key::too_many(MAX_KEYS));
        }
        let added = store::insert_instance_key(tx, (tenant, id), &member.principal, &name, &public).await?;
        let added = added.ok_or_else(key::exists)?;
        Reply::json(StatusCode::CREATED, &SshKeyView::from(added))
    })
    .await
}

/// Deletes an SSH key of this instance. Connections that it opened end.
#[utoipa::path(
    delete, path = "/v1/instances/{id}/ssh-keys/{key_id}", operation_id = "delete_instance_ssh_key", tag = "ssh",
    params(
        ("id" = InstanceId, Path, description = "Instance id"),
        ("key_id" = SshKeyId, Path, description = "SSH key id"),
        IdempotencyKey
    ),
    responses((status = 204, description = "Deleted")),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn delete_instance_ssh_key(
    State(db): State<Db>,
    member: Member,
    key: IdempotencyKey,
    Path((id, key_id)): Path<(InstanceId, SshKeyId)>,
) -> Result<Reply, Problem> {
    member.writer()?;
    key.once(db.tenant(member.tenant).await?, member.tenant, &(), async |tx| {
        instance::store::find(tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
        if !store::delete_instance_key(tx, id, key_id).await? {
            return Err(Problem::not_found());
        }
        Ok(Reply::no_content())
    })
    .await
}
