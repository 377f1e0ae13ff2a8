//! Users over HTTP, for administrators.

use api::{
    ETag, IdempotencyKey, IfMatch, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use auth::{Admin, AdminPerson, HasAuth};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use db::Db;
use ids::UserId;
use people::{
    membership::{self, Membership},
    scope,
    user::{User, store},
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::{
    Accounts, changes,
    model::{NewUser, UserChange},
};

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Accounts: FromRef<S>,
    Db: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_users, create_user))
        .routes(routes!(get_user, update_user, delete_user))
        .routes(routes!(list_user_memberships))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Filter {
    /// Maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
    /// Only users whose e-mail addresses begin with this text, ignoring case.
    #[serde(default, deserialize_with = "api::text::optional_nfc")]
    email_prefix: Option<String>,
}

/// Lists all users, oldest first.
#[utoipa::path(
    get, path = "/v1/users", operation_id = "list_users", tag = "users", params(Filter),
    responses(
        (status = 200, description = "One page", body = Page<User>),
    )
)]
async fn list_users(
    State(db): State<Db>,
    _admin: Admin,
    Query(filter): Query<Filter>,
) -> Result<Json<Page<User>>, Problem> {
    let asked = PageParams { limit: filter.limit, cursor: filter.cursor }.request()?;
    let mut tx = db.platform().await?;
    let rows = store::list(&mut tx, asked.after, filter.email_prefix.as_deref(), asked.rows()).await?;
    Ok(Json(asked.page(rows, |user| user.id)))
}

/// Creates a user with an initial password. API keys cannot create users, since the password allows to sign in.
#[utoipa::path(
    post, path = "/v1/users", operation_id = "create_user", tag = "users",
    params(IdempotencyKey),
    request_body = NewUser,
    responses(
        (status = 201, description = "The user", body = User),
    ),
    extensions(("x-problems" = json!([ProblemType::PersonRequired, ProblemType::EmailTaken]))),
)]
async fn create_user(
    State(accounts): State<Accounts>,
    AdminPerson(principal): AdminPerson,
    key: IdempotencyKey,
    Json(new): Json<NewUser>,
) -> Result<Reply, Problem> {
    new.check()?;
    let hash = accounts.hasher.permit().await?.hash(new.password.clone()).await?;
    key.once(accounts.db.platform().await?, principal.user, &new.identity(&accounts.cipher), async |tx| {
        let user = changes::create(tx, &principal, &new, &hash).await?;
        let location = format!("/v1/users/{}", user.id);
        Ok(Reply::json(StatusCode::CREATED, &user)?.etag(user.generation).location(location))
    })
    .await
}

/// Returns a user.
#[utoipa::path(
    get, path = "/v1/users/{id}", operation_id = "get_user", tag = "users",
    params(("id" = UserId, Path, description = "User id")),
    responses(
        (status = 200, description = "The user", body = User),
    )
)]
async fn get_user(
    State(db): State<Db>,
    _admin: Admin,
    Path(id): Path<UserId>,
) -> Result<(ETag, Json<User>), Problem> {
    let mut tx = db.platform().await?;
    let user = store::find(&mut tx, id).await?.ok_or_else(Problem::not_found)?;
    Ok((ETag(user.generation), Json(user)))
}

/// Lists the memberships of a user, oldest first, all on one page.
#[utoipa::path(
    get, path = "/v1/users/{id}/memberships", operation_id = "list_user_memberships", tag = "users",
    params(("id" = UserId, Path, description = "User id")),
    responses((status = 200, description = "All of them", body = Page<Membership>)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn list_user_memberships(
    State(db): State<Db>,
    _admin: Admin,
    Path(id): Path<UserId>,
) -> Result<Json<Page<Membership>>, Problem> {
    let mut tx = db.platform().await?;
    scope::user(&mut tx, id).await?;
    store::find(&mut tx, id).await?.ok_or_else(Problem::not_found)?;
    let memberships = membership::of_user(&mut tx, id).await?;
    Ok(Json(Page::last(memberships)))
}

/// Changes a user. API keys cannot change users.
#[utoipa::path(
    patch, path = "/v1/users/{id}", operation_id = "update_user", tag = "users",
    params(
        ("id" = UserId, Path, description = "User id"),
        IfMatch,
        IdempotencyKey,
    ),
    request_body = UserChange,
    responses(
        (status = 200, description = "The changed user", body = User),
    ),
    extensions(("x-problems" = json!([ProblemType::PersonRequired, ProblemType::EmailTaken, ProblemType::LastAdministrator]))),
)]
async fn update_user(
    State(accounts): State<Accounts>,
    AdminPerson(principal): AdminPerson,
    Path(id): Path<UserId>,
    key: IdempotencyKey,
    if_match: IfMatch,
    Json(change): Json<UserChange>,
) -> Result<Reply, Problem> {
    change.check()?;
    let hash = match &change.password {
        Some(password) => Some(accounts.hasher.permit().await?.hash(password.clone()).await?),
        None => None,
    };
    key.once(accounts.db.platform().await?, principal.user, &change.identity(&accounts.cipher), async |tx| {
        let user = changes::update(tx, &principal, id, &if_match, &change, hash.as_deref()).await?;
        Ok(Reply::json(StatusCode::OK, &user)?.etag(user.generation))
    })
    .await
}

/// Deletes a user with memberships and sessions. 409 for the last owner of a tenant and for the last
/// administrator.
#[utoipa::path(
    delete, path = "/v1/users/{id}", operation_id = "delete_user", tag = "users",
    params(
        ("id" = UserId, Path, description = "User id"),
        IdempotencyKey,
    ),
    responses(
        (status = 204, description = "Deleted"),
    ),
    extensions(("x-problems" = json!([ProblemType::PersonRequired, ProblemType::LastAdministrator, ProblemType::LastOwner]))),
)]
async fn delete_user(
    State(db): State<Db>,
    AdminPerson(principal): AdminPerson,
    Path(id): Path<UserId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    key.once(db.platform().await?, principal.user, &(), async |tx| {
        changes::delete(tx, &principal, id).await?;
        Ok(Reply::no_content())
    })
    .await
}
