//! Users over HTTP, for administrators.

use api::{ETag, IdempotencyKey, IfMatch, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply};
use auth::{Admin, Role};
use axum::{extract::State, http::StatusCode};
use ids::UserId;
use serde::Deserialize;
use sqlx::PgConnection;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    model::{NewUser, User, UserChange},
    store,
};
use crate::{
    app::App,
    membership, password, scope,
    session::{self, EndReason},
    tenant,
};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_users, create_user)).routes(routes!(
        get_user,
        update_user,
        delete_user
    ))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Filter {
    /// How many at most, 1 to 200 (default 50).
    limit: Option<u32>,
    /// Where the page before ended.
    cursor: Option<String>,
    /// Only those whose addresses begin so, without regard to case.
    email_prefix: Option<String>,
}

/// All users, oldest first.
#[utoipa::path(
    get, path = "/v1/users", operation_id = "list_users", tag = "users", params(Filter),
    responses(
        (status = 200, description = "A page", body = Page<User>),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn list_users(
    State(app): State<App>,
    _admin: Admin,
    Query(filter): Query<Filter>,
) -> Result<Json<Page<User>>, Problem> {
    let asked = PageParams { limit: filter.limit, cursor: filter.cursor }.request()?;
    let mut tx = app.db.platform().await?;
    let rows = store::list(&mut tx, asked.after, filter.email_prefix.as_deref(), asked.rows()).await?;
    Ok(Json(asked.page(rows, |user| user.id)))
}

/// Makes a user with an initial password.
#[utoipa::path(
    post, path = "/v1/users", operation_id = "create_user", tag = "users",
    params(("Idempotency-Key" = String, Header, description = "New for each write")),
    request_body = NewUser,
    responses(
        (status = 201, description = "The user", body = User),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn create_user(
    State(app): State<App>,
    Admin(principal): Admin,
    key: IdempotencyKey,
    Json(new): Json<NewUser>,
) -> Result<Reply, Problem> {
    new.check()?;
    let hash = app.hasher.turn().await?.hash(new.password.clone()).await?;
    key.once(app.db.platform().await?, principal.user, &new.recognized_by(&app.vault), async |tx| {
        let user =
            store::insert(tx, &new.email, new.shown_name(), new.admin, &hash).await?.ok_or_else(|| {
                Problem::new(ProblemType::EmailTaken, "Another user signs in with this address.")
            })?;
        let location = format!("/v1/users/{}", user.id);
        Ok(Reply::json(StatusCode::CREATED, &user)?.etag(user.generation).location(location))
    })
    .await
}

/// A user.
#[utoipa::path(
    get, path = "/v1/users/{id}", operation_id = "get_user", tag = "users",
    params(("id" = UserId, Path, description = "The user")),
    responses(
        (status = 200, description = "The user", body = User),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn get_user(
    State(app): State<App>,
    _admin: Admin,
    Path(id): Path<UserId>,
) -> Result<(ETag, Json<User>), Problem> {
    let mut tx = app.db.platform().await?;
    let user = store::find(&mut tx, id).await?.ok_or_else(Problem::not_found)?;
    Ok((ETag(user.generation), Json(user)))
}

async fn keep_an_admin(tx: &mut PgConnection, leaving: &User) -> Result<(), Problem> {
    if leaving.admin && !leaving.disabled && store::admins(tx).await? == 1 {
        return Err(Problem::new(
            ProblemType::LastAdministrator,
            "This is the only administrator who can sign in.",
        ));
    }
    Ok(())
}

/// Changes a user.
#[utoipa::path(
    patch, path = "/v1/users/{id}", operation_id = "update_user", tag = "users",
    params(
        ("id" = UserId, Path, description = "The user"),
        ("If-Match" = String, Header, description = "ETag of the version the change is meant for"),
        ("Idempotency-Key" = String, Header, description = "New for each write"),
    ),
    request_body = UserChange,
    responses(
        (status = 200, description = "The user as it is now", body = User),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn update_user(
    State(app): State<App>,
    Admin(principal): Admin,
    Path(id): Path<UserId>,
    key: IdempotencyKey,
    if_match: IfMatch,
    Json(change): Json<UserChange>,
) -> Result<Reply, Problem> {
    if let Some(name) = &change.display_name {
        tenant::check_name("/display_name", name)?;
    }
    let hash = match &change.password {
        Some(password) => {
            password::check("/password", password, "")?;
            Some(app.hasher.turn().await?.hash(password.clone()).await?)
        }
        None => None,
    };
    key.once(app.db.platform().await?, principal.user, &change.recognized_by(&app.vault), async |tx| {
        store::lock_admins(tx).await?;
        let user = store::lock(tx, id).await?.ok_or_else(Problem::not_found)?;
        if_match.check(user.generation)?;
        if change.disabled == Some(true) || change.admin == Some(false) {
            keep_an_admin(tx, &user).await?;
        }
        let update = store::Update {
            display_name: change.display_name.as_deref(),
            admin: change.admin,
            disabled: change.disabled,
            password_hash: hash.as_deref(),
        };
        let user = store::update(tx, id, user.generation, &update)
            .await?
            .ok_or_else(|| Problem::internal("a locked user has changed"))?;
        let ended = if change.disabled == Some(true) {
            Some(EndReason::UserDisabled)
        } else {
            hash.as_ref().map(|_| EndReason::PasswordChanged)
        };
        if let Some(reason) = ended {
            session::end_all(tx, id, None, reason).await?;
        }
        Ok(Reply::json(StatusCode::OK, &user)?.etag(user.generation))
    })
    .await
}

/// Removes a user, with memberships and sessions. 409 for a tenant's last owner and for the last
/// administrator.
#[utoipa::path(
    delete, path = "/v1/users/{id}", operation_id = "delete_user", tag = "users",
    params(
        ("id" = UserId, Path, description = "The user"),
        ("Idempotency-Key" = String, Header, description = "New for each write"),
    ),
    responses(
        (status = 204, description = "The user is gone"),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn delete_user(
    State(app): State<App>,
    Admin(principal): Admin,
    Path(id): Path<UserId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    key.once(app.db.platform().await?, principal.user, &(), async |tx| {
        store::lock_admins(tx).await?;
        let user = store::lock(tx, id).await?.ok_or_else(Problem::not_found)?;
        keep_an_admin(tx, &user).await?;
        scope::user(tx, id).await?;
        for membership in membership::of_user(tx, id).await? {
            tenant::lock(tx, membership.tenant.id).await?;
        }
        // as the roles are now, and stay
        for membership in membership::of_user(tx, id).await? {
            if membership.role == Role::Owner {
                scope::tenant(tx, membership.tenant.id).await?;
                if membership::owners(tx, membership.tenant.id).await? == 1 {
                    return Err(membership::last_owner().with("tenant_id", membership.tenant.id));
                }
            }
        }
        store::delete(tx, id).await?;
        Ok(Reply::no_content())
    })
    .await
}
